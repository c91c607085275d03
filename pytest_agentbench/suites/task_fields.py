"""The fields of scenarios as files hold them: a task's own, and ours beside them, both ways without loss."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pydantic import ValidationError

from pytest_agentbench.core.acts import ACT_KINDS, Line
from pytest_agentbench.core.approvals import DECISIONS
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.scenario import ExpectedCall, Scenario, ScenarioKeys, Session, Task
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.core.written import Written
from pytest_agentbench.messages.content import UnreadableError
from pytest_agentbench.messages.reading import read
from pytest_agentbench.suites.calls import (
    HANDOFF,
    approval_form,
    approvals_of,
    call_form,
    calls_of,
    handoffs_of,
    is_handoff,
)
from pytest_agentbench.suites.reply_form import read_replies, reply_forms

EXTRAS_KEY = "agentbench"
"""The key of a task in a format of others under which our own fields stand."""

_PLAIN = ("unknown", *(name for name in ScenarioKeys.model_fields if name not in ("faults", "modifiers", "rubric")))
"""Keys of a scenario that a task holds as they are, once they are set."""


def checked_task(content: dict[str, JsonValue], path: Keys) -> Task | list[Misfit]:
    """Read a task's own fields, or say where they are wrong."""
    try:
        task = Task.model_validate(content)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        return _merged([_misfit(dict(one), content, path) for one in errors])
    if not task.id.strip():
        return [Misfit(path=(*path, "id"), message="the id is empty")]
    history = task.initial_state.message_history if task.initial_state else None
    try:
        read(history or (), at=(*path, "initial_state", "message_history"))
    except UnreadableError as error:
        return [Misfit(path=error.path, message=error.message)]
    return task


def scenario_fields(extras: dict[str, JsonValue]) -> dict[str, Any]:
    """Give the fields of `Scenario` that are ours, from a mapping that fits the schema."""
    fields: dict[str, Any] = {key: extras[key] for key in ScenarioKeys.model_fields if key in extras}
    if "unknown" in extras:
        fields["unknown"] = tuple(extras["unknown"])
    if "says" in extras:
        fields["says"] = tuple(map(Line.model_validate, extras["says"]))
    if sessions := extras.get("sessions"):
        fields["says"] = tuple(Line.model_validate(line) for one in sessions for line in one.get("says", ()))
        fields["sessions"] = tuple(
            Session(lines=len(one.get("says", ())), goal=one.get("goal", ""), after=one.get("after", ""))
            for one in sessions
        )
    if "knows" in extras:
        fields["knows"] = {name: value_of(fact) for name, fact in extras["knows"].items()}
        also = {name: tuple(map(str, fact["also"])) for name, fact in extras["knows"].items() if _has_names(fact)}
        fields |= {"also": also} if also else {}
    fields |= _steps(extras)
    if "replies" in extras:
        fields["replies"] = read_replies(extras["replies"])
    return fields


def _steps(extras: dict[str, JsonValue]) -> dict[str, Any]:
    """Give the fields that hold calls, handoffs and approvals, expected and forbidden."""
    fields: dict[str, Any] = {}
    if "never" in extras:
        fields["never"] = tuple(ExpectedCall.model_validate(call_form(item)) for item in calls_of(extras["never"]))
        fields["never_handoffs"] = handoffs_of([item for item in extras["never"] if is_handoff(item)])
        if asks := approvals_of(extras["never"]):
            fields["never_asks"] = asks
    if asks := approvals_of(extras.get("expect", ())):
        fields["asks"] = asks
    if "handoffs" in extras:
        fields["handoffs"] = tuple(map(ExpectedHandoff.model_validate, extras["handoffs"]))
    if "expect_any" in extras:
        fields["expect_any"] = tuple(
            tuple(ExpectedCall.model_validate(call_form(item)) for item in calls) for calls in extras["expect_any"]
        )
    return fields


def line_misfits(says: Iterable[JsonValue], path: Keys) -> Iterator[Misfit]:
    """Yield the lines that do not say one thing that they mean, of a list that fits the schema."""
    for index, line in enumerate(says):
        if isinstance(line, dict) and not line.keys().isdisjoint((*DECISIONS, "say")):
            yield from _decision_misfits(line, (*path, index))
        elif isinstance(line, dict) and len(acts := [key for key in line if key != "about"]) != 1:
            message = f"found {' and '.join(map(repr, acts)) or 'no act'}, expected the words under one act"
            yield Misfit(path=(*path, index), message=message, hint=f"acts are {', '.join(ACT_KINDS)}")


def _decision_misfits(line: dict[str, JsonValue], path: Keys) -> Iterator[Misfit]:
    kinds = [key for key in line if key != "say"]
    if len(kinds) != 1:
        message = f"found {' and '.join(map(repr, kinds)) or 'no decision'}, expected one decision"
        yield Misfit(path=path, message=message, hint=f"decisions are {', '.join(DECISIONS)}; `say` holds the words")
    elif kinds == ["edit"] and not next(iter(line["edit"].values())):
        yield Misfit(
            path=(*path, "edit"), message="the edit names no argument", hint="write {edit: {tool: {name: 10}}}"
        )
    elif kinds == ["respond"] and not str(line.get("say", "")).strip():
        yield Misfit(path=path, message="the answer has no words", hint='write {respond: tool, say: "The blue one"}')


def value_of(fact: JsonValue) -> JsonValue:
    """Give the value of an entry of `knows`, which may stand under `value` beside other names for it."""
    return fact["value"] if _has_names(fact) else fact


def _has_names(fact: JsonValue) -> bool:
    return isinstance(fact, dict) and fact.keys() == {"value", "also"} and isinstance(fact["also"], list)


def extras_of(scenario: Scenario) -> dict[str, Any]:
    """Give our own fields of a scenario as a task holds them under `agentbench`; `scenario_fields` reads them."""
    ours: dict[str, Any] = {} if scenario.title == scenario.task.id else {"title": scenario.title}
    given = scenario.model_fields_set
    ours |= {key: _written(getattr(scenario, key)) for key in _PLAIN if key in given}
    if scenario.sessions:
        ours["sessions"] = list(_sessions(scenario))
    elif "says" in given:
        ours["says"] = list(scenario.says)
    if "knows" in given:
        ours["knows"] = {
            name: {"value": value, "also": list(scenario.also[name])} if name in scenario.also else value
            for name, value in scenario.knows.items()
        }
    if "never" in given:
        ours["never"] = [call.model_dump(exclude_unset=True) for call in scenario.never]
        ours["never"] += [{HANDOFF: one.form()} for one in scenario.never_handoffs]
        ours["never"] += map(approval_form, scenario.never_asks)
    if scenario.asks:
        ours["expect"] = list(map(approval_form, scenario.asks))
    if scenario.handoffs:
        ours["handoffs"] = [{**one.form(), "place": one.place} for one in scenario.handoffs]
    if scenario.replies:
        ours["replies"] = reply_forms(scenario.replies)
    if scenario.expect_any:
        ours["expect_any"] = [[call.model_dump(exclude_unset=True) for call in calls] for calls in scenario.expect_any]
    if scenario.rubric is not None:
        ours["rubric"] = scenario.rubric.model_dump(exclude_unset=True)
    if scenario.faults:
        ours["faults"] = [one.model_dump() for one in scenario.faults]
    if scenario.modifiers is not None:
        ours["modifiers"] = [one.model_dump() for one in scenario.modifiers]
    return ours


def _sessions(scenario: Scenario) -> Iterator[dict[str, Any]]:
    lines = iter(scenario.says)
    for one in scenario.sessions:
        said = {"says": list(islice(lines, one.lines))} if one.lines else {}
        yield said | one.model_dump(exclude={"lines"}, exclude_defaults=True)


def _written(value: Any) -> JsonValue:
    return value.model_dump(exclude_unset=True) if isinstance(value, Written) else value


def fact_text(name: str, value: JsonValue) -> str:
    """Write a fact that the user knows on one line of τ²'s `known_info`."""
    return f"{name.replace('_', ' ')}: {value if isinstance(value, str) else dumps(value)}"


def _merged(wrong: list[Misfit]) -> list[Misfit]:
    """Say once what several members of a union expected at one place."""
    merged: dict[Keys, Misfit] = {}
    for one in wrong:
        first = merged.setdefault(one.path, one)
        if first is not one and ", expected" in one.message and ", expected" in first.message:
            message = f"{first.message} or {one.message.partition(', expected ')[2]}"
            merged[one.path] = Misfit(path=one.path, message=message)
        elif first is not one:
            merged[(*one.path, "")] = one
    return list(merged.values())


def _misfit(error: dict[str, Any], content: JsonValue, path: Keys) -> Misfit:
    """Turn an error of pydantic into one of ours; names of union members in its path are left out."""
    location = error["loc"]
    steps: list[str | int] = []
    value = content
    for step in location:
        if (isinstance(value, dict) and step in value) or (isinstance(value, list) and step in range(len(value))):
            value = value[step]
            steps.append(step)
    if error["type"] == "missing":
        return Misfit(path=(*path, *steps), message=f"the key {location[-1]!r} is missing")
    if error["type"] == "string_unicode":
        return Misfit(path=(*path, *steps), message="a key holds half of a surrogate pair, which is not text")
    message = str(error["msg"]).replace("Input should be", "expected")
    return Misfit(path=(*path, *steps), message=f"found {shown(value)}, {message}")
