"""τ² tasks and scenarios, both ways without loss."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.tau2.tasks import export_tasks, task_to_scenario
from tests.shared_data import SHARED, needs_shared
from tests.suites.forms import SCENARIO, TASK
from tests.suites.test_malformed import JSON, mutated
from tests.tables import each

DOMAINS = SHARED / "data" / "tau2" / "domains"


def read(tmp_path: Path, text: str, name: str = "t.json") -> list[Scenario]:
    """Load scenarios from a file with this text."""
    file = tmp_path / name
    file.write_text(text)
    return load_scenarios(file, environ={})


def placeless(scenarios: list[Scenario]) -> list[Scenario]:
    """Give scenarios without the place they were read from."""
    return [scenario.model_copy(update={"file": "", "line": 0}) for scenario in scenarios]


@needs_shared
@pytest.mark.parametrize(("domain", "count"), [("mock", 10), ("airline", 50), ("retail", 114), ("telecom", 114)])
def test_every_task_round_trips_without_loss(domain: str, count: int) -> None:
    """Reading and exporting gives equal JSON: absent, null and empty stay apart, 1 and 1.0 too."""
    file = DOMAINS / domain / "tasks.json"
    tasks = json.loads(file.read_text())
    scenarios = load_scenarios(file, environ={})
    assert len(scenarios) == count
    assert json.dumps(export_tasks(scenarios), sort_keys=True) == json.dumps(tasks, sort_keys=True)
    assert len({scenario.id.lower() for scenario in scenarios}) == count
    assert max(len(scenario.id) for scenario in scenarios) <= 100


@needs_shared
def test_lines_name_the_task(tmp_path: Path) -> None:
    """The line of a scenario is that on which its task begins."""
    file = DOMAINS / "mock" / "tasks.json"
    lines = file.read_text().splitlines()
    for scenario in load_scenarios(file, environ={}):
        assert lines[scenario.line - 1].strip().startswith("{")
        assert json.dumps(scenario.task.id) in "".join(lines[scenario.line - 1 : scenario.line + 2])


def test_one_task_is_a_file_too(tmp_path: Path) -> None:
    """A file may hold one task instead of a list."""
    (scenario,) = read(tmp_path, json.dumps(TASK))
    assert (scenario.id, scenario.title) == ("task-1", "task 1")
    assert (scenario.knows, scenario.policies, scenario.complexity) == ({"order id": "W1"}, ("late",), 3)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(task=mutated({**TASK, "agentbench": {}}) | st.fixed_dictionaries({"id": st.text(min_size=1), "x": JSON}))
def test_whatever_loads_round_trips(task: Any) -> None:
    """Unknown keys anywhere in a task survive."""
    found = task_to_scenario(task)
    if isinstance(found, Scenario):
        expected = {key: value for key, value in task.items() if key != "agentbench" or value}
        assert json.dumps(export_tasks([found])[0], sort_keys=True) == json.dumps(expected, sort_keys=True)


@pytest.mark.parametrize(
    "form",
    [
        SCENARIO,
        {"id": "a"},
        {"id": "Ä b", "expect": [], "never": ["x"], "skip": "y"},
        {"id": "ways", "expect_any": [[{"book": {"by": "train"}}], ["walk", {"book": {"by": "bus"}}]]},
        {"id": "more-ways", "expect": ["walk"], "expect_any": [[{"book": {"by": "train"}}]]},
    ],
)
def test_our_own_scenarios_survive_the_export(tmp_path: Path, form: dict[str, Any]) -> None:
    """A scenario of our own YAML, exported as a τ² task, reads back as the same scenario."""
    first = read(tmp_path, yaml.safe_dump(form, allow_unicode=True), "s.yaml")
    exported = export_tasks(first)
    again = read(tmp_path, json.dumps(exported))
    assert placeless(again) == placeless(first)
    assert export_tasks(again) == exported


def test_exports_hold_what_tau2_requires(tmp_path: Path) -> None:
    """The fields that τ²'s models require are there, ours stand under one key."""
    (task,) = export_tasks(read(tmp_path, yaml.safe_dump(SCENARIO), "s.yaml"))
    assert set(task) == {"id", "user_scenario", "initial_state", "evaluation_criteria", "agentbench"}
    instructions = task["user_scenario"]["instructions"]
    assert {"domain", "reason_for_call", "task_instructions"} <= set(instructions)
    assert all({"action_id", "name", "arguments"} <= set(call) for call in task["evaluation_criteria"]["actions"])


def test_exported_users_have_a_reason_to_call(tmp_path: Path) -> None:
    """τ²'s user is told the first line where there is no goal; reading the export back, there is none again."""
    (first,) = read(tmp_path, "id: a\nsays: [Refund W1, 'yes']\n", "s.yaml")
    (task,) = export_tasks([first])
    assert task["user_scenario"]["instructions"]["reason_for_call"] == "Refund W1"
    (again,) = read(tmp_path, json.dumps(task))
    assert placeless([again]) == placeless([first])


def test_exported_users_are_told_their_lines_and_values(tmp_path: Path) -> None:
    """All lines with what they mean, behind the file's own instructions; all of it comes back as it was."""
    text = (
        "id: a\ngoal: A refund\ninstructions: Be brief.\nknows: {order_id: W1, zip: {value: '80331', also: [code]}}\n"
        "says: [Refund W1, {confirm: 'Not a problem, do that'}]\n"
    )
    (first,) = read(tmp_path, text, "s.yaml")
    (task,) = export_tasks([first])
    told = task["user_scenario"]["instructions"]
    assert told["task_instructions"].startswith("Be brief.\n\nSay this, a line a turn, in this order")
    assert told["task_instructions"].endswith("\n1. Refund W1\n2. (confirm) Not a problem, do that")
    assert told["known_info"].splitlines() == ["order id: W1", "zip: 80331"]
    assert told["reason_for_call"] == "A refund"
    (again,) = read(tmp_path, json.dumps(task))
    assert placeless([again]) == placeless([first])
    assert export_tasks([again]) == [task]


def test_values_under_our_key_are_told_to_tau2_too(tmp_path: Path) -> None:
    """A τ² task whose user knows more than its `known_info` says, or has no such text."""
    for known in ({"known_info": "You are Ann."}, {}):
        instructions = {"domain": "d", "reason_for_call": "r", "task_instructions": "t", **known}
        own = {"id": "a", "user_scenario": {"instructions": instructions}, "agentbench": {"knows": {"order_id": "W1"}}}
        (first,) = read(tmp_path, json.dumps(own))
        (task,) = export_tasks([first])
        told = task["user_scenario"]["instructions"]["known_info"]
        assert told.splitlines() == [*known.values(), "order id: W1"]
        (again,) = read(tmp_path, json.dumps(task))
        assert placeless([again]) == placeless([first])


def test_json_may_hold_our_own_form(tmp_path: Path) -> None:
    """A JSON mapping with our short keys is our form, strictly; no key of ours is taken for an unknown one of τ²."""
    (scenario,) = read(tmp_path, '{"id": "a", "says": ["Hi"], "expect": [{"refund": {}}]}')
    assert scenario.lines == ("Hi",)
    assert scenario.expected_calls[0].name == "refund"
    with pytest.raises(SuiteError, match="unknown key 'tag'"):
        read(tmp_path, '{"id": "a", "says": ["Hi"], "tag": []}')


@each(
    ("text", "message"),
    [
        ("[]", "found an empty list, expected at least one scenario"),
        ("[5]", "t.json:1:2: [0]: found 5, expected a τ² task"),
        ("[{}]", "[0]: the key 'id' is missing"),
        ('[{"id": ""}]', "[0].id: the id is empty"),
        ('[{"id": 5}]', "[0].id: found 5, expected a valid string"),
        ('[{"id": "a", "ticket": 5}]', "[0].ticket: found 5, expected a valid string"),
        ('[{"id": "a", "description": 5}]', "found 5, expected a valid dictionary or a valid string"),
        ('[{"id": "a",\n "evaluation_criteria": {"actions": [{"name": 1}]}}]', "t.json:2:47: [0].evaluation_criteria"),
        ('[{"id": "a", "agentbench": {"says": "x"}}]', "[0].agentbench.says: found 'x', expected a list"),
        ('[{"id": "a", "agentbench": {"sys": []}}]', "[0].agentbench.sys: unknown key 'sys'"),
        ('[{"user_id": "a", "instruction": "x", "actions": []}]', "agentbench convert FILE"),
        (
            '[{"id": "a", "initial_state": {"message_history": [{"role": "cat"}]}}]',
            "[0].initial_state.message_history[0].role: found 'cat', allowed: 'assistant'",
        ),
        (
            '[{"id": "a", "initial_state": {"initialization_actions": [{"env_type": "robot", "func_name": "f"}]}}]',
            "[0].initial_state.initialization_actions[0].env_type: found 'robot', expected assistant or user",
        ),
        (
            '[{"id": "a", "initial_state": {"initialization_data": {"agent_data": [1]}}}]',
            "[0].initial_state.initialization_data.agent_data: found a list of 1, expected a mapping",
        ),
        (
            '[{"id": "a", "evaluation_criteria": {"env_assertions": [{"env_type": "user"}]}}]',
            "[0].evaluation_criteria.env_assertions[0]: the key 'func_name' is missing",
        ),
        ('[{"id": "a"}, {"id": "A"}]', "t.json:1:22: [1].id: the id 'A' is taken, first at"),
    ],
)
def test_wrong_tasks_are_told_in_words(tmp_path: Path, text: str, message: str) -> None:
    """Each message has the place and what is expected."""
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_what_tau2_writes_as_null_is_left_out(tmp_path: Path) -> None:
    """Its tasks state that one of both databases begins as it is."""
    data = '{"agent_data": {"users": {}}, "user_data": null}'

    (one,) = read(tmp_path, f'[{{"id": "a", "initial_state": {{"initialization_data": {data}}}}}]')

    assert one.task.initial_state is not None
    assert one.task.initial_state.initialization_data == json.loads(data)


def test_versions_of_one_task_are_told_apart_by_their_keys(tmp_path: Path) -> None:
    """Lines of `{task_key, task}` with one id get ids that end in the key; equal keys are an error."""
    lines = [json.dumps({"task_key": key, "task": {"id": "7"}}) for key in ("abc", "def")]
    scenarios = read(tmp_path, "\n".join(lines), "t.jsonl")
    assert [(scenario.id, scenario.line) for scenario in scenarios] == [("7-abc", 1), ("7-def", 2)]
    assert scenarios[0].provenance == {"task_key": "abc"}
    with pytest.raises(SuiteError, match="the id '7' is taken"):
        read(tmp_path, "\n".join([lines[0], lines[0]]), "t.jsonl")


@pytest.mark.real
def test_tau2_itself_loads_our_exports(tmp_path: Path) -> None:
    """τ²'s own pydantic model accepts exported tasks, ours and its own, and finds its fields there."""
    tasks = _tau2_tasks()
    ours = export_tasks(read(tmp_path, yaml.safe_dump([SCENARIO, {"id": "b", "says": ["Hi"]}]), "s.yaml"))
    theirs = export_tasks(read(tmp_path, json.dumps(TASK)))
    loaded = [tasks.Task.model_validate(task) for task in (*ours, *theirs)]
    assert [task.id for task in loaded] == ["refund-late", "b", "task 1"]
    assert loaded[0].evaluation_criteria.actions[0].name == "refund"


def _tau2_tasks() -> Any:
    """Give the module with τ²'s task model from a checkout or from inspect_evals."""
    for name in ("tau2.data_model.tasks", "inspect_evals.tau2.data_model.tasks"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "Task"):
            return module
    return pytest.skip("neither a tau2 checkout nor inspect_evals is installed")
