"""The language of rules: triggers, requirements, references, composition."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.matchers import matches
from pytest_agentbench.checks.policies import check_policies
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.suites.rule_check import rule_faults
from tests.checks.builders import agent, call, run_of, user
from tests.tables import each

Part = list[Message]


def gave(tool: str, result: object, /, **arguments: Any) -> Part:
    """The agent calls a tool that gives this."""
    text = result if isinstance(result, str) else json.dumps(result)
    return [
        Message(role="assistant", tool_calls=(ToolCall(name=tool, arguments=arguments),)),
        Message(role="tool", content=text),
    ]


def kept(rule: dict[str, Any], *parts: Part) -> bool | None:
    """Whether a conversation keeps a rule; None where the rule was not exercised."""
    (outcome,) = check_policies(run_of(*parts, policies=(Policy(id="p", text="p", rule=rule),))).outcomes
    return outcome.kept if outcome.exercised else None


def message(rule: dict[str, Any], *parts: Part) -> str:
    """What is said of a conversation."""
    return check_policies(run_of(*parts, policies=(Policy(id="p", text="p", rule=rule),))).findings[0].message


LOOKED = gave("get_order", {"status": "pending", "items": [{"sku": "A", "price": 5}], "owner": "ada"}, order_id="W1")
PENDING = {
    "only_if": {
        "calls": ["cancel_order"],
        "earlier": {"calls": ["get_order"], "same": ["order_id"], "result": {"status": "pending"}},
    }
}


@each(
    ("answer", "failed"),
    [
        ({"error": "no such order"}, True),
        ({"error": {"code": 404}, "success": False}, True),
        ("Error: no such order", True),
        ({"error": None, "status": "pending"}, False),
        ({"error": True, "message": "no such order"}, True),
        ({"error": "", "code": 1}, False),
        ({"error": "none", "success": True}, False),
        ({"error": "None"}, False),
        ({"error": "a warning", "ok": True}, False),
        ({"error": "a late fee was waived", "total": 5}, False),
        ("no error", False),
        ('{"error": "cut', False),
    ],
)
def test_an_answer_that_tells_an_error_and_nothing_else_is_a_failed_call(answer: object, failed: bool) -> None:
    """Tools return errors as often as they raise them; beside data, `error` is a value like any other."""
    rule = {"before": {"calls": ["refund"], "first": ["get_order"]}}

    assert kept(rule, gave("get_order", answer), call("refund")) is not failed


@each(
    ("parts", "expected"),
    [
        ([LOOKED], None),
        ([LOOKED, call("cancel_order", order_id="W1")], True),
        ([LOOKED, call("cancel_order", order_id="W2")], False),
        ([call("cancel_order", order_id="W1"), LOOKED], False),
        ([gave("get_order", {"status": "shipped"}, order_id="W1"), call("cancel_order", order_id="W1")], False),
        ([gave("get_order", "pending", order_id="W1"), call("cancel_order", order_id="W1")], False),
        ([call("get_order", error=True, order_id="W1"), call("cancel_order", order_id="W1")], False),
    ],
)
def test_only_if_reads_results_of_earlier_calls(parts: list[Part], expected: bool | None) -> None:
    """The earlier call must be about the same order, have succeeded, and have given at least this."""
    assert kept(PENDING, *parts) is expected


def test_a_broken_condition_is_told_in_words() -> None:
    """The call, what it lacked, and which arguments had to be alike."""
    assert message(PENDING, call("cancel_order", order_id="W1")) == (
        "cancel_order(order_id='W1') was called before get_order with the same order_id gave status \"pending\""
    )


@each(
    ("pattern", "fits"),
    [
        ({"items": {"$has": {"price": {"$lt": 10}}}}, True),
        ({"items": {"$has": {"price": {"$gt": 5}}}}, False),
        ({"items": {"$each": {"sku": {"$in": ["A", "B"]}}}}, True),
        ({"items": {"$size": 1}, "owner": {"$not": "bob"}}, True),
        ({"items": {"$size": {"$gte": 2}}}, False),
        ({"items": [{"sku": "A"}]}, True),
        ({"items": {"$subset": [{"sku": "A"}]}}, True),
        ({"owner": {"$argument": "customer"}}, True),
        ({"owner": {"$not": {"$argument": "customer"}}}, False),
        ({"items": {"$has": {"price": {"$lte": {"$argument": "amount"}}}}}, True),
        ({"items": {"$has": {"price": {"$lt": {"$argument": "amount"}}}}}, False),
        ({"owner": {"$argument": "missing"}}, False),
        ({"owner": {"$in": {"$argument": "people"}}}, True),
    ],
)
def test_results_fit_patterns_with_references(pattern: Any, fits: bool) -> None:
    """Mappings are read as the least that must be there, at any depth; references lead to the call that is judged."""
    rule = {"only_if": {"calls": ["refund"], "earlier": {"calls": ["get_order"], "result": pattern}}}

    assert kept(rule, LOOKED, call("refund", customer="ada", amount=5, people=["ada", "eve"])) is fits


def test_what_tools_give_is_never_read_as_a_matcher() -> None:
    """A value from a result stands for itself, whatever it looks like."""
    rule = {
        "when": {"calls": ["get_order"]},
        "then": {"never": {"calls": ["refund"], "where": {"to": {"$result": "to"}}}},
    }

    assert kept(rule, gave("get_order", {"to": {"$any": True}}), call("refund", to="somewhere")) is True
    assert kept(rule, gave("get_order", {"to": {"$any": True}}), call("refund", to={"$any": True})) is False


CANCELLED = {"when": {"calls": ["cancel_order"]}, "then": {"must_say": "Order is cancelled"}}


@each(
    ("then", "parts", "expected"),
    [
        ({"must_say": "is cancelled"}, [agent("It IS **cancelled**.")], True),
        ({"must_say": "is cancelled"}, [user("is cancelled?"), agent("yes")], False),
        ({"must_say": {"text": "bye", "within": 1}}, [agent("hm"), user("?"), agent("bye")], False),
        ({"must_say": {"text": "bye", "within": 2}}, [agent("hm"), user("?"), agent("bye")], True),
        ({"must_say": {"pattern": r"refund of \$?\d+"}}, [agent("a Refund  of $12")], True),
        ({"must_say": {"$result": "total"}}, [agent("You get 1,628.50 back")], True),
        ({"must_say": {"$result": "total"}}, [agent("You get 11,628.50 back")], False),
        ({"must_say": {"$argument": "order_id"}}, [agent("W1 is gone")], True),
        ({"must_say": ["one", "two"]}, [agent("two")], True),
        ({"must_not_say": ["one", {"pattern": "tw[o]"}]}, [agent("two")], False),
        ({"must_not_say": "don't"}, [agent("don’t")], False),
        ({"all": [{"must_say": "a1"}, {"must_say": "b2"}]}, [agent("a1"), agent("b2")], True),
        ({"all": [{"must_say": "a1"}, {"must_say": "b2"}]}, [agent("a1")], False),
        ({"any": [{"must_say": "a1"}, {"later": {"calls": ["refund"]}}]}, [call("refund")], True),
        ({"any": [{"must_say": "a1"}, {"later": {"calls": ["refund"]}}]}, [call("refund", error=True)], False),
        ({"any": [{"must_say": "a1"}, {"never": {"calls": ["refund"]}}]}, [agent("b2")], True),
        ({"any": [{"must_say": "a1"}, {"never": {"calls": ["refund"]}}]}, [call("refund")], False),
        ({"any": [{"must_say": "a1"}, {"never": {"calls": ["refund"]}}]}, [agent("a1"), call("refund")], True),
        ({"not": {"any": [{"must_say": "a1"}, {"must_say": "b2"}]}}, [agent("b2")], False),
        ({"at_most": {"calls": ["refund"], "times": 1}}, [call("refund"), call("refund")], False),
        ({"when": {"user_says": "again"}, "then": {"must_say": "no"}}, [user("again!"), agent("No.")], True),
        ({"when": {"user_says": "again"}, "then": {"must_say": "no"}}, [user("thanks"), agent("bye")], True),
    ],
)
def test_a_requirement_is_judged_from_the_trigger_on(then: Any, parts: list[Part], expected: bool) -> None:
    """What came before the trigger counts for nothing; where nothing was left to decide, the rule was kept."""
    rule = {"when": {"calls": ["cancel_order"]}, "then": then}
    before = [call("refund"), agent("Order is cancelled, a1, bye")]
    trigger = gave("cancel_order", {"total": 1628.5}, order_id="W1")

    assert kept(rule, *before) is None
    assert kept(rule, *before, trigger, *parts) is expected


@each(
    ("trigger", "parts", "exercised"),
    [
        ("always", [agent("hello")], True),
        ("always", [user("hello")], False),
        ({"calls": "writes"}, [call("get_order")], False),
        ({"calls": "writes"}, [call("refund")], True),
        ({"calls": "any"}, [call("get_order")], True),
        ({"calls": ["refund"]}, [call("refund", error=True)], False),
        ({"calls": ["refund"], "failed": True}, [call("refund", error=True)], True),
        ({"calls": ["refund"], "where": {"amount": {"$gte": 100}}}, [call("refund", amount=99)], False),
        ({"calls": ["refund"], "where": {"amount": {"$gte": 100}}}, [call("refund", amount=100)], True),
        ({"calls": ["get_order"], "result": {"status": "pending"}}, [LOOKED], True),
        ({"calls": ["get_order"], "result": {"status": "shipped"}}, [LOOKED], False),
        ({"user_says": {"pattern": "refunds?"}}, [user("A Refund!")], True),
        ({"user_says": "refund"}, [agent("refund")], False),
        ({"agent_says": "refund"}, [agent("refund")], True),
    ],
)
def test_when_is_exercised_by_its_trigger(trigger: Any, parts: list[Part], exercised: bool) -> None:
    """Calls that did not fail unless failures are asked for, words of one party, or the conversation itself."""
    rule = {"when": trigger, "then": {"must_not_say": "xyzzy"}}

    assert kept(rule, *parts) is (True if exercised else None)


def test_alternatives_are_judged_call_by_call() -> None:
    """A call that one alternative allows is allowed; another call needs one of its own."""
    confirmed = {"confirm_before": {"calls": ["refund"]}}
    looked = {"before": {"calls": ["refund"], "first": ["get_order"], "same": ["order_id"]}}
    rule = {"any": [confirmed, looked]}
    asked = [agent("Shall I refund W2?"), user("yes", "confirm"), call("refund", order_id="W2")]

    assert kept(rule, LOOKED, call("refund", order_id="W1"), *asked) is True
    assert kept(rule, call("refund", order_id="W1"), *asked) is False


@each(
    ("needs", "expected"),
    [
        ({"confirmed": True}, True),
        ({"user_said": "ada@example.com"}, True),
        ({"user_said": "go"}, False),
        ({"agent_said": {"pattern": "fee"}}, True),
        ({"agent_said": "yes"}, False),
        ({"arguments": {"amount": {"$lte": 20}}}, True),
        ({"arguments": {"amount": {"$lte": {"$argument": "limit"}}}}, False),
        ({"arguments": {"note": {"$any": True}}}, False),
        ({"not": {"earlier": {"calls": ["cancel_order"]}}}, True),
        ({"confirmed": True, "not": {"agent_said": "fee"}}, False),
        ({"any": [{"arguments": {"amount": 1}}, {"all": [{"confirmed": True}, {"user_said": "ada"}]}]}, True),
        ({"user_said": {"$result": "email"}}, True),
        ({"user_said": {"$result": "order"}}, False),
    ],
)  # fmt: skip
def test_a_call_needs_what_only_if_says(needs: dict[str, Any], expected: bool) -> None:
    """Several requirements beside each other are all needed."""
    parts = [
        user("I am ADA@example.com"),
        agent("There is a fee of 3. Shall I refund 12 to you?"),
        user("Yes", "confirm"),
        gave("refund", {"email": "ada@example.com", "order": "W9"}, amount=12, limit=10),
    ]

    assert kept({"only_if": {"calls": ["refund"], **needs}}, *parts) is expected


def test_at_most_counts_for_each_value() -> None:
    """One exchange per order is not two exchanges of one."""
    rule = {"at_most": {"calls": ["refund"], "times": 1, "per": ["order_id"]}}

    assert kept(rule, call("refund", order_id="W1"), call("refund", order_id="W2")) is True
    assert kept(rule, call("refund", order_id="W1"), call("refund", order_id="W1")) is False


@each(
    ("matcher", "value", "fits"),
    [
        ({"$lt": 5}, 4.9, True),
        ({"$lt": 5}, 5, False),
        ({"$lte": 0.3}, 0.1 + 0.2, True),
        ({"$gte": 1, "$lt": 5}, 5, False),
        ({"$gte": 1, "$lt": 5}, 1, True),
        ({"$gt": "2024-05-14"}, "2024-05-15", True),
        ({"$gt": 1}, "2", False),
        ({"$gt": 0}, True, False),
        ({"$in": ["a", {"$regex": "b+"}]}, "bb", True),
        ({"$not": {"$in": ["a"]}}, "b", True),
        ({"$has": "a"}, {"a": 1}, True),
        ({"$has": 2}, [1, 2], True),
        ({"$has": "a"}, "abc", False),
        ({"$each": {"$gt": 0}}, [], True),
        ({"$size": {"$in": [2, 3]}}, "ab", True),
        ({"$size": 1}, 7, False),
    ],
)
def test_comparisons_and_quantifiers(matcher: Any, value: Any, fits: bool) -> None:
    """Numbers compare with numbers and texts with texts; lists and mappings are looked into."""
    assert matches(matcher, value) is fits


KNOWN = Toolset(
    specs=tuple(
        ToolSpec(name=name, parameters={"type": "object", "properties": {"order_id": {}, "amount": {}}})
        for name in ("refund", "get_order")
    )
)


@each(
    ("rule", "at"),
    [
        ({"only_if": {"calls": ["refund"], "earlier": {"calls": ["get_oder"]}}}, "only_if earlier calls 0"),
        ({"only_if": {"calls": ["refund"], "any": [{"arguments": {"amont": 1}}]}}, "only_if any 0 arguments amont"),
        ({"before": {"calls": ["refund"], "first": ["get_order"], "same": ["order"]}}, "before same 0"),
        ({"at_most": {"calls": ["refund"], "times": 1, "per": ["order"]}}, "at_most per 0"),
        (
            {"when": {"calls": ["refund"]}, "then": {"all": [{"must_say": {"$argument": "order"}}]}},
            "then all 0 must_say $argument",
        ),
        (
            {
                "when": {"calls": ["get_order"]},
                "then": {"never": {"calls": ["refund"], "where": {"order_id": {"$argument": "order"}}}},
            },
            "then never where order_id $argument",
        ),
    ],
)
def test_names_that_no_tool_has_are_found_at_any_depth(rule: dict[str, Any], at: str) -> None:
    """Tools, arguments, and arguments that references lead to."""
    ((path, message, _),) = rule_faults(Policy(id="p", text="p", rule=rule), KNOWN)

    assert " ".join(map(str, path[1:])) == at
    assert "has no" in message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.just("$any"), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(JSON, JSON, st.text(max_size=20))
def test_no_conversation_breaks_the_judge(argument: Any, result: Any, said: str) -> None:
    """Whatever agents and tools say, a rule is kept, broken or not exercised."""
    bounded = {"calls": "any", "where": {"y": {"$argument": "x"}}, "result": {"$lte": {"$result": "a"}}}
    needs = [{"user_said": {"$argument": "x"}}, {"earlier": bounded}]
    rule: dict[str, Any] = {
        "all": [
            {"when": {"calls": ["refund"]}, "then": {"must_say": [{"$result": "a.0"}, {"$argument": "x"}]}},
            {"only_if": {"calls": ["refund"], "any": needs}},
            {"at_most": {"calls": ["refund"], "times": 1, "per": ["x"]}},
        ]
    }
    parts = [gave("get_order", result, y=argument), user(said), gave("refund", {"a": result}, x=argument), agent(said)]

    assert kept(rule, *parts) in (True, False, None)


@each(
    ("parts", "expected"),
    [
        ([gave("list_orders", {"orders": [{"id": "W1"}, {"id": "W2"}]}), call("cancel_order", order_id="W2")], True),
        ([gave("list_orders", {"orders": [{"id": "W1"}]}), call("cancel_order", order_id="W2")], False),
        ([call("cancel_order", order_id="W1"), gave("list_orders", {"orders": [{"id": "W1"}]})], False),
        ([gave("list_orders", {"orders": []}), call("cancel_order", order_id="W1")], False),
    ],
)
def test_an_argument_comes_from_a_list_that_was_shown(parts: list[Part], expected: bool) -> None:
    """`$has` in the earlier result, with a reference to the call that is judged."""
    shown = {"calls": ["list_orders"], "result": {"orders": {"$has": {"id": {"$argument": "order_id"}}}}}

    assert kept({"only_if": {"calls": ["cancel_order"], "earlier": shown}}, *parts) is expected


@each("notes", [None, "", " ", [], {}, [None, {"by": ""}]])
@each("operator", ["must_say", "must_not_say"])
def test_an_empty_value_is_said_by_no_text(operator: str, notes: object) -> None:
    """Where a result holds nothing that could be said, nothing is judged: no message gives away what is not there."""
    rule = {"when": {"calls": ["get_order"]}, "then": {operator: {"$result": "notes"}}}

    assert kept(rule, gave("get_order", {"notes": notes}), agent("Hello")) is True


def test_a_value_beside_an_empty_one_has_to_be_said() -> None:
    """What is empty in a result is left out of what is asked for, and the rest is not."""
    rule = {"when": {"calls": ["get_order"]}, "then": {"must_say": {"$result": "."}}}
    looked = gave("get_order", {"notes": None, "status": "shipped", "tags": [""]})

    assert kept(rule, looked, agent("It is shipped.")) is True
    assert kept(rule, looked, agent("Hello")) is False
