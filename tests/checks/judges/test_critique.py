"""The critique of policies over a connection: evidence that must exist, and IntellAgent's known defects."""

from collections.abc import Callable
from typing import Any

import pytest

from pytest_agentbench.checks.judges.critique import PolicyVerdict, critique_policies, open_policies
from pytest_agentbench.checks.judges.evidence import of_run
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.testing import ModelRequest, structured, text
from pytest_agentbench.testing.script import Script
from tests.checks.judges.served import asked, refund_run, seeded

CONFIRM = Policy(id="confirm", text="Ask for a yes\nbefore any refund.")
MEDICAL = Policy(id="medical", text="Give no medical advice.")
RULED = Policy(id="ruled", text="Never cancel.", rule={"never": {"calls": ["cancel_order"]}})


def on(policy: str, *quotes: tuple[int, str], exercised: bool = True, violated: bool = False) -> dict[str, Any]:
    """One verdict as the critic writes it."""
    cited = [{"turn": turn, "quote": quote} for turn, quote in quotes]
    return {
        "policy": policy,
        "evidence": cited,
        "reason": "It did not ask.",
        "exercised": exercised,
        "violated": violated,
    }


def answer(*verdicts: dict[str, Any]) -> Any:
    """The critic's whole answer."""
    return structured({"verdicts": list(verdicts)})


UNTOUCHED = on("medical", exercised=False)
BROKEN = on("confirm", (1, "Please refund order W1."), (4, 'refund({"order_id": "W1"})'), violated=True)
GOOD = answer(BROKEN, UNTOUCHED)


def critiqued(script: Script, *policies: Policy) -> tuple[list[PolicyVerdict], list[ModelRequest]]:
    """Let a critic judge policies on the refund."""
    evidence = of_run(refund_run(), system="You sell lamps.")

    async def scene(chat_for: Callable[[str], Chat]) -> list[PolicyVerdict]:
        return await critique_policies(chat_for("critique"), policies or (CONFIRM, MEDICAL), evidence, random=seeded())

    return asked(script, scene)


def test_the_critic_sees_instructions_calls_and_results_and_gives_a_verdict_on_each_policy() -> None:
    """Policies stand in the system's role, all that happened in the user's."""
    verdicts, (request,) = critiqued([GOOD])

    assert [(one.policy, one.exercised, one.violated) for one in verdicts] == [
        ("confirm", True, True),
        ("medical", False, False),
    ]
    assert "- `confirm`: Ask for a yes before any refund." in request.system
    for seen in ("| You sell lamps.", '| refund({"order_id": "W1"})', '| {"ok": true}', "| Merci, au revoir."):
        assert seen in request.last
        assert seen not in request.system
    assert request.body["temperature"] == 0


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (answer(on("confirm", (4, "I never asked."), violated=True), UNTOUCHED), "turn 4 does not hold these words"),
        (answer(on("confirm", (7, "refund"), violated=True), UNTOUCHED), "there is no turn 7"),
        (
            answer(on("confirm", (1, "Please refund"), violated=True), UNTOUCHED),
            "no turn of the agent is quoted; only the agent can break it",
        ),
        (answer(on("confirm", exercised=False, violated=True), UNTOUCHED), "violated, but not exercised"),
        (answer(on("confirm"), UNTOUCHED), "it is exercised, but no turn is quoted"),
        (answer(BROKEN), "medical: no verdict"),
        (answer(BROKEN, UNTOUCHED, on("other", exercised=False)), "name no id"),
    ],
)
def test_what_does_not_hold_is_refused_and_may_be_mended_once(wrong: Any, reason: str) -> None:
    """Made-up words, turns that are not there, the user's words as a breach, verdicts that contradict themselves."""
    verdicts, requests = critiqued([wrong, GOOD])

    assert verdicts[0].violated
    assert reason in requests[1].last


def test_fabricated_evidence_is_no_verdict_when_it_comes_twice() -> None:
    """A critic that keeps making words up decides nothing."""
    made_up = answer(on("confirm", (4, "I never asked."), violated=True), UNTOUCHED)

    with pytest.raises(UnusableAnswerError, match="PolicyVerdicts of 'm' was refused twice: confirm: quote 1"):
        critiqued([made_up, made_up])


@pytest.mark.parametrize("said", ["NOT CORRECT", "CORRECT", "###STOP FAILURE", "violated_policies: [0]"])
def test_words_are_never_read_as_a_verdict(said: str) -> None:
    """IntellAgent took "NOT CORRECT" for CORRECT; here a verdict is a truth value of a schema or none."""
    with pytest.raises(UnusableAnswerError):
        critiqued([text(said), text(said)])


def test_a_truth_value_is_not_read_from_a_word() -> None:
    """`"violated": "NOT VIOLATED"` and `"violated": "no"` are asked for again, and read as neither."""
    for word in ("NOT VIOLATED", "no"):
        verdicts, requests = critiqued([answer(BROKEN | {"violated": word}, UNTOUCHED), GOOD])

        assert verdicts[0].violated
        assert "valid boolean" in requests[1].last


def test_policies_with_a_rule_are_not_open() -> None:
    """Code decides what it can."""
    assert open_policies(refund_run(policies=(RULED, CONFIRM))) == (CONFIRM,)


def test_nothing_is_asked_without_policies() -> None:
    """No policies, no call."""

    async def scene(chat_for: Callable[[str], Chat]) -> list[PolicyVerdict]:
        return await critique_policies(chat_for("critique"), (), of_run(refund_run()), random=seeded())

    assert asked([], scene) == ([], [])
