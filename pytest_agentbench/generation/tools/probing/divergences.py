"""Where a tool does other than it declares: what it needs, which conforming values it takes, what has no effect.

What it refuses beyond its declaration is no divergence where its words state the restriction, nor is an unknown id.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.probing.candidates import (
    PLACES,
    bounds,
    declared,
    described,
    described_span,
    fits,
)
from pytest_agentbench.generation.tools.probing.effects import Effect
from pytest_agentbench.generation.tools.probing.laboratory import Subject, Trial
from pytest_agentbench.generation.tools.probing.oracle import is_silent
from pytest_agentbench.generation.tools.probing.outputs import missing_fields, output_of, undocumented_codes
from pytest_agentbench.generation.tools.probing.schemas import Slot, plain
from pytest_agentbench.generation.tools.probing.strangers import worked
from pytest_agentbench.generation.tools.values import Divergence

_RESTRICTS = re.compile(
    r"\b(?:only|within|limited to|restricted|must be|except|excluding|not (?:in|for)|uniquement|seulement|limité|sauf"
    r"|mainland|metropolitan|métropolitaine?)\b",
    re.I,
)
_EXTREME = 10**6
"""Numbers from which a refusal without declared bounds says nothing, and twenty times the characters likewise."""


def divergences_of(subject: Subject, effects: Mapping[str, Effect]) -> tuple[Divergence, ...]:
    """Give the divergences of a tool, those of its arguments in declared order, then its own."""
    found: list[Divergence] = []
    for slot in subject.slots:
        found += _needs(subject, slot)
        found += _domain(subject, slot)
        found += _effect(slot, effects.get(slot.path))
    found += _lies(subject)
    found += _output(subject)
    if subject.trials and not subject.gives() and (empty := [trial for trial in subject.trials if _is_silent(trial)]):
        needed = next((slot.path for slot in subject.slots if slot.required), "")
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


def required_in_fact(subject: Subject, slot: Slot) -> tuple[bool | None, list[Trial]]:
    """Say whether an argument is needed, as far as calls show, and by which of them."""
    without = [trial for trial in subject.trials if not _holds(trial, slot)]
    accepted = [trial for trial in without if trial.ok]
    if accepted:
        return False, accepted[:3]
    twins = {_rest(trial, slot): trial for trial in worked(subject) if _holds(trial, slot)}
    failed = [
        trial
        for trial in without
        if _rest(trial, slot) in twins and (trial.verdict in ("refused", "broken") or _is_silent(trial))
    ]
    return (True, failed[:3]) if failed else (None, [])


def _needs(subject: Subject, slot: Slot) -> Iterator[Divergence]:
    needed, trials = required_in_fact(subject, slot)
    if needed is None or needed == slot.required or ("." in slot.path and not _top_required(subject, slot)):
        return
    if needed:
        default = f", default {slot.schema['default']!r}" if "default" in slot.schema else ""
        said = shorten(trials[0].judged.reason or "an empty answer", 160)
        actual = f"without it: {said}"
        yield Divergence(
            kind="required_in_fact",
            parameter=slot.path,
            declared=f"optional{default}",
            actual=actual,
            evidence=_indexes(trials),
        )
    else:
        yield Divergence(
            kind="optional_in_fact",
            parameter=slot.path,
            declared="required",
            actual="accepted without it",
            evidence=_indexes(trials),
        )


def _domain(subject: Subject, slot: Slot) -> Iterator[Divergence]:
    """Give what conforming values meet: failures of the tool's own, silence, or refusals of what is declared."""
    groups: dict[str, list[tuple[Any, Trial]]] = {"breaks": [], "silent_empty": [], "narrower": []}
    for value, trial in unaccepted(subject, slot):
        conforms = fits(value, slot)
        if trial.verdict == "empty":
            if _is_silent(trial):
                groups["silent_empty"].append((value, trial))
        elif conforms and trial.verdict == "broken" and not _is_extreme(value, slot):
            groups["breaks"].append((value, trial))
        elif conforms and trial.verdict == "refused" and _is_promised(subject, slot, value):
            groups["narrower"].append((value, trial))
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
                evidence=_indexes([trial for _, trial in found]),
            )


def unaccepted(subject: Subject, slot: Slot) -> Iterator[tuple[Any, Trial]]:
    """Give the values of an argument with which a call failed that works otherwise, with the calls.

    The two calls differ in this argument alone, or in a latitude and a longitude, whose domain is one.
    """
    works = worked(subject) or [trial for trial in subject.trials if trial.verdict == "empty"][:1]
    is_part_of_pair = bool({"latitude", "longitude"} & set(words(slot.name)))
    alone: dict[str, int] = {}
    for trial in works:
        if _holds(trial, slot):
            alone.setdefault(_rest(trial, slot), trial.epoch)
    for trial in subject.trials:
        if trial.ok or trial in works or trial.verdict == "environment" or not _holds(trial, slot):
            continue
        value = trial.values[slot.path]
        if trial.epoch >= alone.get(_rest(trial, slot), trial.epoch + 1) or (
            is_part_of_pair and trial.kind in ("nominal", "observed") and _is_place(subject, trial)
        ):
            yield value, trial


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


def _lies(subject: Subject) -> Iterator[Divergence]:
    lies = [trial for trial in subject.trials if trial.judged.reason.startswith("reported as a success")]
    if lies:
        yield Divergence(
            kind="failure_reported_as_success",
            declared="failures are flagged",
            actual=shorten(lies[0].judged.reason, 200),
            evidence=_indexes(lies),
        )


def _output(subject: Subject) -> Iterator[Divergence]:
    """Give where results are not as declared: fields missing or of another type, codes that nothing explains."""
    returns = subject.spec.returns
    if not returns:
        return
    for path, codes in undocumented_codes(returns, output_of(subject.gives())):
        shown = ", ".join(map(str, codes))
        yield Divergence(kind="undocumented_codes", parameter=path, declared="a whole number", actual=f"codes: {shown}")
    silent = [trial for trial in subject.trials if _is_silent(trial) and _conforms(subject, trial)]
    needed = plain(returns, returns).get("required")
    if silent and needed and subject.effect != "write":
        yield Divergence(
            kind="output",
            declared=f"{', '.join(map(str, needed))} in every result",
            actual=f"{shorten(silent[0].answer.content.strip() or 'nothing', 40)}, and no error, to calls that conform",
            evidence=_indexes(silent),
        )
    for path, why, trials in missing_fields(returns, subject.gives()):
        yield Divergence(
            kind="output", parameter=path, declared="in every result", actual=why, evidence=_indexes(trials)
        )


def _conforms(subject: Subject, trial: Trial) -> bool:
    """Whether a call holds every required argument and only values that its declarations admit."""
    values = trial.values
    slots = {slot.path: slot for slot in subject.slots}
    if any(slot.required and slot.path not in values for slot in subject.slots):
        return False
    return all(path in slots and fits(value, slots[path]) for path, value in values.items())


def _is_promised(subject: Subject, slot: Slot, value: Any) -> bool:
    """Whether the declaration names a value: itself, in words, within stated bounds, or as a place on Earth."""
    if any(dumps(value) == dumps(one) for one in declared(slot)):
        return True
    if _RESTRICTS.search(f"{slot.described} {subject.spec.description}"):
        return False
    if any(dumps(value) == dumps(one) for one in described(slot, subject.spec.description)):
        return True
    low, high = bounds(slot)
    if is_number(value) and low is not None and high is not None:
        return True
    span = described_span(slot)
    if is_number(value) and span is not None:
        return span[0] <= value <= span[1]
    return is_number(value) and any(value in pair for pair in PLACES)


def _is_extreme(value: Any, slot: Slot) -> bool:
    if isinstance(value, str):
        return len(value) > 500
    low, high = bounds(slot)
    return is_number(value) and abs(value) >= _EXTREME and (low is None or high is None)


def _is_place(subject: Subject, trial: Trial) -> bool:
    """Whether a call is about one of the known places, all else being as in a call that works."""
    pair = [
        (slot.path, trial.values.get(slot.path))
        for slot in subject.slots
        if {"latitude", "longitude"} & set(words(slot.name))
    ]
    if len(pair) != 2 or tuple(value for _, value in pair) not in PLACES:
        return False
    paths = [path for path, _ in pair]
    rest = dumps({path: value for path, value in trial.values.items() if path not in paths})
    return any(
        dumps({path: value for path, value in other.values.items() if path not in paths}) == rest
        for other in subject.gives()
    )


def _top_required(subject: Subject, slot: Slot) -> bool:
    """Whether an inner argument can be judged: what holds it is there whether or not it is."""
    head = slot.path.partition(".")[0]
    return any(
        other.required and other.path != slot.path and other.path.startswith(f"{head}.") for other in subject.slots
    )


def _top(slot: Slot) -> str:
    high = bounds(slot)[1]
    span = described_span(slot)
    top = high if high is not None else (span[1] if span else None)
    return f"{top:g}" if top is not None else "any number"


def _is_silent(trial: Trial) -> bool:
    return trial.verdict == "empty" and is_silent(trial.answer.content)


def _holds(trial: Trial, slot: Slot) -> bool:
    return slot.path in trial.values


def _rest(trial: Trial, slot: Slot) -> str:
    return dumps([trial.world, {path: value for path, value in trial.values.items() if path != slot.path}])


def _indexes(trials: list[Trial]) -> tuple[int, ...]:
    return tuple(sorted({trial.index for trial in trials}))[:10]
