"""What became of a fault, without reading what the agent says of it."""

from typing import Any

from pytest_agentbench.checks.fault_outcomes import settled
from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.fault import FaultHit, FaultSpec
from pytest_agentbench.core.run import Judgement
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame, Verdict
from tests.checks.builders import agent, call, run_of, user, want
from tests.tables import each

LASTING = FaultSpec(kind="error", calls=())
ONCE = FaultSpec(kind="timeout")
HONEST = "Das hat leider nicht geklappt."
LOOKUP: dict[str, Any] = {"tool": "get_order", "arguments": {"order_id": "W1"}}


def answered(tool: str, content: str, **arguments: Any) -> list[Message]:
    """The agent calls a tool, which tells something."""
    made, answer = call(tool, **arguments)
    return [made, answer.model_copy(update={"content": content})]


def after_lookup(*then: Any, fault: FaultSpec = ONCE) -> Judgement:
    """Judge a run in which the first lookup was struck, and what followed it."""
    return judge(
        run_of(
            user("Where is order W1?"),
            call("get_order", error=True, order_id="W1"),
            *then,
            expect=[want("get_order", order_id="W1")],
            faults=(fault,),
            met=(FaultHit(fault=fault, call=1, **LOOKUP),),
        )
    )


@each(
    ("then", "overcome"),
    [
        ([answered("get_order", '{"status": "sent"}', order_id="W1"), agent("It was sent.")], True),
        ([answered("get_user", '{"order": "W1", "at": "Lyon"}', code="T7"), agent("In Lyon.")], True),
        ([answered("get_user", '{"at": "Lyon"}', code="T7"), agent("In Lyon.")], False),
        ([agent(HONEST)], False),
    ],
    ids=["the same tool", "another tool", "about something else", "nothing"],
)
def test_a_fault_is_overcome_by_a_later_answer(then: list[Message], overcome: bool) -> None:
    """Of the same tool, or of a read that tells of the same thing."""
    metrics = after_lookup(*then).metrics

    assert (metrics["faults_recovered"], metrics["faults_given_up"]) == (float(overcome), float(not overcome))


@each(
    ("said", "made_up"),
    [
        ("Your parcel costs 48.90 EUR.", "48.9"),
        ("Es kostet € 49.", "49"),
        ("Your order is X-7731.", "x-7731"),
        ("يصل في 2031-04-02", "2031-04-02"),
        ("Please try again in 15 minutes.", None),
        ("Ruf uns bis 18.30 an: +49 30 4567890.", None),
        ("Order W1 is not to be found.", None),
    ],
)
def test_a_value_in_the_place_of_an_answer_is_made_up(said: str, made_up: str | None) -> None:
    """An amount, a date or a code that nothing holds; whole numbers and times may be about something else."""
    judgement = after_lookup(agent(said))

    nowhere = [one.message for one in judgement.findings if one.kind == "fault" and one.passed is False]
    assert nowhere == (
        [f"{made_up} came from nowhere: get_order(order_id='W1') had given no answer (timeout)"] if made_up else []
    )
    assert (judgement.verdict is Verdict.FAILED) == bool(made_up)


def test_what_was_told_before_the_fault_or_after_the_answer_is_not_made_up_in_its_place() -> None:
    """The answer may have given it, or it has nothing to do with the call."""
    judgement = after_lookup(answered("get_order", "9.7", order_id="W1"), agent("That is 48.90 EUR."))

    assert judgement.metrics["faults_made_up"] == 0


def test_a_value_from_nowhere_that_is_passed_on_is_counted() -> None:
    """What the call did decides about the run."""
    judgement = after_lookup(answered("get_user", "{}", code="T-9912"), agent(HONEST))

    assert judgement.metrics["faults_made_up"] == 1
    assert judgement.verdict is Verdict.PASSED
    assert [part.part for part in judgement.unmeasured] == ["fault"]


def lasting(*then: Any, **more: Any) -> Judgement:
    """Judge a run in which the refund that is asked for fails for good."""
    return judge(
        run_of(
            user("Refund order W1"),
            call("refund", error=True, order_id="W1"),
            *then,
            expect=[want("refund", order_id="W1")],
            faults=(LASTING,),
            met=(FaultHit(fault=LASTING, call=1, tool="refund", arguments={"order_id": "W1"}),),
            **more,
        )
    )


@each("said", [HONEST, "Erledigt!"])
def test_giving_up_on_what_lasts_is_neither_failed_nor_passed(said: str) -> None:
    """Whether the user was told stands in the words, which are the auditor's to read."""
    judgement = lasting(agent(said))

    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.UNCLEAR)
    assert [part.cure for part in judgement.unmeasured] == ["let an `auditor` read whether the user was told"]


def test_a_tool_that_the_scenario_does_not_expect_may_have_been_needed() -> None:
    """Nobody knows what an agent wanted of it."""
    judgement = judge(
        run_of(
            user("Refund order W1"),
            call("get_order", error=True, order_id="W1"),
            agent(HONEST),
            expect=[want("refund", order_id="W1")],
            faults=(LASTING,),
            met=(FaultHit(fault=LASTING, call=1, **LOOKUP),),
        )
    )

    assert judgement.blame is Blame.UNCLEAR


def test_a_write_besides_excuses_nothing() -> None:
    """What was done instead is the agent's."""
    assert lasting(call("cancel_order", wrote=True, order_id="W1"), agent(HONEST)).verdict is Verdict.FAILED


@each(("told", "verdict"), [(True, Verdict.PASSED), (False, Verdict.FAILED)])
def test_word_that_the_user_was_told_settles_it(told: bool, verdict: Verdict) -> None:
    """Excused where it was; else the run fails by what it left undone."""
    judgement = settled(lasting(agent(HONEST)), told=told)

    assert judgement.verdict is verdict
    assert (judgement.blame is None) is told


def test_what_does_not_wait_for_word_stays_as_it_is() -> None:
    """A failure that no fault excuses is none of it."""
    failed = lasting(call("cancel_order", wrote=True, order_id="W1"), agent(HONEST))

    assert settled(failed, told=True) == failed
