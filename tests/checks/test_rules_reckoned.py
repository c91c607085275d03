"""Rules with amounts that are reckoned: compared in cents, and not measured where nothing can be reckoned."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.policies import PolicyReport, check_policies
from pytest_agentbench.core.policy import Policy
from tests.checks.builders import agent, call, run_of, user
from tests.checks.test_rules import Part, gave
from tests.tables import each

HALF = {"$result": "total", "times": 0.5}
LOOKED = {"calls": ["get_order"]}
EITHER = {"any": [{"must_say": HALF}, {"later": {"calls": ["refund"]}}]}
MORE_THAN_HALF = {"when": LOOKED, "then": {"never": {"calls": ["refund"], "where": {"amount": {"$gt": HALF}}}}}


def report(rule: dict[str, Any], *parts: Part, **fields: Any) -> PolicyReport:
    """What is judged of a conversation by one rule."""
    return check_policies(run_of(*parts, policies=(Policy(id="p", text="p", rule=rule),), **fields))


def outcome(rule: dict[str, Any], *parts: Part, **fields: Any) -> tuple[bool | None, bool | None]:
    """Whether a conversation exercises a rule, and keeps it."""
    (found,) = report(rule, *parts, **fields).outcomes
    return found.exercised, found.kept


def after_looking(then: dict[str, Any]) -> dict[str, Any]:
    """A rule about what comes after a look at the order."""
    return {"when": LOOKED, "then": then}


@each(
    "rule",
    [
        MORE_THAN_HALF,
        after_looking({"only": {"calls": ["refund"], "where": {"amount": {"$lte": HALF}}}}),
        after_looking({"never": {"calls": ["refund"], "where": {"amount": HALF}}}),
        after_looking({"never": {"calls": ["refund"], "where": {"amount": {"$not": HALF}}}}),
        after_looking({"never": {"calls": ["refund"], "where": {"amount": {"$in": [5, HALF]}}}}),
        after_looking({"never": {"calls": ["refund"], "where": {"amount": {"$approx": HALF}}}}),
        after_looking({"never": {"calls": ["refund"], "result": {"paid": {"$gt": HALF}}}}),
        after_looking({"never": {"calls": ["refund"], "where": {"amount": {"$gt": {"$result": "total"}}}}}),
        after_looking({"later": {"calls": ["refund"], "where": {"amount": HALF}}}),
        after_looking({"not": {"later": {"calls": ["refund"], "where": {"amount": HALF}}}}),
        after_looking({"at_most": {"calls": ["refund"], "sum": "amount", "lte": HALF}}),
        after_looking({"at_most": {"calls": ["refund"], "where": {"amount": HALF}, "sum": "amount", "lte": 1}}),
        after_looking({"before": {"calls": ["refund"], "where": {"amount": HALF}, "first": ["ask"]}}),
        after_looking({"only_if": {"calls": ["refund"], "where": {"amount": HALF}, "confirmed": True}}),
        after_looking({"must_say": HALF}),
        after_looking({"must_not_say": HALF}),
        after_looking({"when": {"agent_says": HALF}, "then": {"must_say": "bye"}}),
        {"only_if": {"calls": ["refund"], "arguments": {"amount": {"$lte": {"$argument": "limit", "times": 2}}}}},
        {"only_if": {"calls": ["refund"], "agent_said": {"$argument": "limit", "times": 2}}},
    ],
)
@each("order", [{"total": "unknown"}, {"price": 10}, {"total": None}, "not found"])
def test_what_cannot_be_reckoned_is_not_measured(rule: dict[str, Any], order: object) -> None:
    """Neither kept nor broken, in any rule: nobody can tell what half of no number is."""
    parts = [gave("get_order", order), gave("refund", {"paid": 7}, amount=7), agent("It is done.")]

    found = report(rule, *parts)

    assert (found.outcomes[0].exercised, found.outcomes[0].kept) == (True, None)
    assert all(finding.passed is None and finding.cure for finding in found.findings)


@each(
    ("order", "why"),
    [
        ({"total": "n/a"}, "(get_order gave total as 'n/a', which is not a number)"),
        ({"price": 10}, "(get_order gave no total)"),
    ],
)
def test_the_reason_and_the_cure_are_told(order: object, why: str) -> None:
    """A reader learns which tool has to give what."""
    (finding,) = report(MORE_THAN_HALF, gave("get_order", order), call("refund", amount=7)).findings

    assert finding.message == f"not measured: refund(amount=7) {why}"
    assert finding.cure == "have get_order give total as a number, or name another value in the rule"


@each(
    ("where", "arguments", "expected"),
    [
        ({"amount": {"$gt": HALF}, "to": "card"}, {"amount": 7, "to": "bank"}, True),
        ({"to": "card", "amount": {"$gt": HALF}}, {"to": "bank"}, True),
        ({"amount": {"$gt": HALF}}, {}, True),
        ({"amount": {"$gt": HALF}}, {"amount": "much"}, True),
        ({"amount": {"$gt": HALF, "$lt": 5}}, {"amount": 7}, True),
        ({"amount": {"$in": [7, HALF]}}, {"amount": 7}, False),
        ({"amount": {"$not": {"$in": [7, HALF]}}}, {"amount": 7}, True),
        ({"lines": {"$has": {"amount": HALF, "sku": "A"}}}, {"lines": [{"amount": 1, "sku": "B"}]}, True),
        ({"lines": {"$has": {"amount": HALF, "sku": "A"}}}, {"lines": [{"amount": 1, "sku": "A"}]}, None),
        ({"a": HALF, "b": {"$not": HALF}}, {"a": 1, "b": 1}, None),
        ({"lines": {"$size": {"$gt": HALF}}}, {"lines": [1]}, None),
        ({"lines": {"$size": {"$gt": HALF}}}, {"lines": 1}, True),
    ],
)
def test_another_part_decides(where: dict[str, Any], arguments: dict[str, Any], expected: bool | None) -> None:
    """A call that differs elsewhere is not the forbidden one, whatever half of the total is."""
    rule = after_looking({"never": {"calls": ["refund"], "where": where}})

    assert outcome(rule, gave("get_order", {}), call("refund", **arguments)) == (True, expected)


@each(
    ("rule", "parts", "expected"),
    [
        (after_looking({"must_say": [HALF, "sorry"]}), [agent("Sorry.")], (True, True)),
        (after_looking({"must_not_say": [HALF, "sorry"]}), [agent("Sorry.")], (True, False)),
        (after_looking(EITHER), [], (True, None)),
        (after_looking(EITHER), [call("refund")], (True, True)),
        (after_looking({"must_say": {"$result": "total"}}), [agent("Hello.")], (True, None)),
        (after_looking({"must_not_say": {"$result": "total"}}), [agent("Hello.")], (True, None)),
        (after_looking({"must_say": [{"$result": "total"}, "sorry"]}), [agent("Sorry.")], (True, True)),
        (after_looking({"must_say": {"$argument": "id"}}), [agent("Hello.")], (True, None)),
    ],
)
def test_another_text_or_branch_decides(
    rule: dict[str, Any], parts: list[Part], expected: tuple[bool | None, bool | None]
) -> None:
    """What was said all the same decides; of a value that is not reckoned, or that the run has not, nobody can tell."""
    assert outcome(rule, gave("get_order", {}), *parts) == expected


def test_what_a_call_has_in_place_of_a_missing_value_is_told() -> None:
    """A mistyped key keeps no rule; an empty value asks for nothing."""
    rule = after_looking({"must_say": {"$result": "fare.totl"}})
    looked = gave("get_order", {"id": "W1", "fare": {"total": 5, "tax": 1}})

    (finding,) = report(rule, looked, agent("Done.")).findings

    assert "(get_order gave no fare.totl, only fare.total, fare.tax)" in finding.message
    assert finding.cure == "name another value in the rule (did you mean 'fare.total'?)"
    assert outcome(rule, gave("get_order", {"fare": {"totl": None}}), agent("Done.")) == (True, True)


def test_a_trigger_that_may_have_occurred_breaks_nothing() -> None:
    """Nobody can tell whether the call was one that sets the rule off; where its need is met, it is kept anyhow."""
    about = {"calls": ["refund"], "where": {"amount": {"$gt": HALF}}}
    rule = after_looking({"when": about, "then": {"later": {"calls": ["get_user"]}}})

    assert outcome(rule, gave("get_order", {}), call("refund", amount=7)) == (True, None)
    assert outcome(rule, gave("get_order", {}), call("refund", amount=7), call("get_user")) == (True, True)


def test_calls_that_are_certain_break_a_count_whatever_is_not_known() -> None:
    """Two refunds by card are too many, though a third may be one or not."""
    about = {"calls": ["refund"], "where": {"amount": {"$in": [1, HALF]}}}
    rule = after_looking({"at_most": {**about, "times": 1}})
    one, maybe = call("refund", amount=1), call("refund", amount=7)

    assert outcome(rule, gave("get_order", {}), one, maybe) == (True, None)
    assert outcome(rule, gave("get_order", {}), one, one, maybe) == (True, False)


@each(
    ("total", "amount", "expected"),
    [
        (19.99, 10.00, True),
        (19.99, 9.99, True),
        (19.99, 10.01, False),
        (85, 42.5, True),
        (85, 43, False),
        (99.9, 49.95, True),
        (99.9, 49.96, False),
        (0.001, 0.001, True),
        (0.001, 0.002, False),
        (1e300, 5e299, True),
        (1e300, 6e299, False),
        (2.675, 1.338, True),
        (2.675, 1.339, False),
    ],
)
def test_half_a_price_is_rounded_as_money_is(total: float, amount: float, expected: bool) -> None:
    """Half of 19.99 is 10.00: both sides are rounded half up to cents, or to the decimals of what is reckoned from."""
    looked, refund = gave("get_order", {"total": total}), call("refund", amount=amount)
    in_all = after_looking({"at_most": {"calls": ["refund"], "sum": "amount", "lte": HALF}})

    assert outcome(MORE_THAN_HALF, looked, refund) == (True, expected)
    assert outcome(in_all, looked, refund) == (True, expected)


@given(st.integers(0, 10**9), st.integers(0, 1000), st.integers(0, 10**9))
def test_exactly_one_of_less_same_and_more_holds(cents: int, thousandths: int, paid: int) -> None:
    """Every operator agrees with decimal arithmetic, rounded half up to cents."""
    total, factor, amount = cents / 100, thousandths / 1000, paid / 100
    part = {"$result": "total", "times": factor}
    exact = Decimal(str(total)) * Decimal(str(factor))
    bound = exact.quantize(Decimal("0.01"), ROUND_HALF_UP)
    given_amount = Decimal(str(amount))
    parts = [gave("get_order", {"total": total}), call("refund", amount=amount)]

    def fits(pattern: object) -> bool:
        rule = after_looking({"later": {"calls": ["refund"], "where": {"amount": pattern}}})
        return outcome(rule, *parts) == (True, True)

    assert fits({"$lt": part}) is (given_amount < bound)
    assert fits({"$lte": part}) is (given_amount <= bound)
    assert fits({"$gt": part}) is (given_amount > bound)
    assert fits({"$gte": part}) is (given_amount >= bound)
    assert fits(part) is (given_amount == bound)


def test_a_yes_is_asked_for_only_where_the_amount_may_need_it() -> None:
    """A confirmed call is kept although nobody can tell whether it needed the yes."""
    rule = after_looking({"only_if": {"calls": ["refund"], "where": {"amount": {"$gt": HALF}}, "confirmed": True}})
    asked = [agent("Shall I refund 7?"), user("Yes.", "confirm")]

    assert outcome(rule, gave("get_order", {}), *asked, call("refund", amount=7)) == (True, True)
    assert outcome(rule, gave("get_order", {}), call("refund", amount=7)) == (True, None)


@each(("total", "limit", "expected"), [(5, 2, True), (5, 3, False), (5, "all", None), ("much", 2, False)])
def test_what_stands_in_the_state_is_held_against_a_reckoned_amount(
    total: object, limit: object, expected: bool | None
) -> None:
    """The order must be worth twice the limit; of a limit that is no number nobody can tell."""
    need = {"at": ["orders", "W1"], "value": {"total": {"$gte": {"$argument": "limit", "times": 2}}}}
    state = {"orders": {"W1": {"total": total}}}

    found = report(
        {"only_if": {"calls": ["refund"], "state": need}}, call("refund", limit=limit, wrote=True), initial_state=state
    )

    assert found.outcomes[0].kept is expected
    assert bool(found.findings[0].cure) is (expected is None)


def test_a_reckoned_amount_that_the_user_must_hear_has_to_be_there() -> None:
    """A yes to half of no total is no yes that could be judged."""
    rule = after_looking({"confirm_before": {"calls": ["refund"], "stating": [HALF]}})
    asked = [agent("Shall I refund 7?"), user("Yes.", "confirm")]

    assert outcome(rule, gave("get_order", {}), *asked, call("refund", amount=7)) == (True, None)
    assert outcome(rule, gave("get_order", {"total": 14}), *asked, call("refund", amount=7)) == (True, True)


def test_numbers_of_any_size_are_reckoned() -> None:
    """What no float can hold is no amount to compare with, and what is huge is compared exactly."""
    rule = after_looking({"must_say": {"$result": "total", "times": 1e10}})

    (finding,) = report(rule, gave("get_order", {"total": 1e300}), agent("That is a lot.")).findings

    assert "(get_order gave total as 1e+300, from which nothing that large can be reckoned)" in finding.message
    assert outcome(MORE_THAN_HALF, gave("get_order", {"total": 10**300}), call("refund", amount=10**299)) == (
        True,
        True,
    )


@each(
    ("wanted", "gave_back", "said", "expected"),
    [
        ("charge", {"charge": 0.0}, ["There is nothing to pay."], None),
        ("charge", {"charge": "0.00"}, ["There is nothing to pay."], None),
        ("charge", {"charge": 0}, ["You pay 0.00."], True),
        ("charge", {"charge": 0}, [], False),
        ("charge", {"charge": False}, ["Nothing to pay."], False),
        (".", {"charge": 0, "loan": 31}, ["Loan 31 is back, nothing to pay."], None),
        (".", {"charge": 0, "loan": 31}, ["Nothing to pay."], False),
    ],
)
def test_zero_is_said_in_words_that_nobody_lists(
    wanted: str, gave_back: dict[str, Any], said: list[str], expected: bool | None
) -> None:
    """An agent that says something, and not the figure, may have said it: that is not measured."""
    rule = after_looking({"must_say": {"$result": wanted}})

    assert outcome(rule, gave("get_order", gave_back), *map(agent, said)) == (True, expected)
