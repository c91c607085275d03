"""Handing values on for real: what other tools give now, and what they make under a name, tried where it may belong.

Where the environment opens anew, each tool that changes something is tried in one in which everything that worked was
done again, so that the values of other tools stand for things that are there.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.probing.closed import knows, looks_up, unknown_refused
from pytest_agentbench.generation.tools.probing.conforming import declared, fits, sibling
from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.safety import is_called_last
from pytest_agentbench.generation.tools.probing.schemas import Slot, build
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeSession
from pytest_agentbench.generation.tools.probing.strategies import (
    Seen,
    as_argument,
    is_plain,
    is_specific,
    is_time,
    seen_for,
    shape,
)

_TRIES = 4
"""Values of one tool that are tried on one argument, until one is accepted."""
_COMPANION = 0.8
"""Likeness from which a value that stands beside another is handed on with it."""
_ENABLERS = 4
"""Tools that are tried alone as what makes a call possible."""
_SIGHT = 0.5
"""Likeness of names from which a value is meant by its name."""
_LOOKS = 0.3
"""Worth of a value that looks like those that are accepted."""
_VARIANTS = 3
"""Forms of an answer that are asked for: values of an enum among a read's arguments."""


async def hand_on(log: ReplayLog, tools: Sequence[ProbedTool], sources: Collection[str] | None = None) -> None:
    """Try on each argument of these tools what the others give, or those named: by name first, then by look."""
    if not log.session.uses("hand_on"):
        return
    log.refill()
    for tool in tools:
        if tool.base is None:
            continue
        if not await log.prepared(tool) and log.can_restore and not tool.is_read:
            continue
        await _look(log, sources)
        most = len(tool.records) + log.session.budget.observed
        for slot in tool.slots:
            if slot.type not in ("boolean", "object", "array") and not slot.schema.get("enum"):
                await _try_slot(log, tool, slot, sources, most)


async def _look(log: ReplayLog, sources: Collection[str] | None) -> None:
    """Ask the reads again after the last change in this environment, in each form that an argument chooses."""
    session = log.session
    if not log.can_restore or all(tool.is_read for tool in session.tools.values()):  # all environments are one
        return
    here = (one for one in session.records if one.world == session.world_number and one.epoch == session.epoch)
    looked = {one.tool for one in here if one.ok}
    for tool in session.tools.values():
        if not tool.is_read or tool.base is None or tool.name in looked or (sources and tool.name not in sources):
            continue
        await session.replay(tool, tool.base.arguments)
        for slot in tool.slots:
            for value in [True] if slot.type == "boolean" else declared(slot)[:_VARIANTS]:
                is_choice = slot.schema.get("enum") or slot.type == "boolean"
                if is_choice and value != tool.base.values.get(slot.path):
                    await session.replay(tool, build({**tool.base.values, slot.path: value}))


async def _try_slot(log: ReplayLog, tool: ProbedTool, slot: Slot, sources: Collection[str] | None, most: int) -> None:
    session = log.session
    done: set[str] = set()
    for source in _sources(session, tool, slot, sources):
        here = [one for one in knows(tool, slot) if one.world == session.world_number]
        accepted = {str(one.values.get(slot.path)) for one in here}
        several = _worth_trying(session, tool, slot, source)
        known = [one for one in several if str(one.value) in accepted]
        # one word may be accepted by chance, two of one place hardly
        if source in done or len(known) > 1 or any(is_specific(one.value) or one.likeness >= _SIGHT for one in known):
            continue
        for one in [one for one in several if one not in known][:_TRIES]:
            if not session.may_call(tool, most):
                return
            base = tool.base.values if tool.base is not None else {}
            values = {**base, slot.path: one.value, **_companions(session, tool, slot, one)}
            record = await session.try_values(tool, values, "observed")
            if record is not None and any(record is known for known in knows(tool, slot)):
                done.add(source)
                if record.ok and (tool.once or tool.takes_away):
                    if not await log.restore(before=tool):
                        return
                    await _look(log, sources)
                if is_specific(one.value):
                    break


def _sources(session: ProbeSession, tool: ProbedTool, slot: Slot, sources: Collection[str] | None) -> list[str]:
    found = {one.record.tool for one in seen_for(session, tool, slot)}
    return [name for name in session.tools if name in found and (sources is None or name in sources)]


def _worth_trying(session: ProbeSession, tool: ProbedTool, slot: Slot, source: str) -> list[Seen]:
    """Give what one tool offers for an argument: by its name, or, where made-up values fail, by its look."""
    is_closed = bool(unknown_refused(tool, slot))
    shapes = {shape(one.values[slot.path]) for one in tool.worked() if slot.path in one.values}
    ranked: list[tuple[float, int, Seen]] = []
    turns: dict[tuple[str, str], int] = defaultdict(int)
    for one in seen_for(session, tool, slot):
        if one.record.tool != source or not fits(one.value, slot) or is_time(one.value):
            continue
        worth = one.likeness
        if is_closed and worth < _SIGHT:
            worth = max(worth, _LOOKS * (shape(one.value) in shapes) + 0.15 * is_specific(one.value))
            worth = max(worth, 0.1 * is_plain(one.atom))
        if worth >= (0.1 if is_closed else _SIGHT):
            place = (one.atom.path, one.atom.pattern)
            ranked.append((-worth, turns[place], one))
            turns[place] += 1
    # what is named so, then what looks so, then the rest; one of each place before the second
    ranked.sort(key=lambda entry: (entry[0] > -_SIGHT, entry[0] > -_LOOKS, entry[1], entry[0]))
    return list({str(one.value): one for _, _, one in reversed(ranked)}.values())[::-1][: 2 * _TRIES]


def _companions(session: ProbeSession, tool: ProbedTool, slot: Slot, one: Seen) -> dict[str, Any]:
    """Give the values of other arguments that stand beside a value, under names that mean them."""
    found: dict[str, Any] = {}
    if not session.uses("companions") or one.atom.pattern or one.atom.path.startswith("="):
        return found
    head = one.atom.path.rpartition(".")[0]
    atoms = session.atoms(one.record)
    places = [place for place, atom in enumerate(atoms) if atom.path == one.atom.path and atom.value == one.atom.value]
    for other in tool.slots:
        if other.path == slot.path or other.path not in (tool.base.values if tool.base else {}):
            continue
        beside = [
            (abs(place - places[0]) if places else place, value)
            for place, atom in enumerate(atoms)
            if atom.path.rpartition(".")[0] == head
            and atom.path != one.atom.path
            and not atom.pattern
            and session.likeness(other.path, tool.name, atom.names, one.record.tool) >= _COMPANION
            and (value := as_argument(atom.value, other)) is not None
            and fits(value, other)
        ]
        if beside:
            found[other.path] = min(beside, key=lambda pair: pair[0])[1]
    return found


async def try_making(log: ReplayLog, makers: Sequence[ProbedTool]) -> None:
    """Find out what tools make under the names they are given: what others did not know before a call, and know after.

    A made-up name, like the one that worked, is tried on the arguments that may take it, then given to the tool, then
    tried again: nothing else was called in between.
    """
    session = log.session
    if not session.uses("making"):
        return
    log.refill()
    await log.restore()
    for maker in makers:
        for slot in () if maker.is_read or is_called_last(maker.spec) or maker.base is None else maker.slots:
            await _try_name(log, maker, slot)
            if maker.takes_away:  # what it moved is to be there for the others
                await log.restore()


async def _try_name(log: ReplayLog, maker: ProbedTool, slot: Slot) -> None:
    session = log.session
    given = _name_given(maker, slot)
    if not isinstance(given, str) or not given or " " in given or len(given) > 200 or slot.schema.get("enum"):
        return
    if is_time(given) or ((maker.once or maker.takes_away) and not await log.restore(before=maker)):
        return
    given = _name_given(maker, slot)
    call = next((one for one in (maker.base, *maker.works()) if one and slot.path in one.values), None)
    if call is None or given is None:
        return
    name = sibling(given, Random(f"{slot.path} {maker.name} {given}"))  # noqa: S311 - no secret hangs on it
    takers = list(_takers(session, maker, slot, name))
    before = [await _verdict(session, *one, name) for one in takers]
    if any(was == "ok" and not one[0].is_read for one, was in zip(takers, before, strict=True)):
        # what takes a name that nobody knows may have made the thing itself
        name = sibling(name, Random(f"{name} {maker.name}"))  # noqa: S311 - no secret hangs on it
        takers = [one for one, was in zip(takers, before, strict=True) if was != "ok" or one[0].is_read]
        before = [await _verdict(session, *one, name) for one in takers]
    if not any(was in ("refused", "broken", "empty") for was in before):
        return
    made = await session.try_values(maker, {**call.values, slot.path: name}, "observed")
    if made is None or not made.ok:
        return
    after = [
        await _verdict(session, *one, name) if was not in ("ok", "") else ""
        for one, was in zip(takers, before, strict=True)
    ]
    outcomes = list(zip(takers, before, after, strict=True))
    if any(was == now == "refused" and _is_same(session, maker, slot, *one) for one, was, now in outcomes):
        return  # who should know such a thing does not: the name was only written down
    # an empty answer where it was refused before: it is there, with nothing in it
    known = [now == "ok" or (now == "empty" and was in ("refused", "broken")) for _, was, now in outcomes]
    for is_known, ((tool, taker), was, now) in zip(known, outcomes, strict=True):
        pair = (maker.name, slot.path, tool.name, taker.path)
        if is_known:
            session.made.setdefault(pair, []).append(name)
        elif was == now == "refused" and any(known):
            session.made_in_vain.setdefault(pair, []).append(name)


def _name_given(maker: ProbedTool, slot: Slot) -> str | None:
    """Give a name that a call was given: that of the first call, unless others knew it and another call was given one
    that nobody knew, in no folder of another environment.
    """
    several = [one for one in (maker.base, *maker.works()) if one and isinstance(one.values.get(slot.path), str)]
    new = (one for one in several[1:] if slot.path in one.unknown and "/" not in one.values[slot.path])
    is_known = bool(several) and slot.path not in several[0].unknown
    chosen = next((one for one in new if len(one.values[slot.path]) > 1), None) if is_known else None
    return (chosen or several[0]).values[slot.path] if several else None


async def try_enabling(log: ReplayLog, tools: Sequence[ProbedTool]) -> None:
    """Find out which call makes another one possible that hands on no value: each that wrote meanwhile is made alone.

    It takes a call that was refused before, and accepted with the same arguments after others had written.
    """
    session = log.session
    if not session.uses("enabling") or not log.can_restore:
        return
    for tool in tools:
        pair = _refused_then_accepted(session, tool) if tool.base is not None else None
        if pair is None:
            continue
        for name in pair[1][:_ENABLERS]:
            maker = session.tools[name]
            if maker.base is None or not session.may_call(tool) or not await log.bare():
                continue
            before = await session.call(tool, pair[0], "cross_parameter", again=True)
            made = await session.replay(maker, maker.base.arguments)
            if before is None or before.ok or made is None or not made.ok:
                continue
            after = await session.call(tool, pair[0], "cross_parameter", again=True)
            if after is not None and after.ok:
                session.enabled[name, tool.name] = before.judged.reason[:120]
                break
    await log.restore()


def _refused_then_accepted(session: ProbeSession, tool: ProbedTool) -> tuple[dict[str, Any], list[str]] | None:
    """Give the arguments of such a call, and the tools that wrote in between."""
    failed: dict[str, int] = {}
    for position, record in enumerate(session.records):
        if record.tool != tool.name:
            continue
        key = dumps([record.world, record.arguments])
        if record.verdict in ("refused", "broken"):
            failed.setdefault(key, position)
        elif record.ok and key in failed:
            between = session.records[failed[key] + 1 : position]
            wrote = [one.tool for one in between if one.ok and not session.tools[one.tool].is_read]
            makers = [name for name in dict.fromkeys(wrote) if name != tool.name]
            if makers:
                return record.arguments, makers
    return None


def _is_same(session: ProbeSession, maker: ProbedTool, slot: Slot, tool: ProbedTool, taker: Slot) -> bool:
    """Whether two arguments bear the same telling name."""
    return session.likeness(taker.path, tool.name, tuple(slot.path.split(".")), maker.name) >= 1.0


async def _verdict(session: ProbeSession, tool: ProbedTool, slot: Slot, value: str) -> str:
    known = tool.base.values if tool.base is not None else {}
    record = await session.try_values(tool, {**known, slot.path: value}, "observed", again=True)
    return record.verdict if record is not None else ""


def _takers(session: ProbeSession, maker: ProbedTool, slot: Slot, name: str) -> Iterator[tuple[ProbedTool, Slot]]:
    """Give the arguments that may take what a tool makes: they refuse what nobody knows, or are those of reads.

    What was known to others and is not after a call may go on under a new name: whoever knew the old one is tried.
    """
    moved = {str(one) for one in maker.base.values.values()} if maker.takes_away and maker.base is not None else set()
    for tool in session.tools.values():
        if tool is maker or tool.base is None or tool.once or tool.destroys:
            continue
        for taker in tool.slots:
            if taker.type not in ("string", "any") or taker.path not in tool.base.values or taker.schema.get("enum"):
                continue
            if not fits(name, taker) or not looks_up(tool, taker):
                continue
            shapes = {shape(one.values.get(taker.path, "")) for one in tool.worked()}
            like = session.likeness(taker.path, tool.name, tuple(slot.path.split(".")), maker.name)
            is_moved = any(str(one.values.get(taker.path)) in moved for one in tool.worked())
            if like >= 0.3 or shape(name) in shapes or is_moved:
                yield tool, taker
