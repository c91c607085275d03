"""Handing values on for real: what other tools give now, and what they make under a name, tried where it may belong.

Where the environment opens anew, each tool that changes something is tried in one in which everything that worked was
done again, so that the values of other tools stand for things that are there.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from random import Random

from pytest_agentbench.generation.tools.probing.closed import knows, looks_up, unknown_refused
from pytest_agentbench.generation.tools.probing.conforming import declared, fits, sibling
from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.safety import is_called_last
from pytest_agentbench.generation.tools.probing.schemas import Slot, build
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession
from pytest_agentbench.generation.tools.probing.strategies import Seen, is_specific, is_time, seen_for, shape

_TRIES = 4
"""Values of one tool that are tried on one argument, until one is accepted."""
_SIGHT = 0.5
"""Likeness of names from which a value is meant by its name."""
_LOOKS = 0.3
"""Worth of a value that looks like those that are accepted."""
_LEAST = 0.1
_SHORT = 60
"""Characters up to which a text may be the name of something."""
_VARIANTS = 3
"""Forms of an answer that are asked for: values of an enum among a read's arguments."""


async def hand_on(log: ReplayLog, tools: Sequence[ProbedTool], sources: Collection[str] | None = None) -> None:
    """Try on each argument of these tools what the others give, or those named: by name first, then by look."""
    if not log.session.uses("hand_on"):
        return
    log.refill()
    for tool in tools:
        if tool.base is not None and (await log.prepared(tool) or not log.can_restore or tool.is_read):
            await _look(log, sources)
            most = len(tool.records) + log.session.budget.observed
            for slot in tool.slots:
                if slot.is_open:
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
    offering = {one.record.tool for one in seen_for(session, tool, slot)}
    for source in (name for name in session.tools if name in offering and (sources is None or name in sources)):
        accepted = {str(one.values.get(slot.path)) for one in knows(tool, slot) if one.world == session.world_number}
        several = _worth_trying(session, tool, slot, source)
        known = [one for one in several if str(one.value) in accepted]
        # one word may be accepted by chance, two of one place hardly
        if len(known) > 1 or any(is_specific(one.value) or one.likeness >= _SIGHT for one in known):
            continue
        for one in [one for one in several if one not in known][:_TRIES]:
            if not session.may_call(tool, most):
                return
            base = tool.base.values if tool.base is not None else {}
            record = await session.try_values(tool, {**base, slot.path: one.value}, "observed")
            if record is not None and any(record is known for known in knows(tool, slot)):
                if record.ok and (tool.once or tool.takes_away):
                    if not await log.restore(before=tool):
                        return
                    await _look(log, sources)
                if is_specific(one.value):
                    break


def _worth_trying(session: ProbeSession, tool: ProbedTool, slot: Slot, source: str) -> list[Seen]:
    """Give what one tool offers for an argument: by its name, or, where made-up values fail, by its look.

    What is named so comes first, then what looks so, then the rest; one value of each place before the second.
    """
    is_closed = bool(unknown_refused(tool, slot))
    shapes = {shape(one.values[slot.path]) for one in tool.worked() if slot.path in one.values}
    ranked: list[tuple[tuple[bool, bool, int, float], Seen]] = []
    turns: dict[tuple[str, str], int] = defaultdict(int)
    for one in seen_for(session, tool, slot):
        if one.record.tool != source or not fits(one.value, slot) or is_time(one.value):
            continue
        worth = one.likeness
        if is_closed and worth < _SIGHT:
            is_text = isinstance(one.value, str) and one.atom.form in ("", "text_lines") and len(one.value) < _SHORT
            looks = _LOOKS * (shape(one.value) in shapes) + 0.15 * is_specific(one.value)
            worth = max(worth, looks, _LEAST * is_text)
        if worth >= (_LEAST if is_closed else _SIGHT):
            place = (one.atom.path, one.atom.pattern)
            ranked.append(((worth < _SIGHT, worth < _LOOKS, turns[place], -worth), one))
            turns[place] += 1
    ranked.sort(key=lambda entry: entry[0])
    best: dict[str, Seen] = {}
    for _, one in ranked:
        best.setdefault(str(one.value), one)
    return list(best.values())[: 2 * _TRIES]


async def try_making(log: ReplayLog, makers: Sequence[ProbedTool]) -> None:
    """Find out what tools make under the names they are given: what others did not know before a call, and know after.

    A made-up name, like the one that worked, is tried on the arguments that may take it, then given to the tool, then
    tried again: nothing else was called in between.
    """
    if not log.session.uses("making"):
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
    name = _name_given(maker, slot)
    if name is None or not name or " " in name or len(name) > 200 or is_time(name) or not slot.is_open:
        return
    if (maker.once or maker.takes_away) and not await log.restore(before=maker):
        return
    name = _name_given(maker, slot)
    call = next((one for one in (maker.base, *maker.works()) if one and slot.path in one.values), None)
    if call is None or name is None:
        return
    name = sibling(name, Random(f"{slot.path} {maker.name} {name}"))  # noqa: S311 - no secret hangs on it
    takers = list(_takers(session, maker, slot, name))
    before = [await _verdict(session, *one, name) for one in takers]
    if any(was == "ok" and not one[0].is_read for one, was in zip(takers, before, strict=True)):
        # what takes a name that nobody knows may have made the thing itself
        name = sibling(name, Random(f"{name} {maker.name}"))  # noqa: S311 - no secret hangs on it
        takers = [one for one, was in zip(takers, before, strict=True) if was != "ok" or one[0].is_read]
        before = [await _verdict(session, *one, name) for one in takers]
    if not {"refused", "broken", "empty"} & set(before):
        return
    made = await session.try_values(maker, {**call.values, slot.path: name}, "observed")
    if made is None or not made.ok:
        return
    left = [(*one, was) for one, was in zip(takers, before, strict=True) if was not in ("ok", "")]
    outcomes = [(tool, taker, was, await _verdict(session, tool, taker, name)) for tool, taker, was in left]
    _note(session, maker, slot, name, outcomes)


def _note(
    session: ProbeSession, maker: ProbedTool, slot: Slot, name: str, outcomes: list[tuple[ProbedTool, Slot, str, str]]
) -> None:
    """Note for whom a name was made, and for whom in vain: each argument with the verdicts before and after.

    An empty answer where it was refused before says that it is there, with nothing in it. Where one that bears the
    argument's own name does not know it, the name was only written down.
    """
    path = tuple(slot.path.split("."))
    for tool, taker, was, now in outcomes:
        if was == now == "refused" and session.likeness(taker.path, tool.name, path, maker.name) >= 1.0:
            return
    known = [now == "ok" or (now == "empty" and was in ("refused", "broken")) for *_, was, now in outcomes]
    for is_known, (tool, taker, was, now) in zip(known, outcomes, strict=True):
        way = (maker.name, slot.path, tool.name, taker.path)
        if is_known:
            session.made.setdefault(way, []).append(name)
        elif was == now == "refused" and any(known):
            session.made_in_vain.setdefault(way, []).append(name)


def _name_given(maker: ProbedTool, slot: Slot) -> str | None:
    """Give a name that a call was given: that of the first call, unless others knew it and another call was given one
    that nobody knew, in no folder of another environment.
    """

    def given(record: ProbeRecord) -> str:
        return str(record.values[slot.path])

    several = [one for one in (maker.base, *maker.works()) if one and isinstance(one.values.get(slot.path), str)]
    new = [one for one in several[1:] if slot.path in one.unknown and "/" not in given(one) and len(given(one)) > 1]
    is_known = bool(several) and slot.path not in several[0].unknown
    return given(new[0] if is_known and new else several[0]) if several else None


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
            is_text = taker.type in ("string", "any") and taker.is_open and taker.path in tool.base.values
            if not is_text or not fits(name, taker) or not looks_up(tool, taker):
                continue
            worked = [one.values.get(taker.path, "") for one in tool.worked()]
            like = session.likeness(taker.path, tool.name, tuple(slot.path.split(".")), maker.name)
            if like >= 0.3 or shape(name) in map(shape, worked) or moved & set(map(str, worked)):
                yield tool, taker
