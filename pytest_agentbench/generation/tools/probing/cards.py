"""Identity cards made of probes (Annex B): what a tool needs, accepts, gives and does wrong, each with its evidence."""

import statistics
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.challenge import STRANGE
from pytest_agentbench.generation.tools.probing.conforming import fits
from pytest_agentbench.generation.tools.probing.divergences import divergences_of, required_in_fact, unaccepted
from pytest_agentbench.generation.tools.probing.effects import Effect
from pytest_agentbench.generation.tools.probing.outputs import output_leaves, output_of
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord
from pytest_agentbench.generation.tools.values import Card, FailureMode, ParameterCard, Probe

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
    output = output_of(works)
    divergences = divergences_of(tool, effects)
    parameters = tuple(_parameter(tool, slot, effects.get(slot.path)) for slot in tool.slots)
    return Card(
        tool=tool.name,
        declared_description=tool.spec.description,
        actual_description=_actual(output, divergences),
        trigger=_trigger(tool),
        consumes=tuple(slot.path for slot in tool.slots),
        produces=tuple(dict.fromkeys(path or "text" for path, _ in output_leaves(output)))[:40] if works else (),
        parameters=parameters,
        output=output,
        failure_modes=_failures(tool),
        divergences=divergences,
        probes=tuple(_probe(record) for record in tool.records),
        writes=_writes(tool),
        destructive=tool.permission.effect == "destructive",
        latency=round(statistics.median(seconds), 4) if seconds else None,
        partial=_partial(tool),
        closed=_closed(tool),
        called=tool.permission.called,
        safety=tool.permission.why,
        cure=tool.permission.cure,
    )


def _probe(record: ProbeRecord) -> Probe:
    content = record.answer.content
    kept = content if len(content) <= SHOWN else f"{content[:SHOWN]}… ({len(content)} characters)"
    return Probe(
        kind=record.kind,
        arguments=_short(record.arguments),
        content=kept,
        error=record.answer.error,
        verdict=record.verdict,
        reason=shorten(record.judged.reason, 300),
        seconds=round(record.answer.seconds, 4),
    )


def _parameter(tool: ProbedTool, slot: Slot, effect: Effect | None) -> ParameterCard:
    accepted = _distinct(record.values[slot.path] for record in tool.works() if slot.path in record.values)
    refused = [
        value
        for value in _distinct(value for value, _ in unaccepted(tool, slot))
        if dumps(value) not in map(dumps, accepted)
    ]
    needed, _ = required_in_fact(tool, slot)
    return ParameterCard(
        path=slot.path,
        schema_={key: value for key, value in slot.schema.items() if len(dumps(value)) <= 2_000},
        declared_required=slot.required,
        required=needed,
        accepted=tuple(_short(value) for value in accepted[:_VALUES]),
        refused=tuple(_short(value) for value in refused[:_VALUES]),
        domain=_domain(slot, accepted, refused),
        no_effect=bool(effect and effect.none),
    )


def _domain(slot: Slot, accepted: list[Any], refused: list[Any]) -> str:
    """Say in words what is accepted: bounds of numbers, shape of texts, blanks around them."""
    if not accepted:
        return ""
    parts: list[str] = []
    numbers = [value for value in accepted if is_number(value)]
    if numbers and len(numbers) == len(accepted):
        low, high = min(numbers), max(numbers)
        parts.append(f"accepted from {low:g} to {high:g}")
        below = [value for value in refused if is_number(value) and value < low]
        above = [value for value in refused if is_number(value) and value > high]
        within = [value for value in refused if is_number(value) and low <= value <= high]
        parts += [f"refused from {max(below):g} down"] if below else []
        parts += [f"refused from {min(above):g} up"] if above else []
        parts += [f"refused in between: {', '.join(f'{value:g}' for value in within[:4])}"] if within else []
        return "; ".join(parts)
    texts = [value for value in accepted if isinstance(value, str)]
    turned_down = [value for value in refused if isinstance(value, str)]
    known = [value for value in texts if fits(value, slot)]
    if slot.schema.get("enum"):
        missing = [value for value in turned_down if value in slot.schema["enum"]]
        return f"declared values that are refused: {', '.join(missing)}" if missing else "the declared values"
    if turned_down:
        shape = _shape(known)
        parts.append(f"known values only{f', {shape}' if shape else ''}")
        if "" in turned_down:
            parts.append("not blank")
        if any(value != value.strip() and value.strip() in texts for value in turned_down):
            parts.append("not padded with blanks")
        if any(value not in texts and value.lower() in {text.lower() for text in texts} for value in turned_down):
            parts.append("case matters")
    elif len(texts) > 2:
        parts.append("any text tried")
    return "; ".join(parts)


def _shape(texts: list[str]) -> str:
    if not texts or len(texts) < 2:
        return ""
    if all(text.isdigit() for text in texts):
        lengths = sorted({len(text) for text in texts})
        return f"{lengths[0]} digits" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]} digits"
    lengths = sorted({len(text) for text in texts})
    return f"{lengths[0]} characters" if len(lengths) == 1 and lengths[0] > 1 else ""


def _failures(tool: ProbedTool) -> tuple[FailureMode, ...]:
    found: dict[tuple[str, str], FailureMode] = {}
    for record in tool.records:
        if record.ok:
            continue
        slot = _varied(tool, record)
        when = f"{record.kind.replace('_', ' ')}{f' {slot}' if slot else ''}: {record.verdict}"
        key = (f"{slot}{record.verdict}", record.judged.reason[:40])
        mode = FailureMode(when=when, example=_short(record.arguments), answer=shorten(record.answer.content, 400))
        found.setdefault(key, mode)
    return tuple(found.values())[:_MODES]


def _varied(tool: ProbedTool, record: ProbeRecord) -> str:
    """Name the argument in which a call differs from the one that works, "" where it is not one alone."""
    if tool.base is None:
        return ""
    base = tool.base.values
    values = record.values
    differing = [path for path in base.keys() | values.keys() if dumps(base.get(path)) != dumps(values.get(path))]
    return differing[0] if len(differing) == 1 else ""


def _closed(tool: ProbedTool) -> bool | None:
    strange = [record for record in tool.records if STRANGE in record.arguments]
    return None if not strange else any(record.verdict in ("refused", "broken") for record in strange)


def _writes(tool: ProbedTool) -> bool | None:
    seen = [record.answer.wrote for record in tool.records if record.ok]
    if any(seen):
        return True
    if seen and all(one is False for one in seen):
        return False
    return {"read": False, "write": True, "destructive": True}.get(tool.permission.effect)


def _actual(output: Mapping[str, Any], divergences: Any) -> str:
    parts: list[str] = []
    names = [path or "text" for path, _ in output_leaves(output)] if output else []
    if names:
        parts.append(f"gives {', '.join(names[:12])}{' …' if len(names) > 12 else ''}")
    sometimes = _sometimes(output)
    if sometimes:
        parts.append(f"only in some results: {', '.join(sometimes[:8])}")
    parts += [f"{one.parameter or 'the tool'}: {one.actual}" for one in divergences]
    return "; ".join(parts)


def _sometimes(schema: Mapping[str, Any], path: str = "") -> list[str]:
    found: list[str] = []
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        required = schema.get("required") or ()
        for name, part in properties.items():
            step = f"{path}.{name}" if path else str(name)
            found += [step] if name not in required else _sometimes(part, step)
    items = schema.get("items")
    if isinstance(items, Mapping):
        found += _sometimes(items, f"{path}.*" if path else "*")
    return found


def _trigger(tool: ProbedTool) -> str:
    first = tool.spec.description.strip().split("\n", 1)[0]
    return shorten(first, 200)


def _partial(tool: ProbedTool) -> str:
    if not tool.permission.called:
        return f"not called: {tool.permission.why}"
    if tool.given_up:
        return f"probing stopped: {shorten(tool.given_up, _FAULT)}"
    if tool.records and all(record.verdict == "environment" for record in tool.records):
        return f"the environment is in the way: {shorten(tool.records[-1].judged.reason, _FAULT)}"
    if not tool.works():
        last = next((record for record in reversed(tool.records) if record.judged.reason), None)
        return f"no call was found that it accepts{f'; it says: {shorten(last.judged.reason, 200)}' if last else ''}"
    if tool.permission.gently:
        return "probed with few calls, since they cannot be undone"
    return ""


def _distinct(values: Any) -> list[Any]:
    return list({dumps(value): value for value in values}.values())


def _short(value: Any) -> Any:
    """Give a value with texts that a file need not hold whole cut off."""
    if isinstance(value, str):
        return shorten(value, 500)
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return [_short(item) for item in value] if isinstance(value, list) else value
