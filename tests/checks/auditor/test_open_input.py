"""Whatever an auditor says: it excuses no broken rule, and fails no run without a fact beside it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.auditor.findings import observed
from pytest_agentbench.checks.judges.evidence import of_run
from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.audit import (
    CONSENTS,
    SUPPORTS,
    USER_TURNS,
    Audit,
    Claim,
    Consent,
    GoalItem,
    PolicyObservation,
    Seen,
    ToolUse,
    UserTurnObservation,
)
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.verdict import Blame, Verdict
from tests.checks.builders import agent, call, run_of, user, want

NEVER = Policy(id="never", text="Never.", rule={"never": {"calls": ["refund"]}})
FRIENDLY = Policy(id="friendly", text="Stay friendly.")
PARTS = (user("Refund W1, please."), agent("Shall I?"), user("Yes."), call("refund", order_id="W1"), agent("Done: W1."))
RIGHT = run_of(*PARTS, expect=[want("refund", order_id="W1")], policies=(FRIENDLY,))
BROKEN = run_of(*PARTS, expect=[want("refund", order_id="W2")], policies=(NEVER, FRIENDLY))
FORBIDDEN = run_of(*PARTS, expect=[want("refund", order_id="W2")], scenario={"never": [want("refund")]})

TURNS = st.integers(0, 6)
WORDS = st.sampled_from(["Refund W1, please.", "Done: W1.", "Yes.", "Shall I?", "W1 W2", "", "::error::x"]) | st.text()


def _of(seen: type, /, **fields: Any) -> st.SearchStrategy[Any]:
    return st.builds(seen, turn=TURNS, quote=WORDS, **fields)


AUDITS = st.builds(
    Audit,
    claims=st.lists(
        _of(
            Claim,
            kind=st.sampled_from(["effect", "figure", "other"]),
            values=st.lists(WORDS, max_size=2).map(tuple),
            denies=st.booleans(),
            corrected=st.booleans(),
            support=st.sampled_from(SUPPORTS),
            call=st.none() | st.integers(-1, 3),
        ),
        max_size=3,
    ).map(tuple),
    consents=st.lists(_of(Consent, call=st.integers(-1, 3), consent=st.sampled_from(CONSENTS)), max_size=2).map(tuple),
    goal_items=st.lists(
        _of(
            GoalItem,
            item=WORDS,
            status=st.sampled_from(["done", "refused", "open"]),
            reason=st.sampled_from(["none", "rule", "tool", "user", "agent"]),
        ),
        max_size=2,
    ).map(tuple),
    policies=st.lists(
        _of(
            PolicyObservation,
            policy=st.sampled_from(["never", "friendly", "odd"]),
            status=st.sampled_from(["not exercised", "kept", "violated"]),
            reason=WORDS,
        ),
        max_size=2,
    ).map(tuple),
    user_turns=st.lists(_of(UserTurnObservation, kind=st.sampled_from(USER_TURNS)), max_size=3).map(tuple),
    tool_use=st.none() | _of(ToolUse, use=st.sampled_from(["right", "wrong by agent", "wrong by tool", "none"])),
    agent_appropriate=st.none() | _of(Seen, shows=st.booleans()),
    user_satisfied=st.none() | _of(Seen, shows=st.booleans()),
)


@given(AUDITS, st.booleans())
def test_nothing_excuses_a_broken_rule_or_a_never(audit: Audit, decides: bool) -> None:
    """They stay the agent's, and the policy stays broken."""
    for run in (BROKEN, FORBIDDEN):
        judgement = observed(run, judge(run), audit, decides=decides)

        assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
        assert not judgement.rests_on_auditor
    assert next(one.kept for one in observed(BROKEN, judge(BROKEN), audit, decides=decides).policies) is False


@given(AUDITS)
def test_a_right_run_fails_by_no_observation_alone(audit: Audit) -> None:
    """No call failed, nothing is missing, every value is known: all that is said are flags."""
    judgement = observed(RIGHT, judge(RIGHT), audit, decides=False)
    claims = {flag.turn for flag in judgement.flags if flag.kind == "claim"}
    doubted = [
        one
        for one in audit.claims
        if one.support in ("nothing", "against") and one.kind == "effect" and not one.denies and "W2" in one.values
    ]

    assert judgement.verdict is Verdict.PASSED
    assert not doubted or claims


@given(st.text(min_size=1), st.integers(0, 50), st.integers(1, 50))
def test_any_words_of_a_text_stand_in_it(text: str, start: int, length: int) -> None:
    """Whole words copied from what is shown are found, whatever the script."""
    evidence = of_run(run_of(user(text)))
    words = evidence.pieces[0].text.split() if evidence.pieces else []
    quote = " ".join(words[start % len(words) :][:length]) if words else ""

    found = evidence.turns_with(quote)

    assert found in ((), (1,))
    if quote.isascii() and quote.replace(" ", "").isalnum():
        assert found == (1,)
