"""Asking what a tool does not accept: each argument missing, of another type, at its bounds, beyond them, unknown."""

from collections import Counter, deque
from collections.abc import Iterator
from itertools import pairwise, zip_longest
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.conforming import (
    bounds,
    conforming,
    declared,
    described,
    described_span,
    fits,
    sibling,
    stranger,
    usual,
)
from pytest_agentbench.generation.tools.probing.replay import ReplayLog, substituted
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession
from pytest_agentbench.generation.tools.values import ProbeKind

_STATED = 16
_USUAL = 4
STRANGE = "agentbench_unknown"
"""An argument that no schema names."""

Plan = tuple[ProbeKind, dict[str, Any]]
"""A call to make, and what for."""


async def challenge(log: ReplayLog, tool: ProbedTool) -> None:
    """Probe each argument around a call that works, in turns, within the tool's budget of challenges.

    A tool that changes something is probed in a fresh environment, and in another one each time that the call which
    worked is used up (a name is taken, a thing is gone); an argument that costs one is then left for the end.
    """
    session = log.session
    if tool.base is not None and not tool.is_read:
        await _settle(log, tool)
    base = tool.base or next((one for one in reversed(tool.records) if one.verdict == "empty"), None)
    if base is None:
        if tool.slots:  # to hear what it asks for
            await session.call(tool, {}, "missing")
        return
    most = len(tool.records) + session.budget.challenges
    plans = [list(_challenges(session, tool, slot, base)) for slot in tool.slots]
    plans.append([("cross_parameter", values) for values in _crossed(tool, base)])
    plans.append([("cross_parameter", {**base.values, STRANGE: "1"})])
    late: deque[Plan] = deque()
    costly: set[int] = set()
    turns = deque((place, plan) for turn in zip_longest(*plans) for place, plan in enumerate(turn) if plan is not None)
    is_spent = False
    while turns or late:
        place, (kind, values) = turns.popleft() if turns else (-1, late.popleft())
        if place in costly:
            late.append((kind, values))
            continue
        if not session.may_call(tool, most):
            break
        if is_spent and tool.once and not await log.restore(before=tool):
            break
        record = await session.try_values(tool, _today(values, base, tool.base), kind)
        is_spent = record is not None and record.ok
        if is_spent and tool.once and place >= 0:
            costly.add(place)
        if is_spent and record is not None and tool.base is None and STRANGE not in values:
            await log.adopt(tool, record)
    _read_nothing(session, tool)


def _read_nothing(session: ProbeSession, tool: ProbedTool) -> None:
    """Find out what a read says of things that are not there: two made-up values get it, and the known one does not."""
    if not tool.is_read or tool.base is None or not session.uses("nothing"):
        return
    values = tool.base.values
    # other calls changed what it answers since it was made first: each answer to the same values counts
    same = [one for one in tool.worked() if {**one.values, STRANGE: ""} == {**values, STRANGE: ""}]
    known = {one.template for one in (tool.base, *same)}
    for slot in tool.slots:
        strange = [one for one in tool.works() if slot.path in one.unknown and _differs_in(one, tool.base, slot)]
        answer, times = max(Counter(one.template for one in strange).items(), key=lambda pair: pair[1], default=("", 0))
        if times >= 2 and answer not in known:
            session.is_nothing(tool, answer)


def _differs_in(record: ProbeRecord, base: ProbeRecord, slot: Slot) -> bool:
    paths = record.values.keys() | base.values.keys()
    return all(path == slot.path or record.values.get(path) == base.values.get(path) for path in paths)


async def _settle(log: ReplayLog, tool: ProbedTool) -> None:
    """Go to a fresh environment where a tool's call works, and find out whether it does so twice."""
    if not await log.restore(before=tool) or tool.base is None:
        return
    first = await log.session.call(tool, tool.base.arguments, "nominal", again=True)
    again = await log.session.call(tool, tool.base.arguments, "nominal", again=True)
    tool.once = bool(first and again and first.ok and not again.ok)
    if tool.once:
        await log.set_apart(tool)
        await log.restore(before=tool)


def _today(values: dict[str, Any], planned: ProbeRecord, base: ProbeRecord | None) -> dict[str, Any]:
    """Put what stands for the same thing in this environment in the place of what stood when a probe was planned."""
    if base is None:
        return values
    now = base.values
    others = {str(value): now[path] for path, value in planned.values.items() if now.get(path, value) != value}
    return {path: substituted(value, others) for path, value in values.items()}


def _challenges(session: ProbeSession, tool: ProbedTool, slot: Slot, base: ProbeRecord) -> Iterator[Plan]:
    """Give the probes of one argument, the most telling first."""
    known = dict(base.values)
    if slot.path in known:
        yield "missing", {path: value for path, value in known.items() if path != slot.path}
    seen: set[str] = set()
    for kind, value in _values(tool, slot, known.get(slot.path), session.chance(tool, slot)):
        if (key := dumps(value)) not in seen:
            seen.add(key)
            yield kind, {**known, slot.path: value}


def _values(tool: ProbedTool, slot: Slot, current: Any, chance: Random) -> Iterator[tuple[ProbeKind, Any]]:
    by_name = [*usual(slot), *conforming(slot, chance)]
    if current is None:
        current = next(iter([*declared(slot), *by_name]), None)
        yield "nominal", current
    is_varied = isinstance(current, str | int | float) and not isinstance(current, bool)
    if is_varied and not slot.schema.get("enum"):
        if isinstance(current, str) and "/" in current:
            yield "boundary", sibling(current, chance)  # the same folder, and nothing of that name in it
        for _ in range(3 if isinstance(current, str) else 2):
            yield "boundary", stranger(current, chance)
    for value in [*declared(slot), *described(slot, tool.spec.description)][:_STATED]:
        yield "nominal", value
    if slot.type in ("integer", "number"):
        yield from _numbers(slot)
    elif slot.type in ("string", "any"):
        yield from _texts(slot, current)
    yield from (("wrong_type", value) for value in _wrong_types(slot))
    if slot.type != "boolean":
        yield from (("nominal", value) for value in by_name[:_USUAL])


def _numbers(slot: Slot) -> Iterator[tuple[ProbeKind, Any]]:
    """Give a number's bounds, what lies just beyond them, and a few values between and far away."""
    low, high = bounds(slot)
    whole = slot.type == "integer"

    def typed(value: float) -> Any:
        return int(value) if whole else round(value, 4)

    for bound in (low, high):
        if bound is not None and fits(typed(bound), slot):
            yield "boundary", typed(bound)
    if low is not None and high is not None:
        yield from (("nominal", typed(low + (high - low) * share)) for share in (0.5, 0.75, 0.25, 0.9, 0.1))
    for bound, step in ((low, -1), (high, 1)):
        if bound is not None:
            yield "out_of_range", typed(bound + step)
    yield from (("boundary", typed(end)) for end in described_span(slot) or ())
    for value in (0, -1, 1000, 95, 10**9):
        yield ("boundary" if fits(value, slot) else "out_of_range"), typed(value)


def _texts(slot: Slot, current: Any) -> Iterator[tuple[ProbeKind, Any]]:
    """Give texts at the edge: none at all, padded, unknown, long, with accents, in another case."""
    yield ("boundary" if fits("", slot) else "out_of_range"), ""
    if slot.schema.get("enum"):
        yield "out_of_range", "agentbench-none"
        return
    if isinstance(current, str) and current:
        yield "boundary", f"{current} "
        if current.swapcase() != current:
            yield "boundary", current.swapcase()
        if current.isdigit():
            yield "boundary", f"{int(current) + 1:0{len(current)}d}"
            yield "boundary", "9" * len(current)
            yield "boundary", f"{current}1"
    yield "boundary", "agentbench-none"
    yield "boundary", "éàü 東京"
    yield ("boundary" if fits("x" * 2_000, slot) else "out_of_range"), "x" * 2_000


def _wrong_types(slot: Slot) -> tuple[Any, ...]:
    """Give values that are not of the declared type."""
    if slot.type in ("integer", "number"):
        return ("abc",)
    if slot.type == "boolean":
        return ("maybe",)
    if slot.type == "string":
        return ({"a": 1},)
    return ("abc", 5) if slot.type in ("array", "object") else ()


def _crossed(tool: ProbedTool, base: ProbeRecord) -> Iterator[dict[str, Any]]:
    """Give calls in which arguments meet: two of one type exchanged, and all optional ones at once."""
    known = base.values
    paths = [path for path, value in known.items() if is_number(value) or isinstance(value, str)]
    for left, right in pairwise(paths):
        if type(known[left]) is type(known[right]) and known[left] != known[right]:
            yield {**known, left: known[right], right: known[left]}
    optional = {
        slot.path: next(iter(declared(slot)), None)
        for slot in tool.slots
        if not slot.required and slot.path not in known
    }
    given = {path: value for path, value in optional.items() if value is not None}
    if len(given) > 1:
        yield {**known, **given}
