"""Identity cards made of probes (Annex B): what a tool needs, accepts, gives and does wrong, each with its evidence."""

import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import is_number
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.tools.data_types import Card, Divergence, FailureMode, ParameterCard, Probe
from pytest_agentbench.generation.tools.probing.challenge import STRANGE
from pytest_agentbench.generation.tools.probing.divergences import divergences_of, required_in_fact, unaccepted
from pytest_agentbench.generation.tools.probing.effects import Effect
from pytest_agentbench.generation.tools.probing.outputs import output_leaves, output_of
from pytest_agentbench.generation.tools.probing.schema_values import distinct, fits
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord

SHOWN = 6_000
"""Characters of a result that a card keeps: enough for what scenarios quote, and a card stays readable."""
_VALUES = 12
_MODES = 12
_FAULT = 600
"""Characters of what an environment was faulted for: first comes the command that started it, and then the reason."""


def card_of(tool: ProbedTool, effects: Mapping[str, Effect]) -> Card:
    """Make the card of a tool from what was probed of it."""
    works = tool.works()
    seconds = [record.answer.seconds for record in tool.records if not record.answer.hung]
    strange = [record for record in tool.records if STRANGE in record.arguments]
    output = output_of(works)
    divergences = divergences_of(tool, effects)
    return Card(
        tool=tool.name,
        declared_description=tool.spec.description,
        actual_description=_actual(output, divergences),
        trigger=shorten(tool.spec.description.strip().split("\n", 1)[0], 200),
        consumes=tuple(slot.path for slot in tool.slots),
        produces=tuple(dict.fromkeys(path or "text" for path, _ in output_leaves(output)))[:40] if works else (),
        parameters=tuple(_parameter(tool, slot, effects.get(slot.path, Effect())) for slot in tool.slots),
        output=output,
        failure_modes=_failures(tool),
        divergences=divergences,
        probes=tuple(_probe(record) for record in tool.records),
        writes=_writes(tool),
        destructive=tool.permission.effect == "destructive",
        latency=round(statistics.median(seconds), 4) if seconds else None,
        partial=_partial(tool),
        closed=any(record.verdict in ("refused", "broken") for record in strange) if strange else None,
        called=tool.permission.called,
        safety=tool.permission.why,
        cure=tool.permission.cure,
        opener=tool.opener,
    )


def _probe(record: ProbeRecord) -> Probe:
    content = record.answer.content
    return Probe(
        kind=record.kind,
        arguments=_short(record.arguments),
        content=content if len(content) <= SHOWN else f"{content[:SHOWN]}… ({len(content)} characters)",
        error=record.answer.error,
        verdict=record.verdict,
        reason=shorten(record.judged.reason, 300),
        seconds=round(record.answer.seconds, 4),
    )


def _parameter(tool: ProbedTool, slot: Slot, effect: Effect) -> ParameterCard:
    accepted = distinct(record.values[slot.path] for record in tool.works() if slot.path in record.values)
    taken = set(map(dumps, accepted))
    refused = distinct(record.values[slot.path] for record in unaccepted(tool, slot))
    refused = [value for value in refused if dumps(value) not in taken]
    return ParameterCard(
        path=slot.path,
        schema_={key: value for key, value in slot.schema.items() if len(dumps(value)) <= 2_000},
        declared_required=slot.required,
        required=required_in_fact(tool, slot)[0],
        accepted=tuple(_short(value) for value in accepted[:_VALUES]),
        refused=tuple(_short(value) for value in refused[:_VALUES]),
        domain="; ".join(_domain(slot, accepted, refused)),
        no_effect=effect.none,
    )


def _domain(slot: Slot, accepted: list[Any], refused: list[Any]) -> Iterable[str]:
    """Say in words what is accepted: bounds of numbers, shape of texts, blanks around them."""
    numbers = [value for value in accepted if is_number(value)]
    if numbers and len(numbers) == len(accepted):
        low, high = min(numbers), max(numbers)
        beyond = [value for value in refused if is_number(value)]
        below, above = (
            max((v for v in beyond if v < low), default=None),
            min((v for v in beyond if v > high), default=None),
        )
        within = ", ".join(f"{value:g}" for value in [value for value in beyond if low <= value <= high][:4])
        yield f"accepted from {low:g} to {high:g}"
        yield from [f"refused from {below:g} down"] if below is not None else []
        yield from [f"refused from {above:g} up"] if above is not None else []
        yield from [f"refused in between: {within}"] if within else []
        return
    texts = [value for value in accepted if isinstance(value, str)]
    wrong = [value for value in refused if isinstance(value, str)]
    if slot.schema.get("enum"):
        missing = ", ".join(value for value in wrong if value in slot.schema["enum"])
        if accepted:
            yield f"declared values that are refused: {missing}" if missing else "the declared values"
    elif accepted and wrong:
        shape = _shape([value for value in texts if fits(value, slot)])
        lower = {text.lower() for text in texts}
        yield f"known values only{f', {shape}' if shape else ''}"
        yield from ["not blank"] if "" in wrong else []
        yield from ["not padded with blanks"] if any(v != v.strip() and v.strip() in texts for v in wrong) else []
        yield from ["case matters"] if any(v not in texts and v.lower() in lower for v in wrong) else []
    elif len(texts) > 2:
        yield "any text tried"


def _shape(texts: list[str]) -> str:
    lengths = sorted({len(text) for text in texts})
    if len(texts) > 1 and all(text.isdigit() for text in texts):
        return f"{lengths[0]} digits" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]} digits"
    return f"{lengths[0]} characters" if len(texts) > 1 and len(lengths) == 1 and lengths[0] > 1 else ""


def _failures(tool: ProbedTool) -> tuple[FailureMode, ...]:
    """Give the ways to fail, each with its first call: by the argument that alone differs from the call that works."""
    base = tool.base.values if tool.base is not None else {}
    found: dict[tuple[str, str], FailureMode] = {}
    for record in tool.records:
        values = record.values
        differing = [path for path in base.keys() | values.keys() if dumps(base.get(path)) != dumps(values.get(path))]
        slot = differing[0] if tool.base is not None and len(differing) == 1 else ""
        when = f"{record.kind.replace('_', ' ')}{f' {slot}' if slot else ''}: {record.verdict}"
        if not record.ok:
            answer = shorten(record.answer.content, 400)
            mode = FailureMode(when=when, example=_short(record.arguments), answer=answer)
            found.setdefault((f"{slot}{record.verdict}", record.judged.reason[:40]), mode)
    return tuple(found.values())[:_MODES]


def _writes(tool: ProbedTool) -> bool | None:
    seen = [record.answer.wrote for record in tool.records if record.ok]
    if any(seen) or (seen and all(one is False for one in seen)):
        return any(seen)
    return {"read": False, "write": True, "destructive": True}.get(tool.permission.effect)


def _actual(output: Mapping[str, Any], divergences: Iterable[Divergence]) -> str:
    names = [path or "text" for path, _ in output_leaves(output)] if output else []
    sometimes = _sometimes(output)
    parts = [f"gives {', '.join(names[:12])}{' …' if len(names) > 12 else ''}"] if names else []
    parts += [f"only in some results: {', '.join(sometimes[:8])}"] if sometimes else []
    return "; ".join([*parts, *(f"{one.parameter or 'the tool'}: {one.actual}" for one in divergences)])


def _sometimes(schema: Mapping[str, Any], path: str = "") -> list[str]:
    found: list[str] = []
    for name, part in schema.get("properties", {}).items():
        step = f"{path}.{name}" if path else str(name)
        found += _sometimes(part, step) if name in schema.get("required", ()) else [step]
    return [*found, *(_sometimes(schema["items"], f"{path}.*" if path else "*") if "items" in schema else [])]


def _partial(tool: ProbedTool) -> str:
    if not tool.permission.called:
        return f"not called: {tool.permission.why}"
    if tool.given_up:
        return f"probing stopped: {shorten(tool.given_up, _FAULT)}"
    if tool.records and all(record.verdict == "environment" for record in tool.records):
        return f"the environment is in the way: {shorten(tool.records[-1].judged.reason, _FAULT)}"
    if not tool.works():
        whole = [one for one in tool.records if one.kind == "nominal"] or tool.records
        said = next((record.judged.reason for record in reversed(whole) if record.judged.reason), "")
        answer = f"; it says: {shorten(printable(said), 160)}" if said else ""
        unknown = sorted(set().union(*(record.unknown for record in whole)))[:_MODES]
        cure = f"; values that exist help: `values: {{{unknown[0]}: […]}}` in the recipe" if unknown else ""
        return f"no call was found that it accepts{answer}{cure}"
    return "probed with few calls, since they cannot be undone" if tool.permission.gently else ""


def _short(value: Any) -> Any:
    """Give a value with texts that a file need not hold whole cut off."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return shorten(value, 500) if isinstance(value, str) else value
