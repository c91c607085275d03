"""τ²-bench tasks and scenarios, both ways without loss.

What τ² does not know stands under one key, `agentbench`, which τ² ignores.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict

from pytest_agentbench.core.acts import Line
from pytest_agentbench.core.file_models import Free, Says, Text, Written, form_misfits
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.spec.scenario import ExtrasForm
from pytest_agentbench.suites.ids import scenario_slug
from pytest_agentbench.suites.task_fields import (
    EXTRAS_KEY,
    answer_misfits,
    checked_task,
    extras_of,
    fact_text,
    line_misfits,
    scenario_fields,
)
from pytest_agentbench.tau2.world import beginning


class _Function(Written):
    """A call that τ² makes before a run or asks after it; what else stands there is kept."""

    model_config = ConfigDict(extra="allow")
    expected: ClassVar[str] = "a call: {env_type: assistant or user, func_name: …, arguments: {…}}"

    env_type: Annotated[Literal["assistant", "user"], Says("assistant or user")]
    func_name: Text
    arguments: Free = {}
    assert_value: Annotated[bool, Says("true or false")] = True


class _Data(Written):
    """What τ² merges into the databases before a run."""

    model_config = ConfigDict(extra="allow")
    expected: ClassVar[str] = "{agent_data: {…}, user_data: {…}}"

    agent_data: Free = {}
    user_data: Free = {}


def task_to_scenario(task: JsonValue, *, path: Keys = ()) -> Scenario | list[Misfit]:
    """Turn a τ² task (JSON) into a scenario, or say where it is not a task; `path` is where the task stands."""
    if not isinstance(task, dict):
        return [Misfit(path=path, message=f"found {shown(task)}, expected a τ² task: a mapping with an id")]
    content = {key: value for key, value in task.items() if key != EXTRAS_KEY}
    extras = task.get(EXTRAS_KEY, {})
    wrong = form_misfits(extras, ExtrasForm, (*path, EXTRAS_KEY))
    wrong = wrong or list(line_misfits(extras.get("says", ()), (*path, EXTRAS_KEY, "says")))
    wrong = wrong or list(answer_misfits(extras, (*path, EXTRAS_KEY)))
    if not wrong:
        content = _as_it_was(content, extras)
    checked = checked_task(content, path)
    if isinstance(checked, list) or wrong:
        return [*wrong, *(checked if isinstance(checked, list) else [])]
    if wrong := list(_misfits(checked, path)):
        return wrong
    return Scenario(
        **scenario_fields(extras),
        id=scenario_slug(checked.id),
        task=checked,
        title=str(extras.get("title", checked.id)),
    )


def _misfits(task: Task, path: Keys) -> Iterator[Misfit]:
    """Say which calls and data for τ²'s own toolkits are none, rather than when they are made."""
    initial, criteria = task.initial_state, task.evaluation_criteria
    before, after = (*path, "initial_state"), (*path, "evaluation_criteria", "env_assertions")
    if initial is not None and initial.initialization_data is not None:
        given = {key: data for key, data in initial.initialization_data.items() if data is not None}
        yield from form_misfits(given, _Data, (*before, "initialization_data"))
    for place, action in enumerate((initial.initialization_actions if initial else None) or ()):
        yield from form_misfits(action, _Function, (*before, "initialization_actions", place))
    for place, assertion in enumerate((criteria.env_assertions if criteria else None) or ()):
        yield from form_misfits(assertion, _Function, (*after, place))


def with_read_log(scenario: Scenario) -> Scenario:
    """Give the scenario with what its state must know of its expected calls; nearly all need nothing."""
    initial = beginning(scenario.task)
    if initial is scenario.task.initial_state:
        return scenario
    return scenario.model_copy(update={"task": scenario.task.model_copy(update={"initial_state": initial})})


def played_alone(scenario: Scenario) -> Scenario | Misfit:
    """Give the scenario for an agent that works alone: it is told the ticket, and makes the user's calls, too."""
    task, ticket = scenario.task, scenario.task.ticket
    if not ticket:
        return Misfit(path=("ticket",), message=f"task {task.id!r} has no ticket, so no agent can play it alone")
    criteria = task.evaluation_criteria
    if criteria is not None and criteria.actions:
        calls = [one.model_copy(update={"requestor": "assistant"}) for one in criteria.actions]
        criteria = criteria.model_copy(update={"actions": calls})
    task = task.model_copy(update={"evaluation_criteria": criteria})
    return scenario.model_copy(update={"task": task, "says": (Line(text=ticket, act="request"),)})


def scenario_to_task(scenario: Scenario) -> dict[str, JsonValue]:
    """Give the τ² task (JSON) of a scenario: as it was read, with our fields under `agentbench`."""
    task = scenario.task.model_dump(exclude_unset=True)
    ours = extras_of(scenario)
    told = _told(task, scenario)
    # what τ²'s user is told is not what the file says: the file's own stands beside it, and comes back
    ours |= {_OURS[key]: before for key, (before, _) in told.items()}
    task = _with_user(task, {key: after for key, (_, after) in told.items()})
    exported: dict[str, JsonValue] = to_json(task | {EXTRAS_KEY: ours} if ours else task)
    return exported


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
    facts = (fact_text(name, value) for name, value in scenario.knows.items())  # text, one fact a line, as in τ²
    if missing := [line for line in facts if line not in (known or "").splitlines()]:
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
