"""Handing values on for real: what other tools give now, tried where it may belong.

Where the environment opens anew, each tool that changes something is tried in one in which everything that worked was
done again, so that the values of other tools stand for things that are there.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pytest_agentbench.generation.tools.probing.closed_sets import knows, unknown_refused
from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.schema_values import declared, fits
from pytest_agentbench.generation.tools.probing.schemas import Slot, build
from pytest_agentbench.generation.tools.probing.session import ProbedTool
from pytest_agentbench.generation.tools.probing.strategies import Seen, beside, is_specific, is_time, seen_for, shape

_TRIES = 4
"""Values of one tool that are tried on one argument, until one is accepted."""
_SIGHT = 0.5
"""Likeness of names from which a value is meant by its name."""
_RANKS = 3
"""By name, by look, the rest: of all arguments before the next rank of any."""
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
            for rank in range(_RANKS):
                for slot in (one for one in tool.slots if one.is_open):
                    await _try_slot(log, tool, slot, most, rank)


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


async def _try_slot(log: ReplayLog, tool: ProbedTool, slot: Slot, most: int, rank: int) -> None:
    """Try on one argument what the others give of one rank, until each of them has one that is accepted."""
    session = log.session
    every = seen_for(session, tool, slot)
    ranked = _ranked(tool, slot, every)
    offering = {one.record.tool for one in every}
    for source in (name for name in session.tools if name in offering):
        accepted = {str(one.values.get(slot.path)) for one in knows(tool, slot) if one.world == session.world_number}
        several = [(at, one) for at, one in ranked if one.record.tool == source]
        known = [one for _, one in several if str(one.value) in accepted]
        # one word may be accepted by chance, two of one place hardly
        if len(known) > 1 or any(is_specific(one.value) or one.likeness >= _SIGHT for one in known):
            continue
        for one in [one for at, one in several[: 2 * _TRIES] if at == rank and one not in known][:_TRIES]:
            base = tool.base.values if tool.base is not None else {}
            alone = {**base, slot.path: one.value}
            together = {**base, **beside(session, tool, slot, one), slot.path: one.value}
            record = None
            attempts = [alone, together, *_other_choices(tool, together)] if rank == 0 else [alone, together]
            for values in (one for at, one in enumerate(attempts) if one not in attempts[:at]):
                if not session.may_call(tool, most):
                    return
                record = await session.try_values(tool, values, "observed")
                if record is None or record.ok:
                    break
            if record is not None and any(record is known for known in knows(tool, slot)):
                if record.ok and (tool.once or tool.takes_away):
                    if not await log.restore(before=tool):
                        return
                    await _look(log)
                if is_specific(one.value):
                    break


def _other_choices(tool: ProbedTool, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Give a call with other values of its enums: what is so already may be made otherwise."""
    chosen = [slot for slot in tool.slots if slot.path in values and slot.schema.get("enum")]
    others = ((slot.path, value) for slot in chosen for value in declared(slot)[:_VARIANTS])
    return [{**values, path: value} for path, value in others if value != values[path]][:_VARIANTS]


def _ranked(tool: ProbedTool, slot: Slot, seen: Sequence[Seen]) -> list[tuple[int, Seen]]:
    """Give what is offered for an argument with its rank, each value of a tool once, one of each place before the
    second: 0 what is named so, and, where made-up values fail, 1 what looks like those accepted, 2 the rest. Where
    these are references, the rest are references, too.
    """
    is_closed = bool(unknown_refused(tool, slot))
    taken = [one.values[slot.path] for one in tool.worked() if slot.path in one.values]
    shapes, is_coded = {shape(value) for value in taken}, bool(taken) and all(map(is_specific, taken))
    ranked: list[tuple[int, int, float, Seen]] = []
    turns: dict[tuple[str, str, str], int] = defaultdict(int)
    for one in (one for one in seen if fits(one.value, slot) and not is_time(one.value)):
        is_text = isinstance(one.value, str) and one.atom.form in ("", "text_lines") and len(one.value) < _SHORT
        rank = 0 if one.likeness >= _SIGHT else 1 if shape(one.value) in shapes else 2
        if rank == 0 or (is_closed and (rank == 1 or is_specific(one.value) or (is_text and not is_coded))):
            place = (one.record.tool, one.atom.path, one.atom.pattern)
            ranked.append((rank, turns[place], -one.likeness - 0.01 * is_specific(one.value), one))
            turns[place] += 1
    best: dict[tuple[str, str], tuple[int, Seen]] = {}
    for rank, _, _, one in sorted(ranked, key=lambda entry: entry[:3]):
        best.setdefault((one.record.tool, str(one.value)), (rank, one))
    return list(best.values())
