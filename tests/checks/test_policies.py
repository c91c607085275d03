"""Policy rules: when they are exercised, when broken, and what is wrong with a bad one."""

import re
from typing import Any

import pytest

from pytest_agentbench.checks.policies import PolicyReport, check_policies
from pytest_agentbench.checks.rules import read_rule
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import PolicyOutcome
from pytest_agentbench.core.transcript import Message
from tests.checks.builders import agent, call, run_of, user
from tests.tables import each

CONFIRM = {"confirm_before": {"calls": "writes"}}
FIRST = {"before": {"calls": ["refund"], "first": ["get_user"]}}
ONCE = {"at_most": {"calls": ["refund"], "times": 1}}
NO_CASH = {"never": {"calls": ["refund"], "where": {"method": {"$regex": "cash.*"}}}}
ASKED = agent("I will refund order W1. Shall I go ahead?")


def judged(rule: dict[str, Any] | None, *parts: list[Message]) -> PolicyReport:
    """What one policy makes of a conversation."""
    return check_policies(run_of(*parts, policies=(Policy(id="p", text="p", rule=rule),)))


@each(
    ("rule", "parts", "exercised", "kept"),
    [
        (FIRST, [call("get_order")], False, None),
        (FIRST, [call("get_user"), call("refund")], True, True),
        (FIRST, [call("get_user", error=True), call("refund")], True, False),
        (FIRST, [call("refund", error=True)], True, False),
        (ONCE, [call("refund", error=True), call("refund")], True, True),
        (ONCE, [call("refund"), call("refund")], True, False),
        (NO_CASH, [call("refund", method="card")], True, True),
        (NO_CASH, [call("refund", method="cash in hand")], True, False),
        (NO_CASH, [call("refund", method="card", by="user")], False, None),
        (CONFIRM, [call("get_order")], False, None),
        (CONFIRM, [ASKED, user("yes", "confirm"), call("refund", order_id="W1")], True, True),
        (CONFIRM, [ASKED, user("no", "decline"), call("refund", order_id="W1")], True, False),
        (CONFIRM, [ASKED, user("yes"), call("refund", order_id="W1")], True, None),
        (CONFIRM, [user("refund W1"), call("refund", order_id="W1")], True, False),
        (CONFIRM, [call("get_order", wrote=True)], True, False),
        (None, [call("refund")], None, None),
    ],
)
def test_a_rule_is_exercised_and_kept(
    rule: dict[str, Any] | None, parts: list[list[Message]], exercised: bool | None, kept: bool | None
) -> None:
    """Exercised when such a call was attempted; broken by conduct, not by what the tool made of it."""
    assert judged(rule, *parts).outcomes == (PolicyOutcome(policy="p", exercised=exercised, kept=kept),)


@each(
    ("rule", "problem"),
    [
        ({}, "expected exactly one of before"),
        ({**ONCE, **FIRST}, "expected exactly one of before"),
        ("never", "expected exactly one of before"),
        ({"just": {}}, "unknown key 'just', allowed: before, never, only, confirm_before, only_if, at_most, "),
        ({"never": ["refund"]}, "never: found a list of 1, expected"),
        ({"before": {"calls": ["refund"]}}, "'first' is missing"),
        (
            {"before": {"calls": ["refund"], "first": "writes"}},
            "before.first: found 'writes', expected a list of names",
        ),
        ({"never": {"calls": []}}, "never.calls: found an empty list, expected a list of names of tools, at least one"),
        ({"never": {"calls": ["refund"], "when": 1}}, "unknown key 'when'"),
        ({"never": {"calls": ["refund"], "where": {"method": {"$regx": ""}}}}, "where.method.$regx: unknown matcher"),
        ({"at_most": {"calls": ["refund"], "times": True}}, "found True, expected a whole number from 1"),
        ({"at_most": {"calls": ["refund"], "times": -1}}, "found -1, expected a whole number from 1"),
        ({"must_say": "x"}, "must_say: must_say has no trigger: write {when: {calls: […]}, then: {must_say: …}}"),
        ({"all": [ONCE, {"earlier": {"calls": ["refund"]}}]}, "all[1].earlier: earlier has no trigger"),
        ({"when": "always"}, "the key 'then' is missing"),
        ({"when": "allways", "then": {"must_say": "x"}}, "when: found 'allways', allowed: 'always' (did you mean"),
        (
            {"when": {"calls": ["refund"]}, "then": {"must_sya": "x"}},
            "then.must_sya: unknown key 'must_sya' (did you mean 'must_say'?), allowed",
        ),
        ({"when": "always", "then": {"must_not_say": {"pattern": "("}}}, "pattern: '(' is not a regular expression"),
        ({"when": "always", "then": {"confirmed": True}}, "then.confirmed: there is no call that this could be about"),
        ({"when": "always", "then": {"must_say": {"$result": "total"}}}, "then.must_say: there is no call"),
        ({"never": {"calls": ["refund"], "where": {"id": {"$argument": "id"}}}}, "never.where: there is no call"),
        (
            {"when": {"calls": ["refund"]}, "then": {"must_say": {"$result": ""}}},
            "found '', expected the way to a value",
        ),
        ({"only_if": {"calls": ["refund"]}}, "only_if: nothing says what such a call needs, allowed: earlier,"),
        ({"only_if": {"calls": ["refund"], "any": [ONCE]}}, "only_if.any[0].at_most: at_most has a trigger of its own"),
        ({"only_if": {"calls": ["refund"], "not": FIRST}}, "not.before: before has a trigger of its own"),
        (
            {"only_if": {"calls": ["refund"], "arguments": {"a": {"$lt": None}}}},
            "arguments.a.$lt: found None, expected",
        ),
    ],
)
def test_a_bad_rule_is_reported(rule: Any, problem: str) -> None:
    """Each problem says where it is, what was found and what is allowed."""
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_rule(rule)


def test_in_code_sequences_may_be_tuples_and_callables_stand_for_values() -> None:
    """Rules written in Python need not look like YAML."""
    rule = {"never": {"calls": ("refund",), "where": {"order_id": str.isdigit}}}

    assert judged(rule, call("refund", order_id="12")).outcomes[0].kept is False
    assert judged(rule, call("refund", order_id="W1")).outcomes[0].kept is True


def test_findings_name_the_turn_and_the_call() -> None:
    """Kept and broken alike; what was said is shown where it was said."""
    rule = {"when": {"calls": ["refund"]}, "then": {"must_not_say": "approved"}}
    parts = [user("hi"), call("refund", order_id="W1"), user("well?"), agent("It is Approved.")]

    (kept,) = judged(rule, *parts[:3]).findings
    assert (kept.passed, kept.turn, kept.tool, kept.message) == (True, 2, "refund", "kept: refund(order_id='W1')")
    (broken,) = judged(rule, *parts).findings
    assert (broken.passed, broken.turn, broken.tool) == (False, 4, "refund")
    assert broken.message == "refund(order_id='W1') was called after which the agent said 'approved'"


def test_a_call_that_is_missing_afterwards_is_named() -> None:
    """What the rule asks for, and since when."""
    (broken,) = judged(
        {"when": {"user_says": "refund"}, "then": {"later": {"calls": ["refund"]}}}, user("Refund!")
    ).findings

    assert broken.message == "the user said 'refund' without refund succeeding afterwards"


def test_rules_about_calls_are_not_measured_where_calls_are_hidden() -> None:
    """A rule about words alone is judged all the same."""
    spoken = Policy(id="words", text="p", rule={"when": "always", "then": {"must_not_say": "guarantee"}})
    policies = (Policy(id="calls", text="p", rule=CONFIRM), spoken)
    run = run_of(agent("I guarantee it"), policies=policies, calls_visible=False)

    report = check_policies(run)

    assert [outcome.exercised for outcome in report.outcomes] == [None, True]
    assert [finding.passed for finding in report.findings] == [None, False]
    assert report.findings[1].message == "the agent said 'guarantee'"
