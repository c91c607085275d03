"""What models add to a judgement: findings, outcomes, numbers, verdict and blame."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from pytest_agentbench.checks.decide import judge
from pytest_agentbench.checks.judges.with_models import judge_with_models, needs_model, without_models
from pytest_agentbench.checks.parts import ADD_JUDGE, ADD_RULE
from pytest_agentbench.core.errors import BudgetSpentError
from pytest_agentbench.core.rubric import Criterion, Rubric
from pytest_agentbench.core.run import Judgement, PolicyOutcome, Run
from pytest_agentbench.core.verdict import Blame, Finding, Verdict
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.testing import ModelRequest, fault, text, truncated
from pytest_agentbench.testing.script import Script
from tests.checks.builders import want
from tests.checks.judges import test_critique as critic
from tests.checks.judges import test_judge as judges
from tests.checks.judges.served import asked, refund_run, seeded

POLICIES = (critic.CONFIRM, critic.MEDICAL)
KEPT = critic.answer(critic.on("confirm", (4, "I have refunded")), critic.UNTOUCHED)
ASKS = Criterion(id="asks", text="Asks first.", weight=8)
RUBRIC = Rubric(criteria=(ASKS,))
LIKED = judges.answer(judges.verdict("asks", 9, (4, "I have refunded")))
DISLIKED = judges.answer(judges.verdict("asks", 0, (4, "I have refunded")))
MADE_UP = critic.answer(critic.on("confirm", (4, "I never asked."), violated=True), critic.UNTOUCHED)


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
        return await judge_with_models(played, judgement, chat_for=chat_for, random=seeded(), **given)

    return asked(script, scene)


def of_check(judgement: Judgement, check: str) -> Finding:
    """The one finding of a check."""
    (found,) = (finding for finding in judgement.findings if finding.check == check)
    return found


def test_a_run_that_code_passes_passes_when_models_agree() -> None:
    """Policies first, the rubric last, each asked once, each as its own role."""
    judgement, requests = judged([KEPT, LIKED], policies=POLICIES, rubric=RUBRIC)

    assert (judgement.verdict, judgement.blame) == (Verdict.PASSED, None)
    assert len(requests) == 2
    assert judgement.metrics["rubric_pos"] == pytest.approx(7.2)
    assert judgement.metrics["rubric_scope"] == 1
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


def test_a_broken_policy_fails_the_run_with_the_turn_and_the_words() -> None:
    """The turn is the agent's, not the one in which the user asked."""
    judgement, _ = judged([critic.GOOD], policies=POLICIES)

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
    found = of_check(judgement, "policy:confirm")
    assert (found.passed, found.turn, found.policy) == (False, 4, "confirm")
    assert "It did not ask." in found.message
    assert "refund({" in found.message
    assert judgement.findings[0] == found


def test_a_rubric_that_says_neg_fails_the_run() -> None:
    """The finding names the criterion that weighs most, with its reason and turn."""
    judgement, _ = judged([DISLIKED], rubric=RUBRIC)

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
    found = of_check(judgement, "rubric")
    assert (found.kind, found.turn) == ("rubric", 4)
    assert found.message.startswith("NEG (POS 0.00, NEG 0.00), above all asks 0/10: Because.")


def test_a_veto_says_where_scope_would_have_passed() -> None:
    """Twelve NEG criteria: a full make-or-break hit does not decide in SCOPE's mode, and does in ours."""
    light = [Criterion(id=f"n{i}", text="x", label="NEG", weight=1, check="tool_errors > 0") for i in range(11)]
    good = Criterion(id="done", text="x", weight=10, check="finished == 1")
    fatal = Criterion(id="wrote", text="x", label="NEG", make_or_break=True, check="tool_calls > 1")
    criteria = (good, fatal, *light)

    ours, requests = judged([], rubric=Rubric(criteria=criteria))
    exact, _ = judged([], rubric=Rubric(criteria=criteria, mode="scope"))

    assert requests == []
    assert (ours.verdict, exact.verdict) == (Verdict.FAILED, Verdict.PASSED)
    assert "make-or-break wrote 10/10" in of_check(ours, "rubric").message
    assert "without the veto it would be POS" in of_check(ours, "rubric").message
    assert "a veto of wrote would make it NEG" in of_check(exact, "rubric").message
    assert ours.metrics["rubric_scope"] == exact.metrics["rubric_scope"] == 1


@pytest.mark.parametrize(
    ("script", "cure"),
    [
        ([MADE_UP, MADE_UP], "keeps to the form"),
        ([text("NOT CORRECT"), text("NOT CORRECT")], "keeps to the form"),
        ([truncated('{"verdicts": [')], "`judge: {llm: {…}}`"),
        ([fault.status(500)], "run it again"),
        ([fault.status(403)], "whose server takes"),
    ],
)
def test_a_critic_that_cannot_be_used_leaves_a_pass_standing(script: Script, cure: str) -> None:
    """Every open policy is then not measured, and says what would measure it."""
    judgement, _ = judged(script, policies=POLICIES)

    assert (judgement.verdict, judgement.blame) == (Verdict.PASSED, None)
    assert of_check(judgement, "policy:confirm").passed is None
    assert "not measured" in of_check(judgement, "policy:medical").message
    assert {outcome.exercised for outcome in judgement.policies} == {None}
    assert [one.part for one in judgement.unmeasured] == ["policy confirm", "policy medical"]
    assert all(cure in one.cure for one in judgement.unmeasured)
    assert judgement.metrics["measured"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("script", "blame"),
    [
        ([text("NOT CORRECT")] * 2, Blame.JUDGE),
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
    """The rubric's, which was answered with prose, and not that of a critique that was cut off."""
    script = [truncated('{"verdicts": ['), text("NOT CORRECT"), text("NOT CORRECT")]

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

    judgement, _ = judged([MADE_UP, MADE_UP], run, policies=POLICIES)

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
    assert of_check(judgement, "policy:confirm").passed is None


def test_one_model_that_fails_does_not_silence_the_other() -> None:
    """A rubric's verdict stands beside a critique that is not measured."""
    judgement, _ = judged([MADE_UP, MADE_UP, DISLIKED], policies=POLICIES, rubric=RUBRIC)

    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)


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
    run = refund_run(expect=[want("refund", order_id="W1")], policies=(critic.RULED,))

    judgement, requests = judged([], run, policies=(critic.RULED,))

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
        rubric = Rubric(criteria=(Criterion(id="own", text="x", check=path),))
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
        return await judge_with_models(run, judge(run), chat_for=refuse, random=seeded(), policies=POLICIES)

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
    assert not needs_model(decided, (critic.RULED,))
    assert not needs_model(None, ())
