"""What was proven stays proven, and what was not measured neither passes nor fails."""

from typing import Any

from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.conversation import UserFault
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame, Finding, Verdict
from tests.checks.builders import agent, call, run_of, user, want
from tests.tables import each

GOAL = [want("refund", order_id="W1", method="paypal_1")]
RIGHT = call("refund", order_id="W1", method="paypal_1")
WRONG = call("refund", order_id="W1", method="card_2")
STRAY = call("cancel_order", order_id="W9")
LOOKS_FIRST = Policy(id="looks-first", text="x", rule={"before": {"calls": ["refund"], "first": ["get_order"]}})
TELLS = Policy(id="tells", text="x", rule={"when": "always", "then": {"must_say": "five days"}})
SILENT = Policy(id="silent", text="x", rule={"when": "always", "then": {"must_not_say": "guarantee"}})
UNRULED = Policy(id="kind", text="Be kind.")

OTHERS = [blame for blame in Blame if blame is not Blame.AGENT]


def broken(*parts: Any, blame: Blame = Blame.USER, **fields: Any) -> Run:
    """A run that broke off by somebody else's fault."""
    given = {"expect": GOAL, "termination": Termination.CRASHED, "blame": blame, "error": "gone", **fields}
    return run_of(user("refund W1"), *parts, **given)


def decided(run: Run) -> tuple[Verdict, Blame | None]:
    """Verdict and blame."""
    judged = judge(run)
    return judged.verdict, judged.blame


AGENTS = (Verdict.FAILED, Blame.AGENT)


@each("blame", OTHERS)
@each(
    ("parts", "fields"),
    [
        ([RIGHT], {"policies": (LOOKS_FIRST,)}),
        ([agent("I guarantee it")], {"policies": (SILENT,)}),
        ([call("cancel_order", error=True)], {"scenario": {"never": [want("cancel_order")]}}),
        ([STRAY], {}),
        ([WRONG], {}),
    ],
)
def test_what_stands_on_the_transcript_decides_whatever_came_later(
    parts: list[Any], fields: dict[str, Any], blame: Blame
) -> None:
    """A broken rule, a forbidden call, a stray and a wrong write are the agent's; the other fault is shown beside."""
    judged = judge(broken(*parts, blame=blame, **fields))
    assert (judged.verdict, judged.blame) == AGENTS
    assert [(one.blame, one.reason, one.ended) for one in judged.also] == [(blame, "gone", True)]
    assert judged.metrics["measured"] is None


REFUND = {"calls": ["refund"]}
CARDS = {"arguments": {"method": {"$in": ["card_1", "card_2"]}}}
PAYPAL = {"where": {"method": {"$in": ["paypal_1"]}}}
OPEN = [ExpectedCall(name="refund", arguments={"order_id": "W1"})]
SCENARIOS = (Verdict.ERROR, Blame.SCENARIO)


@each(
    ("rule", "parts", "expect", "came"),
    [
        ({"only_if": {**REFUND, **CARDS}}, [RIGHT], GOAL, SCENARIOS),
        ({"only_if": {**REFUND, **CARDS, "agent_said": "so"}}, [RIGHT], GOAL, SCENARIOS),
        ({"only_if": {**REFUND, "any": [CARDS, {"not": {"arguments": {"order_id": "W1"}}}]}}, [RIGHT], GOAL, SCENARIOS),
        ({"never": {**REFUND, **PAYPAL}}, [RIGHT], GOAL, SCENARIOS),
        ({"never": REFUND}, [RIGHT], OPEN, SCENARIOS),
        ({"only": {"calls": ["get_order"]}}, [RIGHT], GOAL, SCENARIOS),
        (None, [RIGHT], GOAL, SCENARIOS),
        ({"never": {**REFUND, **PAYPAL}}, [RIGHT], OPEN, AGENTS),  # the agent chose the method
        ({"never": REFUND}, [RIGHT, WRONG], GOAL, AGENTS),
        ({"only": {"calls": ["get_order"]}}, [RIGHT, STRAY], GOAL, AGENTS),
        ({"only_if": {**REFUND, "any": [CARDS, {"agent_said": "so"}]}}, [RIGHT], GOAL, AGENTS),
        ({"only_if": {**REFUND, "earlier": {"calls": ["get_order"]}}}, [RIGHT], GOAL, AGENTS),
        ({"at_most": {**REFUND, "times": 1}}, [RIGHT, RIGHT], GOAL, AGENTS),
    ],
)
def test_a_rule_that_forbids_what_the_scenario_expects_is_the_scenarios_fault(
    rule: Any, parts: list[Any], expect: list[ExpectedCall], came: tuple[Verdict, Blame]
) -> None:
    """Whoever does as expected breaks it; what else the conversation holds, and any other call, are the agent's."""
    policies = (Policy(id="cards", text="x", rule=rule),) if rule else ()
    never = {"scenario": {"never": [want("refund", order_id="W1")]}} if rule is None else {}

    judged = judge(run_of(user("refund W1"), *parts, agent("done"), expect=expect, policies=policies, **never))

    assert (judged.verdict, judged.blame) == came
    assert ("a call that the scenario expects: refund(order_id='W1'" in str(judged.findings)) is (came == SCENARIOS)


@each("blame", OTHERS)
@each(
    ("parts", "fields"),
    [
        ([], {}),
        ([RIGHT, agent("done")], {"communicate": ["12.50"]}),
        ([RIGHT, agent("done")], {"policies": (TELLS,)}),
        ([call("refund", error=True, order_id="W1", method="card_2")], {}),
        ([call("cancel_order", by="user")], {"scenario": {"never": [want("cancel_order")]}}),
        ([call("cancel_order", by="user")], {}),
    ],
)
def test_what_is_only_missing_when_a_run_broke_off_is_not_proven(
    parts: list[Any], fields: dict[str, Any], blame: Blame
) -> None:
    """A missing write, an unsaid sentence, a refused attempt and what the user did show nothing about the agent."""
    assert decided(broken(*parts, blame=blame, **fields)) == (Verdict.ERROR, blame)


STATE = {"orders": {"W1": {"method": None}, "W9": {"status": "open"}}}
GOAL_STATE = {"orders": {"W1": {"method": "paypal_1"}, "W9": {"status": "open"}}}


@each(
    ("parts", "final", "expected"),
    [
        ([WRONG], {"orders": {"W1": {"method": "card_2"}, "W9": {"status": "open"}}}, AGENTS),
        ([STRAY], {"orders": {"W1": {"method": None}, "W9": {"status": "cancelled"}}}, AGENTS),
        ([STRAY], {"orders": {"W1": {"method": None}}}, AGENTS),
        # it was undone, or changed nothing that is kept: only the missing write is left
        ([STRAY], STATE, (Verdict.ERROR, Blame.PROVIDER)),
        ([], STATE, (Verdict.ERROR, Blame.PROVIDER)),
    ],
)
def test_where_state_can_be_read_a_wrong_write_must_stand_in_it(
    parts: list[Any], final: dict[str, Any], expected: tuple[Verdict, Blame]
) -> None:
    """A value that is neither what it was nor what it should become is proof."""
    run = broken(*parts, blame=Blame.PROVIDER, initial_state=STATE, final_state=final, expected_state=GOAL_STATE)
    assert decided(run) == expected


def test_a_guard_rail_that_suspects_the_user_makes_the_run_disputed_and_decides_nothing() -> None:
    """A pattern voids no run: it stays passed or failed, and says why somebody should look."""
    suspected = UserFault(rule="invention", message="states W9, which it has from nowhere", turn=1)

    failed = judge(run_of(user("cancel W9"), STRAY, expect=GOAL, user_faults=(suspected,)))
    passed = judge(run_of(user("refund W1"), RIGHT, expect=GOAL, user_faults=(suspected,)))

    assert (failed.verdict, failed.blame) == AGENTS
    assert passed.verdict is Verdict.PASSED
    assert failed.disputed == passed.disputed == "turn 1: states W9, which it has from nowhere"
    assert judge(run_of(user("refund W1"), RIGHT, expect=GOAL)).disputed == ""


def test_a_check_that_raises_does_not_take_back_what_was_proven() -> None:
    """It is shown beside it, and decides where nothing is proven."""

    def raises(run: Run) -> list[Finding]:
        raise RuntimeError("bad check")

    proven = judge(run_of(user("refund W1"), RIGHT, expect=GOAL, policies=(LOOKS_FIRST,)), [raises])
    assert (proven.verdict, proven.blame) == AGENTS
    assert "bad check" in proven.also[0].reason
    assert judge(run_of(RIGHT, expect=GOAL), [raises]).blame is Blame.SCENARIO


def unmeasured(judged: Judgement) -> list[str]:
    """The parts that were not decided."""
    return [one.part for one in judged.unmeasured]


def test_a_run_is_decided_by_the_parts_that_were_measured() -> None:
    """What could not be told is named, with what would tell it, and is part of the share *measured*."""
    run = run_of(
        user("refund W1"), RIGHT, agent("Refunded 12.50."),
        expect=GOAL, communicate=["12.5"], policies=(UNRULED, LOOKS_FIRST),
        scenario={"policies": ("kind",), "never": [want("cancel_order")]},
    )  # fmt: skip
    judged = judge(run.model_copy(update={"policies": (UNRULED,)}))
    assert (judged.verdict, judged.blame) == (Verdict.PASSED, None)
    assert (judged.asked, unmeasured(judged)) == (4, ["policy kind"])
    assert "`rule`" in judged.unmeasured[0].cure
    assert "`judge`" in judged.unmeasured[0].cure
    assert judged.metrics["measured"] == 0.75
    assert judge(run).asked == 5, "a rule of the suite whose trigger occurred is asked for, listed or not"


def test_a_rule_that_was_not_set_off_is_a_part_only_where_it_is_listed() -> None:
    """It was looked for, so it is measured there."""
    run = run_of(user("hi"), agent("hello"), expect=[], policies=(LOOKS_FIRST,))
    listed = run.model_copy(update={"scenario": run.scenario.model_copy(update={"policies": ("looks-first",)})})
    assert judge(run).asked == 1
    assert (judge(listed).asked, unmeasured(judge(listed))) == (2, [])


def test_where_nothing_was_measured_that_is_asked_for_there_is_no_verdict() -> None:
    """The scenario relies on what nobody can see; it names the cure."""
    judged = judge(run_of(agent("done"), expect=GOAL, calls_visible=False))
    assert (judged.verdict, judged.blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert (unmeasured(judged), judged.metrics["measured"]) == (["state"], 0.0)
    assert "`tools`" in judged.unmeasured[0].cure


def test_a_scenario_that_asks_for_nothing_is_decided_by_its_end() -> None:
    """There is nothing to measure, and no share of it."""
    judged = judge(run_of(user("hi"), agent("hello")))
    assert (judged.verdict, judged.asked, judged.metrics["measured"]) == (Verdict.PASSED, 0, None)


def test_a_check_of_ones_own_can_say_that_it_measured_nothing() -> None:
    """Its cure is shown as the check gave it; a finding that failed decides the part."""

    def cannot(run: Run) -> list[Finding]:
        return [Finding(check="tone", kind="check", passed=None, message="no tone", cure="give it a tone")]

    def half(run: Run) -> list[Finding]:
        return [*cannot(run), Finding(check="tone", kind="check", passed=False, message="rude")]

    judged = judge(run_of(RIGHT, expect=GOAL), [cannot])
    assert (judged.verdict, [(one.part, one.cure) for one in judged.unmeasured]) == (
        Verdict.PASSED, [("tone", "give it a tone")],
    )  # fmt: skip
    assert decided(run_of(RIGHT, expect=GOAL)) == (Verdict.PASSED, None)
    assert judge(run_of(RIGHT, expect=GOAL), [half]).verdict is Verdict.FAILED


def test_a_pattern_that_never_ends_excuses_no_wrong_write() -> None:
    """An agent could provoke it with its own words: what stands in the calls decides all the same."""
    endless = Policy(id="endless", text="x", rule={"when": "always", "then": {"must_not_say": {"pattern": "(x+x+)+y"}}})
    run = run_of(user("refund W1"), WRONG, agent("x" * 3000), expect=GOAL, policies=(endless,))

    judged = judge(run)

    assert (judged.verdict, judged.blame) == AGENTS
    assert [one.blame for one in judged.also] == [Blame.SCENARIO]


def test_an_expected_read_that_fails_in_any_world_spoils_no_right_run() -> None:
    """Only where a write cannot be made, or something was missed, does it keep everybody from passing."""
    look = want("get_order", order_id="W1")
    run = run_of(user("refund W1"), RIGHT, agent("done"), expect=[look, *GOAL])
    run = run.model_copy(update={"unreplayed": {0: "gone"}, "untold": "its calls cannot be made again"})

    assert decided(run) == (Verdict.PASSED, None)
