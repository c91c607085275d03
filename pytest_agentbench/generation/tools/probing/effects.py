"""What difference an argument makes: none, none for some of its declared values, or none beyond some number."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.json_values import is_number
from pytest_agentbench.generation.tools.probing.closed_sets import unknown_refused
from pytest_agentbench.generation.tools.probing.result_parser import inner, parsed
from pytest_agentbench.generation.tools.probing.schema_values import (
    bounds,
    conforming,
    declared,
    described,
    distinct,
    fits,
    top_of,
    usual,
)
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession

_CONTEXTS = 3
_VALUES = 6
_ABSENT = "(absent)"
_UNSTABLE = 50
"""Places that differ by themselves, from which nothing can be said of a tool's arguments."""


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


@dataclass
class _Context:
    """Calls that differ in one argument alone: what they gave, the call and its value, by the value as JSON."""

    digests: dict[str, str] = field(default_factory=dict)
    records: dict[str, ProbeRecord] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


async def try_effects(session: ProbeSession, tool: ProbedTool) -> frozenset[str]:
    """Call a read with several values of each argument in several contexts; give the paths that differ by themselves.

    Those are found by making one call twice: times, random numbers.
    """
    if not tool.is_read or tool.base is None or tool.permission.gently:
        return frozenset()
    same = [await session.call(tool, tool.base.arguments, "nominal", again=True) for _ in range(2)]
    left, right = (dict(_leaves(_result(one))) if one is not None else {} for one in same)
    unstable = {_shape(path) for path in left.keys() | right.keys() if left.get(path) != right.get(path)}
    most = len(tool.records) + session.budget.effects
    works = {dumps(record.arguments): record for record in tool.works()}
    for slot in tool.slots:
        if slot.required or slot.type in ("object", "array"):
            continue
        values = _telling(session, tool, slot)
        for rest in _rests(works.values(), slot):
            for given in ({}, *({slot.path: value} for value in values)):
                if session.may_call(tool, most):
                    await session.try_values(tool, {**rest, **given}, "cross_parameter")
    return frozenset(unstable) if None not in same else frozenset()


def _telling(session: ProbeSession, tool: ProbedTool, slot: Slot) -> list[Any]:
    """Give values that ought to make a difference: declared and described ones, bounds, else usual ones."""
    low, high = bounds(slot)
    middle = low + (high - low) * 0.6 if low is not None and high is not None else None
    edges = [end for end in (low, high, middle) if end is not None] if slot.type in ("integer", "number") else []
    found = [*declared(slot), *described(slot, tool.spec.description)]
    typed = [int(edge) if slot.type == "integer" else edge for edge in edges]
    extra = [*usual(slot), *conforming(slot, session.chance(tool, slot))][:_VALUES]
    every = distinct(value for value in (*found, *typed, *extra) if fits(value, slot))
    return every[: max(_VALUES, min(len(found), 8))]


def _rests(records: Iterable[ProbeRecord], slot: Slot) -> list[dict[str, Any]]:
    """Give the other arguments of calls that differ in more than this one, those with much in their results first."""
    longest = sorted(records, key=lambda one: -min(len(one.answer.content), 10_000))
    rests = ({path: value for path, value in one.values.items() if path != slot.path} for one in longest)
    return distinct(rests)[:_CONTEXTS]


def effects_of(tool: ProbedTool, unstable: frozenset[str]) -> dict[str, Effect]:
    """Judge the effect of each argument from the calls that worked; arguments that nothing can be said of are absent.

    One that takes known values only has an effect by that.
    """
    found: dict[str, Effect] = {}
    for slot in tool.slots if tool.is_read and len(unstable) <= _UNSTABLE else ():
        if slot.type in ("object", "array") or (slot.required and unknown_refused(tool, slot)):
            continue
        contexts = [one for one in _contexts(tool, slot, unstable) if len(one.digests) > 1]
        if contexts and (effect := _effect(tool, slot, contexts)):
            records = {record.index for context in contexts for record in context.records.values()}
            effect.evidence = tuple(sorted(records))[:12]
            found[slot.path] = effect
    return found


def _effect(tool: ProbedTool, slot: Slot, contexts: list[_Context]) -> Effect | None:
    if all(len(set(context.digests.values())) == 1 for context in contexts):
        values = {key: value for context in contexts for key, value in context.values.items()}
        if slot.type == "integer" and not any(map(_would_bite, contexts)):
            return None  # a bound or a page: that more makes no difference is what it may be for
        is_varied = len(contexts) >= 2 or (len(tool.slots) == 1 and slot.type != "boolean")
        fitting = sum(fits(value, slot) for context in contexts for value in context.values.values())
        enough = is_varied and fitting >= 2 and (len(values) >= 2 or slot.type == "boolean")
        return Effect(none=True) if enough else None
    if idle := _idle(tool, slot, contexts):
        return Effect(idle=idle)
    beyond = _saturation(slot, contexts)
    return Effect(beyond=beyond) if beyond is not None else None


def _idle(tool: ProbedTool, slot: Slot, contexts: list[_Context]) -> tuple[Any, ...]:
    """Give the declared values, all but one, that do as their absence does, in every context."""
    stated = {dumps(value): value for value in (*declared(slot), *described(slot, tool.spec.description))}
    if slot.type not in ("string", "any") or (not slot.schema.get("enum") and len(stated) < 3):
        return ()
    whole = [context for context in contexts if _ABSENT in context.digests]
    same = [{key for key, found in one.digests.items() if found == one.digests[_ABSENT]} for one in whole]
    idle = [key for key in (whole[0].values if whole else ()) if key in stated and all(key in one for one in same)]
    default = dumps(slot.schema.get("default"))
    rest = [stated[key] for key in idle if key != default]
    # without a declared default one of them may be it, and doing as the default does is right for that one
    enough = 1 if default in idle and len(contexts) >= 2 else 2
    return tuple(rest) if len(rest) >= enough else ()


def _saturation(slot: Slot, contexts: list[_Context]) -> float | None:
    """Give the number from which on a larger one, still declared, gives no more; the same in two different contexts."""
    top = top_of(slot)
    if slot.type not in ("integer", "number") or top is None:
        return None
    limits: dict[str, tuple[float, int]] = {}
    for context in contexts:
        numeric = [(value, key) for key, value in context.values.items() if is_number(value) and fits(value, slot)]
        numbers = sorted(numeric, key=lambda pair: pair[0])
        if len(numbers) < 3 or numbers[-1][0] < 0.9 * top:
            continue
        last = numbers[-1][1]
        same = [value for value, key in numbers if context.digests[key] == context.digests[last]]
        if 2 <= len(same) < len(numbers) and same[0] <= 0.9 * top:
            limits.setdefault(context.digests[last], (same[0], _longest(_result(context.records[last]))))
    if len(limits) < 2 or len({length for _, length in limits.values()}) != 1:
        return None
    return max(value for value, _ in limits.values())


def _contexts(tool: ProbedTool, slot: Slot, unstable: frozenset[str]) -> list[_Context]:
    groups: dict[str, _Context] = {}
    for record in tool.works():
        values = dict(record.values)
        value = values.pop(slot.path, None)
        key = _ABSENT if value is None else dumps(value)
        context = groups.setdefault(dumps([values, record.epoch]), _Context())
        # what differs by itself, and what echoes the argument, is left out
        kept = [
            (path, one)
            for path, one in _leaves(_result(record))
            if _shape(path) not in unstable and (value is None or str(one) != str(value))
        ]
        context.digests.setdefault(key, digest(kept))
        context.records.setdefault(key, record)
        if value is not None:
            context.values.setdefault(key, value)
    return list(groups.values())


def _result(record: ProbeRecord) -> Any:
    return inner(parsed(record.answer.content))


def _shape(path: str) -> str:
    return ".".join("*" if part.isdigit() else part for part in path.split("."))


def _leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Give every scalar of a value with its path, list entries by number."""
    value = inner(value)
    if isinstance(value, Mapping | list) and value and depth < 12:
        for name, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _leaves(item, f"{path}.{name}" if path else str(name), depth + 1)
    else:
        yield path, value


def _longest(value: Any, depth: int = 0) -> int:
    """Give the length of the longest list in a value."""
    value = inner(value)
    if depth > 8 or not isinstance(value, Mapping | list):
        return 0
    inside = value[:20] if isinstance(value, list) else value.values()
    own = len(value) if isinstance(value, list) else 0
    return max([own, *(_longest(item, depth + 1) for item in inside)])


def _would_bite(context: _Context) -> bool:
    """Whether some number tried is smaller than the longest list of the results: it ought to have cut it."""
    longest = max((_longest(_result(record)) for record in context.records.values()), default=0)
    return any(is_number(value) and 0 < value < longest for value in context.values.values())
