"""Our own scenario form, turned into a scenario: the short forms become τ² task fields."""

from collections.abc import Iterator
from typing import Any

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.matchers import matcher_misfits
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.suites.ids import scenario_slug
from pytest_agentbench.suites.task_fields import (
    answer_misfits,
    arguments_path,
    call_form,
    checked_task,
    fact_text,
    handoffs_of,
    is_approval,
    is_handoff,
    line_misfits,
    scenario_fields,
    stated_calls,
    value_of,
)

_LONG_FORMS = ("description", "ticket", "user_scenario", "initial_state", "evaluation_criteria")
_USER_KEYS = frozenset({"persona", "goal", "instructions"})
_TEXTS = ("knows", "unknown")
"""What may be text, which belongs to τ²'s user fields, or values that the scripted user looks up."""


def form_to_scenario(form: dict[str, JsonValue], path: Keys) -> Scenario | list[Misfit]:
    """Turn a mapping that fits the scenario schema into a scenario, or say where it contradicts itself."""
    wrong = [*_contradictions(form, path), *_matchers(form, path), *line_misfits(form.get("says", ()), (*path, "says"))]
    wrong += _in_sessions(form, path)
    wrong += answer_misfits(form, path)
    if wrong:
        return wrong
    task = checked_task(_task(form), path)
    if isinstance(task, list):
        return task
    fields = {key: value for key, value in form.items() if key not in _TEXTS or not isinstance(value, str)}
    if "expect" in form:
        fields["expect"] = [item for item in form["expect"] if is_approval(item)]
    if _is_first_of_several(form):
        fields["expect_any"] = form["expect_any"][1:]
    fields["handoffs"] = [one.model_dump(by_alias=True) for one in handoffs_of(form.get("expect", ()))]
    title = str(form.get("title", task.id))
    return Scenario(**scenario_fields(fields), id=scenario_slug(task.id), title=title, task=task)


def _is_first_of_several(form: dict[str, JsonValue]) -> bool:
    """Whether the expected calls are the first of `expect_any`, since they stand nowhere else."""
    stated = (
        stated_calls(form.get("expect")) is not None
        or (form.get("evaluation_criteria") or {}).get("actions") is not None
    )
    return "expect_any" in form and not stated


def _contradictions(form: dict[str, JsonValue], path: Keys) -> Iterator[Misfit]:
    """Yield short forms that stand beside the τ² form of the same thing."""
    told = {*(_USER_KEYS & form.keys()), *(key for key in _TEXTS if isinstance(form.get(key), str))}
    for key, long, part in (
        *((key, "user_scenario", None) for key in sorted(told)),
        ("state", "initial_state", None),
        ("expect", "evaluation_criteria", "actions"),
        ("communicate", "evaluation_criteria", "communicate_info"),
    ):
        rival = form.get(long)
        if key in form and rival is not None and (part is None or part in rival):
            name = f"{long}.{part}" if part else long
            message = f"{key!r} and {name!r} are two forms of the same thing"
            yield Misfit(path=(*path, key), message=message, hint="keep one of them", at_key=True)


def _in_sessions(form: dict[str, JsonValue], path: Keys) -> Iterator[Misfit]:
    """Yield what is wrong in sessions, and what stands both there and beside them."""
    sessions = form.get("sessions", ())
    for key in ("says", "expect"):
        if key in form and any(key in one for one in sessions):
            hint = "leave it in the sessions" if key == "says" else "write all of it here, or each part in its session"
            yield Misfit(path=(*path, key), message=f"{key!r} is both here and in sessions", hint=hint, at_key=True)
    if sessions and "says" in form and not any("says" in one for one in sessions):
        hint = "write the lines in the sessions"
        yield Misfit(path=(*path, "says"), message="'says' and 'sessions' are both given", hint=hint, at_key=True)
    for number, one in enumerate(sessions):
        yield from line_misfits(one.get("says", ()), (*path, "sessions", number, "says"))
        yield from _matchers({"expect": one.get("expect", ())}, (*path, "sessions", number))
        if not number and "after" in one:
            where = (*path, "sessions", 0, "after")
            yield Misfit(path=where, message="nothing comes before the first session", hint="leave it out", at_key=True)


def _matchers(form: dict[str, JsonValue], path: Keys) -> Iterator[Misfit]:
    for key in ("expect", "never"):
        for index, item in enumerate(form.get(key, ())):
            if is_handoff(item):
                continue
            arguments = call_form(item["approval"] if is_approval(item) else item)["arguments"]
            where = (*path, key, index, *arguments_path(item))
            for name, value in arguments.items():
                yield from matcher_misfits(value, (*where, name))
    for way, calls in enumerate(form.get("expect_any", ())):
        for index, item in enumerate(calls):
            where = (*path, "expect_any", way, index, *arguments_path(item))
            for name, value in call_form(item)["arguments"].items():
                yield from matcher_misfits(value, (*where, name))


def _task(form: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Give the τ² task of a form, complete enough for τ²'s own model."""
    identifier = str(form["id"])
    task: dict[str, JsonValue] = {"id": identifier}
    task |= {key: form[key] for key in _LONG_FORMS if key in form}
    if form.get("user_scenario") is None:
        task["user_scenario"] = _user(form)
    if "state" in form:
        task["initial_state"] = {"initialization_data": {"agent_data": form["state"]}}
    criteria: dict[str, Any] = dict(form.get("evaluation_criteria") or {})
    expected = form["expect_any"][0] if _is_first_of_several(form) else stated_calls(form.get("expect"))
    calls = None if expected is None else list(map(call_form, expected))
    if any("expect" in one for one in form.get("sessions", ())):
        calls = [
            {**call_form(item), "session": number}
            for number, one in enumerate(form["sessions"], 1)
            for item in one.get("expect", ())
        ]
    if calls is not None:
        criteria["actions"] = [{"action_id": f"{identifier}_{index}", **call} for index, call in enumerate(calls)]
    if "communicate" in form:
        criteria["communicate_info"] = form["communicate"]
    if criteria or "evaluation_criteria" in form:
        task["evaluation_criteria"] = criteria if criteria else form["evaluation_criteria"]
    return task


def _user(form: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Give τ²'s user fields; those that τ² requires are there, empty where the form says nothing."""
    instructions: dict[str, JsonValue] = {
        "domain": "",
        "reason_for_call": form.get("goal", ""),
        "task_instructions": form.get("instructions", ""),
    }
    if "knows" in form:
        instructions["known_info"] = _known(form["knows"])
    if "unknown" in form:
        unknown = form["unknown"]
        instructions["unknown_info"] = unknown if isinstance(unknown, str) else "\n".join(unknown)
    user: dict[str, JsonValue] = {"persona": form["persona"]} if "persona" in form else {}
    return {**user, "instructions": instructions}


def _known(knows: dict[str, JsonValue] | str) -> str:
    """Write what the user knows as τ² does: text, one fact a line."""
    if isinstance(knows, str):
        return knows
    return "\n".join(fact_text(name, value_of(value)) for name, value in knows.items())
