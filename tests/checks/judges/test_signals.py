"""Signals: what code alone says against a conversation, and how much of it a judge is shown."""

from typing import Any

from pytest_agentbench.checks.judges.signals import labelled_by, shown_of, signals_of
from pytest_agentbench.core.transcript import Message
from tests.checks.builders import agent, call, run_of, user
from tests.tables import each

ORDER = {"orders": {"W1": {"order_id": "W1", "item": "lamp", "price": 20, "status": "open"}}}
BACK = {"orders": {"W1": {**ORDER["orders"]["W1"], "status": "back"}}}
ASKED = user("Refund order W1, please.")


def answered(text: str) -> list[Message]:
    """A look at the order that gives a text."""
    made, result = call("get_order", order_id="W1")
    return [made, result.model_copy(update={"content": text})]


@each(
    ("parts", "fields", "expected", "names"),
    [
        ([call("refund", order_id="W1"), agent("Done.")], {}, (), []),
        ([call("refund", order_id="W1", error=True), agent("Done.")], {}, (), ["failed-call"]),
        ([call("refund", order_id="W9"), agent("Done.")], {}, (), ["argument-from-nowhere"]),
        ([call("refund", order_id="W1"), agent("You get 45.50 back.")], {}, (), ["value-from-nowhere"]),
        ([call("refund", order_id="W1"), agent("Done.")], {"final_state": ORDER}, (), ["effect-missing"]),
        (
            [call("refund", order_id="W1"), agent("Done.")],
            {"final_state": BACK},
            ("orders.W1.status: 'open' became 'lost'",),
            ["state-against-goal", "state-against-goal"],
        ),
        (
            [answered('{"order_id": "W1", "item": "lamp", "price": 20, "status": "shipped"}'), agent("It is shipped.")],
            {"final_state": ORDER},
            (),
            ["answer-against-state"],
        ),
    ],
)
def test_each_signal_is_found(
    parts: list[list[Message]], fields: dict[str, Any], expected: tuple[str, ...], names: list[str]
) -> None:
    """One run each; an argument from nowhere is shown, and does not count by itself."""
    states = {"initial_state": ORDER, **fields} if fields else {}
    run = run_of(ASKED, *parts, **states)

    found = signals_of(run, expected=expected)

    assert [one.name for one in found] == names
    assert labelled_by(found) == ("NEG" if set(names) - {"argument-from-nowhere"} else "POS")
    record, without = (shown_of(run, shown, expected=expected).record("n") for shown in ("signals", "none"))
    for one in found:
        assert one.text in record
        assert one.text not in without
