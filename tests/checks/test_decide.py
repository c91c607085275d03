"""Verdict, blame and findings."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.verdict import NOWHERE, judge
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import InitialState
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import FINDING_KINDS, Blame, Finding, Verdict
from tests.checks.builders import agent, call, run_of, user, want
from tests.tables import each

GOAL = [want("refund", order_id="W1", method="paypal_1")]
RIGHT = call("refund", order_id="W1", method="paypal_1")


def failures(run: Run, **options: Any) -> list[str]:
    """The messages of failed findings, worst first."""
    return [finding.message for finding in judge(run, **options).findings if finding.passed is False]


def test_a_right_run_passes() -> None:
    """Every expected write made, nothing else written, everything said."""
    judged = judge(run_of(user("refund W1"), RIGHT, agent("Refunded 12.50."), expect=GOAL, communicate=["12.5"]))
    assert (judged.verdict, judged.blame) == (Verdict.PASSED, None)
    assert judged.metrics["strict_recall"] == judged.metrics["complete"] == 1.0


def test_another_call_of_an_unknown_kind_leaves_a_part_open() -> None:
    """It may have written: the run passes by the expected calls, and says what nobody can tell and what would."""
    judged = judge(run_of(user("refund W1"), RIGHT, call("log_visit"), agent("Done."), expect=GOAL))

    assert judged.verdict is Verdict.PASSED
    (left,) = judged.unmeasured
    assert (left.part, left.why) == ("other writes", "not measured: whether log_visit changed something")
    assert "reads" in left.cure


def test_a_value_that_nobody_can_know_is_noted() -> None:
    """Not one that a row or the user holds, nor where the agent has not called all that may have given it."""
    looked = [user("refund W1"), call("get_order", order_id="W1"), RIGHT, agent("Done.")]
    wrong = [user("refund W1"), call("refund", order_id="W1", method="paypal_1", amount=20), agent("Done.")]
    amount = [want("refund", order_id="W1", method="paypal_1", amount=99.95)]
    refund = ToolSpec(name="refund", kind="write")
    both = Toolset(specs=(refund, ToolSpec(name="get_order", kind="read")))
    fees = Toolset(specs=(*both.specs, ToolSpec(name="get_fee", kind="read")))

    assert failures(run_of(*looked, expect=GOAL, communicate=["12.5"], toolset=both)) == [
        f"the agent never said '12.5'; {NOWHERE}"
    ]
    assert failures(run_of(*looked, expect=GOAL, communicate=["12.5"], toolset=fees)) == ["the agent never said '12.5'"]
    assert failures(run_of(*wrong, expect=amount, toolset=Toolset(specs=(refund,)))) == [
        f"refund: argument 'amount' was 20, expected 99.95; {NOWHERE}"
    ]
    rows = {"orders": {"W1": {"price": 12.5}}}
    assert failures(run_of(*looked, expect=GOAL, communicate=["12.5"], initial_state=rows)) == [
        "the agent never said '12.5'"
    ]
    assert NOWHERE not in "".join(failures(run_of(*looked[:1], agent("Done."), expect=GOAL, communicate=["12.5"])))


@each(
    ("parts", "messages"),
    [
        (
            [call("refund", order_id="W1", method="card_2")],
            ["refund: argument 'method' was 'card_2', expected 'paypal_1'"],
        ),
        ([call("refund", order_id="W1")], ["refund: argument 'method' was left out, expected 'paypal_1'"]),
        ([], ["refund(order_id='W1', method='paypal_1') was never called"]),
        (
            [RIGHT, call("cancel_order", order_id="W9")],
            ["cancel_order(order_id='W9') changed state and is not part of the goal"],
        ),
        (
            [call("refund", error=True, order_id="W1", method="paypal_1")],
            ["refund(order_id='W1', method='paypal_1') was attempted but failed: refused"],
        ),
        ([RIGHT, call("get_order", order_id="W1"), call("cancel_order", error=True)], []),
        ([call("refund", error=True, order_id="W1", method="paypal_1"), RIGHT], []),
    ],
)
def test_without_state_the_writes_decide(parts: list[list[Message]], messages: list[str]) -> None:
    """Each wrong or missing write reads like an assertion; reads and failed attempts do no harm."""
    assert failures(run_of(*parts, expect=GOAL)) == messages


def test_equal_states_pass_whatever_the_path() -> None:
    """Where state can be read, how it came about does not matter."""
    state = {"orders": {"W1": {"status": "refunded"}}}
    run = run_of(call("cancel_order", order_id="W1"), expect=GOAL, final_state=state, expected_state=state)
    assert judge(run).verdict is Verdict.PASSED


def test_different_states_fail_with_the_wrong_write_first() -> None:
    """The call that did it is named before the row that differs, and `ignore` leaves rows out."""
    run = run_of(
        call("refund", order_id="W1", method="card_2"),
        expect=GOAL,
        final_state={"orders": {"W1": {"method": "card_2"}}},
        expected_state={"orders": {"W1": {"method": "paypal_1"}}},
    )
    found = [finding for finding in judge(run).findings if finding.passed is False]
    assert [finding.kind for finding in found] == ["write", "state"]
    assert found[1].expected == "'paypal_1'"
    assert found[1].actual == "'card_2'"


def test_missing_reads_fail_only_on_request() -> None:
    """`expected_calls: all` makes reads count; otherwise they only lower recall."""
    goal = [want("get_order", order_id="W1")]
    lenient = judge(run_of(expect=goal))
    strict = judge(run_of(expect=goal, scenario={"match": {"expected_calls": "all"}}))
    assert (lenient.verdict, lenient.metrics["strict_recall"]) == (Verdict.PASSED, 0.0)
    assert strict.verdict is Verdict.FAILED


def test_a_tool_of_unknown_kind_must_be_called_when_expected() -> None:
    """With no toolset at all an expected call still has to be made."""
    assert judge(run_of(expect=GOAL, toolset=Toolset())).verdict is Verdict.FAILED
    assert judge(run_of(RIGHT, expect=GOAL, toolset=Toolset())).verdict is Verdict.PASSED


@each(("order", "verdict"), [("any_order", "passed"), ("in_order", "failed"), ("exact", "failed")])
def test_a_violated_order_fails(order: str, verdict: str) -> None:
    """An order mode is a demand of its own."""
    run = run_of(RIGHT, call("get_user"), expect=[want("get_user"), *GOAL], scenario={"match": {"order": order}})
    assert judge(run).verdict == verdict


def test_a_forbidden_call_fails_even_as_an_attempt() -> None:
    """`never` is about conduct: the tool's refusal does not excuse it."""
    run = run_of(call("cancel_order", error=True, order_id="W1"), scenario={"never": [want("cancel_order")]})
    assert failures(run) == ["cancel_order(order_id='W1') is forbidden in this scenario"]


@each("termination", [Termination.STALLED, Termination.CRASHED, Termination.SAFETY_TIMEOUT])
@each("blame", [None, *Blame])
def test_whoever_broke_the_run_is_blamed(termination: Termination, blame: Blame | None) -> None:
    """A run that did not finish is the agent's failure, or an error by somebody else's fault."""
    judged = judge(run_of(RIGHT, expect=GOAL, termination=termination, blame=blame))
    if blame in (None, Blame.AGENT):
        assert (judged.verdict, judged.blame) == (Verdict.FAILED, Blame.AGENT)
    else:
        assert (judged.verdict, judged.blame) == (Verdict.ERROR, blame)


def test_the_users_fault_is_flagged_on_a_finished_run() -> None:
    """Blame is decided without looking at pass or fail."""
    assert judge(run_of(RIGHT, expect=GOAL, blame=Blame.USER)).verdict is Verdict.ERROR


def test_invisible_calls_are_not_measured() -> None:
    """Checks that need calls neither pass nor fail, and a run that relies on them is not scored."""
    run = run_of(
        agent("done"),
        expect=GOAL,
        calls_visible=False,
        policies=(Policy(id="p", text="p", rule={"confirm_before": {"calls": "writes"}}),),
        scenario={"never": [want("cancel_order")], "match": {"expected_calls": "all"}},
    )
    judged = judge(run)
    assert {finding.check: finding.passed for finding in judged.findings} == {
        "policy:p": None, "never": None, "state": None, "calls": None, "termination": True,
    }  # fmt: skip
    assert (judged.verdict, judged.blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert judged.policies[0].exercised is None
    assert judged.metrics["name_recall"] is judged.metrics["tool_calls"] is judged.metrics["tool_errors"] is None


def shouts(run: Run) -> Iterable[Finding]:
    """A custom check that fails without deciding."""
    yield Finding(check="shouts", kind="check", passed=False, message="too loud", required=False)


def raises(run: Run) -> Iterable[Finding]:
    """A custom check that raises half way."""
    yield Finding(check="raises", kind="check", passed=True, message="fine so far")
    raise KeyError("order")


def skips(run: Run) -> Iterable[Finding]:
    """A custom check that tries to skip."""
    pytest.skip("not today")


async def sleeps(run: Run) -> Iterable[Finding]:
    """A custom check that is async."""
    return []


def forgets(run: Run) -> Iterable[Finding]:
    """A custom check that returns nothing."""
    return None


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (raises, "check raises raised KeyError: 'order'"),
        (skips, "check skips raised Skipped: not today"),
        (sleeps, "must not be async"),
        (forgets, "this one returned None"),
        (lambda _: ["no"], "this one yielded 'no'"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_check_that_raises_is_an_error_and_not_a_skip(check: Any, message: str) -> None:
    """The scenario is to blame, and the finding says what was raised."""
    judged = judge(run_of(RIGHT, expect=GOAL), [check])
    assert (judged.verdict, judged.blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert any(message in finding.message for finding in judged.findings if finding.kind == "check")


def test_a_forbidden_call_stays_proven_whatever_a_further_predicate_does() -> None:
    """What one entry of `never` shows needs no other one."""

    def broken(_: str) -> Any:
        def predicate(_: Any) -> bool:
            raise ValueError("boom")

        return predicate

    never = [want("cancel_order"), want("cancel_order", order_id={"$call": "own:broken"})]
    judgement = judge(run_of(call("cancel_order", order_id="W1"), scenario={"never": never}), resolve=broken)

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)


def test_a_finding_that_is_not_required_never_fails_a_run() -> None:
    """It is listed, after those that fail the run."""
    assert judge(run_of(RIGHT, expect=GOAL), [shouts]).verdict is Verdict.PASSED


def test_a_bad_matcher_is_the_scenarios_fault() -> None:
    """What cannot be compared is an error, never a failure of the agent."""
    judged = judge(run_of(RIGHT, expect=[want("refund", order_id={"$regx": "W"})]))
    assert (judged.verdict, judged.blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert "unknown matcher '$regx'" in judged.findings[0].message


def test_findings_are_worst_first() -> None:
    """Wrong writes, policies, state, calls, communication, termination."""
    run = run_of(
        call("cancel_order", order_id="W9"),
        expect=GOAL,
        communicate=["42"],
        termination=Termination.STALLED,
        policies=(Policy(id="p", text="p", rule={"never": {"calls": ["cancel_order"]}}),),
    )
    kinds = [finding.kind for finding in judge(run).findings if finding.passed is False]
    assert kinds == sorted(kinds, key=FINDING_KINDS.index)
    assert kinds[0] == "write"
    assert len(set(kinds)) == 5


def test_metrics_count_errors_retries_and_calls() -> None:
    """Errors, those tried again, calls made over expected."""
    run = run_of(
        call("get_order", error=True), call("get_order"), call("refund", error=True), agent("Sorry."),
        expect=[want("get_order"), want("get_user")],
    )  # fmt: skip
    metrics = judge(run).metrics
    assert (metrics["tool_errors"], metrics["errors_then_retried"], metrics["calls_ratio"]) == (2.0, 1.0, 1.5)
    assert (metrics["tool_calls"], metrics["agent_turns"], metrics["echo_rate"]) == (3.0, 1.0, None)


def test_echoes_are_mirrored_turns_and_not_answers() -> None:
    """A user who gives the agent's words back echoes; one who takes some of them up answers."""
    polite = "Bien sûr, je serais ravi de vous aider avec votre demande aujourd'hui."
    run = run_of(
        agent(polite),
        user("Bien sûr, je serais ravi de vous aider avec votre demande !"),
        agent("What is your order number?"),
        user("My order number is W1, from last week."),
    )
    assert judge(run).metrics["echo_rate"] == 0.5


texts = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
tools = st.sampled_from(["refund", "get_order", "", "\ud800", "no_such_tool"])
calls = st.builds(
    ToolCall, name=tools, arguments=st.dictionaries(texts, values, max_size=3), id=st.sampled_from(["", "1", "2"]),
    requestor=st.sampled_from(["assistant", "user"]),
)  # fmt: skip
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool"]),
    content=st.none() | texts | st.sampled_from(["Shall I go ahead?", "yes", "Yes, but wait", "oui"]),
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    tool_call_id=st.sampled_from([None, "1", "2"]),
    requestor=st.sampled_from(["assistant", "user"]),
    error=st.booleans(),
    wrote=st.sampled_from([None, True, False]),
)


@given(
    st.lists(messages, max_size=10),
    st.lists(st.builds(want, tools, order_id=values), max_size=3),
    st.lists(texts, max_size=2),
    st.booleans(),
    st.sampled_from(["any_order", "in_order", "exact"]),
)
def test_judging_never_raises(
    transcript: list[Message], expect: list[Any], communicate: list[str], visible: bool, order: str
) -> None:
    """Whatever the transcript holds, there is a verdict, and a message can be printed."""
    rules = [{"confirm_before": {"calls": "writes"}}, {"before": {"calls": ["refund"], "first": ["get_order"]}}]
    run = run_of(
        transcript,
        expect=expect,
        communicate=communicate,
        calls_visible=visible,
        scenario={"match": {"order": order, "expected_calls": "all"}},
        policies=tuple(Policy(id=str(index), text="p", rule=rule) for index, rule in enumerate(rules)),
    )
    judged = judge(run)
    assert all(finding.message.encode() for finding in judged.findings)
    assert not [finding for finding in judged.findings if finding.kind == "check"] or any(
        "$" in key for item in expect for key in str(item.arguments)
    )


def test_calls_of_the_conversation_before_the_run_are_nobodys_fault() -> None:
    """A scenario may begin in the middle: what was called until then is no write of this agent's."""
    before = [*user("New task"), *call("refund", order_id="W9")]
    history = [
        {"role": "user", "content": "New task"},
        {"role": "assistant", "tool_calls": [{"id": "", "name": "refund", "arguments": {"order_id": "W9"}}]},
        {"role": "tool", "content": before[-1].content},
    ]
    run = run_of(before, call("cancel_order", order_id="W1"), expect=[want("cancel_order", order_id="W1")])
    scenario = run.scenario.model_copy(
        update={
            "task": run.scenario.task.model_copy(update={"initial_state": InitialState(message_history=history)}),
            "never": (want("refund"),),
        }
    )

    assert judge(run.model_copy(update={"scenario": scenario})).verdict is Verdict.PASSED
    assert judge(run).verdict is Verdict.FAILED


def test_an_agent_that_never_had_a_turn_is_not_at_fault() -> None:
    """The user closed with its first words."""
    judgement = judge(run_of(user("Bye."), expect=[want("refund", order_id="W1")]))

    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.USER)
