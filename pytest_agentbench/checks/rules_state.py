"""What the state held at a point of a run, just before a call, whether or not anybody looked it up.

It is known as long as every write before the point was observed: the environment kept the state after each of them. It
is the initial state where there was none, and the final one where nothing was written from the point on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.checks.rules import InState
from pytest_agentbench.checks.rules_values import Facts, NotThereError
from pytest_agentbench.checks.wording import value_text
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
    if steps[0] not in state and (near := suggestion(steps[0], state)):
        return Reading(None, f"the state has no {steps[0]!r}", near)
    found: JsonValue = state
    for step in steps:
        found = _at(found, step)
        if found is _NOTHING:
            return Reading(False, f"while there was no {place}")
    if (mistake := _misspelt(rule.value, found)) is not None:
        return Reading(None, f"{place} has no {mistake[0]!r}", mistake[1])
    shown = {key: found.get(key) for key in rule.value} if _is_plain(rule.value) and isinstance(found, dict) else found
    if facts.holds(rule.value, found, subject):
        return Reading(True, f"while {place} was {value_text(shown)}")
    return Reading(False, f"while {place} was {value_text(shown)}, not {value_text(rule.value)}")


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


def _is_plain(value: Any) -> bool:
    return isinstance(value, Mapping) and not is_matcher(value)


def _misspelt(value: Any, found: JsonValue) -> tuple[str, str] | None:
    """Give a key that differs in a letter or two from one that is there, and that one: nobody could ever have it."""
    if not _is_plain(value) or not isinstance(found, dict):
        return None
    return next(
        ((key, near) for key in value if key not in found and (near := suggestion(key, set(found) - set(value)))), None
    )
