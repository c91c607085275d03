"""The fields of scenarios as files hold them, calls and replies in short and full form, both ways without loss."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_agentbench.core.acts import ACT_KINDS, Line
from pytest_agentbench.core.approvals import DECISIONS
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.file_models import Written
from pytest_agentbench.core.json_schema import schema_problem
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.matchers import matcher_misfits, regex_misfits
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.scenario import ExpectedCall, ExpectedReply, Scenario, ScenarioKeys, SessionPlan, Task
from pytest_agentbench.messages.content import UnreadableError
from pytest_agentbench.messages.reader import read
from pytest_agentbench.spec.document import read_json

HANDOFF = "handoff"
"""The key of a handoff in a list of calls; a tool of this name is written in full: `{name: handoff, …}`."""


def call_form(item: JsonValue) -> dict[str, Any]:
    """Give the full form of a call that fits the schema: `"tool"`, `{tool: {…}, by: agent}` or `{name: tool, …}`."""
    if isinstance(item, str):
        return {"name": item, "arguments": {}}
    if isinstance(item.get("name"), str):
        return {"arguments": {}, **item}
    ((name, arguments),) = ((key, value) for key, value in item.items() if key != "by" or len(item) == 1)
    made = {"by": item["by"]} if "by" in item and len(item) > 1 else {}
    return {"name": name, "arguments": arguments or {}, **made}


def is_handoff(item: JsonValue) -> bool:
    """Whether an entry of a list of calls is a handoff: `{handoff: {from: …, to: …}}` or `{handoff: to}`."""
    return isinstance(item, dict) and item.keys() == {HANDOFF}


def is_approval(item: JsonValue) -> bool:
    """Whether an entry of a list of calls is an approval: `{approval: …}`, never a tool's name."""
    return isinstance(item, dict) and item.keys() == {"approval"}


def calls_of(items: Iterable[JsonValue]) -> list[JsonValue]:
    """Give the entries that are calls."""
    return [item for item in items if not is_handoff(item) and not is_approval(item)]


def stated_calls(expect: Sequence[JsonValue] | None) -> list[JsonValue] | None:
    """Give the expected calls; None where `expect` says nothing of calls: it is not there, or holds approvals alone."""
    return None if expect is None or (expect and all(map(is_approval, expect))) else calls_of(expect)


def approvals_of(items: Iterable[JsonValue]) -> tuple[ExpectedCall, ...]:
    """Give the entries that are approvals, each as the call that is asked for."""
    return tuple(ExpectedCall.model_validate(call_form(item["approval"])) for item in items if is_approval(item))


def approval_form(call: ExpectedCall) -> JsonValue:
    """Give an approval as a file writes it."""
    return {"approval": {call.name: call.arguments} if call.arguments else call.name}


def arguments_path(item: JsonValue) -> tuple[str, ...]:
    """Give the keys that lead to the arguments inside a call as the file writes it."""
    if not isinstance(item, dict):
        return ()
    if is_approval(item):
        return ("approval", *arguments_path(item["approval"]))
    return ("arguments",) if isinstance(item.get("name"), str) else tuple(key for key in item if key != "by")[:1]


def handoffs_of(items: Sequence[JsonValue]) -> tuple[ExpectedHandoff, ...]:
    """Give the entries that are handoffs, each with the number of calls before it."""
    found: list[ExpectedHandoff] = []
    place = 0
    for item in items:
        if is_handoff(item):
            body = item[HANDOFF]
            named = {"to": body} if isinstance(body, str) else body or {}
            found.append(ExpectedHandoff.model_validate({**named, "place": place}))
        elif not is_approval(item):
            place += 1
    return tuple(found)


def answer_misfits(form: Mapping[str, JsonValue], path: Keys) -> Iterator[Misfit]:
    """Yield matchers, patterns and schemas of `output` and `replies` that cannot work; the form fits the schema."""
    for name, value in (form.get("output") or {}).items():
        yield from matcher_misfits(value, (*path, "output", name))
    for index, reply in enumerate(form.get("replies", ())):
        where = (*path, "replies", index)
        if not reply.keys() - {"turn"}:
            message = f"found {shown(reply)}, expected contains, matches, json or max_words"
            yield Misfit(path=where, message=message)
        if "matches" in reply:
            yield from regex_misfits(reply["matches"], (*where, "matches"))
        if isinstance(reply.get("json"), Mapping) and (problem := schema_problem(reply["json"])):
            yield Misfit(path=(*where, "json"), message=f"this is no JSON Schema: {problem}")


def read_replies(forms: Iterable[Mapping[str, JsonValue]]) -> tuple[ExpectedReply, ...]:
    """Read `replies`; schemas that stand in files are not loaded yet."""
    found = []
    for form in forms:
        fields = {key: value for key, value in form.items() if key != "json"}
        schema = form.get("json")
        if isinstance(schema, str):
            fields["json_file"] = schema
        elif schema is not None:
            fields["json_schema"] = schema
        found.append(ExpectedReply.model_validate(fields))
    return tuple(found)


def reply_forms(replies: Iterable[ExpectedReply]) -> list[dict[str, JsonValue]]:
    """Write `replies` as a file may hold them, with the schemas themselves: the files need not lie beside it."""
    forms = []
    for reply in replies:
        form: dict[str, JsonValue] = reply.model_dump(exclude_unset=True, exclude={"json_schema", "json_file"})
        forms.append({**form, "json": reply.json_schema} if reply.json_schema is not None else form)
    return forms


def with_schemas(
    replies: Iterable[ExpectedReply], folder: Path, path: Keys
) -> tuple[ExpectedReply, ...] | list[Misfit]:
    """Load the schemas that stand in files, seen from `folder`, or say which cannot be."""
    loaded: list[ExpectedReply] = []
    wrong: list[Misfit] = []
    for index, reply in enumerate(replies):
        if not reply.json_file or reply.json_schema is not None:
            loaded.append(reply)
            continue
        schema, problem = _loaded(folder / reply.json_file)
        if problem:
            wrong.append(Misfit(path=(*path, "replies", index, "json"), message=f"{shown(reply.json_file)}: {problem}"))
        loaded.append(reply.model_copy(update={"json_schema": schema}))
    return wrong or tuple(loaded)


def _loaded(file: Path) -> tuple[dict[str, JsonValue], str]:
    """Give the schema in a file, and what is wrong with it."""
    try:
        value = read_json(file.read_text(encoding="utf-8-sig"), file).value
    except (OSError, ValueError) as error:
        return {}, f"no JSON Schema can be read there: {getattr(error, 'strerror', None) or error}"
    except SuiteError as error:
        return {}, f"this is no JSON: {error.problems[0].message}"
    if not isinstance(value, dict):
        return {}, f"this is no JSON Schema: found {shown(value)}, expected a mapping"
    problem = schema_problem(value)
    return value, f"this is no JSON Schema: {problem}" if problem else ""


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
            SessionPlan(lines=len(one.get("says", ())), goal=one.get("goal", ""), after=one.get("after", ""))
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
    lists: dict[str, list[Any]] = {
        "expect": list(map(approval_form, scenario.asks)),
        "handoffs": [{**one.form(), "place": one.place} for one in scenario.handoffs],
        "replies": reply_forms(scenario.replies),
        "expect_any": [[call.model_dump(exclude_unset=True) for call in calls] for calls in scenario.expect_any],
        "faults": [one.model_dump() for one in scenario.faults],
    }
    ours |= {key: several for key, several in lists.items() if several}
    if scenario.rubric is not None:
        ours["rubric"] = scenario.rubric.model_dump(exclude_unset=True)
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
