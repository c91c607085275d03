"""Rules that count and add up over a run, and that ask for something within a number of turns."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.policies import check_policies
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.termination import Termination
from tests.checks.builders import agent, call, run_of, user
from tests.checks.test_rules import Part, gave, kept, message
from tests.tables import each

SUM = {"at_most": {"calls": ["refund"], "sum": "amount", "lte": 500}}


def findings(rule: dict[str, Any], *parts: Part, **fields: Any) -> list[tuple[bool | None, str, str, bool]]:
    """Give (passed, message, cure, proven) of everything that is said of a rule."""
    report = check_policies(run_of(*parts, policies=(Policy(id="p", text="p", rule=rule),), **fields))
    return [(one.passed, one.message, one.cure, one.proven) for one in report.findings]


@given(st.lists(st.integers(0, 300), max_size=5))
def test_a_sum_is_kept_until_it_is_over_the_limit(amounts: list[int]) -> None:
    """Whatever the amounts are, all calls together decide, and no call no trigger."""
    expected = None if not amounts else sum(amounts) <= 500

    assert kept(SUM, *(call("refund", amount=amount) for amount in amounts)) is expected


@each(
    ("amounts", "expected"),
    [([0.1] * 3, True), ([0.1] * 4, False), ([499.995, 0.005], True)],
)
def test_cents_do_not_break_a_limit_that_they_reach(amounts: list[float], expected: bool) -> None:
    """Three times a tenth is 0.3."""
    limit = 0.3 if 0.1 in amounts else 500
    rule = {"at_most": {"calls": ["refund"], "sum": "amount", "lte": limit}}

    assert kept(rule, *(call("refund", amount=amount) for amount in amounts)) is expected


def test_the_call_that_breaks_a_sum_is_named_with_what_it_came_to() -> None:
    """Later ones break it as well."""
    text = message(SUM, call("refund", amount=300), call("refund", amount=250))

    assert text == "refund(amount=250) was the call that brought amount to 550, allowed 500 at most"


@each(
    ("parts", "expected"),
    [
        ([call("refund", amount=400), call("refund", error=True, amount=400)], True),
        ([call("refund", amount=400, order="A"), call("refund", amount=400, order="B")], True),
        ([call("refund", amount=400, order="A"), call("refund", amount=101, order="A")], False),
    ],
)
def test_sums_are_counted_apart_and_failures_add_nothing(parts: list[Part], expected: bool) -> None:
    """`per` as in counts."""
    rule = {"at_most": {"calls": ["refund"], "sum": "amount", "lte": 500, "per": ["order"]}}

    assert kept(rule, *parts) is expected


@each("amount", ["a lot", None, True])
def test_what_is_no_number_makes_a_sum_unknown(amount: object) -> None:
    """Neither kept nor broken, and what to do about it; what was over the limit before stays broken."""
    unknown = call("refund", amount=amount)

    ((passed, text, cure, _),) = findings(SUM, unknown)
    assert passed is None
    assert "nothing tells what amount comes to" in text
    assert cure == "have each of these calls give amount as a number"
    assert kept(SUM, call("refund", amount=501), unknown) is False
    assert kept(SUM, call("refund")) is None


def test_sums_of_results_and_limits_of_an_earlier_call() -> None:
    """Of an order no more is paid back than three quarters of its price, whatever was asked for."""
    rule = {
        "when": {"calls": ["get_order"]},
        "then": {
            "at_most": {
                "calls": ["cancel_item"],
                "where": {"order_id": {"$argument": "order_id"}},
                "sum": {"$result": "paid.back"},
                "lte": {"$result": "total", "times": 0.75},
            }
        },
    }
    looked = gave("get_order", {"total": 80}, order_id="W1")
    item = gave("cancel_item", {"paid": {"back": 30}}, order_id="W1")

    assert kept(rule, looked, item, item) is True
    assert kept(rule, looked, item, item, item) is False
    assert kept(rule, gave("get_order", {}, order_id="W1"), item) is None
    assert findings(rule, gave("get_order", {}, order_id="W1"), item)[0][:3] == (
        None,
        "not measured: cancel_item(order_id='W1') (nothing tells a limit for paid.back)",
        "name in `lte` a number that the call around the rule was given or gave",
    )


LOCK = {"when": {"calls": ["login"], "failed": True, "times": 3}, "then": {"later": {"calls": ["lock"]}}}
FAILED = call("login", error=True)


@each(
    ("parts", "expected"),
    [
        ([FAILED, FAILED], None),
        ([FAILED, call("login"), FAILED], None),
        ([FAILED, FAILED, FAILED], False),
        ([FAILED, FAILED, FAILED, call("lock")], True),
        ([FAILED, FAILED, FAILED, call("lock"), FAILED], True),
        ([FAILED, FAILED, call("lock"), FAILED], False),
    ],
)
def test_a_trigger_occurs_at_the_call_of_its_number(parts: list[Part], expected: bool | None) -> None:
    """At the third failure, and not again at the fourth; what came before is not afterwards."""
    assert kept(LOCK, *parts) is expected


def test_a_trigger_counts_apart_for_each_value() -> None:
    """Three failures of one user, not of three."""
    rule = {**LOCK, "when": {**LOCK["when"], "per": ["user"]}}  # it is a mapping
    of = {name: call("login", error=True, user=name) for name in "ab"}

    assert kept(rule, of["a"], of["b"], of["a"]) is None
    assert kept(rule, of["a"], of["b"], of["a"], of["a"]) is False


def test_words_can_be_counted_as_well() -> None:
    """The second time that the user asks for a manager."""
    rule = {"when": {"user_says": "manager", "times": 2}, "then": {"must_say": "I will call one"}}

    assert kept(rule, user("A manager!"), agent("No.")) is None
    assert kept(rule, user("A manager!"), agent("No."), user("The manager!"), agent("No.")) is False
    assert kept(rule, user("A manager!"), agent("No."), user("The manager!"), agent("I will call one.")) is True


def test_a_requirement_asks_for_a_number_of_calls() -> None:
    """Locked only after three failures, in words."""
    rule = {"only_if": {"calls": ["lock"], "earlier": {"calls": ["login"], "failed": True, "times": 3}}}

    assert kept(rule, FAILED, FAILED, FAILED, call("lock")) is True
    assert message(rule, FAILED, FAILED, call("lock")) == "lock() was called before login failed 3 times"


SOON = {"when": {"user_says": "manager"}, "then": {"later": {"calls": ["transfer"], "within": 1}}}
ASKS = user("A manager!")


@each(
    ("parts", "expected"),
    [
        ([ASKS, call("transfer"), agent("Done.")], True),
        ([ASKS, agent("One moment."), call("transfer"), agent("Done.")], True),
        ([ASKS, agent("Why?"), user("Because."), call("transfer"), agent("Done.")], False),
        ([ASKS, agent("Why?")], False),
        ([agent("Hello"), user("Hi"), agent("Yes?")], None),
    ],
)
def test_a_call_is_made_within_turns(parts: list[Part], expected: bool | None) -> None:
    """All that the agent does before the user speaks again is one turn."""
    assert kept(SOON, *parts) is expected


def test_after_a_call_its_own_turn_is_the_first() -> None:
    """`within: 1` after a call ends with the turn in which it was made, `within: 2` one turn later."""
    parts = [user("Cancel"), call("cancel"), agent("Done."), user("ok"), call("notify"), agent("Told.")]

    for within, expected in ((1, False), (2, True)):
        rule = {"when": {"calls": ["cancel"]}, "then": {"later": {"calls": ["notify"], "within": within}}}
        assert kept(rule, *parts) is expected


@each(
    ("parts", "proven"),
    [([ASKS, agent("Why?"), user("Because.")], True), ([ASKS, agent("Why?")], False), ([ASKS], False)],
)
def test_what_is_missing_is_proven_once_its_turns_are_over(parts: list[Part], proven: bool) -> None:
    """A run that broke off in the turn itself might still have made the call."""
    ((passed, text, _, is_proven),) = findings(SOON, *parts, termination=Termination.CRASHED)

    assert (passed, is_proven) == (False, proven)
    assert text == "the user said 'manager' without transfer succeeding in the agent's next turn"
