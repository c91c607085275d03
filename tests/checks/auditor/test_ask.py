"""The question to the auditor over a connection: what it sees, and observations that count with words alone."""

from collections.abc import Callable
from typing import Any

import pytest

from pytest_agentbench.checks.auditor.ask import audit
from pytest_agentbench.checks.judges.evidence import of_audit
from pytest_agentbench.checks.judges.rubric_judge import render
from pytest_agentbench.core.audit import Audit
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.testing import ModelRequest, text
from pytest_agentbench.testing.script import Script
from tests.checks.auditor.observations import DONE, answer, at, claim, heard, item, policy, user_turn
from tests.checks.builders import agent, call, run_of, user, want
from tests.checks.judges.served import asked, refund_run, seeded
from tests.tables import each

FRIENDLY = Policy(id="friendly", text="Stay friendly.")
RULED = Policy(id="ruled", text="Ask before a refund.", rule={"confirm_before": {"calls": "writes"}})


def audited(
    script: Script, run: Run | None = None, policies: tuple[Policy, ...] = ()
) -> tuple[Audit, list[ModelRequest]]:
    """Ask an auditor about a run, the refund unless told otherwise."""
    played = run or refund_run()

    async def scene(chat_for: Callable[[str], Chat]) -> Audit:
        evidence = of_audit(played, system="You sell lamps.", policies=policies)
        return await audit(chat_for("auditor"), played, policies=policies, evidence=evidence, random=seeded())

    return asked(script, scene)


def test_it_is_shown_the_goal_the_knowledge_effects_and_policies_as_data() -> None:
    """All of it stands behind bars in the user's role; the calls that write and the ids asked about are named."""
    scenario = {"says": ["Please refund order W1."], "knows": {"zip": "12345"}, "unknown": ["the e-mail"]}
    states: dict[str, Any] = {"initial_state": {"W1": "open"}, "expected_state": {"W1": "refunded"}}
    run = refund_run(scenario=scenario, policies=(FRIENDLY, RULED), **states)

    _, (request,) = audited([answer(policies=[policy("friendly")])], run, (FRIENDLY,))

    for line in (
        "# What the user wants\n| Please refund order W1.",
        '| zip: "12345"',
        "| not known: the e-mail",
        "| friendly: Stay friendly.",
        "# Further policies, which are not asked about\n| Ask before a refund.",
        '| W1: "open" became "refunded"',
        "| You sell lamps.",
    ):
        assert line in request.last
        assert line not in request.system
    assert "one entry for each of these calls: call 2." in request.system
    assert "one entry for each of these ids: `friendly`." in request.system
    assert request.body["temperature"] == 0


def test_observations_are_kept_with_their_words() -> None:
    """One call, and what it came to."""
    found, requests = audited([answer(claims=[claim()], goal_items=[item()], user_turns=[user_turn("leaks")])])

    assert len(requests) == 1
    assert (found.claims[0].turn, found.claims[0].call, found.claims[0].values) == (4, 2, ("W1",))
    assert (found.consents[0].consent, found.goal_items[0].status, found.dropped) == ("given", "done", 0)
    assert not found.plays_agent
    assert found.user_satisfied is not None
    assert found.user_satisfied.shows


@each(
    ("wrong", "reason"),
    [
        (
            {"claims": [claim((4, "I never did."))]},
            "claims 1: turn 4, as one of the agent's, does not hold these words",
        ),
        ({"claims": [claim((9, "I never did."))]}, "claims 1: there is no turn 9; the last one is 5"),
        ({"claims": [claim((1, "Please refund order"))]}, "claims 1: turn 1, as one of the agent's, does not hold"),
        ({"user_turns": [user_turn("leaks", DONE)]}, "user_turns 1: turn 4, as one of the user's, does not hold"),
        ({"consents": []}, "consents: no entry for 2"),
        ({"consents": [heard(), heard("asked")]}, "consents: more than one entry for 2"),
        ({"consents": [heard(), heard(call=1)]}, "consents: 1 entries are about what was not asked"),
        ({"goal_items": [item(place=(4, "!"))]}, "goal_items 1: turn 4 does not hold these words exactly"),
    ],
)
def test_what_does_not_stand_there_is_refused_once_with_the_reason(wrong: dict[str, Any], reason: str) -> None:
    """The second answer counts."""
    found, requests = audited([answer(**wrong), answer(claims=[claim()])])

    assert reason in requests[1].last
    assert (len(found.claims), len(found.consents), found.dropped) == (1, 1, 0)


def test_what_has_no_words_after_that_is_dropped_and_counted() -> None:
    """The rest stays; a consent that two entries tell differently is none."""
    wrong = answer(claims=[claim(), claim((4, "I never did."))], consents=[heard(), heard("asked")])

    found, _ = audited([wrong, wrong])

    assert len(found.claims) == 1
    assert found.consents == ()
    assert found.dropped == 1


def test_an_answer_that_cannot_be_mended_counts_as_far_as_its_words_stand() -> None:
    """What the model then says no more as asked takes nothing back; prose alone is no answer at all."""
    wrong = answer(claims=[claim(), claim((4, "I never did."))])

    found, _ = audited([wrong, text("no"), text("no")])

    assert (len(found.claims), found.dropped) == (1, 1)
    with pytest.raises(UnusableAnswerError):
        audited([text("NOT CORRECT"), text("NOT CORRECT")])


def test_a_wrong_number_of_a_turn_is_put_right_where_the_words_stand_once() -> None:
    """Models count turns badly, and copy well."""
    found, requests = audited([answer(claims=[claim((2, "I have refunded order W1."))])])

    assert (len(requests), found.claims[0].turn) == (1, 4)


def test_words_that_stand_in_two_turns_need_the_right_one() -> None:
    """It is asked for once more, with the turns in which they stand."""
    run = run_of(user("Hi"), agent("Sure."), user("Refund W1"), call("refund", order_id="W1"), agent("Sure."))
    with_yes = {"consents": [heard(place=(3, "Refund W1"), call=1)]}
    dims = {name: {**at((4, "Sure.")), "shows": True} for name in ("agent_appropriate", "user_satisfied")}
    dims["tool_use"] = {**at((4, "Sure.")), "use": "right"}

    found, requests = audited([answer(claims=[claim((3, "Sure."))], **with_yes, **dims)] * 2, run)

    assert "these words stand in turns 2, 4" in requests[1].last
    assert found.claims == ()


def test_values_count_that_stand_in_the_quote_and_calls_that_were_made() -> None:
    """A value of elsewhere, an empty one and a call that nobody made are left out."""
    found, _ = audited([answer(claims=[claim(values=["w1", "W2", ""], call=9)])])

    assert found.claims[0].values == ("w1",)
    assert found.claims[0].call is None


def test_a_value_counts_once_and_a_claim_has_only_so_many() -> None:
    """Each is looked for in all calls, so that their number bounds the time."""
    words = " ".join(f"W{number}" for number in range(50))
    run = run_of(user("Hi"), agent(words), user("Right, that one."), call("refund"), agent("I have refunded order W1."))
    heard_there = {"consents": [heard(call=1)]}

    many = claim((2, words), values=["W1", "W1", *words.split()])
    found, _ = audited([answer(claims=[many], **heard_there)], run)

    assert found.claims[0].values == ("W1", "W0", *(f"W{number}" for number in range(2, 20)))


def test_all_calls_that_write_may_be_answered_for() -> None:
    """There are more of them than observations of other kinds count."""
    calls = [call("refund", order_id=f"W{number}") for number in range(70)]
    run = run_of(user("Refund"), agent("All?"), user("Right, that one."), *calls, agent("I have refunded order W1."))

    found, requests = audited([answer(consents=[heard(call=number + 1) for number in range(70)])], run)

    assert (len(found.consents), len(requests), found.dropped) == (70, 1, 0)


def test_a_policy_is_violated_by_words_of_the_agent_alone() -> None:
    """Kept may be shown by any turn; one that was not exercised needs no words."""
    wrong = answer(policies=[policy("friendly", "violated", (1, "Please refund order"))])
    idle = answer(policies=[policy("friendly", "not exercised")])

    broken, requests = audited([wrong, answer(policies=[policy("friendly", "violated")])], policies=(FRIENDLY,))
    not_exercised, more = audited([idle], policies=(FRIENDLY,))

    assert "one of the agent's" in requests[1].last
    assert broken.policies[0].turn == 4
    assert len(more) == 1
    assert (not_exercised.policies[0].status, not_exercised.policies[0].quote) == ("not exercised", "")


def test_a_truth_value_is_not_read_from_a_word() -> None:
    """`"denies": "no"` is asked for again."""
    _, requests = audited([answer(claims=[claim(denies="no")]), answer(claims=[claim()])])

    assert "valid boolean" in requests[1].last


def test_writes_that_nobody_declares_are_asked_about_unless_they_were_seen_to_change_nothing() -> None:
    """Reads are not, nor is what the user calls itself."""
    parts = [call("get_order"), call("odd"), call("idle", wrote=False), call("refund", by="user"), call("refund")]
    run = run_of(user("Hi"), *parts, agent("I have refunded order W1."), expect=[want("refund")])

    _, requests = audited([answer()] * 2, run)

    assert "each of these calls: call 2, call 5." in requests[0].system


def test_the_prompt_is_short_and_holds_one_example() -> None:
    """At most 500 words, what is said of the record apart."""
    whole = render("auditor.v1", {"record": "", "writes": "none", "policies": "none"})

    assert len(whole.split()) <= 500
    assert whole.count("# Example") == 1


def test_what_a_model_writes_is_bounded() -> None:
    """Its own words are cut, and each value counts once."""
    long = {**item(), "item": "x" * 5_000}
    many = claim(values=["W1"] * 500)

    found, _ = audited([answer(goal_items=[long], claims=[many])])

    assert len(found.goal_items[0].item) == 300
    assert found.claims[0].values == ("W1",)
