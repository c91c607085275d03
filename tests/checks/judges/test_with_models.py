"""What models add to a judgement: findings, outcomes, numbers, verdict and blame."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from pytest_agentbench.checks.judges.model_judgement import judge_with_models, needs_model, without_models
from pytest_agentbench.checks.measurement import ADD_JUDGE, ADD_RULE
from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.errors import BudgetSpentError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.rubric import Criterion, Rubric, Sees
from pytest_agentbench.core.run import Judgement, PolicyOutcome, Run
from pytest_agentbench.core.verdict import Blame, Finding, Verdict
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.testing import ModelRequest, fault, text, truncated
from pytest_agentbench.testing.script import Script
from tests.checks.auditor.observations import answer, claim, policy
from tests.checks.builders import want
from tests.checks.judges import test_judge as judges
from tests.checks.judges.served import asked, refund_run, seeded
from tests.tables import each

CONFIRM = Policy(id="confirm", text="Ask for a yes\nbefore any refund.")
MEDICAL = Policy(id="medical", text="Give no medical advice.")
RULED = Policy(id="ruled", text="Never cancel.", rule={"never": {"calls": ["cancel_order"]}})
POLICIES = (CONFIRM, MEDICAL)
UNTOUCHED = policy("medical", "not exercised")
KEPT = answer(policies=[policy("confirm"), UNTOUCHED])
BROKEN = answer(policies=[policy("confirm", "violated", (4, 'refund({"order_id": "W1"})')), UNTOUCHED])
ASKS = Criterion(id="asks", text="Asks first.", weight=8)
RUBRIC = Rubric(criteria=(ASKS,))
SCOPE = Rubric(criteria=(ASKS,), formula="scope")
MUST = Criterion(id="asked", text="The agent asked before it refunded.", must=True)
CLEAR = Criterion(id="clear", text="The agent tells what it did.", weight=4)
LIKED = judges.answer(judges.verdict("asks", 9, (4, "I have refunded")))
DISLIKED = judges.answer(judges.verdict("asks", 0, (4, "I have refunded")))
MADE_UP = answer(policies=[policy("confirm", "violated", (4, "I never asked.")), UNTOUCHED])
PROSE = text("NOT CORRECT")


def passing(**fields: Any) -> Run:
    """A refund that the deterministic checks pass."""
    return refund_run(expect=[want("refund", order_id="W1")], policies=POLICIES, **fields)


def judged(
    script: Script, run: Run | None = None, before: Judgement | None = None, **given: Any
) -> tuple[Judgement, list[ModelRequest]]:
    """Judge a run by code, then by models."""
    played = run or passing()
    judgement = before or judge(played)

    async def scene(chat_for: Callable[[str], Chat]) -> Judgement:
        auditor = given.pop("auditor", "flags" if any(one.rule is None for one in given.get("policies", ())) else None)
        return await judge_with_models(played, judgement, chat_for=chat_for, random=seeded(), auditor=auditor, **given)

    return asked(script, scene)


def of_check(judgement: Judgement, check: str) -> Finding:
    """The one finding of a check."""
    (found,) = (finding for finding in judgement.findings if finding.check == check)
    return found


def test_a_run_that_code_passes_passes_when_models_agree() -> None:
    """The auditor first, the rubric last, each asked once, each as its own role."""
    judgement, requests = judged([KEPT, LIKED], policies=POLICIES, rubric=RUBRIC)

    assert (judgement.verdict, judgement.blame) == (Verdict.PASSED, None)
    assert len(requests) == 2
    assert judgement.metrics["rubric_score"] == pytest.approx(0.9)
    assert judgement.metrics["rubric_threshold"] == 0.5
    assert judgement.metrics["tool_calls"] == 2
    assert of_check(judgement, "rubric").passed is True
    assert of_check(judgement, "rubric:asks").required is False


def test_unexercised_policies_are_in_no_denominator() -> None:
    """They have no finding, and an outcome that is neither kept nor broken."""
    judgement, _ = judged([KEPT], policies=POLICIES)

    assert judgement.policies == (
        PolicyOutcome(policy="confirm", exercised=True, kept=True),
        PolicyOutcome(policy="medical", exercised=False, kept=None),
    )
    assert not any(finding.policy == "medical" for finding in judgement.findings)


def test_a_broken_policy_fails_the_run_where_the_auditor_decides() -> None:
    """Else it is a flag; the finding has turn and words of the agent either way."""
    flagged, _ = judged([BROKEN], policies=POLICIES)
    judgement, _ = judged([BROKEN], policies=POLICIES, auditor="decide")

    assert flagged.verdict is Verdict.PASSED
    assert (flagged.policies[0].kept, flagged.rests_on_auditor) == (False, False)
    assert judgement.rests_on_auditor

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
    found = of_check(judgement, "policy:confirm")
    assert (found.passed, found.turn, found.policy) == (False, 4, "confirm")
    assert "It did not ask." in found.message
    assert "refund({" in found.message
    assert judgement.findings[0] == found


def both(asked: int, clear: int, quote: str = "I have refunded") -> Any:
    """What a judge says of `MUST` and `CLEAR`."""
    verdicts = [judges.verdict("asked", asked, (4, quote)), judges.verdict("clear", clear, (4, quote))]
    return judges.answer(*verdicts)


def test_a_must_that_does_not_hold_fails_the_run_whatever_the_score() -> None:
    """The finding names the criterion with its reason and quoted turn; the score stands beside it."""
    judgement, _ = judged([both(0, 10)], rubric=Rubric(criteria=(MUST, CLEAR)))

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
    found = of_check(judgement, "rubric")
    assert (found.kind, found.turn) == ("rubric", 4)
    assert found.message == ("asked must be true and is not, score 1.00: Because. (turn 4: 'I have refunded')")
    assert of_check(judgement, "rubric:asked").message == "must: not true: Because. (turn 4: 'I have refunded')"
    assert not any(finding.check == "rubric score" for finding in judgement.findings)
    assert {name: value for name, value in judgement.metrics.items() if name.startswith("rubric")} == {
        "rubric_must": 0,
        "rubric_must.asked": 0,
        "rubric_score": 1,
    }


def test_of_several_musts_that_do_not_hold_all_are_named_and_the_first_is_quoted() -> None:
    """Beside the reason stands the criterion that it is about."""
    pushy = Criterion(id="pushy", text="The agent presses the user.", label="NEG", must=True)
    verdicts = [
        judges.verdict("asked", 0, (4, "I have refunded")),
        judges.verdict("pushy", 1, (2, "Order W1")) | {"reason": "It does."},
    ]

    judgement, _ = judged([judges.answer(*verdicts)], rubric=Rubric(criteria=(MUST, pushy)))

    assert of_check(judgement, "rubric").message == (
        "pushy must not be true and is; asked must be true and is not: Because. (turn 4: 'I have refunded')"
    )
    assert of_check(judgement, "rubric:pushy").message == "must not: true: It does. (turn 2: 'Order W1')"


def test_a_low_score_is_told_by_what_had_an_occasion() -> None:
    """What had none is left out of the score, and of what cost most."""
    verdicts = [
        judges.verdict("asks", 0, applies=False),
        judges.verdict("clear", 3, (4, "I have refunded")),
    ]

    judgement, _ = judged([judges.answer(*verdicts)], rubric=Rubric(criteria=(ASKS, CLEAR)))

    assert of_check(judgement, "rubric").message.startswith("score 0.30, threshold 0.5, above all clear 3/10: ")
    assert of_check(judgement, "rubric:asks").message == "POS, no occasion: Because."


def test_a_low_score_leaves_the_verdict_to_the_musts_unless_a_threshold_is_set() -> None:
    """With one the score is a finding of its own beside them, and names what cost most."""
    without, _ = judged([both(1, 2)], rubric=Rubric(criteria=(MUST, CLEAR)))
    within, _ = judged([both(1, 2)], rubric=Rubric(criteria=(MUST, CLEAR), threshold=0.6))

    assert (without.verdict, within.verdict) == (Verdict.PASSED, Verdict.FAILED)
    assert of_check(without, "rubric").message == "all of `must` hold (asked), score 0.20"
    assert of_check(within, "rubric").passed is True
    assert of_check(within, "rubric score").message == (
        "score 0.20, threshold 0.6, above all clear 2/10: Because. (turn 4: 'I have refunded')"
    )
    assert within.metrics["rubric_threshold"] == 0.6


def test_a_rubric_without_a_must_decides_by_its_score() -> None:
    """One half is the least where no threshold says otherwise."""
    judgement, _ = judged([DISLIKED], rubric=RUBRIC)

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
    assert of_check(judgement, "rubric").message.startswith("score 0.00, threshold 0.5, above all asks 0/10: Because.")


def test_scope_that_says_neg_fails_the_run() -> None:
    """The finding names the criterion that weighs most, with its reason and turn; its numbers are metrics."""
    judgement, _ = judged([DISLIKED], rubric=SCOPE)
    liked, _ = judged([LIKED], rubric=SCOPE)

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
    found = of_check(judgement, "rubric")
    assert (found.kind, found.turn) == ("rubric", 4)
    assert found.message.startswith("NEG (POS 0.00, NEG 0.00), above all asks 0/10: Because.")
    assert {name: value for name, value in liked.metrics.items() if name.startswith("rubric")} == pytest.approx(
        {"rubric_pos": 7.2, "rubric_neg": 0, "rubric_margin": 7.2, "rubric_scope": 1}
    )


def test_eleven_faults_dilute_a_make_or_break_one_in_scope_and_no_must() -> None:
    """Twelve NEG criteria: the same fault passes under one formula and fails under the other."""
    light = [Criterion(id=f"n{i}", text="x", label="NEG", weight=1, check="tool_errors > 0") for i in range(11)]
    good = Criterion(id="done", text="x", weight=10, check="finished == 1")
    fatal: dict[str, Any] = {"id": "wrote", "text": "x", "label": "NEG", "check": "tool_calls > 1"}

    exact, requests = judged(
        [], rubric=Rubric(criteria=(good, Criterion(**fatal, make_or_break=True), *light), formula="scope")
    )
    ours, _ = judged([], rubric=Rubric(criteria=(good, Criterion(**fatal, must=True), *light)))

    assert requests == []
    assert (ours.verdict, exact.verdict) == (Verdict.FAILED, Verdict.PASSED)
    assert of_check(ours, "rubric").message.startswith("wrote must not be true and is, score 1.00: tool_calls > 1")
    assert of_check(ours, "rubric:wrote").message.startswith("must not: true")
    assert of_check(exact, "rubric:wrote").message.startswith("make-or-break 10/10")


def test_a_must_that_is_not_measured_leaves_the_rubric_open_unless_another_is_broken() -> None:
    """The finding names what could decide."""
    unknown = Criterion(id="own", text="x", must=True, check="m:none")
    other = Criterion(id="calls", text="x", must=True, check="tool_calls == 9")

    def rubric(*criteria: Criterion) -> Judgement:
        return judged([], rubric=Rubric(criteria=criteria), resolve=lambda _: lambda _: None)[0]

    assert of_check(rubric(unknown), "rubric").message == "not measured: own could decide, and is not measured"
    assert of_check(rubric(unknown, other), "rubric").message.startswith("calls must be true and is not")


@each(("sees", "shows"), [("goal", True), ("conversation", False)])
def test_the_judge_of_a_rubric_sees_the_goal_unless_it_is_not_to(sees: Sees, shows: bool) -> None:
    """The auditor always does."""
    states: dict[str, Any] = {"initial_state": {"W1": "open"}, "expected_state": {"W1": "refunded"}}

    _, requests = judged([KEPT, LIKED], passing(**states), policies=POLICIES, rubric=RUBRIC, sees=sees)

    audit, judge_asked = requests
    assert "# How the stored data differ after a right run" in audit.last
    assert ('| W1: "open" became "refunded"' in judge_asked.last) is shows
    assert ("what the user wants" in judge_asked.system) is shows


@each(
    ("script", "cure"),
    [
        ([PROSE, PROSE], "keeps to the form"),
        ([truncated('{"verdicts": [')], "are keys of `judge: {llm: {…}}`"),
        ([fault.status(500)], "run it again"),
        ([fault.status(403)], "whose server takes"),
    ],
)
def test_an_auditor_that_cannot_be_used_leaves_a_pass_standing(script: Script, cure: str) -> None:
    """Every open policy is then not measured, and says what would measure it."""
    judgement, _ = judged(script, policies=POLICIES)

    assert (judgement.verdict, judgement.blame) == (Verdict.PASSED, None)
    assert of_check(judgement, "policy:confirm").passed is None
    assert "not measured" in of_check(judgement, "policy:medical").message
    assert {outcome.exercised for outcome in judgement.policies} == {None}
    assert [one.part for one in judgement.unmeasured] == ["policy confirm", "policy medical"]
    assert all(cure in one.cure for one in judgement.unmeasured)
    assert judgement.metrics["measured"] == pytest.approx(1 / 3)


@each(
    ("script", "blame"),
    [
        ([PROSE] * 2, Blame.JUDGE),
        ([fault.status(500)], Blame.PROVIDER),
        ([truncated('{"verdicts": [')], Blame.PROVIDER),
    ],
)
def test_a_judge_that_cannot_be_used_where_nothing_else_is_asked_for_leaves_no_verdict(
    script: Script, blame: Blame
) -> None:
    """Nothing that the scenario asks for was measured: whoever kept it from being so is named."""
    judgement, _ = judged(script, refund_run(policies=POLICIES), policies=POLICIES)

    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, blame)
    assert judgement.metrics["measured"] == 0


def test_where_two_judges_fail_the_blame_is_of_the_reason_told_first() -> None:
    """The rubric's, which was answered with prose, and not that of an audit that was cut off."""
    script = [truncated('{"verdicts": ['), PROSE, PROSE]

    judgement, _ = judged(script, refund_run(policies=POLICIES), policies=POLICIES, rubric=RUBRIC)

    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.JUDGE)
    assert judgement.unmeasured[0].part == "rubric"


def test_what_models_judge_alone_decides_a_run_that_asks_for_nothing_else() -> None:
    """Code had left it without a verdict."""
    run = refund_run(policies=POLICIES)

    judgement, _ = judged([KEPT], run, policies=POLICIES)

    assert (judge(run).verdict, judge(run).blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert (judgement.verdict, judgement.blame) == (Verdict.PASSED, None)
    assert (judgement.asked, judgement.unmeasured) == (2, ())


def test_a_judge_that_cannot_be_used_leaves_a_failed_run_failed() -> None:
    """Deterministic evidence comes first."""
    run = refund_run(expect=[want("refund", order_id="W2")], policies=POLICIES)

    judgement, _ = judged([PROSE, PROSE], run, policies=POLICIES)

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
    assert of_check(judgement, "policy:confirm").passed is None


def test_one_model_that_fails_does_not_silence_the_other() -> None:
    """A rubric's verdict stands beside an audit that is not measured."""
    judgement, _ = judged([PROSE, PROSE, DISLIKED], policies=POLICIES, rubric=RUBRIC)

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)


def test_a_policy_whose_words_stand_nowhere_is_not_measured() -> None:
    """The other one, and the verdict, stand."""
    judgement, _ = judged([MADE_UP, MADE_UP], policies=POLICIES, auditor="decide")

    assert judgement.verdict is Verdict.PASSED
    assert of_check(judgement, "policy:confirm").passed is None
    assert [outcome.exercised for outcome in judgement.policies] == [None, False]
    assert judgement.audit is not None
    assert judgement.audit.dropped == 1


def test_the_auditor_is_asked_without_policies_too() -> None:
    """A lie with a call that failed beside it needs none; without an auditor nobody is asked."""
    run = passing()
    lie = answer(claims=[claim(kind="other", support="nothing")])

    seen, requests = judged([lie], run, auditor="flags")
    unseen, none = judged([], run)

    assert [flag.kind for flag in seen.flags] == ["value", "claim"]
    assert (len(requests), none) == (1, [])
    assert (unseen.audit, unseen.flags) == (None, judge(run).flags)


def test_a_verdict_that_the_rubric_decides_does_not_rest_on_the_auditor() -> None:
    """It would be the same without it."""
    run = refund_run(policies=POLICIES)

    kept, _ = judged([KEPT, LIKED], run, policies=POLICIES, rubric=RUBRIC)
    disliked, _ = judged([KEPT, DISLIKED], run, policies=POLICIES, rubric=RUBRIC)
    alone, _ = judged([KEPT], run, policies=POLICIES)

    assert (kept.verdict, kept.rests_on_auditor) == (Verdict.PASSED, False)
    assert (alone.verdict, alone.rests_on_auditor) == (Verdict.PASSED, True)
    assert (disliked.verdict, disliked.rests_on_auditor) == (Verdict.FAILED, False)


def test_a_run_that_failed_by_anothers_fault_is_shown_to_no_model() -> None:
    """What models would judge is shown as not measured."""
    run = passing(blame=Blame.PROVIDER)

    judgement, requests = judged([], run, policies=POLICIES, rubric=RUBRIC)

    assert requests == []
    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.PROVIDER)
    assert of_check(judgement, "rubric").passed is None
    assert judgement.metrics["measured"] is None


def test_rules_are_not_asked_about() -> None:
    """A policy with a rule keeps the outcome that the rule gave."""
    run = refund_run(expect=[want("refund", order_id="W1")], policies=(RULED,))

    judgement, requests = judged([], run, policies=(RULED,))

    assert requests == []
    assert judgement == judge(run)


def test_functions_of_the_run_decide_criteria() -> None:
    """True, a number or nothing; what they raise or give else is the scenario's fault."""
    gives: dict[str, Callable[[Run], object]] = {
        "m:yes": lambda run: run.called("refund"),
        "m:half": lambda _: 5,
        "m:none": lambda _: None,
        "m:raises": lambda _: 1 / 0,
        "m:exits": lambda _: sys.exit(3),
        "m:odd": lambda _: "good",
        "m:eleven": lambda _: 11,
    }

    def with_check(path: str) -> Judgement:
        rubric = Rubric(criteria=(Criterion(id="own", text="x", check=path),), formula="scope")
        return judged([], rubric=rubric, resolve=gives.__getitem__)[0]

    assert with_check("m:yes").metrics["rubric_pos"] == 5
    assert with_check("m:half").metrics["rubric_pos"] == 2.5
    assert [one.part for one in with_check("m:none").unmeasured] == ["rubric", "policy confirm", "policy medical"]
    for path, message in (
        ("m:raises", "ZeroDivisionError"),
        ("m:exits", "SystemExit"),
        ("m:odd", "'good'"),
        ("m:eleven", "from 0 to 10"),
    ):
        judgement = with_check(path)
        assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.SCENARIO)
        assert message in of_check(judgement, "rubric").message


@each(("gives", "verdict"), [(True, Verdict.PASSED), (1, Verdict.PASSED), (0, Verdict.FAILED)])
def test_a_function_says_whether_a_must_holds(gives: object, verdict: Verdict) -> None:
    """Nothing between is an answer to that."""
    rubric = Rubric(criteria=(Criterion(id="own", text="x", must=True, check="m:own"),))

    assert judged([], rubric=rubric, resolve=lambda _: lambda _: gives)[0].verdict is verdict
    wrong, _ = judged([], rubric=rubric, resolve=lambda _: lambda _: 0.5)
    assert (wrong.verdict, wrong.blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert "gave 0.5, allowed: True, False, None" in of_check(wrong, "rubric").message


def test_deterministic_and_judged_criteria_mix() -> None:
    """The judge is asked for those alone that no code decides."""
    errors = Criterion(id="errors", text="Tools fail.", label="NEG", weight=3, check="tool_errors > 0")

    judgement, (request,) = judged([LIKED], rubric=Rubric(criteria=(errors, ASKS)))

    assert judgement.verdict is Verdict.PASSED
    assert "errors" not in request.system
    assert of_check(judgement, "rubric:errors").message == "NEG 0/10: tool_errors > 0: tool_errors is 0"


def test_a_budget_that_is_spent_is_no_verdict() -> None:
    """Whoever conducts the run is told."""

    def refuse(role: str) -> Chat:
        raise BudgetSpentError("spent", scope="session")

    async def scene(chat_for: Callable[[str], Chat]) -> Judgement:
        run = passing()
        return await judge_with_models(run, judge(run), chat_for=refuse, random=seeded(), auditor="flags")

    with pytest.raises(BudgetSpentError):
        asked([], scene)


def test_without_models_everything_is_shown_as_not_measured() -> None:
    """The verdict stays as the deterministic checks gave it, and each part says what would measure it."""
    run = passing()

    judgement = without_models(run, judge(run), why="--no-judge", rubric=RUBRIC, policies=POLICIES)

    assert judgement.verdict is Verdict.PASSED
    assert [(one.part, one.cure) for one in judgement.unmeasured] == [
        ("rubric", ADD_JUDGE),
        ("policy confirm", ADD_RULE),
        ("policy medical", ADD_RULE),
    ]


def test_who_needs_a_model() -> None:
    """Policies without a rule, and criteria without a check."""
    decided = Rubric(criteria=(Criterion(id="a", text="x", check="finished == 1"),))

    assert needs_model(None, POLICIES)
    assert needs_model(RUBRIC, ())
    assert not needs_model(decided, (RULED,))
    assert not needs_model(None, ())
