"""Rules about handoffs, as trigger and as requirement, and the list of tools that alone are allowed."""

from typing import Any

from pytest_agentbench.checks.policies import check_policies
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.termination import Termination
from tests.checks.builders import agent, call, run_of, user
from tests.checks.test_events import by
from tests.checks.test_rules import Part, kept, message
from tests.tables import each

TO_DESK = Event.model_validate({"kind": "handoff", "from": "triage", "to": "desk"})
TO_LEGAL = Event.model_validate({"kind": "handoff", "from": "desk", "to": "legal"})
ASKS = user("I want a manager!")
HELLO = by("triage", agent("Hello"))
DESK = by("desk", agent("The desk speaks."), TO_DESK)
LEGAL = by("legal", agent("The lawyer speaks."), TO_LEGAL)


def outcome(rule: dict[str, Any], *parts: Part, **fields: Any) -> tuple[bool | None, bool | None, list[Any]]:
    """Give whether a rule was exercised and kept, and (message, cure, proven) of what is said of it."""
    report = check_policies(run_of(*parts, policies=(Policy(id="p", text="p", rule=rule),), **fields))
    (found,) = report.outcomes
    return found.exercised, found.kept, [(one.message, one.cure, one.proven) for one in report.findings]


ON_REQUEST = {"when": {"user_says": "manager"}, "then": {"later": {"handoff": "desk", "within": 1}}}


@each(
    ("parts", "expected"),
    [
        ([HELLO, user("Hi"), DESK], None),
        ([HELLO, ASKS, DESK], True),
        ([HELLO, ASKS, by("triage", agent("Why?")), user("Because."), DESK], False),
        ([HELLO, ASKS, by("triage", agent("No."))], False),
        ([DESK, ASKS, by("desk", agent("No."))], False),
        ([HELLO, ASKS, by("desk", call("get_order"), TO_DESK), by("legal", agent("Hm."), TO_LEGAL)], True),
    ],
)
def test_a_user_who_asks_for_it_is_handed_over(parts: list[Part], expected: bool | None) -> None:
    """In the agent's next turn, to whom the rule names, and not before the user asked."""
    assert kept(ON_REQUEST, *parts) is expected


def test_a_missing_handoff_is_told_in_words() -> None:
    """With what set the rule off, and proven once the turn is over."""
    broken = [HELLO, ASKS, by("triage", agent("No.")), user("Please")]

    assert outcome(ON_REQUEST, *broken, termination=Termination.CRASHED)[2] == [
        ("the user said 'manager' without a handoff to desk in the agent's next turn", "", True)
    ]
    assert outcome(ON_REQUEST, *broken[:-1], termination=Termination.CRASHED)[2][0][2] is False


def test_a_handoff_that_should_not_follow_is_told_as_one_that_did() -> None:
    """Not as one that is missing."""
    rule = {"when": {"user_says": "manager"}, "then": {"not": {"later": {"handoff": "desk"}}}}

    assert outcome(rule, HELLO, ASKS, DESK)[2] == [("the user said 'manager' before a handoff to desk", "", True)]


UNLESS = {"only_if": {"handoff": {}, "any": [{"user_said": "manager"}, {"earlier": {"calls": ["refund"]}}]}}


@each(
    ("parts", "expected"),
    [
        ([HELLO], None),
        ([HELLO, user("Hi"), DESK], False),
        ([HELLO, ASKS, DESK], True),
        ([HELLO, user("Hi"), by("triage", call("refund")), DESK], True),
        ([HELLO, user("Hi"), by("desk", call("refund"), TO_DESK)], False),
        ([HELLO, ASKS, DESK, LEGAL], True),
    ],
)
def test_nobody_is_handed_over_unless(parts: list[Part], expected: bool | None) -> None:
    """A handoff comes before the calls of its message, and every one of them is judged."""
    assert kept(UNLESS, *parts) is expected


def test_a_handoff_too_early_is_told_in_words() -> None:
    """Who handed over to whom, and what was missing."""
    assert message(UNLESS, HELLO, user("Hi"), DESK) == (
        "a handoff from triage to desk took place before the user said 'manager' and before refund succeeded"
    )


@each(
    ("rule", "parts", "expected"),
    [
        ({"never": {"handoff": "legal"}}, [HELLO, DESK], None),
        ({"never": {"handoff": "legal"}}, [HELLO, DESK, LEGAL], False),
        ({"never": {"handoff": {"from": "triage", "to": "legal"}}}, [HELLO, DESK, LEGAL], None),
        ({"when": {"handoff": "desk"}, "then": {"must_say": "The desk"}}, [HELLO, DESK], True),
        ({"when": {"handoff": "desk"}, "then": {"must_say": "Goodbye"}}, [by("triage", agent("Goodbye")), DESK], False),
        ({"when": {"handoff": "legal"}, "then": {"earlier": {"handoff": "desk"}}}, [HELLO, DESK, LEGAL], True),
        ({"when": {"handoff": "legal"}, "then": {"earlier": {"handoff": "desk"}}}, [HELLO, LEGAL], False),
        ({"when": {"handoff": "legal"}, "then": {"earlier": {"handoff": "legal"}}}, [HELLO, LEGAL], False),
        (
            {"when": {"handoff": "legal"}, "then": {"never": {"calls": ["refund"]}}},
            [by("desk", call("refund")), by("legal", agent("Hm."), TO_LEGAL)],
            True,
        ),
        (
            {"when": {"handoff": "legal"}, "then": {"never": {"calls": ["refund"]}}},
            [HELLO, by("legal", call("refund"), TO_LEGAL)],
            False,
        ),
        (
            {"only_if": {"calls": ["refund"], "not": {"earlier": {"handoff": "legal"}}}},
            [HELLO, by("legal", call("refund"), TO_LEGAL)],
            False,
        ),
        ({"when": {"user_says": "Hi"}, "then": {"never": {"handoff": "legal"}}}, [LEGAL, user("Hi"), DESK], True),
    ],
)
def test_handoffs_stand_wherever_calls_do(rule: dict[str, Any], parts: list[Part], expected: bool | None) -> None:
    """Forbidden, as a trigger, before and afterwards."""
    assert kept(rule, *parts) is expected


@each(
    "rule",
    [
        {"never": {"handoff": "legal"}},
        UNLESS,
        {"when": {"handoff": "desk"}, "then": {"must_say": "x"}},
        {"all": [{"never": {"handoff": "legal"}}, {"when": {"handoff": "desk"}, "then": {"must_say": "x"}}]},
    ],
)
def test_a_handoff_that_nobody_would_tell_leaves_a_rule_open(rule: dict[str, Any]) -> None:
    """Neither exercised nor not, with what to add; one that the agent would have told did not take place."""
    exercised, is_kept, findings = outcome(rule, agent("Hello"), user("Hi"))

    assert (exercised, is_kept) == (None, None)
    assert all("name the sender of each message" in cure for _, cure, _ in findings)
    assert outcome(rule, agent("Hello"), user("Hi"), shows=frozenset({"handoffs"}))[0] is False


def test_a_call_that_hands_over_may_do_in_its_place() -> None:
    """Where handoffs are not told, the call decides, and without it nobody knows."""
    rule = {
        "when": {"user_says": "manager"},
        "then": {"any": [{"later": {"calls": ["transfer"]}}, {"later": {"handoff": {}}}]},
    }

    assert outcome(rule, ASKS, call("transfer"), agent("Done"))[:2] == (True, True)
    assert outcome(rule, ASKS, agent("No"))[:2] == (True, None)
    assert outcome(rule, ASKS, agent("No"), shows=frozenset({"handoffs"}))[:2] == (True, False)


def test_rules_about_handoffs_need_no_calls_to_be_seen() -> None:
    """An agent may tell who speaks and hide its calls."""
    assert outcome({"never": {"handoff": "legal"}}, HELLO, LEGAL, calls_visible=False)[:2] == (True, False)


ONLY = {"only": {"calls": ["get_order", "refund"]}}


@each(
    ("parts", "expected"),
    [
        ([agent("Hello")], None),
        ([call("get_order"), call("refund")], True),
        ([call("get_order"), call("cancel_order")], False),
        ([call("cancel_order", error=True)], False),
        ([call("cancel_order", by="user")], None),
    ],
)
def test_a_list_of_tools_allows_no_other(parts: list[Part], expected: bool | None) -> None:
    """Every call of the agent exercises it, an attempt counts, and the user's own tools are the user's."""
    assert kept(ONLY, *parts) is expected


def test_a_call_beside_the_list_is_told_in_words() -> None:
    """With what is allowed."""
    assert message(ONLY, call("cancel_order")) == "cancel_order() must not be called, only get_order or refund"


def test_a_list_holds_below_a_trigger_and_for_given_values() -> None:
    """From the trigger on, about the same order."""
    rule = {
        "when": {"calls": ["get_order"]},
        "then": {"only": {"calls": ["refund"], "where": {"order_id": {"$argument": "order_id"}}}},
    }
    looked = call("get_order", order_id="W1")

    assert kept(rule, call("cancel_order"), looked, call("refund", order_id="W1")) is True
    assert kept(rule, looked, call("refund", order_id="W2")) is False
    assert message(rule, looked, call("refund", order_id="W2")) == (
        "refund(order_id='W2') must not be called, only refund with the same order_id"
    )


@each("operator", ["all", "any"])
def test_of_several_rules_about_handoffs_that_nobody_tells_none_is_known_to_be_exercised(operator: str) -> None:
    """A rule that holds in every scenario must not make each run one that cannot be judged."""
    rule = {operator: [{"never": {"handoff": "legal"}}, {"never": {"calls": ["refund"]}}]}

    assert outcome(rule, user("Hi"), agent("Hello"))[:2] == (None, None)
    assert outcome(rule, user("Hi"), call("refund"))[:2] == (True, False if operator == "all" else None)
