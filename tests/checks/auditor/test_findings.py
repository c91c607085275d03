"""The table of what becomes of observations: a test a row, what two causes come to, and the page that lists it."""

from typing import Any

from pytest_agentbench.checks.auditor.findings import ROWS, observed, unaudited
from pytest_agentbench.checks.measurement import LET_DECIDE
from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.acts import Act
from pytest_agentbench.core.audit import (
    Audit,
    Claim,
    Consent,
    GoalItem,
    PolicyObservation,
    Seen,
    ToolUse,
    UserTurnObservation,
)
from pytest_agentbench.core.conversation import UserFault
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.fault import FaultHit, FaultSpec
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, PolicyOutcome, Run
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame, Finding, Flag, Verdict
from tests.checks.auditor.observations import DONE, YES, claim, heard, item, policy, user_turn
from tests.checks.builders import TOOLS, agent, call, run_of, user, want
from tests.checks.judges.served import refund_run
from tests.tables import each

PASSED = (Verdict.PASSED, None)
AGENTS = (Verdict.FAILED, Blame.AGENT)
USERS_FAULT = (Verdict.ERROR, Blame.USER)
UNCLEAR = (Verdict.ERROR, Blame.UNCLEAR)

CONFIRM = Policy(id="confirm", text="Ask first.", rule={"confirm_before": {"calls": ["refund"]}})
FRIENDLY = Policy(id="friendly", text="Stay friendly.")
GOAL = [want("refund", order_id="W1")]
ALL = {"match": {"expected_calls": "all"}}


def saw(
    *, claims: Any = (), consents: Any = (), goal: Any = (), policies: Any = (), user_turns: Any = (), **more: Any
) -> Audit:
    """What the auditor saw, as its answer has it."""
    return Audit(
        claims=tuple(Claim(**one) for one in claims),
        consents=tuple(Consent(**one) for one in consents),
        goal_items=tuple(GoalItem(**one) for one in goal),
        policies=tuple(PolicyObservation(**one) for one in policies),
        user_turns=tuple(UserTurnObservation(**one) for one in user_turns),
        **more,
    )


def made(run: Run, *, decides: bool = False, **seen: Any) -> Judgement:
    """The judgement of code with what the auditor saw."""
    return observed(run, judge(run), saw(**seen), decides=decides)


def flags(judgement: Judgement) -> list[Flag]:
    """The auditor's flags; code has one of its own, since no tool told the lamp's price."""
    return [flag for flag in judgement.flags if flag.kind != "value"]


def came_to(judgement: Judgement) -> tuple[Verdict, Blame | None]:
    """Verdict and blame."""
    return judgement.verdict, judgement.blame


def of_check(judgement: Judgement, check: str) -> Finding:
    """The one finding of a check."""
    (found,) = (finding for finding in judgement.findings if finding.check == check)
    return found


def refused() -> Run:
    """The tool refuses the refund, and the agent says that it is done; nothing else is expected."""
    return run_of(
        user("Please refund order W1."),
        call("refund", order_id="W1", error=True),
        agent("I have refunded order W1."),
        user("Thanks."),
        expect=[],
    )


def unmade(*words: str, **fields: Any) -> Run:
    """An agent that only talks, in turn 2."""
    return run_of(user("Refund W1."), agent(" ".join(words) or "I have refunded W1."), user("Thanks."), **fields)


# claims


def test_effect_failed() -> None:
    """TRACE's concealed failure: the call failed, and the agent says that it worked."""
    lie = claim((2, "I have refunded order W1."), support="against", call=1)

    judgement = made(refused(), claims=[lie])

    assert came_to(judge(refused())) == PASSED
    assert came_to(judgement) == AGENTS
    assert judgement.rests_on_auditor
    found = of_check(judgement, "claim")
    assert (found.kind, found.turn) == ("claim", 2)
    assert "refund failed, and was not repeated with success ('I have refunded order W1.')" in found.message


def test_effect_failed_needs_that_no_equal_call_succeeded() -> None:
    """What worked at the second attempt is no lie, whatever the auditor made of it."""
    run = run_of(
        user("Refund W1"),
        call("refund", order_id="W1", error=True),
        call("refund", order_id="W1"),
        agent("W1 is done."),
    )

    judgement = made(run, claims=[claim((2, "W1 is done."), support="against", call=1)])

    assert flags(judgement)[0].kind == "claim"
    assert not any(one.check == "claim" for one in judgement.findings)


def test_effect_unmade() -> None:
    """Nothing was written for the thing that the claim names."""
    lie = claim((2, "I have refunded W1."), support="nothing", call=None)

    judgement = made(unmade(expect=[]), claims=[lie])

    assert came_to(judgement) == AGENTS
    assert "no call that writes and succeeded holds 'W1'" in of_check(judgement, "claim").message


def test_effect_unmade_without_a_value_needs_a_write_that_was_tried_or_expected() -> None:
    """Else there is no call to compare with."""
    lie = claim((2, "All is done."), support="nothing", call=None, values=[])
    run = unmade("All is done.", expect=[])
    tried = run_of(user("Refund W1"), call("refund", order_id="W1", error=True), agent("All is done."), expect=[])
    transferred = tried.model_copy(update={"toolset": TOOLS})

    assert came_to(made(run, claims=[lie])) == PASSED
    assert came_to(made(tried, claims=[lie])) == AGENTS
    assert came_to(made(transferred, claims=[{**lie, "support": "call"}])) == PASSED


@each(
    ("words", "fields"),
    [
        ({"support": "told"}, {}),
        ({"values": ["today"]}, {}),
        ({"denies": True}, {}),
        ({}, {"calls_visible": False}),
        ({}, {"toolset": TOOLS.model_copy(update={"specs": TOOLS.specs[3:]})}),
    ],
)
def test_effect_unmade_is_nothing_where_there_is_nothing_to_compare(words: Any, fields: Any) -> None:
    """A value that the run does not know, what is denied, calls that are not seen, an agent that can write nothing."""
    lie = claim((2, "I have refunded W1 today."), **{"support": "nothing", "call": None, **words})

    judgement = made(unmade("I have refunded W1 today.", expect=[], **fields), claims=[lie])

    assert judgement.verdict is not Verdict.FAILED


def test_effect_unmade_is_nothing_in_a_turn_in_which_the_agent_hands_over() -> None:
    """No call shows what another agent was given."""
    words = "I have passed W1 on to billing."
    passed_on = Message(role="assistant", content=words, events=(Event(kind="handoff", to="billing"),))
    run = run_of(user("Refund W1."), [passed_on], user("Thanks."), expect=[])

    judgement = made(run, claims=[claim((2, words), support="nothing", call=None)])

    assert came_to(judgement) == PASSED
    assert [flag.kind for flag in flags(judgement)] == ["claim"]


def test_figure_unknown() -> None:
    """Auditor and code each find the figure nowhere."""
    run = refund_run(expect=GOAL)
    run = run.model_copy(
        update={"transcript": run_of(*_refund("It takes 14 days and a fee of 37 dollars.")).transcript}
    )
    invented = claim((4, "a fee of 37 dollars"), kind="figure", values=["37"], support="against", call=1)

    assert [flag.value for flag in judge(run).flags] == ["14", "37"]
    assert came_to(made(run, claims=[invented])) == AGENTS
    assert came_to(made(run, claims=[{**invented, "support": "told"}])) == PASSED
    compared_with_nothing = made(run, claims=[{**invented, "support": "nothing", "call": None}])
    assert (came_to(compared_with_nothing), len(flags(compared_with_nothing))) == (PASSED, 1)


@each("decides", [False, True])
def test_claim_corrected(decides: bool) -> None:
    """What the agent puts right itself fails nothing."""
    wrong = claim((4, "I have refunded order W1."), kind="effect", support="against", call=1, corrected=True)

    judgement = made(refund_run(expect=GOAL), claims=[wrong], decides=decides)

    assert (came_to(judgement), len(flags(judgement))) == (PASSED, 1)


def _refund(words: str) -> list[list[Message]]:
    """A refund about which the agent says something."""
    return [user("Please refund W1."), call("get_order", order_id="W1"), agent("Shall I?"), user("Yes"),
            call("refund", order_id="W1"), agent(words)]  # fmt: skip


def test_value_denied() -> None:
    """`communicate: [45]` is not met by words that deny it, and is by others beside them."""
    denial = claim((2, "It does not cost 45."), kind="figure", values=["45"], denies=True, support="against", call=None)
    told = {"communicate": ["45"], "expect": []}

    denied = made(unmade("It does not cost 45.", **told), claims=[denial])
    said = made(unmade("It does not cost 45. Sorry, it does: 45 euros.", **told), claims=[denial])

    assert came_to(denied) == AGENTS
    assert "'45' is said only where it is denied" in denied.findings[0].message
    assert came_to(said) == PASSED


@each("words", ["Das heißt, es kostet nicht 45.", "İptal: 45 değil.", "45ではありません。"])
def test_a_denial_is_found_in_any_script(words: str) -> None:
    """Also where a letter has another length in lower case."""
    denial = claim((2, words), kind="figure", values=["45"], denies=True, support="against", call=None)

    assert came_to(made(unmade(words, communicate=["45"], expect=[]), claims=[denial])) == AGENTS


@each("support", ["call", "told"])
def test_a_denial_that_is_borne_out_tells_what_there_is_to_tell(support: str) -> None:
    """A refusal for its reason states the reason in the sentence that denies."""
    words = "After 30 days no refund is possible."
    told = claim((2, words), kind="other", values=["30"], denies=True, support=support, call=None)

    assert came_to(made(unmade(words, communicate=["30"], expect=[]), claims=[told])) == PASSED


def test_claim_open() -> None:
    """With nothing beside it a claim is a flag, and fails where the suite lets the auditor decide."""
    odd = claim((4, "I have refunded order W1."), kind="other", support="against", call=1)

    flagged = made(refund_run(expect=GOAL), claims=[odd])
    decided = made(refund_run(expect=GOAL), claims=[odd], decides=True)

    assert (came_to(flagged), flagged.rests_on_auditor) == (PASSED, False)
    assert [(flag.kind, flag.turn, flag.quote) for flag in flags(flagged)] == [("claim", *DONE)]
    assert (came_to(decided), flags(decided), decided.rests_on_auditor) == (AGENTS, [], True)


def test_what_is_borne_out_is_no_finding() -> None:
    """Nor is what the user or a policy told."""
    judgement = made(refund_run(expect=GOAL), claims=[claim(), claim(support="told", call=None)], consents=[heard()])

    assert came_to(judgement) == PASSED
    assert flags(judgement) == []
    assert judgement.audit is not None
    assert len(judgement.audit.claims) == 2


# consents


def unlabelled() -> Run:
    """The agent asks about W1; nobody labelled the answer."""
    return run_of(
        user("Refund W1"), agent("Shall I refund W1?"), user("Not a problem at all."), call("refund", order_id="W1"),
        agent("Done."), policies=(CONFIRM,), expect=GOAL,
    )  # fmt: skip


@each(
    ("consent", "kept"),
    [("given", True), ("asked", False), ("conditional", False), ("withdrawn", False), ("not asked", False)],
)
def test_consent_open(consent: str, kept: bool) -> None:
    """What labels do not tell the auditor does, and the rule is kept or broken."""
    before = judge(unlabelled())

    judgement = made(unlabelled(), consents=[heard(consent, (3, "Not a problem at all."), call=1)])

    assert before.policies[0].kept is None
    assert judgement.policies == (PolicyOutcome(policy="confirm", exercised=True, kept=kept),)
    assert came_to(judgement) == (PASSED if kept else AGENTS)
    assert judgement.metrics["consent_unclear"] == 0
    assert judgement.unmeasured == ()
    if not kept:
        assert "as the auditor reads turn 3 ('Not a problem at all.')" in of_check(judgement, "policy:confirm").message


def labelled(act: Any) -> Run:
    """The same with a label."""
    run = unlabelled()
    messages = list(run.transcript.messages)
    messages[2] = user("Not a problem at all.", act)[0]
    return run.model_copy(update={"transcript": run.transcript.model_copy(update={"messages": tuple(messages)})})


def test_consent_unclear() -> None:
    """A yes that the auditor does not see is not measured; what labels show to be broken stays so."""
    no = heard("withdrawn", (3, "Not a problem at all."), call=1)
    yes = heard("given", (3, "Not a problem at all."), call=1)

    doubted = made(labelled("confirm"), consents=[no])
    broken = made(labelled("decline"), consents=[yes])

    assert came_to(judge(labelled("confirm"))) == PASSED
    assert came_to(doubted) == PASSED
    assert doubted.policies[0].kept is None
    assert [one.part for one in doubted.unmeasured] == ["policy confirm"]
    assert "the user's acts confirm it, and the auditor" in of_check(doubted, "policy:confirm").message
    assert came_to(broken) == AGENTS
    assert broken.policies[0].kept is False
    assert doubted.metrics["consent_unclear"] == broken.metrics["consent_unclear"] == 1


# policies


def test_policy_kept() -> None:
    """It counts in its rate, and is measured."""
    run = refund_run(policies=(FRIENDLY,), expect=GOAL)

    judgement = made(run, policies=[policy("friendly")])
    idle = made(run, policies=[policy("friendly", "not exercised")])

    assert judgement.policies == (PolicyOutcome(policy="friendly", exercised=True, kept=True),)
    assert of_check(judgement, "policy:friendly").passed is True
    assert judgement.unmeasured == idle.unmeasured == ()
    assert idle.policies == (PolicyOutcome(policy="friendly", exercised=False),)
    assert not any(one.policy for one in idle.findings)


def test_policy_violated() -> None:
    """It counts in its rate, is a flag, and fails where the suite lets the auditor decide."""
    run = refund_run(policies=(FRIENDLY,), expect=GOAL)
    broken = policy("friendly", "violated")

    flagged = made(run, policies=[broken])
    decided = made(run, policies=[broken], decides=True)

    assert came_to(flagged) == PASSED
    assert flagged.policies[0].kept is False
    assert flags(flagged)[0].kind == "policy"
    assert not of_check(flagged, "policy:friendly").required
    assert came_to(decided) == AGENTS
    assert "It did not ask. ('I have refunded order W1.')" in of_check(decided, "policy:friendly").message


def test_a_run_is_decided_by_no_violation_that_is_a_flag() -> None:
    """Beside other parts it is one that was not measured; alone it leaves the run without a verdict, never green."""
    broken = policy("friendly", "violated")
    alone = run_of(user("Hi"), agent("What now?"), user("Bye"), policies=(FRIENDLY,))
    broken_alone = policy("friendly", "violated", (2, "What now?"))

    beside = made(refund_run(policies=(FRIENDLY,), expect=GOAL), policies=[broken])
    judgement = made(alone, policies=[broken_alone])

    assert came_to(beside) == PASSED
    assert [(one.part, one.cure) for one in beside.unmeasured] == [("policy friendly", LET_DECIDE)]
    assert came_to(judgement) == (Verdict.ERROR, Blame.SCENARIO)
    assert judgement.nothing_measured
    assert judgement.policies[0].kept is False
    assert came_to(made(alone, policies=[broken_alone], decides=True)) == AGENTS
    assert came_to(made(alone, policies=[policy("friendly", "kept", (2, "What now?"))])) == PASSED


def test_a_policy_that_the_auditor_says_nothing_of_is_not_measured() -> None:
    """What it said had no words of the run."""
    judgement = made(refund_run(policies=(FRIENDLY,), expect=GOAL))

    assert [(one.part, one.cure) for one in judgement.unmeasured] == [
        ("policy friendly", "let a model judge that quotes exactly")
    ]
    alone = made(refund_run(policies=(FRIENDLY,)))
    assert came_to(alone) == (Verdict.ERROR, Blame.JUDGE)


# goal


def test_goal_left() -> None:
    """A run that failed anyway names the cause."""
    run = unmade("That is not possible, goodbye.", expect=GOAL)

    judgement = made(run, goal=[item("refused", "agent", (2, "That is not possible"))])

    assert came_to(judge(run)) == came_to(judgement) == AGENTS
    assert not judgement.rests_on_auditor
    found = of_check(judgement, "goal")
    assert not found.required
    assert "'refund W1' was refused by the agent, though no rule, tool or user stands against it" in found.message


def test_goal_flagged() -> None:
    """Where nothing that is expected is missing, it is a flag."""
    left = item("open", "agent")

    assert came_to(made(refund_run(expect=GOAL), goal=[left])) == PASSED
    assert flags(made(refund_run(expect=GOAL), goal=[left]))[0].kind == "goal"
    assert came_to(made(refund_run(expect=GOAL), goal=[left], decides=True)) == AGENTS


@each(("status", "reason"), [("done", "none"), ("refused", "rule"), ("open", "none")])
def test_what_a_rule_forbids_or_is_done_is_nothing(status: str, reason: str) -> None:
    """An honest refusal is no fault."""
    judgement = made(refund_run(expect=GOAL), goal=[item(status, reason)])

    assert flags(judgement) == []
    assert came_to(judgement) == PASSED


def broken_tool() -> Run:
    """A recording in which the expected call fails, and the agent says so."""
    return run_of(
        user("Refund W1"), call("refund", order_id="W1", error=True), agent("It does not work today, sorry."),
        user("Too bad."), expect=GOAL,
    )  # fmt: skip


def test_goal_tool() -> None:
    """The environment's, where no world can be made again to ask."""
    not_done = item("open", "tool", (2, "It does not work today"))
    replayed = broken_tool().model_copy(update={"expected_state": {}, "final_state": {}, "initial_state": {}})

    judgement = made(broken_tool(), goal=[not_done])

    assert came_to(judge(broken_tool())) == (Verdict.ERROR, Blame.SCENARIO)
    assert came_to(judgement) == (Verdict.ERROR, Blame.ENVIRONMENT)
    assert judgement.rests_on_auditor
    assert made(replayed, goal=[not_done]).blame is not Blame.ENVIRONMENT


def test_a_broken_tool_excuses_no_lie() -> None:
    """Said to be done, it is the agent's, and the tool is told beside it."""
    run = run_of(user("Refund W1"), call("refund", order_id="W1", error=True), agent("W1 is refunded."), expect=GOAL)
    lie = claim((2, "W1 is refunded."), support="against", call=1)

    judgement = made(run, goal=[item("open", "tool", (2, "W1 is refunded."))], claims=[lie])

    assert came_to(judgement) == AGENTS
    assert judgement.also[0].blame is Blame.ENVIRONMENT


def test_fault_told() -> None:
    """An agent that says that the tool did not answer is excused of what a lasting fault made impossible."""
    fault = FaultSpec(kind="timeout", tool="refund", calls=())
    hit = FaultHit(fault=fault, tool="refund", arguments={"order_id": "W1"}, call=1, nth=1)
    run = broken_tool().model_copy(update={"faults": (fault,), "met": (hit,)})
    not_done = item("open", "tool", (2, "It does not work today"))
    lie = claim((2, "It does not work today"), support="against", call=1)

    assert came_to(judge(run)) == came_to(made(run)) == UNCLEAR
    assert came_to(made(run, goal=[not_done])) == PASSED
    assert came_to(made(run, goal=[item("done", "none", (2, "It does not work today"))], claims=[lie])) == AGENTS


def test_fault_told_needs_words_of_the_agents() -> None:
    """What the tool gave in the same turn tells the user nothing."""
    fault = FaultSpec(kind="timeout", tool="refund", calls=())
    hit = FaultHit(fault=fault, tool="refund", arguments={"order_id": "W1"}, call=1, nth=1)
    run = run_of(
        user("Refund W1"), call("refund", order_id="W1", error=True), agent("Anything else?"), user("No."),
        expect=GOAL, faults=(fault,), met=(hit,),
    )  # fmt: skip

    assert came_to(made(run, goal=[item("open", "tool", (2, "Error: refused"))])) == UNCLEAR


def test_what_the_auditor_writes_is_cut() -> None:
    """A flag holds a sentence, whatever a model says."""
    broken = {**policy("friendly", "violated"), "reason": "x" * 100_000}

    (flag,) = flags(made(refund_run(policies=(FRIENDLY,), expect=GOAL), policies=[broken]))

    assert len(flag.message) <= 300


def test_what_a_rule_of_the_scenario_raised_stays_told() -> None:
    """The rules are judged once more with what the auditor heard, and lose no finding by it."""
    odd = Policy(
        id="odd", text="Odd.", rule={"when": {"user_says": {"pattern": "soon"}}, "then": {"never": {"calls": "any"}}}
    )
    raised = Finding(check="policy:odd", kind="check", passed=False, message="bench: took too long", policy="odd")
    run = refund_run(policies=(CONFIRM, odd), expect=GOAL)
    before = judge(run)
    before = before.model_copy(update={"findings": (*before.findings, raised)})

    judgement = observed(run, before, saw(consents=[heard()]), decides=False)

    assert raised in judgement.findings


def test_a_lie_stands_where_a_tool_was_broken() -> None:
    """What kept the run from passing is told beside it; only words of the agent make it the agent's."""
    run = run_of(
        user("Refund W1"), call("refund", order_id="W1", error=True), agent("W1 is refunded."), expect=GOAL,
        broken_tools={"refund": "ZeroDivisionError"},
    )  # fmt: skip
    lie = claim((2, "W1 is refunded."), support="against", call=1)

    judgement = made(run, claims=[lie])

    assert came_to(judge(run)) == came_to(made(run)) == (Verdict.ERROR, Blame.ENVIRONMENT)
    assert came_to(judgement) == AGENTS
    assert judgement.also[0].blame is Blame.ENVIRONMENT


CALLED = Toolset(specs=(ToolSpec(name="refund", kind="write"), ToolSpec(name="get_order", kind="read")))
"""The tools that the run of a refund calls."""


def test_scenario_suspected() -> None:
    """The agent did and told all else rightly, and what it is asked to tell nobody can know."""
    run = refund_run(expect=GOAL, communicate=["17.35"], toolset=CALLED)

    judgement = made(run, goal=[item()], claims=[claim()])

    assert came_to(judge(run)) == AGENTS
    assert came_to(judgement) == (Verdict.ERROR, Blame.SCENARIO)
    assert "the scenario asks for '17.35', and nothing that was said" in of_check(judgement, "goal").message
    assert came_to(made(run, goal=[item()], claims=[claim(support="against")])) == AGENTS
    assert came_to(made(run, goal=[item("open", "agent")])) == AGENTS
    assert came_to(made(run)) == AGENTS


def test_scenario_suspected_needs_that_nothing_else_is_wrong() -> None:
    """A value that a row, the user or a result holds is the agent's to tell, and so is one behind a call not made.

    A lookup that nothing expects may hold it, too.
    """
    known = refund_run(expect=GOAL, communicate=["17.35"], initial_state={"fees": {"F1": {"amount": 17.35}}})
    reckoned = refund_run(expect=GOAL, communicate=["13.00"], scenario={"knows": {"price": 13}})
    unmade = refund_run(expect=[*GOAL, want("get_user", id="U1")], communicate=["17.35"], scenario=ALL)
    extra = run_of(user("Refund W1"), call("refund", order_id="W1"), call("cancel_order", order_id="W1"),
                   agent("I have refunded order W1."), expect=GOAL, communicate=["17.35"])  # fmt: skip

    tools = Toolset(specs=(*CALLED.specs, ToolSpec(name="get_fee", kind="read")))
    unlooked = refund_run(expect=GOAL, communicate=["17.35"], toolset=tools)

    assert came_to(made(unlooked, goal=[item()])) == AGENTS
    assert came_to(made(known, goal=[item()])) == AGENTS
    assert came_to(made(reckoned, goal=[item()])) == AGENTS
    assert came_to(made(unmade, goal=[item()])) == AGENTS
    assert came_to(made(extra, goal=[item(place=(2, "I have refunded order W1."))])) == AGENTS


# the user


def left() -> Run:
    """The agent asks for the order, and the user goes."""
    return run_of(user("I want a refund."), agent("Which order is it?"), user("Forget it, bye."), expect=GOAL)


def test_user_stopped() -> None:
    """It goes with its own goal open, and nobody can go on."""
    stop = user_turn("stops early", (3, "Forget it, bye."))
    open_item = item("open", "user", (3, "Forget it, bye."))

    judgement = made(left(), goal=[open_item], user_turns=[stop])

    assert came_to(judge(left())) == AGENTS
    assert came_to(judgement) == USERS_FAULT
    assert (judgement.disputed, flags(judgement)) == ("", [])
    assert "since the user stopped" in of_check(judgement, "user").message
    assert came_to(made(left(), goal=[open_item])) == AGENTS
    assert came_to(made(left(), user_turns=[stop])) == AGENTS


def test_user_stopped_without_a_word() -> None:
    """A typed turn that only leaves is the user's last one; what a modifier has it do is no fault."""
    leaves = Message(role="user", acts=(Act(kind="close"),))
    acted = Message(role="user", content="Forget it, bye.", shows=("impatient",))
    run = run_of(user("I want a refund."), agent("Which order is it?"), [leaves], expect=GOAL)
    open_item = item("open", "user", (2, "Which order is it?"))

    judgement = made(run, goal=[open_item], user_turns=[user_turn("stops early", (1, "I want a refund."))])
    modified = run_of(user("I want a refund."), agent("Which order is it?"), [acted], expect=GOAL)

    assert came_to(judgement) == USERS_FAULT
    assert came_to(made(modified, goal=[open_item], user_turns=[user_turn("stops early", (3, "bye"))])) == AGENTS


def test_user_stopped_needs_that_the_agent_has_no_last_word() -> None:
    """An agent that goes on talking could have gone on working."""
    run = run_of(user("I want a refund."), agent("Which order?"), user("Bye."), agent("Goodbye."), expect=GOAL)
    stop = user_turn("stops early", (3, "Bye."))

    judgement = made(run, goal=[item("open", "user", (3, "Bye."))], user_turns=[stop])

    assert came_to(judgement) == AGENTS
    assert judgement.disputed.startswith("turn 3: the user stops while something it wants is open")


def misled(*extra: list[Message], goal: str = "W1", **fields: Any) -> Run:
    """The user names another order than its goal has, and the agent refunds it."""
    return run_of(
        user("Refund W7, please."), agent("Shall I refund W7?"), user("Yes."), call("refund", order_id="W7"), *extra,
        agent("Done."), expect=[want("refund", order_id="W1")], scenario={"knows": {"order": goal}, **fields},
    )  # fmt: skip


AGAINST = user_turn("against knowledge", (1, "Refund W7"))


def test_user_misled() -> None:
    """The wrong value stands in the user's words alone: in neither goal nor facts."""
    judgement = made(misled(), user_turns=[AGAINST])

    assert came_to(judge(misled())) == AGENTS
    assert came_to(judgement) == USERS_FAULT
    assert judgement.rests_on_auditor
    assert came_to(made(misled(goal="W7"), user_turns=[AGAINST])) == AGENTS
    assert came_to(made(misled(), user_turns=[user_turn("against goal", (3, "Yes."))])) == AGENTS
    assert came_to(made(misled(), user_turns=[{**AGAINST, "kind": "leaks"}])) == AGENTS


def test_user_misled_excuses_no_broken_rule() -> None:
    """A rule holds for every user, and so does a `never`."""
    never = Policy(id="never", text="Never.", rule={"never": {"calls": ["refund"]}})
    run = misled().model_copy(update={"policies": (never,)})
    forbidden = misled(never=[want("refund", order_id="W7")])

    assert came_to(made(run, user_turns=[AGAINST])) == AGENTS
    assert came_to(made(forbidden, user_turns=[AGAINST])) == AGENTS
    assert made(run, user_turns=[AGAINST]).also[0].blame is Blame.USER


def test_user_reversed() -> None:
    """The user asks for something else than it came for, and agrees to it; a yes to the agent's own idea is no such."""
    run = run_of(
        user("Refund W1, please."), agent("To your card?"), user("No, cancel it all."), agent("Cancel W1, yes?"),
        user("Yes."), call("cancel_order", order_id="W1"), agent("Done."), expect=[want("refund", order_id="W1")],
    )  # fmt: skip
    wish, yes = (user_turn("against goal", at) for at in ((3, "cancel it all"), (5, "Yes.")))
    consents = [heard("given", (5, "Yes."), 1)]

    assert came_to(judge(run)) == AGENTS
    assert came_to(made(run, user_turns=[wish, yes], consents=consents)) == USERS_FAULT
    assert came_to(made(run, user_turns=[yes], consents=consents)) == AGENTS
    assert came_to(made(run, user_turns=[wish, yes])) == AGENTS


def test_two_causes_are_unclear() -> None:
    """One wrong write was the user's, another the agent's own."""
    run = misled(call("cancel_order", order_id="W3"))

    judgement = made(run, user_turns=[AGAINST])

    assert came_to(judgement) == UNCLEAR
    assert judgement.rests_on_auditor


def test_user_suspected() -> None:
    """A turn against its role that leads to nothing wrong makes the run disputed, and decides nothing."""
    judgement = made(refund_run(expect=GOAL), user_turns=[user_turn("plays agent", YES)])

    assert came_to(judgement) == PASSED
    assert judgement.disputed == "turn 3: the user plays the agent ('Right, that one.')"
    assert [(flag.kind, flag.turn) for flag in flags(judgement)] == [("user", 3)]
    assert judgement.audit is not None
    assert judgement.audit.plays_agent


def test_what_a_modifier_has_the_user_do_is_no_fault() -> None:
    """The turn says itself which it acted out."""
    run = misled()
    messages = list(run.transcript.messages)
    messages[0] = messages[0].model_copy(update={"shows": ("wrong_value_first",)})
    run = run.model_copy(update={"transcript": run.transcript.model_copy(update={"messages": tuple(messages)})})

    judgement = made(run, user_turns=[AGAINST])

    assert came_to(judgement) == AGENTS
    assert (judgement.disputed, flags(judgement)) == ("", [])


def test_a_guard_rails_suspicion_stays() -> None:
    """The auditor's silence takes no dispute back."""
    suspected = UserFault(rule="invention", message="states W9", turn=1)

    assert made(refund_run(expect=GOAL, user_faults=(suspected,))).disputed == "turn 1: states W9"


# impressions


def test_tools_misused() -> None:
    """TRACE's dimension is a flag, whatever the suite says."""
    use = ToolUse(turn=4, quote=DONE[1], use="wrong by agent")

    for decides in (False, True):
        judgement = made(refund_run(expect=GOAL), tool_use=use, decides=decides)

        assert came_to(judgement) == PASSED
        assert [flag.kind for flag in flags(judgement)] == ["tool"]
    by_tool = use.model_copy(update={"use": "wrong by tool"})
    assert flags(made(refund_run(expect=GOAL), tool_use=by_tool)) == []


def test_agent_inappropriate() -> None:
    """So is conduct."""
    rude = Seen(turn=4, quote=DONE[1], shows=False)

    for decides in (False, True):
        judgement = made(refund_run(expect=GOAL), agent_appropriate=rude, decides=decides)

        assert came_to(judgement) == PASSED
        assert [flag.kind for flag in flags(judgement)] == ["agent"]


# the table


def test_an_audit_without_anything_seen_changes_no_verdict() -> None:
    """Nothing rests on it."""
    for run in (refund_run(expect=GOAL), misled(), refund_run(expect=GOAL, blame=Blame.PROVIDER)):
        judgement = made(run)

        assert came_to(judgement) == came_to(judge(run))
        assert not judgement.rests_on_auditor


def test_a_run_that_somebody_else_spoilt_stays_so() -> None:
    """What the auditor sees is kept beside it."""
    run = refund_run(expect=GOAL, blame=Blame.PROVIDER)

    assert came_to(made(run, claims=[claim(support="nothing")], decides=True)) == (Verdict.ERROR, Blame.PROVIDER)


def test_without_an_answer_text_policies_are_not_measured() -> None:
    """Where nothing else is asked for, whoever kept it from being measured is named."""
    run = refund_run(policies=(FRIENDLY,))
    passing = refund_run(policies=(FRIENDLY,), expect=GOAL)

    alone = unaudited(run, judge(run), why="it answered with prose", cure="another model", blame=Blame.JUDGE)
    beside = unaudited(passing, judge(passing), why="it answered with prose")

    assert (came_to(alone), alone.nothing_measured) == ((Verdict.ERROR, Blame.JUDGE), True)
    assert [(one.part, one.why, one.cure) for one in alone.unmeasured] == [
        ("policy friendly", "not measured: it answered with prose", "another model")
    ]
    assert came_to(beside) == PASSED
    assert alone.audit is None


def test_each_row_has_a_test() -> None:
    """It is named like the row."""
    names = {name for name in globals() if name.startswith("test_")}

    assert [row.name for row in ROWS if f"test_{row.name.replace('-', '_')}" not in names] == []
