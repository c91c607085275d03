"""Where a tool does other than it declares: what it needs, which conforming values it takes, what has no effect.

What it refuses beyond what its declaration names or bounds is no divergence, nor is an unknown id.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import is_number
from pytest_agentbench.core.text import shorten
from pytest_agentbench.generation.tools.data_types import Divergence
from pytest_agentbench.generation.tools.probing.effects import Effect
from pytest_agentbench.generation.tools.probing.outputs import missing_fields, output_of, undocumented_codes
from pytest_agentbench.generation.tools.probing.schema_values import (
    bounds,
    declared,
    described,
    described_span,
    fits,
    top_of,
)
from pytest_agentbench.generation.tools.probing.schemas import Slot, plain
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord
from pytest_agentbench.generation.tools.probing.verdicts import is_silent

_EXTREME = 10**6
"""Numbers from which a refusal without declared bounds says nothing, and twenty times the characters likewise."""
_DOMAIN = {
    "breaks": ("any conforming value", "fails on its own side with"),
    "silent_empty": ("an error, or an answer", "answers with nothing, and no error, to"),
    "narrower": ("accepted by its declaration", "refuses"),
}
"""What is declared of a conforming value, and what the tool does with it."""


def divergences_of(tool: ProbedTool, effects: Mapping[str, Effect]) -> tuple[Divergence, ...]:
    """Give the divergences of a tool, those of its arguments in declared order, then its own."""
    found: list[Divergence] = []
    for slot in tool.slots:
        found += _needs(tool, slot)
        found += _domain(tool, slot)
        found += _effect(slot, effects.get(slot.path, Effect()))
    found += _whole(tool)
    empty = [] if tool.works() else [record for record in tool.records if _is_silent(record)]
    needed = next((slot.path for slot in tool.slots if slot.required), "")
    if empty and not any((one.parameter, one.kind) == (needed, "silent_empty") for one in found):
        actual = f"{len(empty)} conforming calls were answered without content"
        found.append(_divergence("never_gives_content", needed, "an answer", actual, empty))
    first: dict[tuple[str, str], Divergence] = {}
    for one in found:
        first.setdefault((one.kind, one.parameter), one)
    return tuple(first.values())


def required_in_fact(tool: ProbedTool, slot: Slot) -> tuple[bool | None, list[ProbeRecord]]:
    """Say whether an argument is needed, as far as calls show, and by which of them."""
    without = [record for record in tool.records if slot.path not in record.values]
    if accepted := [record for record in without if record.ok]:
        return False, accepted[:3]
    rests = {record.rest(slot.path) for record in tool.worked() if slot.path in record.values}
    failed = [one for one in without if one.verdict in ("refused", "broken") or _is_silent(one)]
    failed = [one for one in failed if one.rest(slot.path) in rests]
    return (True, failed[:3]) if failed else (None, [])


def unaccepted(tool: ProbedTool, slot: Slot) -> list[ProbeRecord]:
    """Give the calls that another value of an argument kept from working; where none works, from an empty answer."""
    works = tool.worked() or [record for record in tool.records if record.verdict == "empty"][:1]
    with_it = [record for record in works if slot.path in record.values]
    return [record for record in tool.failed_alone(slot.path, with_it) if not any(record is one for one in works)]


def _needs(tool: ProbedTool, slot: Slot) -> Iterator[Divergence]:
    needed, records = required_in_fact(tool, slot)
    head = slot.path.partition(".")[0]
    is_inner = "." in slot.path  # to be judged, what holds it must be there whether or not it is
    held = any(one.required and one.path != slot.path and one.path.startswith(f"{head}.") for one in tool.slots)
    if needed is None or needed == slot.required or (is_inner and not held):
        return
    if needed:
        default = f", default {slot.schema['default']!r}" if "default" in slot.schema else ""
        said = shorten(records[0].judged.reason or "an empty answer", 160)
        yield _divergence("required_in_fact", slot.path, f"optional{default}", f"without it: {said}", records)
    else:
        yield _divergence("optional_in_fact", slot.path, "required", "accepted without it", records)


def _domain(tool: ProbedTool, slot: Slot) -> Iterator[Divergence]:
    """Give what conforming values meet: failures of the tool's own, silence, or refusals of what is declared."""
    groups: dict[str, list[ProbeRecord]] = {kind: [] for kind in _DOMAIN}
    for record in unaccepted(tool, slot):
        value = record.values[slot.path]
        if record.verdict == "empty":
            groups["silent_empty"] += [record] if _is_silent(record) else []
        elif fits(value, slot) and record.verdict == "broken":
            groups["breaks"] += [record] if not _is_extreme(value, slot) else []
        elif fits(value, slot) and _is_promised(tool, slot, value):
            groups["narrower"].append(record)
    for kind, found in groups.items():
        if found:
            says, does = _DOMAIN[kind]
            shown = ", ".join(shorten(dumps(record.values[slot.path]), 30) for record in found[:5])
            yield _divergence(kind, slot.path, says, f"{does} {shown}", found)


def _effect(slot: Slot, effect: Effect) -> Iterator[Divergence]:
    shown = ", ".join(dumps(value) for value in effect.idle[:8])
    top = top_of(slot)
    most = f"{top:g}" if top is not None else "any number"
    rows = (
        (effect.none, "no_effect", shorten(slot.described, 120) or "an argument", "no value of it made a difference"),
        (effect.idle, "values_without_effect", "each value has its own effect", f"as without it: {shown}"),
        (
            effect.beyond is not None,
            "no_effect_beyond",
            f"up to {most}",
            f"more than {effect.beyond or 0:g} makes no difference",
        ),
    )
    for is_so, kind, says, does in rows:
        if is_so:
            yield Divergence(kind=kind, parameter=slot.path, declared=says, actual=does, evidence=effect.evidence)


def _whole(tool: ProbedTool) -> Iterator[Divergence]:
    """Give what is about the answer as a whole: unflagged failures, fields missing or of another type, bare codes."""
    if lies := [record for record in tool.records if record.judged.reason.startswith("reported as a success")]:
        said = shorten(lies[0].judged.reason, 200)
        yield _divergence("failure_reported_as_success", "", "failures are flagged", said, lies)
    returns = tool.spec.returns
    if not returns:
        return
    for path, codes in undocumented_codes(returns, output_of(tool.works())):
        shown = ", ".join(map(str, codes))
        yield _divergence("undocumented_codes", path, "a whole number", f"codes: {shown}", ())
    silent = [record for record in tool.records if _is_silent(record) and _conforms(tool, record)]
    needed = plain(returns, returns).get("required")
    if silent and needed and tool.effect != "write":
        answer = shorten(silent[0].answer.content.strip() or "nothing", 40)
        says = f"{', '.join(map(str, needed))} in every result"
        yield _divergence("output", "", says, f"{answer}, and no error, to calls that conform", silent)
    for path, why, records in missing_fields(returns, tool.works()):
        yield _divergence("output", path, "in every result", why, records)


def _divergence(kind: str, path: str, declared: str, actual: str, records: Iterable[ProbeRecord]) -> Divergence:
    indexes = tuple(sorted({record.index for record in records}))[:10]
    return Divergence(kind=kind, parameter=path, declared=declared, actual=actual, evidence=indexes)


def _conforms(tool: ProbedTool, record: ProbeRecord) -> bool:
    """Whether a call holds every required argument and only values that its declarations admit."""
    slots = {slot.path: slot for slot in tool.slots}
    has_all = all(path in record.values for path, slot in slots.items() if slot.required)
    return has_all and all(path in slots and fits(value, slots[path]) for path, value in record.values.items())


def _is_promised(tool: ProbedTool, slot: Slot, value: Any) -> bool:
    """Whether the declaration names a value: itself, as one that its description quotes, or within stated bounds."""
    if dumps(value) in map(dumps, (*declared(slot), *described(slot, tool.spec.description))):
        return True
    span = described_span(slot)
    return is_number(value) and (None not in bounds(slot) or (span is not None and span[0] <= value <= span[1]))


def _is_extreme(value: Any, slot: Slot) -> bool:
    return (
        len(value) > 500
        if isinstance(value, str)
        else is_number(value) and abs(value) >= _EXTREME and None in bounds(slot)
    )


def _is_silent(record: ProbeRecord) -> bool:
    return record.verdict == "empty" and is_silent(record.answer.content)
