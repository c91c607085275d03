"""Identity cards made of probes (Annex B): what a tool needs, accepts, gives and does wrong, each with its evidence."""

import statistics
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.candidates import fits
from pytest_agentbench.generation.tools.probing.challenge import STRANGE
from pytest_agentbench.generation.tools.probing.divergences import divergences_of, required_in_fact, unaccepted
from pytest_agentbench.generation.tools.probing.effects import Effect
from pytest_agentbench.generation.tools.probing.laboratory import Subject, Trial
from pytest_agentbench.generation.tools.probing.outputs import output_leaves, output_of
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.values import Card, FailureMode, ParameterCard, Probe

SHOWN = 6_000
"""Characters of a result that a card keeps: enough for what scenarios quote, and a card stays readable."""
_VALUES = 12
_MODES = 12
_FAULT = 600
"""Characters of what an environment was faulted for: first comes the command that started it, and then the reason."""


def card_of(subject: Subject, effects: Mapping[str, Effect]) -> Card:
    """Make the card of a tool from what was probed of it."""
    works = subject.gives()
    seconds = [trial.answer.seconds for trial in subject.trials if not trial.answer.hung]
    output = output_of(works)
    divergences = divergences_of(subject, effects)
    parameters = tuple(_parameter(subject, slot, effects.get(slot.path)) for slot in subject.slots)
    return Card(
        tool=subject.name,
        declared_description=subject.spec.description,
        actual_description=_actual(output, divergences),
        trigger=_trigger(subject),
        consumes=tuple(slot.path for slot in subject.slots),
        produces=tuple(dict.fromkeys(path or "text" for path, _ in output_leaves(output)))[:40] if works else (),
        parameters=parameters,
        output=output,
        failure_modes=_failures(subject),
        divergences=divergences,
        probes=tuple(_probe(trial) for trial in subject.trials),
        writes=_writes(subject),
        destructive=subject.permission.effect == "destructive",
        latency=round(statistics.median(seconds), 4) if seconds else None,
        partial=_partial(subject),
        closed=_closed(subject),
        called=subject.permission.called,
        safety=subject.permission.why,
        cure=subject.permission.cure,
    )


def _probe(trial: Trial) -> Probe:
    content = trial.answer.content
    kept = content if len(content) <= SHOWN else f"{content[:SHOWN]}… ({len(content)} characters)"
    return Probe(
        kind=trial.kind,
        arguments=_short(trial.arguments),
        content=kept,
        error=trial.answer.error,
        verdict=trial.verdict,
        reason=shorten(trial.judged.reason, 300),
        seconds=round(trial.answer.seconds, 4),
    )


def _parameter(subject: Subject, slot: Slot, effect: Effect | None) -> ParameterCard:
    accepted = _distinct(trial.values[slot.path] for trial in subject.gives() if slot.path in trial.values)
    refused = [
        value
        for value in _distinct(value for value, _ in unaccepted(subject, slot))
        if dumps(value) not in map(dumps, accepted)
    ]
    needed, _ = required_in_fact(subject, slot)
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


def _failures(subject: Subject) -> tuple[FailureMode, ...]:
    found: dict[tuple[str, str], FailureMode] = {}
    for trial in subject.trials:
        if trial.ok:
            continue
        slot = _varied(subject, trial)
        when = f"{trial.kind.replace('_', ' ')}{f' {slot}' if slot else ''}: {trial.verdict}"
        key = (f"{slot}{trial.verdict}", trial.judged.reason[:40])
        mode = FailureMode(when=when, example=_short(trial.arguments), answer=shorten(trial.answer.content, 400))
        found.setdefault(key, mode)
    return tuple(found.values())[:_MODES]


def _varied(subject: Subject, trial: Trial) -> str:
    """Name the argument in which a call differs from the one that works, "" where it is not one alone."""
    if subject.base is None:
        return ""
    base = subject.base.values
    values = trial.values
    differing = [path for path in base.keys() | values.keys() if dumps(base.get(path)) != dumps(values.get(path))]
    return differing[0] if len(differing) == 1 else ""


def _closed(subject: Subject) -> bool | None:
    strange = [trial for trial in subject.trials if STRANGE in trial.arguments]
    return None if not strange else any(trial.verdict in ("refused", "broken") for trial in strange)


def _writes(subject: Subject) -> bool | None:
    seen = [trial.answer.wrote for trial in subject.trials if trial.ok]
    if any(seen):
        return True
    if seen and all(one is False for one in seen):
        return False
    return {"read": False, "write": True, "destructive": True}.get(subject.permission.effect)


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


def _trigger(subject: Subject) -> str:
    first = subject.spec.description.strip().split("\n", 1)[0]
    return shorten(first, 200)


def _partial(subject: Subject) -> str:
    if not subject.permission.called:
        return f"not called: {subject.permission.why}"
    if subject.given_up:
        return f"probing stopped: {shorten(subject.given_up, _FAULT)}"
    if subject.trials and all(trial.verdict == "environment" for trial in subject.trials):
        return f"the environment is in the way: {shorten(subject.trials[-1].judged.reason, _FAULT)}"
    if not subject.gives():
        last = next((trial for trial in reversed(subject.trials) if trial.judged.reason), None)
        return f"no call was found that it accepts{f'; it says: {shorten(last.judged.reason, 200)}' if last else ''}"
    if subject.permission.gently:
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
