"""τ²-bench tasks and scenarios, both ways without loss.

What τ² does not know stands under one key, `agentbench`, which τ² ignores.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import islice
from typing import Any

from pydantic import ValidationError

from pytest_agentbench.core.acts import ACT_KINDS, Line
from pytest_agentbench.core.approvals import DECISIONS
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.modifier import ModifierSpec
from pytest_agentbench.core.scenario import ExpectedCall, Match, Quarantine, Scenario, ScenarioLimits, Session, Task
from pytest_agentbench.core.values import JsonValue, to_json
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
from pytest_agentbench.suites.ids import scenario_slug
from pytest_agentbench.suites.reply_form import answer_misfits, read_replies, reply_forms
from pytest_agentbench.suites.schema_rubric import read_rubric
from pytest_agentbench.suites.schema_scenario import DEFINITIONS, SCENARIO_FILE
from pytest_agentbench.suites.shape import misfits

EXTRAS_KEY = "agentbench"
"""The key of a τ² task under which our own fields stand."""

_TUPLES = ("unknown", "policies", "checks", "tags")
_PLAIN = ("language", "approvals", "output", "complexity", "context", "skip", "xfail", "provenance")


def task_to_scenario(task: JsonValue, *, path: Keys = ()) -> Scenario | list[Misfit]:
    """Turn a τ² task (JSON) into a scenario, or say where it is not a task; `path` is where the task stands."""
    if not isinstance(task, dict):
        return [Misfit(path=path, message=f"found {shown(task)}, expected a τ² task: a mapping with an id")]
    content = {key: value for key, value in task.items() if key != EXTRAS_KEY}
    extras = task.get(EXTRAS_KEY, {})
    wrong = list(misfits(extras, DEFINITIONS["extras"], root=SCENARIO_FILE, path=(*path, EXTRAS_KEY)))
    wrong = wrong or list(line_misfits(extras.get("says", ()), (*path, EXTRAS_KEY, "says")))
    wrong = wrong or list(answer_misfits(extras, (*path, EXTRAS_KEY)))
    wrong = wrong or list(date_misfits(extras, (*path, EXTRAS_KEY)))
    if not wrong:
        content = _as_it_was(content, extras)
    checked = checked_task(content, path)
    if isinstance(checked, list) or wrong:
        return [*wrong, *(checked if isinstance(checked, list) else [])]
    return Scenario(
        **scenario_fields(extras),
        id=scenario_slug(checked.id),
        task=checked,
        title=str(extras.get("title", checked.id)),
    )


def date_misfits(form: Mapping[str, JsonValue], path: Keys) -> Iterator[Misfit]:
    """Yield a last day of quarantine that is no day; the form fits the schema."""
    until = (form.get("quarantine") or {}).get("until")
    try:
        date.fromisoformat(until or "2000-01-01")
    except ValueError:
        yield Misfit(path=(*path, "quarantine", "until"), message=f"{until}: there is no such date")


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
    fields: dict[str, Any] = {key: extras[key] for key in _PLAIN if key in extras}
    fields |= {key: tuple(map(str, extras[key])) for key in _TUPLES if key in extras}
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
    if "quarantine" in extras:
        fields["quarantine"] = Quarantine.model_validate(extras["quarantine"])
    if "replies" in extras:
        fields["replies"] = read_replies(extras["replies"])
    if "faults" in extras:
        fields["faults"] = tuple(FaultSpec.model_validate(item) for item in extras["faults"])
    if "modifiers" in extras:
        fields["modifiers"] = tuple(ModifierSpec.model_validate(item) for item in extras["modifiers"])
    if "rubric" in extras:
        fields["rubric"] = read_rubric(extras["rubric"])
    if "match" in extras:
        fields["match"] = Match.model_validate(extras["match"])
    if "limits" in extras:
        fields["limits"] = ScenarioLimits.model_validate(extras["limits"])
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


def scenario_to_task(scenario: Scenario) -> dict[str, JsonValue]:
    """Give the τ² task (JSON) of a scenario: as it was read, with our fields under `agentbench`."""
    task = scenario.task.model_dump(exclude_unset=True)
    ours: dict[str, Any] = {} if scenario.title == scenario.task.id else {"title": scenario.title}
    given = scenario.model_fields_set
    ours |= {key: getattr(scenario, key) for key in (*_TUPLES, *_PLAIN) if key in given}
    ours |= _quarantine(scenario)
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
    ours |= {key: getattr(scenario, key).model_dump(exclude_unset=True) for key in ("match", "limits") if key in given}
    if scenario.rubric is not None:
        ours["rubric"] = scenario.rubric.model_dump(exclude_unset=True)
    if scenario.faults:
        ours["faults"] = [one.model_dump() for one in scenario.faults]
    if scenario.modifiers is not None:
        ours["modifiers"] = [one.model_dump() for one in scenario.modifiers]
    told = _told(task, scenario)
    # what τ²'s user is told is not what the file says: the file's own stands beside it, and comes back
    ours |= {_OURS[key]: before for key, (before, _) in told.items()}
    task = _with_user(task, {key: after for key, (_, after) in told.items()})
    exported: dict[str, JsonValue] = to_json(task | {EXTRAS_KEY: ours} if ours else task)
    return exported


def _quarantine(scenario: Scenario) -> dict[str, Any]:
    if scenario.quarantine is None:
        return {}
    return {"quarantine": {**scenario.quarantine.model_dump(), "until": scenario.quarantine.until.isoformat()}}


def _sessions(scenario: Scenario) -> Iterator[dict[str, Any]]:
    lines = iter(scenario.says)
    for one in scenario.sessions:
        said = {"says": list(islice(lines, one.lines))} if one.lines else {}
        yield said | one.model_dump(exclude={"lines"}, exclude_defaults=True)


def export_tasks(scenarios: Iterable[Scenario]) -> list[dict[str, JsonValue]]:
    """Give a τ² task list that τ²'s own runner loads and that reads back as the same scenarios."""
    return [scenario_to_task(scenario) for scenario in scenarios]


def _instructions(task: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Give the structured instructions of a task's user, empty where there are none."""
    user = task.get("user_scenario")
    found = user.get("instructions") if isinstance(user, dict) else None
    return found if isinstance(found, dict) else {}


_OURS = {"reason_for_call": "goal", "task_instructions": "instructions", "known_info": "known_info"}
"""Where what a task's user was told before the export stands under `agentbench`."""


def _told(task: dict[str, JsonValue], scenario: Scenario) -> dict[str, tuple[JsonValue, str]]:
    """Give what τ²'s user must be told besides, so that a task is solvable from its own text: (before, after) by key.

    τ² knows a reason to call and instructions, but neither lines nor values that are looked up.
    """
    instructions = _instructions(task)
    if not instructions:
        return {}
    found: dict[str, tuple[JsonValue, str]] = {}
    if scenario.says:
        before = instructions.get("task_instructions")
        if instructions.get("reason_for_call") == "":
            found["reason_for_call"] = ("", scenario.lines[0])
        found["task_instructions"] = (before, "\n\n".join(filter(None, (before, _script(scenario)))))
    known = instructions.get("known_info")
    if missing := [line for line in _facts(scenario) if line not in (known or "").splitlines()]:
        found["known_info"] = (known, "\n".join(filter(None, (known, *missing))))
    return found


def _script(scenario: Scenario) -> str:
    """Write the lines as instructions, with what each means."""
    lines = [
        f"{number}. {f'({line.act}) ' if line.act else ''}{line.words}" for number, line in enumerate(scenario.says, 1)
    ]
    place = len(lines)
    for number, one in reversed(list(enumerate(scenario.sessions, 1))):
        place -= one.lines
        lines.insert(place, f"(conversation {number}{f', {one.after} later' if one.after else ''})")
    return "Say this, a line a turn, in this order, in these words and in their language:\n" + "\n".join(lines)


def _facts(scenario: Scenario) -> Iterator[str]:
    """Write what the user knows as τ² does: text, one fact a line."""
    for name, value in scenario.knows.items():
        yield fact_text(name, value)


def fact_text(name: str, value: JsonValue) -> str:
    """Write a fact that the user knows on one line of τ²'s `known_info`."""
    return f"{name.replace('_', ' ')}: {value if isinstance(value, str) else dumps(value)}"


def _as_it_was(content: dict[str, JsonValue], extras: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Give a task as it was before an export told its user more."""
    before = {key: extras[name] for key, name in _OURS.items() if name in extras}
    if not before or not _instructions(content):
        return content
    kept = {key: value for key, value in _instructions(content).items() if before.get(key, "") is not None}
    return _with_user(content, {key: value for key, value in before.items() if value is not None}, kept)


def _with_user(
    task: dict[str, JsonValue], told: dict[str, JsonValue], instructions: dict[str, JsonValue] | None = None
) -> dict[str, JsonValue]:
    """Give the task with other instructions of its user; one without structured instructions stays as it is."""
    before = _instructions(task) if instructions is None else instructions
    if not before or not (told or instructions is not None):
        return task
    return {**task, "user_scenario": {**task["user_scenario"], "instructions": {**before, **told}}}


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
