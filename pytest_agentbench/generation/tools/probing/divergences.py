"""Where a tool does other than it declares: what it needs, which conforming values it takes, what has no effect.

What it refuses beyond what its declaration names or bounds is no divergence, nor is an unknown id.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.conforming import (
    bounds,
    declared,
    described,
    described_span,
    fits,
)
from pytest_agentbench.generation.tools.probing.effects import Effect
from pytest_agentbench.generation.tools.probing.outputs import missing_fields, output_of, undocumented_codes
from pytest_agentbench.generation.tools.probing.schemas import Slot, plain
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord
from pytest_agentbench.generation.tools.probing.verdicts import is_silent
from pytest_agentbench.generation.tools.values import Divergence

_EXTREME = 10**6
"""Numbers from which a refusal without declared bounds says nothing, and twenty times the characters likewise."""


def divergences_of(tool: ProbedTool, effects: Mapping[str, Effect]) -> tuple[Divergence, ...]:
    """Give the divergences of a tool, those of its arguments in declared order, then its own."""
    found: list[Divergence] = []
    for slot in tool.slots:
        found += _needs(tool, slot)
        found += _domain(tool, slot)
        found += _effect(slot, effects.get(slot.path))
    found += _lies(tool)
    found += _output(tool)
    if tool.records and not tool.works() and (empty := [record for record in tool.records if _is_silent(record)]):
        needed = next((slot.path for slot in tool.slots if slot.required), "")
        if not any(one.parameter == needed and one.kind == "silent_empty" for one in found):
            found.append(
                Divergence(
                    kind="never_gives_content",
                    parameter=needed,
                    declared="an answer",
                    actual=f"{len(empty)} conforming calls were answered without content",
                    evidence=_indexes(empty),
                )
            )
    distinct = {(one.kind, one.parameter): one for one in reversed(found)}
    return tuple(distinct[key] for key in reversed(list(distinct)))


def required_in_fact(tool: ProbedTool, slot: Slot) -> tuple[bool | None, list[ProbeRecord]]:
    """Say whether an argument is needed, as far as calls show, and by which of them."""
    without = [record for record in tool.records if slot.path not in record.values]
    accepted = [record for record in without if record.ok]
    if accepted:
        return False, accepted[:3]
    twins = {record.rest(slot.path): record for record in tool.worked() if slot.path in record.values}
    failed = [
        record
        for record in without
        if record.rest(slot.path) in twins and (record.verdict in ("refused", "broken") or _is_silent(record))
    ]
    return (True, failed[:3]) if failed else (None, [])


def _needs(tool: ProbedTool, slot: Slot) -> Iterator[Divergence]:
    needed, records = required_in_fact(tool, slot)
    if needed is None or needed == slot.required or ("." in slot.path and not _top_required(tool, slot)):
        return
    if needed:
        default = f", default {slot.schema['default']!r}" if "default" in slot.schema else ""
        said = shorten(records[0].judged.reason or "an empty answer", 160)
        actual = f"without it: {said}"
        yield Divergence(
            kind="required_in_fact",
            parameter=slot.path,
            declared=f"optional{default}",
            actual=actual,
            evidence=_indexes(records),
        )
    else:
        yield Divergence(
            kind="optional_in_fact",
            parameter=slot.path,
            declared="required",
            actual="accepted without it",
            evidence=_indexes(records),
        )


def _domain(tool: ProbedTool, slot: Slot) -> Iterator[Divergence]:
    """Give what conforming values meet: failures of the tool's own, silence, or refusals of what is declared."""
    groups: dict[str, list[tuple[Any, ProbeRecord]]] = {"breaks": [], "silent_empty": [], "narrower": []}
    for value, record in unaccepted(tool, slot):
        conforms = fits(value, slot)
        if record.verdict == "empty":
            if _is_silent(record):
                groups["silent_empty"].append((value, record))
        elif conforms and record.verdict == "broken" and not _is_extreme(value, slot):
            groups["breaks"].append((value, record))
        elif conforms and record.verdict == "refused" and _is_promised(tool, slot, value):
            groups["narrower"].append((value, record))
    texts = {
        "breaks": ("any conforming value", "fails on its own side with"),
        "silent_empty": ("an error, or an answer", "answers with nothing, and no error, to"),
        "narrower": ("accepted by its declaration", "refuses"),
    }
    for kind, found in groups.items():
        if found:
            says, does = texts[kind]
            shown = ", ".join(shorten(dumps(value), 30) for value, _ in found[:5])
            yield Divergence(
                kind=kind,
                parameter=slot.path,
                declared=says,
                actual=f"{does} {shown}",
                evidence=_indexes([record for _, record in found]),
            )


def unaccepted(tool: ProbedTool, slot: Slot) -> Iterator[tuple[Any, ProbeRecord]]:
    """Give the values of an argument with which a call failed that works otherwise, with the calls: the two differ in
    this argument alone.
    """
    works = tool.worked() or [record for record in tool.records if record.verdict == "empty"][:1]
    alone: dict[str, int] = {}
    for record in works:
        if slot.path in record.values:
            alone.setdefault(record.rest(slot.path), record.epoch)
    for record in tool.records:
        if record.ok or record in works or record.verdict == "environment" or slot.path not in record.values:
            continue
        value = record.values[slot.path]
        if record.epoch >= alone.get(record.rest(slot.path), record.epoch + 1):
            yield value, record


def _effect(slot: Slot, effect: Effect | None) -> Iterator[Divergence]:
    if effect is None:
        return
    if effect.none:
        yield Divergence(
            kind="no_effect",
            parameter=slot.path,
            declared=shorten(slot.described, 120) or "an argument",
            actual="no value of it made a difference",
            evidence=effect.evidence,
        )
    if effect.idle:
        shown = ", ".join(dumps(value) for value in effect.idle[:8])
        yield Divergence(
            kind="values_without_effect",
            parameter=slot.path,
            declared="each value has its own effect",
            actual=f"as without it: {shown}",
            evidence=effect.evidence,
        )
    if effect.beyond is not None:
        yield Divergence(
            kind="no_effect_beyond",
            parameter=slot.path,
            declared=f"up to {_top(slot)}",
            actual=f"more than {effect.beyond:g} makes no difference",
            evidence=effect.evidence,
        )


def _lies(tool: ProbedTool) -> Iterator[Divergence]:
    lies = [record for record in tool.records if record.judged.reason.startswith("reported as a success")]
    if lies:
        yield Divergence(
            kind="failure_reported_as_success",
            declared="failures are flagged",
            actual=shorten(lies[0].judged.reason, 200),
            evidence=_indexes(lies),
        )


def _output(tool: ProbedTool) -> Iterator[Divergence]:
    """Give where results are not as declared: fields missing or of another type, codes that nothing explains."""
    returns = tool.spec.returns
    if not returns:
        return
    for path, codes in undocumented_codes(returns, output_of(tool.works())):
        shown = ", ".join(map(str, codes))
        yield Divergence(kind="undocumented_codes", parameter=path, declared="a whole number", actual=f"codes: {shown}")
    silent = [record for record in tool.records if _is_silent(record) and _conforms(tool, record)]
    needed = plain(returns, returns).get("required")
    if silent and needed and tool.effect != "write":
        yield Divergence(
            kind="output",
            declared=f"{', '.join(map(str, needed))} in every result",
            actual=f"{shorten(silent[0].answer.content.strip() or 'nothing', 40)}, and no error, to calls that conform",
            evidence=_indexes(silent),
        )
    for path, why, records in missing_fields(returns, tool.works()):
        yield Divergence(
            kind="output", parameter=path, declared="in every result", actual=why, evidence=_indexes(records)
        )


def _conforms(tool: ProbedTool, record: ProbeRecord) -> bool:
    """Whether a call holds every required argument and only values that its declarations admit."""
    values = record.values
    slots = {slot.path: slot for slot in tool.slots}
    if any(slot.required and slot.path not in values for slot in tool.slots):
        return False
    return all(path in slots and fits(value, slots[path]) for path, value in values.items())


def _is_promised(tool: ProbedTool, slot: Slot, value: Any) -> bool:
    """Whether the declaration names a value: itself, as one that its description quotes, or within stated bounds."""
    if any(dumps(value) == dumps(one) for one in declared(slot)):
        return True
    if any(dumps(value) == dumps(one) for one in described(slot, tool.spec.description)):
        return True
    low, high = bounds(slot)
    if is_number(value) and low is not None and high is not None:
        return True
    span = described_span(slot)
    return is_number(value) and span is not None and span[0] <= value <= span[1]


def _is_extreme(value: Any, slot: Slot) -> bool:
    if isinstance(value, str):
        return len(value) > 500
    low, high = bounds(slot)
    return is_number(value) and abs(value) >= _EXTREME and (low is None or high is None)


def _top_required(tool: ProbedTool, slot: Slot) -> bool:
    """Whether an inner argument can be judged: what holds it is there whether or not it is."""
    head = slot.path.partition(".")[0]
    return any(other.required and other.path != slot.path and other.path.startswith(f"{head}.") for other in tool.slots)


def _top(slot: Slot) -> str:
    high = bounds(slot)[1]
    span = described_span(slot)
    top = high if high is not None else (span[1] if span else None)
    return f"{top:g}" if top is not None else "any number"


def _is_silent(record: ProbeRecord) -> bool:
    return record.verdict == "empty" and is_silent(record.answer.content)


def _indexes(records: list[ProbeRecord]) -> tuple[int, ...]:
    return tuple(sorted({record.index for record in records}))[:10]
