"""ACTION, COMMUNICATE and the stand-in for DB, with τ²'s own traps."""

from typing import Any

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.tau2.reward import action_matches, check_actions, check_communicated, same_writes
from tests.tables import each
from tests.tau2.builders import TOOLS, call, made, run, said


@each(
    ("given", "compare", "actual", "matches"),
    [
        ({"a": 1, "b": 2}, None, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, None, {"a": 1}, True),  # null: the call's own arguments count
        ({"a": 1, "b": 2}, None, {}, True),
        ({"a": 1}, None, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, ["a"], {"a": 1, "b": 3}, True),
        ({"a": 1, "b": 2}, ["a", "b"], {"a": 1}, False),
        ({"a": 1}, [], {"a": 2}, True),  # an empty list: the name alone
        ({"a": 1}, ["z"], {"a": 2}, True),  # neither has it
        ({"a": 1}, None, {"a": 1.0}, True),
        ({"a": 1}, None, {"a": True}, True),
        ({"a": [1, 2]}, None, {"a": [2, 1]}, False),
        ({"a": "1"}, None, {"a": 1}, False),
        ({"a": None}, None, {"a": None}, True),
    ],
)
def test_which_arguments_count(
    given: dict[str, Any], compare: list[str] | None, actual: dict[str, Any], matches: bool
) -> None:
    """`compare_args` null, empty and given; equality is Python's."""
    expected = ExpectedCall(name="put", arguments=given, compare_args=compare)

    assert action_matches(expected, call("put", **actual)) is matches
    assert not action_matches(expected, call("take", **actual))


def test_who_called_how_often_and_with_what_success_does_not_count() -> None:
    """One failed call of the user satisfies two equal expected calls of the agent."""
    wanted = {"actions": [{"name": "put", "arguments": {"a": 1}}] * 2 + [{"name": "take"}]}

    found = check_actions(run(*made(call("put", "user", a=1), error=True), criteria=wanted))

    assert found == (True, True, False)


@each(
    ("info", "text", "met"),
    [
        ("1234", "It is 1,234 in all", True),
        ("1,234", "It is 1,234 in all", False),  # commas are dropped from the text alone
        ("Paris", "to PARIS", True),
        ("12", "It is 1234", True),  # a substring, whole number or not
        ("", "anything", True),
    ],
)
def test_what_was_said(info: str, text: str, met: bool) -> None:
    """Ignoring case and the commas of the text."""
    assert check_communicated(run(said(text), criteria={"communicate_info": [info]})) == (met,)


def test_it_must_stand_in_one_message_of_the_agent() -> None:
    """Also in one that carries calls; not in what the user says, not across messages, not in a blank one."""
    messages = [said("one", call("look")), said(" "), said("two")]

    found = check_communicated(run(*messages, criteria={"communicate_info": ["one", "onetwo", " ", "two"]}))

    assert found == (True, False, False, True)


def test_equal_writes_in_any_order_stand_in_for_the_database() -> None:
    """Reads, failed calls and the spelling of numbers do not count; a second write does."""
    wanted = {"actions": [{"name": "look"}, {"name": "put", "arguments": {"a": 1}}, {"name": "take"}]}
    put, take = made(call("put", a=1.0)), made(call("take"))

    assert same_writes(run(*take, *made(call("look", a=5)), *put, criteria=wanted)) is True
    assert same_writes(run(*take, *put, *made(call("put", a=2), error=True), criteria=wanted)) is True
    assert same_writes(run(*take, *put, *put, criteria=wanted)) is False
    assert same_writes(run(*take, criteria=wanted)) is False


def test_where_calls_cannot_stand_in() -> None:
    """Calls of a kind nobody knows, and domains in which both parties write, are not measured."""
    both = Toolset(specs=(*TOOLS.specs, ToolSpec(name="ring", kind="write", requestor="user")))

    assert same_writes(run(*made(call("odd")), criteria={"actions": []})) is None
    assert same_writes(run(criteria={"actions": []}, toolset=both)) is None
    assert same_writes(run(*made(call("put")), criteria={"actions": []})) is False
    assert same_writes(run(*made(call("put")), criteria={"actions": None})) is True
    assert same_writes(run(*made(call("put")))) is True
