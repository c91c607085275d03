"""Policies and tools: what binds the ones to the others, on services of others, untouched."""

import json

import pytest
from pytest_agentbench.generation.policies.events.binding import bound_tools
from pytest_agentbench.generation.policies.events.conditions import conditions_of
from pytest_agentbench.generation.policies.events.occasions import occasions_of
from pytest_agentbench.generation.policies.events.tables import Column, Table

from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.policies.extraction.extraction import PolicyDocument, extract
from pytest_agentbench.generation.policies.values import ExtractedPolicy
from tests.shared_data import SHARED, needs_shared

ORDERS = Table(
    name="orders",
    key=("order_id",),
    columns=(Column(name="order_id"), Column(name="status", values=("pending", "delivered"))),
)
FACTS = {"status": "delivered", "days_since_delivery": 3, "delivered_on": "2025-01-01", "promised_on": "2025-01-02"}


def policy(text):
    """Give a policy of one text."""
    return ExtractedPolicy(id="it", text=text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Cancel orders only while they are pending.", "value"),
        ("Take items back within 30 days of delivery.", "most"),
        ("Pay back what was delivered after the promised date.", "after"),
    ],
)
def test_words_and_columns_make_conditions(text, kind):
    """Fixed values, limits, and dates in order."""
    assert [one.kind for one in conditions_of(policy(text), ORDERS, FACTS)] == [kind]


@pytest.mark.parametrize(
    "text", ["Be polite.", "Say that it is pending.", "Answer within 30 minutes.", "Ask before you act."]
)
def test_words_without_a_column_make_none(text):
    """What the words do not tie to a column is left to a judge."""
    assert conditions_of(policy(text), ORDERS, FACTS) == ()


def test_a_condition_that_the_row_cannot_tell_is_neither_kept_nor_broken():
    """Missing values decide nothing."""
    (condition,) = conditions_of(policy("Take items back within 30 days of delivery."), ORDERS, FACTS)

    assert condition.holds({"days_since_delivery": 31}) is False
    assert condition.holds({"days_since_delivery": 30}) is True
    assert condition.holds({"days_since_delivery": None}) is None


def test_a_rule_binds_more_strongly_than_words():
    """Rules name tools; words name them or describe them; the rest is bound to nothing."""
    tools = [ToolSpec(name="cancel_order", description="Cancel an order."), ToolSpec(name="send_mail", kind="write")]
    texts = [policy("Be quick."), ExtractedPolicy(id="words", text="Cancel an order once."), policy("Smile.")]
    rules = {"it": Policy(id="it", text="Be quick.", rule={"at_most": {"calls": ["send_mail"], "times": 1}})}

    bound = bound_tools(texts[:2], rules, tools)

    assert [(one.tool, one.by_rule) for one in bound["it"]] == [("send_mail", True)]
    assert [(one.tool, one.by_rule) for one in bound["words"]] == [("cancel_order", False)]
    assert bound_tools(texts[2:], {}, tools) == {}


@pytest.mark.parametrize(
    ("rule", "tools"),
    [
        ({"at_most": {"calls": ["send_mail"], "sum": "amount", "lte": 5}}, ["send_mail"]),
        ({"when": {"calls": ["send_mail"], "times": 3}, "then": {"later": {"handoff": "desk"}}}, ["send_mail"]),
        ({"only_if": {"calls": ["send_mail"], "state": {"at": ["mails"], "value": 1}}}, ["send_mail"]),
        ({"only": {"calls": ["cancel_order"]}}, ["cancel_order", "send_mail"]),
        ({"never": {"handoff": "desk"}}, []),
        ({"when": {"handoff": "desk"}, "then": {"must_say": "bye"}}, []),
    ],
)
def test_rules_bind_the_tools_that_set_them_off(rule, tools):
    """A list of allowed tools is about all of them, a handoff about none."""
    specs = [ToolSpec(name="cancel_order"), ToolSpec(name="send_mail", kind="write")]

    bound = bound_tools([policy("Smile.")], {"it": Policy(id="it", text="Smile.", rule=rule)}, specs)

    assert [one.tool for one in bound.get("it", ())] == tools


@needs_shared
@pytest.mark.parametrize("domain", ["retail", "airline", "telecom"])
def test_policies_and_tools_of_others_are_bound_untouched(domain):
    """The twin reads document and schemas as they are: bound, refusing and judge-only policies are counted."""
    folder = SHARED / "data" / "tau2" / "domains" / domain
    found = extract(PolicyDocument(name=domain, text=(folder / "policy.md").read_text(encoding="utf-8")))
    forms = [one["function"] for one in json.loads((folder / "tools.json").read_text(encoding="utf-8"))["agent"]]
    names = {"name", "description", "parameters"}
    tools = [ToolSpec(**{key: value for key, value in one.items() if key in names}) for one in forms]

    bound = bound_tools(found.policies, {}, tools)

    refusing = [one.id for one in found.policies if one.strength == "must_not"]
    alone = [one.id for one in found.policies if one.id not in bound and occasions_of(one)]
    judged = [one.id for one in found.policies if one.id not in bound and one.id not in alone]
    both = len(set(refusing) & bound.keys())
    print(
        f"{domain}: {len(found.policies)} policies, {len(bound)} bound, {both} of {len(refusing)} refusing ones bound, "
        f"{len(alone)} about what else happens, {len(judged)} judge-only"
    )
    assert len(bound) + len(alone) + len(judged) == len(found.policies)
    assert 2 * len(bound) >= len(found.policies)
    assert all(one.evidence for many in bound.values() for one in many)
