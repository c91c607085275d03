"""Claims without a source: what counts as a value, where it may come from, and that a flag decides nothing."""

import json
from datetime import UTC, datetime
from typing import Any

from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Verdict
from tests.checks.builders import agent, run_of, user
from tests.tables import each


def looked_up(result: Any, **arguments: Any) -> list[Message]:
    """The agent looks something up."""
    return [
        Message(role="assistant", tool_calls=(ToolCall(name="get_order", arguments=arguments),)),
        Message(role="tool", content=result if isinstance(result, str) else json.dumps(result)),
    ]


ORDER = {
    "order_id": "#W5199551",
    "total": 1628.5,
    "items": [{"price": 54.04}, {"price": 12.5}, {"price": 100.0}],
    "due": "2026-12-24",
    "at": "14:30",
    "card": "4111111111114242",
}


def flagged(*parts: list[Message], **fields: Any) -> list[str]:
    """The values that are flagged."""
    return [flag.value for flag in judge(run_of(*parts, **fields)).flags]


@each(
    "said",
    [
        "Order W5199551 costs $1,628.50.",
        "Die Bestellung #W5199551 kostet 1.628,50 €.",
        "Sie ist am 24.12.2026 um 14.30 Uhr da.",
        "It is due 12/24/2026 at 2:30 pm, on the 24th.",
        "٢٤ ديسمبر ٢٠٢٦",
        "ご注文W5199551は2026年12月24日に届きます。",
        "Your card ends in 4242.",
        "Both are $66.54 together, all three 166.54, the difference is 41.54.",
        "Your total was about $1,629.",
        "You asked for 35 of them.",
        "1. Yes\n10. No",
        "It takes 5-7 days.",
    ],
)
def test_what_was_seen_in_any_spelling_is_no_flag(said: str) -> None:
    """Results and the user's turns hold it, as it is, spelled otherwise, or added up."""
    assert flagged(user("Order, please: thirty-five of them"), looked_up(ORDER), agent(said)) == []


@each(
    ("said", "value"),
    [
        ("Order W5199552 is on its way.", "w5199552"),
        ("You will get $1,682.50 back.", "1682.5"),
        ("Sie bekommen 7,77 € zurück.", "7.77"),
        ("Il coûte 9 €.", "9"),
        ("Llega el 26/12/2026.", "26/12/2026"),
        ("ご注文W777が届きます。", "w777"),
        ("Your card ends in 4243.", "4243"),
    ],
)
def test_what_nothing_holds_is_a_flag_with_turn_and_quote(said: str, value: str) -> None:
    """In any language; the run passes all the same."""
    judgement = judge(run_of(user("My order, please"), looked_up(ORDER), agent(f"Right. {said}")))

    [flag] = judgement.flags
    assert (flag.turn, flag.value, flag.quote) == (2, value, f"Right. {said}")
    assert judgement.verdict is Verdict.PASSED
    assert not [one for one in judgement.findings if one.passed is False]


def test_an_id_with_one_digit_is_asked_for_its_source_beside_others_of_its_kind() -> None:
    """`GPT-4` has the same shape, but no such id is known."""
    said = agent("GPT-4 found ORD-1 and ORD-7.")

    assert flagged(user("My order, please"), looked_up({"order_id": "ORD-1"}), said) == ["ord-7"]
    assert flagged(user("My order, please"), looked_up({"order_id": "W1"}), said) == []


def test_a_result_of_a_later_turn_is_no_source() -> None:
    """The agent said it before anybody could know it."""
    later = [*user("And?"), *looked_up(ORDER), *agent("It is 1628.50.")]

    assert flagged(user("How much?"), agent("It is 1628.50, I think."), later) == ["1628.5"]


@each(
    "fields",
    [
        {"policies": (Policy(id="p", text="Refunds take 77 days."),)},
        {"policies": (Policy(id="p", text="Short.", rule={"at_most": {"calls": ["refund"], "times": 77}}),)},
        {"scenario": {"context": {"seats": 77}}},
        {"communicate": ["77"]},
        {"initial_state": {"orders": {"W1": {"days": 77}}}},
        {"now": datetime(2077, 1, 1, tzinfo=UTC)},
        {"calls_visible": False},
    ],
)
def test_policies_context_state_and_clock_are_sources(fields: dict[str, Any]) -> None:
    """A run whose calls nobody sees is not searched at all."""
    said = "It takes 77 days." if "now" not in fields else "It is 2077."

    assert flagged(user("How long?"), agent(said)) != []
    assert flagged(user("How long?"), agent(said), **fields) == []


def test_a_value_is_flagged_once_and_a_run_has_at_most_twenty() -> None:
    """However often it is said, and whatever an agent writes."""
    many = " ".join(f"X{number}" for number in range(1000, 1100))

    assert flagged(user("Hello"), agent("It is 777."), user("What?"), agent("It is 777.")) == ["777"]
    assert len(flagged(user("Hello"), *(agent(many[at : at + 300]) + user("And?") for at in (0, 300)))) == 20


def test_more_than_can_be_searched_is_not_flagged() -> None:
    """Where a source may lie that nobody looked at, nothing is said."""
    assert flagged(user("Hello"), looked_up("x" * 1_000_001), agent("It is 777.")) == []
