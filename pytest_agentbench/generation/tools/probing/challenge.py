"""Asking what a tool does not accept: each argument missing, of another type, at its bounds, beyond them, unknown."""

from collections import Counter, deque
from collections.abc import Iterator
from itertools import pairwise, zip_longest
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import is_number
from pytest_agentbench.generation.tools.data_types import ProbeKind
from pytest_agentbench.generation.tools.probing.replay import ReplayLog, substituted
from pytest_agentbench.generation.tools.probing.schema_values import (
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
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession

_STATED = 16
_USUAL = 4
STRANGE = "agentbench_unknown"
"""An argument that no schema names."""
_WRONG: dict[str, tuple[Any, ...]] = {
    "integer": ("abc",), "number": ("abc",), "boolean": ("maybe",), "string": ({"a": 1},),
    "array": ("abc", 5), "object": ("abc", 5),
}  # fmt: skip
"""Values that are not of the declared type."""

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
    turns = deque((place, plan) for turn in zip_longest(*plans) for place, plan in enumerate(turn) if plan is not None)
    late: deque[tuple[int, Plan]] = deque()
    costly: set[int] = set()
    is_spent = False
    while turns or late:
        place, (kind, values) = turns.popleft() if turns else late.popleft()
        if place in costly:
            late.append((-1, (kind, values)))
            continue
        if not session.may_call(tool, most) or (is_spent and tool.once and not await log.restore(before=tool)):
            break
        record = await session.try_values(tool, _today(values, base, tool.base), kind)
        is_spent = record is not None and record.ok
        costly |= {place} if is_spent and tool.once and place >= 0 else set()
        if record is not None and record.ok and tool.base is None and STRANGE not in values:
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
        rest = {**values, slot.path: ""}
        unknown = [one for one in tool.works() if slot.path in one.unknown and {**one.values, slot.path: ""} == rest]
        answer, times = max(Counter(one.template for one in unknown).items(), key=lambda pair: pair[1], default=("", 0))
        if times >= 2 and answer not in known:
            session.is_nothing(tool, answer)


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
    now = base.values if base is not None else {}
    others = {str(value): now[path] for path, value in planned.values.items() if now.get(path, value) != value}
    return {path: substituted(value, others) for path, value in values.items()}


def _challenges(session: ProbeSession, tool: ProbedTool, slot: Slot, base: ProbeRecord) -> Iterator[Plan]:
    """Give the probes of one argument, the most telling first, each value once."""
    known = dict(base.values)
    if slot.path in known:
        yield "missing", {path: value for path, value in known.items() if path != slot.path}
    first: dict[str, tuple[ProbeKind, Any]] = {}
    for kind, value in _values(tool, slot, known.get(slot.path), session.chance(tool, slot)):
        first.setdefault(dumps(value), (kind, value))
    yield from ((kind, {**known, slot.path: value}) for kind, value in first.values())


def _values(tool: ProbedTool, slot: Slot, current: Any, chance: Random) -> Iterator[tuple[ProbeKind, Any]]:
    by_name = [*usual(slot), *conforming(slot, chance)]
    if current is None:
        current = next(iter([*declared(slot), *by_name]), None)
        yield "nominal", current
    is_varied = isinstance(current, str | int | float) and not isinstance(current, bool)
    if is_varied and not slot.schema.get("enum"):
        if isinstance(current, str) and "/" in current:
            yield "boundary", sibling(current, chance)  # the same folder, and nothing of that name in it
        yield from (("boundary", stranger(current, chance)) for _ in range(3 if isinstance(current, str) else 2))
    stated = [*declared(slot), *described(slot, tool.spec.description)][:_STATED]
    yield from (("nominal", value) for value in stated)
    if slot.type in ("integer", "number"):
        yield from _numbers(slot)
    elif slot.type in ("string", "any"):
        yield from ((_edge(value, slot), value) for value in _texts(slot, current))
    yield from (("wrong_type", value) for value in _WRONG.get(slot.type, ()))
    if slot.type != "boolean":
        yield from (("nominal", value) for value in by_name[:_USUAL])


def _edge(value: Any, slot: Slot) -> ProbeKind:
    return "boundary" if fits(value, slot) else "out_of_range"


def _numbers(slot: Slot) -> Iterator[tuple[ProbeKind, Any]]:
    """Give a number's bounds, a few values between, what lies just beyond them, and what lies far away."""
    low, high = bounds(slot)
    ends = [end for end in (low, high) if end is not None]
    between = [] if low is None or high is None else [low + (high - low) * part for part in (0.5, 0.75, 0.25, 0.9, 0.1)]
    beyond = [*([low - 1] if low is not None else []), *([high + 1] if high is not None else [])]
    rows: tuple[tuple[ProbeKind | None, list[float]], ...] = (
        ("boundary", [end for end in ends if fits(_typed(end, slot), slot)]),
        ("nominal", between),
        ("out_of_range", beyond),
        ("boundary", list(described_span(slot) or ())),
        (None, [0, -1, 1000, 95, 10**9]),
    )
    for kind, values in rows:
        yield from ((kind or _edge(value, slot), _typed(value, slot)) for value in values)


def _typed(value: float, slot: Slot) -> float:
    return int(value) if slot.type == "integer" else round(value, 4)


def _texts(slot: Slot, current: Any) -> Iterator[str]:
    """Give texts at the edge: none at all, padded, in another case, unknown, with accents, long."""
    yield ""
    if slot.schema.get("enum"):
        yield "agentbench-none"
        return
    if isinstance(current, str) and current:
        yield f"{current} "
        if current.swapcase() != current:
            yield current.swapcase()
        if current.isdigit():
            yield from (f"{int(current) + 1:0{len(current)}d}", "9" * len(current), f"{current}1")
    yield from ("agentbench-none", "éàü 東京", "x" * 2_000)


def _crossed(tool: ProbedTool, base: ProbeRecord) -> Iterator[dict[str, Any]]:
    """Give calls in which arguments meet: two of one type exchanged, and all optional ones at once."""
    known = base.values
    paths = [path for path, value in known.items() if is_number(value) or isinstance(value, str)]
    for left, right in pairwise(paths):
        if type(known[left]) is type(known[right]) and known[left] != known[right]:
            yield {**known, left: known[right], right: known[left]}
    left_out = [slot for slot in tool.slots if not slot.required and slot.path not in known]
    optional = {slot.path: values[0] for slot in left_out if (values := declared(slot))}
    if len(optional) > 1:
        yield {**known, **optional}
