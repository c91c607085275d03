"""DB and ENV_ASSERTION by replaying, with τ²'s semantics, in a toy domain."""

from typing import Any

from pytest_agentbench.core.scenario import Task
from pytest_agentbench.core.tool import Requestor, ToolCall
from pytest_agentbench.tau2.checkout import CheckoutSource
from pytest_agentbench.tau2.replay import Replayed, Replayer


def task(**criteria: Any) -> Task:
    """A task with these criteria."""
    initial = criteria.pop("initial_state", None)
    return Task.model_validate({"id": "t", "initial_state": initial, "evaluation_criteria": criteria})


def call(name: str, requestor: Requestor = "assistant", **arguments: Any) -> ToolCall:
    """A call."""
    return ToolCall(name=name, arguments=arguments, requestor=requestor)


def expected(name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    """An expected call."""
    return {"action_id": "x", "name": name, "requestor": requestor, "arguments": arguments}


def replayed(source: CheckoutSource, given: Task, *calls: ToolCall, solo: bool = False) -> Replayed:
    """Replay calls on their own."""
    return Replayer(source).replay(given, calls, solo=solo)


def test_null_and_empty_actions_differ(notes: CheckoutSource) -> None:
    """Without lists nothing is compared; an empty list says that nothing may change."""
    write = call("write", key="d", text="new")

    assert replayed(notes, task(), write).db_match
    assert not replayed(notes, task(actions=[]), write).db_match
    assert not replayed(notes, task(env_assertions=[]), write).db_match
    assert replayed(notes, task(actions=[]), call("read", key="a")).db_match


def test_another_way_to_the_same_state_is_equal(notes: CheckoutSource) -> None:
    """What counts is the end: writing twice, or a drop besides a write, may end where the expected calls do."""
    wanted = task(actions=[expected("write", key="d", text="new")])

    assert replayed(notes, wanted, call("write", key="d"), call("write", key="d", text="new")).db_match
    assert not replayed(notes, wanted, call("write", key="d", text="other")).db_match
    assert not replayed(notes, wanted, call("write", key="d", text="new"), call("drop", key="a")).db_match


def test_equal_calls_are_recognised_without_a_replay(notes: CheckoutSource, bells: CheckoutSource) -> None:
    """Equal mutating calls in order, with any reads between; not where the parties are coupled."""
    wanted = task(actions=[expected("read", key="a"), expected("write", key="d", stars=1)])

    same = replayed(notes, wanted, call("write", key="d", stars=1), call("read", key="b"), call("nonsense"))
    near = replayed(notes, wanted, call("write", key="d", stars=1.0))
    coupled = replayed(bells, wanted, call("write", key="d", stars=1))

    assert (same.db_match, same.played) == (True, False)
    assert (near.db_match, near.played) == (True, True)  # the model makes a float of both
    assert coupled.played


def test_expected_calls_are_not_synchronised(bells: CheckoutSource) -> None:
    """As in τ²: the user's database misses what a write leads to, so even the expected calls do not match there."""
    wanted = task(actions=[expected("write", key="d")])

    assert not replayed(bells, wanted, call("write", key="d")).db_match
    assert replayed(bells, task(actions=[expected("ring", "user")]), call("ring", "user")).db_match


def test_errors_and_unknown_tools_change_nothing(notes: CheckoutSource) -> None:
    """A tool that raises, is unknown or is given wrong arguments is an answer, in either world."""
    wanted = task(actions=[expected("write", key="forbidden"), expected("nonsense"), expected("write", key="d")])

    found = replayed(
        notes, wanted, call("write", key="d"), call("write"), call("write", key="forbidden"), call("nonsense")
    )

    assert found.db_match


def test_alone_the_agent_has_the_users_tools(bells: CheckoutSource) -> None:
    """In solo mode it rings the bell itself, and the user cannot; the expected call is the user's all the same."""
    wanted = task(actions=[expected("ring", "user")])

    assert replayed(bells, wanted, call("ring"), solo=True).db_match
    assert not replayed(bells, wanted, call("ring")).db_match
    assert not replayed(bells, wanted, call("ring", "user"), solo=True).db_match


def test_assertions_are_asked_of_the_conversations_world(notes: CheckoutSource) -> None:
    """Any method may be asked, against the value that it shall give; one that raises is not measured, and said."""
    asked = [
        {"env_type": "assistant", "func_name": "has_note", "arguments": {"key": "d"}, "assert_value": True},
        {"env_type": "assistant", "func_name": "has_note", "arguments": {"key": "a"}, "assert_value": False},
        {"env_type": "assistant", "func_name": "break_down", "arguments": {}, "assert_value": True},
        {"env_type": "assistant", "func_name": "read", "arguments": {"key": "a"}, "assert_value": True},
    ]

    found = replayed(notes, task(actions=[], env_assertions=asked), call("write", key="d"))

    assert found.assertions == (True, False, None, None)
    assert found.notes == (
        "assertion 'break_down' raised KeyError: 'gone'",
        "assertion 'read' gave str instead of true or false",
    )


def test_both_worlds_begin_where_the_task_says(notes: CheckoutSource) -> None:
    """Initial data, initial calls (also of methods that are no tools) and the history of messages count."""
    initial = {
        "initialization_data": {"agent_data": {"notes": {"z": {"text": "last"}}}},
        "initialization_actions": [{"env_type": "assistant", "func_name": "drop", "arguments": {"key": "a"}}],
        "message_history": [
            {"role": "assistant", "tool_calls": [{"id": "1", "name": "write", "arguments": {"key": "h"}}]}
        ],
    }
    wanted = task(actions=[expected("drop", key="z")], initial_state=initial)

    assert replayed(notes, wanted, call("write", key="h"), call("drop", key="z")).db_match
    assert not replayed(notes, wanted, call("drop", key="z")).db_match
    assert not replayed(notes, wanted, call("write", key="h")).db_match


def test_the_expected_world_is_made_once_per_task(notes: CheckoutSource) -> None:
    """Many conversations of a task share it, and none of them changes it."""
    made: list[int] = []
    source = Counting(notes, made)
    replayer = Replayer(source)
    wanted = task(actions=[expected("write", key="d")])

    verdicts = [
        replayer.replay(wanted, [call("write", key=key), call("drop", key=key)]).db_match for key in ("d", "a", "d")
    ]

    assert verdicts == [False, False, False]
    assert replayer.replay(wanted, [call("write", key="a", text="first"), call("write", key="d")]).db_match
    assert len(made) == 5


class Counting:
    """A source that counts the worlds it gives."""

    def __init__(self, source: CheckoutSource, made: list[int]) -> None:
        self.domain, self.origin, self.toolset = source.domain, source.origin, source.toolset
        self.mutates, self.knows, self._source, self._made = source.mutates, source.knows, source, made

    def world(self, *, solo: bool = False) -> Any:
        """Give a world and count it."""
        self._made.append(1)
        return self._source.world(solo=solo)
