"""What became of expected calls, and what other calls were."""

from pytest_agentbench.checks.calls import keeps_order
from pytest_agentbench.checks.matching import explain, match_run
from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.core.verdict import CallExplanation
from tests.checks.builders import TOOLS, agent, call, run_of, user, want


def explained(run: Run) -> list[CallExplanation]:
    """The explanations of a run."""
    return explain(run, match_run(run))


def test_the_closest_call_names_the_differing_argument() -> None:
    """Of two near misses the one with more equal arguments is taken; the other is an extra write."""
    run = run_of(
        call("refund", order_id="W9", method="card_2"),
        call("refund", order_id="W1", method="card_2"),
        expect=[want("refund", order_id="W1", method="paypal_1")],
    )
    first, other = explained(run)
    assert first.status == "wrong_arguments"
    assert first.differing == {"method": ("paypal_1", "card_2")}
    assert (other.status, other.actual, other.write) == ("extra_write", {"order_id": "W9", "method": "card_2"}, True)


def test_each_status_is_told() -> None:
    """Matched, failed, never made, extra read, repeated and unknown calls are told apart."""
    run = run_of(
        call("get_order", order_id="W1"),
        call("get_order", order_id="W1"),
        call("get_user", user_id="u"),
        call("refund", error=True, order_id="W1"),
        call("fly_to", where="moon"),
        expect=[want("get_order", order_id="W1"), want("refund", order_id="W1"), want("change_address", zip="1")],
    )
    assert [item.status for item in explained(run)] == [
        "matched", "tool_failed", "not_attempted", "repeated", "extra_read", "unknown_tool",
    ]  # fmt: skip


def test_another_tool_in_the_place_of_an_expected_one_substitutes_it() -> None:
    """A call between the neighbours that shares an argument stands in; as a write it is outside the goal as well."""
    run = run_of(
        call("get_order", order_id="W1"),
        call("cancel_order", order_id="W1"),
        call("get_user", user_id="u"),
        expect=[want("get_order"), want("refund", order_id="W1"), want("get_user")],
    )
    statuses = [(item.status, item.tool) for item in explained(run)]
    assert statuses == [
        ("matched", "get_order"),
        ("substituted", "refund"),
        ("matched", "get_user"),
        ("extra_write", "cancel_order"),
    ]


def test_a_write_without_effect_is_not_outside_the_goal() -> None:
    """What was observed to change nothing, and what failed, are no writes; an observed change always is one."""
    run = run_of(
        call("refund", wrote=False, order_id="W1"),
        call("refund", error=True, order_id="W2"),
        call("get_order", wrote=True, order_id="W3"),
        expect=[],
    )
    assert [(item.status, item.write) for item in explained(run)] == [
        ("extra_read", False), ("extra_read", False), ("extra_write", True),
    ]  # fmt: skip


def test_a_second_write_is_outside_the_goal_and_says_that_it_repeats() -> None:
    """Refunding twice is worse than asking twice."""
    run = run_of(
        call("refund", order_id="W1"), agent("done"), user("thanks"), call("refund", order_id="W1"),
        expect=[want("refund", order_id="W1")],
    )  # fmt: skip
    matched, again = explained(run)
    assert (matched.status, matched.turn) == ("matched", 1)
    assert (again.status, again.note, again.turn) == ("extra_write", "repeats the call of turn 1", 3)


def test_the_requestor_counts() -> None:
    """A call expected of the user is not satisfied by the agent, and the explanation says who made it."""
    run = run_of(call("get_order"), expect=[ExpectedCall(name="get_order", requestor="user")])
    assert explained(run)[0].note == "called by the agent, expected of the user"


def test_what_the_user_does_besides_is_not_the_agents() -> None:
    """A write of its own is no write outside the goal, and fails no run."""
    tools = Toolset(specs=(*TOOLS.specs, ToolSpec(name="reboot", kind="write", requestor="user")))
    run = run_of(call("refund"), call("reboot", by="user"), expect=[want("refund")], toolset=tools)

    assert [one.status for one in explained(run)] == ["matched", "extra_read"]
    assert judge(run).verdict == "passed"


def test_compare_args_narrows_to_the_name() -> None:
    """With an empty `compare_args` the name alone counts."""
    run = run_of(
        call("refund", order_id="W2"),
        expect=[ExpectedCall(name="refund", arguments={"order_id": "W1"}, compare_args=[])],
    )
    assert match_run(run).strict_recall == 1.0


def test_one_call_satisfies_one_expected_call() -> None:
    """Two equal expected calls need two calls."""
    run = run_of(call("get_order", order_id="W1"), expect=[want("get_order", order_id="W1")] * 2)
    matching = match_run(run)
    assert (matching.name_recall, matching.strict_recall, matching.complete) == (0.5, 0.5, False)


def test_recall_is_not_measured_where_nothing_is_expected() -> None:
    """Without an expected call there is no denominator."""
    matching = match_run(run_of(call("get_user"), expect=[]))
    assert (matching.name_recall, matching.strict_recall, matching.complete) == (None, None, None)


def test_order_modes_differ() -> None:
    """In order allows calls between; exact allows nothing besides, retries included."""
    expect = [want("get_user"), want("refund", order_id="W1")]
    refund = call("refund", order_id="W1")
    straight = run_of(call("get_user"), refund, expect=expect)
    between = run_of(call("get_user"), call("get_order"), refund, expect=expect)
    swapped = run_of(refund, call("get_user"), expect=expect)
    retried = run_of(call("get_user", error=True), call("get_user"), refund, expect=expect)
    runs = (straight, between, swapped, retried)
    assert [keeps_order(run, match_run(run), exact=False) for run in runs] == [True, True, False, True]
    assert [keeps_order(run, match_run(run), exact=True) for run in runs] == [True, False, False, False]


def test_nothing_is_explained_without_stated_or_visible_calls() -> None:
    """A scenario without stated calls has no goal, and invisible calls cannot be compared with it."""
    assert explained(run_of(call("refund"))) == []
    assert explained(run_of(call("refund"), expect=[], calls_visible=False)) == []
