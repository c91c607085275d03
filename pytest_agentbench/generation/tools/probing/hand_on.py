"""Handing values on for real: what other tools give now, tried where it may belong.

Where the environment opens anew, each tool that changes something is tried in one in which everything that worked was
done again, so that the values of other tools stand for things that are there.
"""

from collections import defaultdict
from collections.abc import Sequence

from pytest_agentbench.generation.tools.probing.closed_sets import knows, unknown_refused
from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.schema_values import declared, fits
from pytest_agentbench.generation.tools.probing.schemas import Slot, build
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeSession
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


async def hand_on(log: ReplayLog, tools: Sequence[ProbedTool]) -> None:
    """Try on each argument of these tools what the others give: by name first, then by look."""
    if not log.session.uses("hand_on"):
        return
    log.refill()
    for tool in tools:
        if tool.base is not None and (await log.prepared(tool) or not log.can_restore or tool.is_read):
            await _look(log)
            most = len(tool.records) + log.session.budget.observed
            for slot in tool.slots:
                if slot.is_open:
                    await _try_slot(log, tool, slot, most)


async def _look(log: ReplayLog) -> None:
    """Ask the reads again after the last change in this environment, in each form that an argument chooses."""
    session = log.session
    if not log.can_restore or all(tool.is_read for tool in session.tools.values()):  # all environments are one
        return
    here = (one for one in session.records if one.world == session.world_number and one.epoch == session.epoch)
    looked = {one.tool for one in here if one.ok}
    for tool in session.tools.values():
        if not tool.is_read or tool.base is None or tool.name in looked:
            continue
        await session.replay(tool, tool.base.arguments)
        for slot in tool.slots:
            for value in [True] if slot.type == "boolean" else declared(slot)[:_VARIANTS]:
                is_choice = slot.schema.get("enum") or slot.type == "boolean"
                if is_choice and value != tool.base.values.get(slot.path):
                    await session.replay(tool, build({**tool.base.values, slot.path: value}))


async def _try_slot(log: ReplayLog, tool: ProbedTool, slot: Slot, most: int) -> None:
    session = log.session
    offering = {one.record.tool for one in seen_for(session, tool, slot)}
    for source in (name for name in session.tools if name in offering):
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
                    await _look(log)
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
