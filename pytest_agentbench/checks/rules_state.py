"""What the state held at a point of a run, just before a call, whether or not anybody looked it up.

It is known as long as every write before the point was observed: the environment kept the state after each of them. It
is the initial state where there was none, and the final one where nothing was written from the point on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.checks.findings import value_text
from pytest_agentbench.checks.reckoning import NotThereError
from pytest_agentbench.checks.rules import InState
from pytest_agentbench.checks.rules_values import Facts
from pytest_agentbench.core.matchers import is_matcher, is_reference
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.values import JsonValue

_SAY_WHICH = "name in `at` an argument that each of these calls has"
_KNOWN_WHERE = (
    "the state is known where `environment.state` can be read between calls and writes do not overlap; declare tools "
    "that only read under `reads`"
)


@dataclass(frozen=True)
class Reading:
    """Whether the state was as asked for, None where that is not known; `why` says what it was, `cure` what to add."""

    holds: bool | None
    why: str
    cure: str = ""


def read_state(rule: InState, facts: Facts, message: int, call: int | None, subject: int | None) -> Reading:
    """Hold the state before a call (its position), else before a message, against what a rule asks for."""
    try:
        steps = [_key(facts.referred(step, subject)) if is_reference(step) else _key(step) for step in rule.at]
    except NotThereError:
        return Reading(None, "the call does not say which part of the state it is about", _SAY_WHICH)
    place = ".".join(map(printable, steps))
    state = _state_before(facts, message, call)
    if state is None:
        return Reading(None, f"what {place} was then is not known", _KNOWN_WHERE)
    found: JsonValue = state
    for depth, (step, written) in enumerate(zip(steps, rule.at, strict=True)):
        inner = _at(found, step)
        if inner is _NOTHING:
            cure = "" if is_reference(written) else _meant(step, found)
            above = ".".join(map(printable, steps[:depth])) or "the state"
            return (
                Reading(None, f"{above} has no {step!r}", cure)
                if cure
                else Reading(False, f"while there was no {place}")
            )
        found = inner
    if (mistake := _misspelt(rule.value, found)) is not None:
        return Reading(None, f"{place} has no {mistake[0]!r}", mistake[1])
    named = {key: found[key] for key in rule.value if key in found} if _is_row(rule.value, found) else None
    shown = named or found
    holds = facts.holds(rule.value, found, subject)
    if holds is None:
        doubt = facts.doubt(subject, rule.value)
        return Reading(None, doubt.why, doubt.cure)
    if holds:
        return Reading(True, f"while {place} was {value_text(shown)}")
    return Reading(False, f"while {place} was {value_text(shown)}, not {value_text(facts.told(rule.value))}")


_NOTHING: Any = object()


def _state_before(facts: Facts, message: int, call: int | None) -> State | None:
    run = facts.run
    records = run.made
    if call is not None:
        start = next((at for at, record in enumerate(records) if record is facts.calls[call]), None)
    else:
        start = next((at for at, record in enumerate(records) if record.message >= message), len(records))
    if start is None:  # a call of the conversation that the scenario begins with
        return None
    observed = [record.result is not None and record.result.wrote is True for record in records]
    effects = [wrote(record, run.toolset) for record in records]
    if not any(effect is not False for effect in effects[start:]) and run.final_state is not None:
        return run.final_state
    if any(effect is not False and not seen for effect, seen in zip(effects[:start], observed[:start], strict=True)):
        return None
    writes = sum(observed[:start])
    if not writes:
        return run.initial_state
    return run.states[writes - 1] if len(run.states) == sum(observed) else None


def _at(value: JsonValue, step: str) -> JsonValue:
    if isinstance(value, dict):
        return value.get(step, _NOTHING)
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return _NOTHING


def _key(step: JsonValue) -> str:
    whole = isinstance(step, float) and step.is_integer()
    return str(int(step) if whole else step)


def _meant(name: str, found: JsonValue) -> str:
    """Say what a name of the suite's own was to be that is not there, or nothing where it is like none that is."""
    if not isinstance(found, dict):
        return ""
    parts = name.split(".")
    if parts[0] in found and len(parts) > 1:
        return f"write each key by itself: [{', '.join(parts)}]"
    return suggestion(name, found)


def _is_row(value: Any, found: JsonValue) -> bool:
    """Whether a rule names keys, and there is something that has keys."""
    return isinstance(value, Mapping) and not is_matcher(value) and isinstance(found, dict)


def _misspelt(value: Any, found: JsonValue) -> tuple[str, str] | None:
    """Give a key that differs in a letter or two from one that is there, and that one: nobody could ever have it."""
    if not _is_row(value, found):
        return None
    return next(
        ((key, near) for key in value if key not in found and (near := suggestion(key, set(found) - set(value)))), None
    )
