"""Scenario forms: short and long forms become the same τ² task fields, contradictions are refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.core.acts import Line
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.scenario import Instructions, Match, Scenario
from pytest_agentbench.suites.hashes import scenario_hash
from pytest_agentbench.suites.ids import scenario_slug
from pytest_agentbench.suites.scenario_files import load_scenarios
from tests.suites.forms import SCENARIO
from tests.tables import each


def read(tmp_path: Path, *forms: dict[str, Any]) -> list[Scenario]:
    """Load forms from a YAML file."""
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump(list(forms), sort_keys=False, allow_unicode=True))
    return load_scenarios(file, environ={})


def complaint(tmp_path: Path, **keys: Any) -> str:
    """Give what is said about a form that does not load."""
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, {"id": "a", **keys})
    return str(caught.value)


def test_short_forms_become_task_fields(tmp_path: Path) -> None:
    """Persona, goal, knowledge, expected calls and state land where τ² has them."""
    (scenario,) = read(tmp_path, SCENARIO)
    user = scenario.task.user_scenario
    assert user is not None
    assert user.persona == "impatient"
    assert isinstance(user.instructions, Instructions)
    assert user.instructions.reason_for_call == "a refund of order W1"
    assert user.instructions.known_info == "order id: W1"
    assert user.instructions.task_instructions == "Be brief."
    assert [call.name for call in scenario.expected_calls] == ["refund", "close", "list"]
    assert scenario.expected_calls[0].arguments == {"order_id": "W1", "amount": {"$approx": 3.5, "tol": 0.01}}
    assert scenario.communicate_info == ("3.50",)
    state = scenario.task.initial_state
    assert state is not None
    assert state.initialization_data == {"agent_data": {"orders": {"W1": {"status": "paid"}}}}


def test_our_own_fields_are_kept(tmp_path: Path) -> None:
    """Everything that τ² does not know is on the scenario."""
    (scenario,) = read(tmp_path, SCENARIO)
    assert (scenario.id, scenario.title, scenario.task.id) == ("refund-late", "A late refund", "refund-late")
    assert scenario.knows == {"order id": "W1"}
    assert scenario.unknown == ("the date of the order",)
    assert [(call.name, call.arguments) for call in scenario.never] == [
        ("delete", {}),
        ("refund", {"order_id": {"$regex": "W[2-9]"}}),
    ]
    assert scenario.match == Match(order="in_order", expected_calls="all")
    assert (scenario.limits.turns, scenario.limits.tool_calls, scenario.limits.seconds) == (10, 0, 1.5)
    assert (scenario.policies, scenario.complexity, scenario.checks) == (("late",), 4, ("my_checks:polite",))
    assert (scenario.skip, scenario.xfail, scenario.tags) == ("not today", "known", ("smoke",))


def test_knowledge_as_text_goes_to_the_user_alone(tmp_path: Path) -> None:
    """Text is told to the user as it is; only a mapping is looked up by name."""
    (scenario,) = read(tmp_path, {"id": "a", "knows": "You are Ann.", "unknown": "your address"})
    user = scenario.task.user_scenario
    assert user is not None
    assert isinstance(user.instructions, Instructions)
    assert (user.instructions.known_info, user.instructions.unknown_info) == ("You are Ann.", "your address")
    assert (scenario.knows, scenario.unknown) == ({}, ())


def test_no_expected_calls_differ_from_unstated_ones(tmp_path: Path) -> None:
    """`expect: []` says that a right run calls nothing; leaving it out says nothing."""
    stated, unstated = read(tmp_path, {"id": "a", "expect": []}, {"id": "b", "communicate": ["x"]})
    assert stated.states_calls
    assert not unstated.states_calls


def test_the_first_of_several_ways_is_the_expected_one(tmp_path: Path) -> None:
    """Where nothing else is expected; else all of them are others."""
    ways = [[{"book": {"by": "train"}}], [{"book": {"by": "bus"}}, "pay"]]

    alone, besides = read(tmp_path, {"id": "a", "expect_any": ways}, {"id": "b", "expect": [], "expect_any": ways})

    assert [call.arguments["by"] for call in alone.expected_calls] == ["train"]
    assert [[call.name for call in way.expected_calls] for way in alone.ways] == [["book"], ["book", "pay"]]
    assert [len(way.expected_calls) for way in besides.ways] == [0, 1, 2]


def test_long_forms_stand_in_yaml_too(tmp_path: Path) -> None:
    """τ² keys are accepted; `knows` beside them is what the scripted user looks up."""
    (scenario,) = read(
        tmp_path,
        {
            "id": 7,
            "ticket": None,
            "user_scenario": {"instructions": "Ask for a refund."},
            "knows": {"order": "W1"},
            "evaluation_criteria": {"actions": [{"action_id": "x", "name": "refund", "arguments": {}}]},
        },
    )
    assert scenario.task.id == "7"
    assert scenario.task.user_scenario is not None
    assert scenario.task.user_scenario.instructions == "Ask for a refund."
    assert scenario.knows == {"order": "W1"}
    assert scenario.expected_calls[0].action_id == "x"


@each(
    ("keys", "message"),
    [
        ({"goal": "x", "user_scenario": {}}, "s.yaml:2:3: [0].goal: 'goal' and 'user_scenario' are two forms"),
        ({"expect": [], "evaluation_criteria": {"actions": []}}, "'expect' and 'evaluation_criteria.actions' are two"),
        ({"state": {}, "initial_state": {}}, "'state' and 'initial_state' are two forms of the same thing"),
        ({"evaluation_criteria": {"actions": [{"name": 5}]}}, "[0].evaluation_criteria.actions[0].name: found 5"),
        ({"evaluation_criteria": {"actions": [{}]}}, "the key 'name' is missing"),
        ({"user_scenario": {"instructions": 5}}, "found 5, expected"),
        ({"expect": [{"refund": {"a": {"$aprox": 1}}}]}, "unknown matcher '$aprox', allowed: $approx, $regex"),
        ({"expect": [{"refund": {"a": {"$ny": 1}}}]}, "$subset, $call (did you mean '$any'?)"),
        ({"expect": [{"refund": {"a": {"$regex": "["}}}]}, "'[' is not a regular expression"),
        ({"expect": [{"refund": {"a": [{"$any": 1}]}}]}, "[0].expect[0].refund.a[0].$any: found 1, allowed: true"),
        ({"expect": [{"refund": {"a": {"$approx": "1"}}}]}, "found '1', expected a number"),
        ({"expect": [{"refund": {"a": {"$approx": 1, "tl": 1}}}]}, "$approx has 'tl' beside it"),
        ({"expect": [{"refund": {"a": {"$call": "x"}}}]}, "expected an import path"),
        ({"expect": [{"refund": {}, "list": {}}]}, "expected a call: {tool: {argument: value}}"),
        ({"expect": [{"name": "a", "argument": {}}]}, "unknown key 'argument'"),
        ({"never": [{"refund": 5}]}, "[0].never[0].refund: found 5, expected a mapping of argument names to values"),
        ({"expect": [{"approval": {}}]}, "[0].expect[0].approval: found an empty mapping, expected"),
        ({"never": [{"approval": 3}]}, "[0].never[0].approval: found 3, expected the name of a tool, or {tool"),
        ({"communicate": [3.5]}, "found 3.5, expected text (put it in quotes to make it text)"),
        ({"complexity": -1}, "found -1, expected a whole number, 0 or more"),
        ({"skip": True}, "found True, expected the reason why this scenario is not run"),
        ({"checks": ["x"]}, "found 'x', expected an import path"),
        ({"chaos": []}, "unknown key 'chaos'"),
        ({"rubric": []}, "rubric: found an empty list, expected a list of criteria"),
    ],
)  # fmt: skip
def test_wrong_forms_are_told_in_words(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    """Each message has the place, what was found and what is allowed."""
    assert message in complaint(tmp_path, **keys)


@pytest.mark.parametrize("name", ["con", "NUL", "com1", "aux.x"])
def test_reserved_file_names_are_no_ids(tmp_path: Path, name: str) -> None:
    """Transcripts are files named after scenarios, on every system."""
    with pytest.raises(SuiteError, match="reserved file name"):
        read(tmp_path, {"id": name})


@each(
    ("text", "slug"),
    [
        ("refund late!", "refund-late"),
        ("[a]b|c[P:None]", "a-b-c-P-None"),
        ("../../etc/passwd", "etc-passwd"),
        ("a..b", "a.b"),
        ("été", "ete"),
    ],
)
def test_ids_become_slugs(text: str, slug: str) -> None:
    """Only letters, digits, `_`, `.` and `-` remain, and never two dots in a row."""
    assert scenario_slug(text) == slug


def test_slugs_keep_ids_apart() -> None:
    """Long ids and ids in other scripts get a hash of the whole."""
    assert len(scenario_slug("x" * 300)) == 100
    assert scenario_slug("x" * 300) != scenario_slug("x" * 299)
    assert scenario_slug("возврат") != scenario_slug("отмена")
    assert scenario_slug("возврат").isascii()


def test_the_hash_of_a_scenario_ignores_its_place(tmp_path: Path) -> None:
    """Moving a scenario keeps its hash, changing it does not; a secret's value does not count."""
    one, other = read(tmp_path, {"id": "a", "says": ["x"]}, {"id": "a2", "says": ["key-1"]})
    assert scenario_hash(one) == scenario_hash(one.model_copy(update={"file": "elsewhere", "line": 9}))
    assert scenario_hash(one) != scenario_hash(other)
    rotated = other.model_copy(update={"says": (Line(text="key-2"),)})
    assert scenario_hash(other) != scenario_hash(rotated)
    assert scenario_hash(other, ("key-1",)) == scenario_hash(rotated, ("key-2",))
