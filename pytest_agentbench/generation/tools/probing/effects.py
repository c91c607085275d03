"""What difference an argument makes: none, none for some of its declared values, or none beyond some number."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.closed import unknown_refused
from pytest_agentbench.generation.tools.probing.conforming import (
    bounds,
    conforming,
    declared,
    described,
    described_span,
    fits,
    usual,
)
from pytest_agentbench.generation.tools.probing.reading import inner, parsed
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession

_CONTEXTS = 3
_VALUES = 6
_ABSENT = "(absent)"


@dataclass(kw_only=True)
class Effect:
    """What is known of an argument's effect.

    `none` says that no value made a difference, `idle` are declared values that did as their absence does though
    others make a difference, `beyond` the number from which more made no difference. `evidence` are records.
    """

    none: bool = False
    idle: tuple[Any, ...] = ()
    beyond: float | None = None
    evidence: tuple[int, ...] = ()


@dataclass(kw_only=True)
class _Context:
    """Calls that differ in one argument alone: digest and record by value."""

    digests: dict[str, str] = field(default_factory=dict)
    records: dict[str, ProbeRecord] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def has_several(self) -> bool:
        return len(self.digests) > 1


async def try_effects(session: ProbeSession, tool: ProbedTool) -> frozenset[str]:
    """Call a read with several values of each argument in several contexts; give the paths that differ by themselves.

    Those are found by making one call twice: times, random numbers.
    """
    if not tool.is_read or tool.base is None or tool.permission.gently:
        return frozenset()
    first = await session.call(tool, tool.base.arguments, "nominal", again=True)
    again = await session.call(tool, tool.base.arguments, "nominal", again=True)
    unstable = frozenset() if first is None or again is None else _differing(first, again)
    most = len(tool.records) + session.budget.effects
    distinct = {dumps(record.arguments): record for record in tool.works()}
    for slot in tool.slots:
        if slot.required or slot.type in ("object", "array"):
            continue
        values = telling(session, tool, slot)
        for base in _bases(distinct.values(), slot):
            rest = {path: value for path, value in base.values.items() if path != slot.path}
            for given in ({}, *({slot.path: value} for value in values)):
                if session.may_call(tool, most):
                    await session.try_values(tool, {**rest, **given}, "cross_parameter")
    return unstable


def telling(session: ProbeSession, tool: ProbedTool, slot: Slot) -> list[Any]:
    """Give values that ought to make a difference: declared and described ones, bounds, else usual ones."""
    low, high = bounds(slot)
    edges = [bound for bound in (low, high) if bound is not None]
    if slot.type == "integer":
        edges = [int(edge) for edge in edges]
    if low is not None and high is not None and slot.type in ("integer", "number"):
        middle = low + (high - low) * 0.6
        edges.append(int(middle) if slot.type == "integer" else middle)
    found = [*declared(slot), *described(slot, tool.spec.description)]
    extra = [*usual(slot), *conforming(slot, session.chance(tool, slot))][:_VALUES]
    every = {dumps(value): value for value in (*found, *edges, *extra) if fits(value, slot)}
    return list(every.values())[: max(_VALUES, min(len(found), 8))]


def effects_of(tool: ProbedTool, unstable: frozenset[str]) -> dict[str, Effect]:
    """Judge the effect of each argument from the calls that worked; arguments that nothing can be said of are absent.

    One that takes known values only has an effect by that.
    """
    if not tool.is_read or len(unstable) > 50:
        return {}
    found: dict[str, Effect] = {}
    for slot in tool.slots:
        if slot.type in ("object", "array") or (slot.required and unknown_refused(tool, slot)):
            continue
        contexts = [context for context in _contexts(tool, slot, unstable) if context.has_several]
        if effect := _effect(tool, slot, contexts):
            found[slot.path] = effect
    return found


def _effect(tool: ProbedTool, slot: Slot, contexts: list[_Context]) -> Effect | None:
    if not contexts:
        return None
    evidence = tuple(sorted({record.index for context in contexts for record in context.records.values()}))[:12]
    if all(len(set(context.digests.values())) == 1 for context in contexts):
        values = {key for context in contexts for key in context.digests if key != _ABSENT}
        if slot.type == "integer" and not any(_would_bite(context) for context in contexts):
            return None  # a bound or a page: that more makes no difference is what it may be for
        enough = len(values) >= 2 and (len(contexts) >= 2 or len(tool.slots) == 1)
        if slot.type == "boolean":
            enough = len(contexts) >= 2
        fitting = sum(fits(value, slot) for context in contexts for value in context.values.values())
        return Effect(none=True, evidence=evidence) if enough and fitting >= 2 else None
    idle = _idle(tool, slot, contexts)
    if idle:
        return Effect(idle=idle, evidence=evidence)
    beyond = _saturation(slot, contexts)
    return Effect(beyond=beyond, evidence=evidence) if beyond is not None else None


def _idle(tool: ProbedTool, slot: Slot, contexts: list[_Context]) -> tuple[Any, ...]:
    """Give the declared values, all but one, that do as their absence does, in every context."""
    if slot.type not in ("string", "any"):
        return ()
    stated = [*declared(slot), *described(slot, tool.spec.description)]
    if not slot.schema.get("enum") and len(stated) < 3:
        return ()
    wanted = {dumps(value) for value in stated}
    idle: dict[str, Any] | None = None
    for context in contexts:
        absent = context.digests.get(_ABSENT)
        if absent is None:
            continue
        same = {key: context.values[key] for key in context.values if key in wanted and context.digests[key] == absent}
        idle = same if idle is None else {key: value for key, value in idle.items() if key in same}
    if not idle:
        return ()
    default = dumps(slot.schema.get("default"))
    rest = [value for key, value in idle.items() if key != default]
    # without a declared default one of them may be it, and doing as the default does is right for that one
    enough = 1 if default in idle else 2
    return tuple(rest) if len(rest) >= enough and len(rest) >= (2 if len(contexts) < 2 else enough) else ()


def _saturation(slot: Slot, contexts: list[_Context]) -> float | None:
    """Give the number from which on a larger one, still declared, gives no more; the same in two different contexts."""
    _, high = bounds(slot)
    span = described_span(slot)
    top = high if high is not None else (span[1] if span else None)
    if slot.type not in ("integer", "number") or top is None:
        return None
    limits: dict[str, tuple[float, int]] = {}
    for context in contexts:
        numeric = [(value, key) for key, value in context.values.items() if is_number(value) and fits(value, slot)]
        numbers = sorted(numeric, key=lambda pair: pair[0])
        if len(numbers) < 3 or numbers[-1][0] < 0.9 * top:
            continue
        last = context.digests[numbers[-1][1]]
        same = [value for value, key in numbers if context.digests[key] == last]
        if len(same) >= 2 and len(same) < len(numbers) and same[0] <= 0.9 * top:
            length = _longest(context.records[numbers[-1][1]])
            limits.setdefault(last, (same[0], length))
    if len(limits) < 2 or len({length for _, length in limits.values()}) != 1:
        return None
    return max(value for value, _ in limits.values())


def _contexts(tool: ProbedTool, slot: Slot, unstable: frozenset[str]) -> list[_Context]:
    groups: dict[str, _Context] = {}
    for record in tool.records:
        if not record.ok:
            continue
        values = dict(record.values)
        value = values.pop(slot.path, None)
        key = _ABSENT if value is None else dumps(value)
        context = groups.setdefault(dumps([values, record.epoch]), _Context())
        context.digests.setdefault(key, _digest(record, value, unstable))
        context.records.setdefault(key, record)
        if value is not None:
            context.values.setdefault(key, value)
    return list(groups.values())


def _bases(records: Any, slot: Slot) -> Iterator[ProbeRecord]:
    """Give calls that differ in more than this argument, those with much in their results first."""
    seen: set[str] = set()
    for record in sorted(records, key=lambda one: -min(len(one.answer.content), 10_000)):
        rest = dumps({path: value for path, value in record.values.items() if path != slot.path})
        if rest not in seen and len(seen) < _CONTEXTS:
            seen.add(rest)
            yield record


def _digest(record: ProbeRecord, own: Any, unstable: frozenset[str]) -> str:
    """Give what is equal for equal results, leaving out what differs by itself and what echoes the argument."""
    kept = [
        (path, value)
        for path, value in leaves(inner(parsed(record.answer.content)))
        if _shape(path) not in unstable and (own is None or str(value) != str(own))
    ]
    return digest(kept)


def _differing(one: ProbeRecord, other: ProbeRecord) -> frozenset[str]:
    left = dict(leaves(inner(parsed(one.answer.content))))
    right = dict(leaves(inner(parsed(other.answer.content))))
    return frozenset(_shape(path) for path in left.keys() | right.keys() if left.get(path) != right.get(path))


def _shape(path: str) -> str:
    return ".".join("*" if part.isdigit() else part for part in path.split("."))


def leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Give every scalar of a value with its path, list entries by number."""
    value = inner(value)
    if isinstance(value, Mapping) and value and depth < 12:
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and value and depth < 12:
        for place, item in enumerate(value):
            yield from leaves(item, f"{path}.{place}" if path else str(place), depth + 1)
    else:
        yield path, value


def _longest(record: ProbeRecord) -> int:
    def length(value: Any, depth: int = 0) -> int:
        value = inner(value)
        if depth > 8:
            return 0
        if isinstance(value, list):
            return max([len(value), *(length(item, depth + 1) for item in value[:20])])
        if isinstance(value, Mapping):
            return max((length(item, depth + 1) for item in value.values()), default=0)
        return 0

    return length(parsed(record.answer.content))


def _would_bite(context: _Context) -> bool:
    """Whether some number tried is smaller than the longest list of the results: it ought to have cut it."""
    longest = max((_longest(record) for record in context.records.values()), default=0)
    return any(is_number(value) and 0 < value < longest for value in context.values.values())
