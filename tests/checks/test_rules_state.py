"""Conditions on the state, looked up or not, read off what the run kept of it."""

from typing import Any

from pytest_agentbench.checks.policies import check_policies
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import Toolset
from tests.checks.builders import agent, call, run_of, user
from tests.checks.test_rules import Part
from tests.tables import each

PENDING = {
    "only_if": {
        "calls": ["cancel_order"],
        "state": {"at": ["orders", {"$argument": "order_id"}], "value": {"status": "pending"}},
    }
}


def state(**status: str) -> State:
    """Give orders by their status."""
    return {"orders": {name: {"status": one, "total": 5} for name, one in status.items()}}


def cancel(order_id: str, *, wrote: bool | None = True, error: bool = False) -> Part:
    """The agent cancels an order."""
    return call("cancel_order", order_id=order_id, wrote=wrote, error=error)


def judged(rule: dict[str, Any], *parts: Part, **fields: Any) -> tuple[bool | None, str, str]:
    """Give whether a rule was kept, what is said of it first, and what to add."""
    fields = {"initial_state": state(W1="pending", W2="pending", W3="shipped"), **fields}
    report = check_policies(run_of(*parts, policies=(Policy(id="p", text="p", rule=rule),), **fields))
    (outcome,) = report.outcomes
    assert outcome.exercised
    return outcome.kept, report.findings[0].message, report.findings[0].cure


@each(
    ("parts", "kept"),
    [
        ([cancel("W1")], True),
        ([cancel("W3")], False),
        ([cancel("W9", error=True, wrote=False)], False),
        ([call("get_order", wrote=False), cancel("W1")], True),
        ([cancel("W3", error=True, wrote=False), cancel("W1")], False),
    ],
)
def test_before_the_first_write_the_state_is_the_initial_one(parts: list[Part], kept: bool) -> None:
    """Nobody looked the order up; an attempt that the tool refused breaks the rule as well."""
    assert judged(PENDING, *parts)[0] is kept


def test_a_broken_condition_shows_what_there_was() -> None:
    """The place, what stood there of what the rule names, and what should have."""
    assert judged(PENDING, cancel("W3"))[1] == (
        "cancel_order(order_id='W3') was called while orders.W3 was {'status': 'shipped'}, not {'status': 'pending'}"
    )
    assert judged(PENDING, cancel("W9"))[1] == "cancel_order(order_id='W9') was called while there was no orders.W9"


def test_later_calls_see_what_earlier_ones_wrote() -> None:
    """Cancelling twice breaks the rule at the second time, where the states in between were kept."""
    after = (state(W1="cancelled", W2="pending"), state(W1="cancelled", W2="cancelled"))

    assert judged(PENDING, cancel("W1"), cancel("W2"), states=after)[0] is True
    twice = judged(PENDING, cancel("W1"), cancel("W1"), states=(after[0], after[0]))
    assert twice[:2] == (
        False,
        "cancel_order(order_id='W1') was called while orders.W1 was {'status': 'cancelled'}, not {'status': 'pending'}",
    )


@each(
    ("parts", "fields"),
    [
        ([cancel("W1"), cancel("W2")], {}),
        ([cancel("W1"), cancel("W2")], {"states": (state(W2="pending"),)}),
        ([cancel("W1", wrote=None), cancel("W2")], {"states": (state(W2="pending"),)}),
        ([cancel("W1")], {"initial_state": None}),
    ],
)
def test_a_state_that_nobody_kept_is_not_measured(parts: list[Part], fields: dict[str, Any]) -> None:
    """Neither kept nor broken, and what would make it known."""
    kept, text, cure = judged(PENDING, *parts, **fields)

    assert kept is None
    assert "is not known" in text
    assert "declare tools that only read under `reads`" in cure


def test_where_nothing_was_written_any_more_the_final_state_tells() -> None:
    """A write whose effect nobody saw may have come before."""
    parts = [cancel("W1", wrote=None), cancel("W2", wrote=False, error=True)]

    assert judged(PENDING, *parts, final_state=state(W1="cancelled", W2="pending"))[0] is True
    assert judged(PENDING, *parts, final_state=state(W1="cancelled", W2="shipped"))[0] is False


def test_without_known_kinds_only_what_was_observed_counts() -> None:
    """A call of an unknown tool may have written, so what follows it is not known."""
    first = call("frobnicate", wrote=None)

    assert judged(PENDING, first, cancel("W1"), toolset=Toolset())[0] is None


def test_what_the_user_wrote_counts_as_well() -> None:
    """Tools of the user change the same state."""
    paid = call("pay", by="user", wrote=True)
    after = (state(W3="pending"), state(W3="cancelled"))

    assert judged(PENDING, paid, cancel("W3"), states=after)[0] is True


@each(
    ("value", "kept"),
    [
        ({"status": {"$in": ["pending", "new"]}}, True),
        ({"total": {"$gte": {"$argument": "amount"}}}, True),
        ({"total": {"$gt": {"$argument": "amount"}}}, False),
        ({"status": "pending", "total": 5}, True),
        ({"status": "pending", "owner": "ada"}, False),
        ({"$any": True}, True),
    ],
)
def test_values_of_the_state_are_like_those_of_results(value: dict[str, Any], kept: bool) -> None:
    """At least what the rule names, with matchers and references."""
    rule = {"only_if": {"calls": ["refund"], "state": {"at": ["orders", {"$argument": "id"}], "value": value}}}

    assert judged(rule, call("refund", id="W1", amount=5, wrote=True))[0] is kept


def test_rows_in_lists_and_numbers_as_keys_are_found() -> None:
    """A list is searched by `$has`; a number and its text are one key, as in tables."""
    has = {"$has": {"id": {"$argument": "id"}, "open": True}}
    in_list = {"only_if": {"calls": ["refund"], "state": {"at": ["lines"], "value": has}}}
    lines = {"lines": [{"id": 1, "open": False}, {"id": 2, "open": True}]}
    by_key = {"only_if": {"calls": ["refund"], "state": {"at": ["rows", {"$argument": "id"}, "n"], "value": 5}}}
    refund = call("refund", id=2, wrote=True)

    assert judged(in_list, refund, initial_state=lines)[0] is True
    assert judged(in_list, call("refund", id=1, wrote=True), initial_state=lines)[0] is False
    assert judged(by_key, refund, initial_state={"rows": {"2": {"n": 5}}})[0] is True


@each(
    ("at", "value", "text", "cure"),
    [
        (["ordres", "W1"], {"status": "pending"}, "the state has no 'ordres'", "did you mean 'orders'?"),
        (["orders", "W1"], {"statsu": "pending"}, "orders.W1 has no 'statsu'", "did you mean 'status'?"),
        (["orders", {"$argument": "order"}], 5, "does not say which part of the state", "name in `at` an argument"),
    ],
)
def test_a_misspelt_key_is_nobodys_breach(at: list[Any], value: Any, text: str, cure: str) -> None:
    """The state is known at run time alone, so what differs in a letter or two is left open and told."""
    rule = {"only_if": {"calls": ["cancel_order"], "state": {"at": at, "value": value}}}

    kept, said, added = judged(rule, cancel("W1"))

    assert kept is None
    assert text in said
    assert cure in added


def test_a_condition_can_be_turned_round_and_stand_below_words() -> None:
    """`not` asks for the opposite; after words the state is that of the moment."""
    shipped = {"state": {"at": ["orders", "W3"], "value": {"status": "shipped"}}}
    unless = {"only_if": {"calls": ["cancel_order"], "not": shipped}}
    told = {"when": {"user_says": "W3"}, "then": {"any": [{"not": shipped}, {"must_say": "on its way"}]}}

    assert judged(unless, cancel("W1"))[0] is False
    assert judged(told, user("Where is W3?"), agent("It is on its way"))[0] is True
    assert judged(told, user("Where is W3?"), agent("I don't know"))[0] is False


@each(
    ("at", "missing", "cure"),
    [
        (["orders", {"$argument": "order_id"}, "statis"], "orders.W1 has no 'statis'", "did you mean 'status'?"),
        (["orders.W1", "status"], "the state has no 'orders.W1'", "write each key by itself: [orders, W1]"),
    ],
)
def test_a_misspelt_way_into_the_state_is_no_fault_of_the_agent(at: list[Any], missing: str, cure: str) -> None:
    """A name of the suite's own that is almost one that is there, at any depth; of the call's own values nothing is."""
    rule = {"only_if": {"calls": ["cancel_order"], "state": {"at": at, "value": "pending"}}}

    assert judged(rule, cancel("W1")) == (None, f"not measured: cancel_order(order_id='W1') ({missing})", cure)
    assert judged(PENDING, cancel("W4"))[0] is False


def test_what_is_not_there_is_not_shown_as_nothing() -> None:
    """A key that the row does not have is no key with the value None."""
    rule = {"only_if": {"calls": ["cancel_order"], "state": {**PENDING["only_if"]["state"], "value": {"paid": True}}}}

    assert judged(rule, cancel("W1"))[1].endswith(
        "while orders.W1 was {'status': 'pending', 'total': 5}, not {'paid': True}"
    )


def test_an_id_of_a_call_that_is_like_another_one_is_not_guessed_at() -> None:
    """Where rows stand at the top of the state, an unknown id is no misspelt name of a table."""
    rule = {
        "only_if": {"calls": ["cancel_order"], "state": {"at": [{"$argument": "order_id"}], "value": {"$any": True}}}
    }

    assert judged(rule, cancel("W9"), initial_state={"W1": {"status": "pending"}})[0] is False
