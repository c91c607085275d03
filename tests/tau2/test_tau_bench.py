"""τ-bench v1 lists become scenarios; Python is parsed, never run."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.tau2.convert import read_tau_bench

MODULE = """
from tau_bench.types import Task, Action
raise SystemExit("this module must not run")
OTHER = [1]
TASKS: list = [
    Task(
        annotator="0",
        user_id="ann_1",
        instruction="You are Ann. "
        "Cancel Z7.",
        actions=[Action(name="cancel", kwargs={"id": "Z7", "fee": -1.5, "legs": [1, None, True]})],
        outputs=["327"],
    ),
    Task(user_id="bob_2", instruction="Say hello.", actions=[]),
]
"""
LIST = [
    {
        "user_id": "ann_1",
        "instruction": "You are Ann. Cancel Z7.",
        "actions": [{"name": "cancel", "kwargs": {"id": "Z7", "fee": -1.5, "legs": [1, None, True]}}],
        "outputs": ["327"],
    },
    {"user_id": "bob_2", "instruction": "Say hello.", "actions": []},
]


def read(tmp_path: Path, text: str, name: str) -> list[Scenario]:
    """Convert a file with this text."""
    file = tmp_path / name
    file.write_text(text)
    return read_tau_bench(file)


def test_modules_and_lists_give_the_same_scenarios(tmp_path: Path) -> None:
    """Instruction, actions and outputs land in τ² fields; ids are indices; the user is remembered."""
    scenarios = read(tmp_path, MODULE, "tasks.py")
    assert scenarios == read(tmp_path, json.dumps(LIST), "tasks.json")
    first, second = scenarios
    assert (first.id, second.id) == ("0", "1")
    assert first.task.user_scenario is not None
    assert first.task.user_scenario.instructions == "You are Ann. Cancel Z7."
    (call,) = first.expected_calls
    assert (call.name, call.arguments) == ("cancel", {"id": "Z7", "fee": -1.5, "legs": [1, None, True]})
    assert first.communicate_info == ("327",)
    assert first.provenance == {"format": "tau-bench", "user_id": "ann_1"}
    assert second.states_calls
    assert not second.expected_calls


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("def", "t.py", "t.py:1:4: this is not Python"),
        ("x = 1", "t.py", "no list of Task(...) is assigned"),
        (
            "T = [Task(user_id=who(), instruction='x', actions=[])]",
            "t.py",
            "t.py:1:19: found 'who()', expected literals",
        ),
        ("T = [Task('a', 'b', [])]", "t.py", "t.py:1:6: found"),
        ("T = [Task(**x)]", "t.py", "expected literals"),
        ("T = [Task(user_id='a', instruction='x')]", "t.py", "t.py:1:6: [0]: the key 'actions' is missing"),
        ("T = [Task(user_id=5, instruction='x', actions=[])]", "t.py", "[0].user_id: found 5, expected text"),
        ("T = [Task(user_id='a', instruction={1}, actions=[])]", "t.py", "found '{1}', expected literals"),
        ("[]", "t.json", "expected a list of τ-bench tasks"),
        ('[{"user_id": "a"}]', "t.json", "the key 'instruction' is missing"),
        ("{", "t.json", "this is not JSON"),
        ("T = " + "[" * 500 + "]" * 500, "t.py", "t.py"),
    ],
)
def test_what_is_not_a_task_list_says_why(tmp_path: Path, text: str, name: str, message: str) -> None:
    """Each fault has a place and a message."""
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, text, name)
    assert message in str(caught.value)
