"""Whose fault it is that a run under a fault did not get there."""

from typing import Any

from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.fault import FaultHit, FaultSpec
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame, Verdict
from tests.checks.builders import agent, call, run_of, user, want
from tests.tables import each

BROKEN = FaultSpec(kind="error", calls=())
TIMEOUT = FaultSpec(kind="timeout")


@each("reply", ["What is your postcode?", "The lookup timed out. What is your postcode?"])
def test_who_ended_a_run_under_a_fault_stays_to_blame(reply: str) -> None:
    """Nothing tells the agent's question from an excuse without reading it: the run is not scored."""
    run = run_of(
        user("Where is order W1?"),
        call("get_order", error=True, order_id="W1"),
        agent(reply),
        expect=[want("get_order", order_id="W1")],
        blame=Blame.USER,
        stop_reason="the user cannot answer",
        faults=(TIMEOUT,),
        met=(FaultHit(fault=TIMEOUT, call=1, tool="get_order", arguments={"order_id": "W1"}),),
    )

    judgement = judge(run)

    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.USER)


UNSEEN = FaultSpec(kind="wrong_row")


@each(("ending", "blame"), [(Termination.STALLED, Blame.ENVIRONMENT), (Termination.SAFETY_TIMEOUT, Blame.AGENT)])
def test_what_a_fault_that_no_answer_shows_made_impossible_is_the_environments(
    ending: Termination, blame: Blame
) -> None:
    """An agent that goes on asking, as the rows do not fit, did no worse than one that closes."""
    run = run_of(
        user("Cancel order W1."),
        call("get_order", order_id="W1"),
        agent("I do not find it. Which order is it?"),
        expect=[want("cancel_order", order_id="W1")],
        termination=ending,
        blame=Blame.AGENT,
        stop_reason="the same exchange 3 times in a row",
        faults=(UNSEEN,),
        met=(FaultHit(fault=UNSEEN, call=1, tool="get_order", arguments={"order_id": "W1"}),),
    )

    judgement = judge(run)

    assert judgement.blame is blame
    assert ("wrong_row struck unseen" in str(judgement.findings)) is (blame is Blame.ENVIRONMENT)


@each(("done", "verdict"), [(True, Verdict.ERROR), (False, Verdict.FAILED)])
def test_a_tool_that_stays_broken_excuses_nothing_that_was_due_before(done: bool, verdict: Verdict) -> None:
    """What is asked first is not made impossible by a tool that comes later."""
    run = run_of(
        user("Cancel order W1, then change my address to a@b.com."),
        *([call("cancel_order", wrote=True, order_id="W1")] if done else []),
        call("change_email", error=True, email="a@b.com"),
        agent("I am sorry, changing the address did not work."),
        expect=[want("cancel_order", order_id="W1"), want("change_email", email="a@b.com")],
        faults=(BROKEN,),
        met=(FaultHit(fault=BROKEN, call=1, tool="change_email", arguments={"email": "a@b.com"}),),
    )

    judgement = judge(run)

    assert judgement.verdict == verdict


EMPTY = FaultSpec(kind="empty")
LOOKED = {"earlier": {"calls": ["get_user"]}}
FREE = {"only_if": {"calls": ["refund"], "state": {"at": ["open"], "value": 0}}}


@each(
    ("fault", "hidden", "rule", "first", "blame"),
    [
        (EMPTY, True, None, True, Blame.ENVIRONMENT),
        (EMPTY, True, FREE, True, Blame.ENVIRONMENT),
        (FaultSpec(kind="stale"), False, None, True, Blame.ENVIRONMENT),
        (EMPTY, True, {"only_if": {"calls": ["refund"], **LOOKED}}, True, Blame.AGENT),
        (EMPTY, True, {"only_if": {**FREE["only_if"], **LOOKED}}, True, Blame.AGENT),
        (EMPTY, False, None, True, Blame.AGENT),
        (FaultSpec(kind="latency"), False, None, True, Blame.AGENT),
        (EMPTY, True, None, False, Blame.AGENT),
    ],
)
def test_a_write_that_only_an_injected_answer_may_have_led_to_is_not_the_agents(
    fault: FaultSpec, hidden: bool, rule: Any, first: bool, blame: Blame
) -> None:
    """It saw that there is none of what forbids the write; a broken rule about something else stays its fault."""
    made, answer = call("get_order", order_id="W1")
    parts = [[made, answer.model_copy(update={"content": "[]"})], agent("There is none."), user("Refund W1.")]
    refund = call("refund", wrote=True, order_id="W1")
    run = run_of(
        user("Refund order W1."),
        *([*parts, refund] if first else [refund, agent("Done."), user("What of W1?"), *parts]),
        agent("Done."),
        expect=[],
        scenario={"never": [want("refund")]},
        policies=(Policy(id="p", text="x", rule=rule),) if rule else (),
        initial_state={"open": 1},
        final_state={"open": 1, "refunded": True},
        expected_state={"open": 1},
        states=({"open": 1, "refunded": True},),
        faults=(fault,),
        met=(FaultHit(fault=fault, call=1, tool="get_order", arguments={"order_id": "W1"}, hidden=hidden),),
    )

    judgement = judge(run)

    assert judgement.blame is blame
    told = "struck unseen: the answer [] of get_order(order_id='W1') was injected, and may"
    assert (told in str(judgement.findings)) is (blame is Blame.ENVIRONMENT)
