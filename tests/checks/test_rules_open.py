"""Whatever rule the schema admits and whatever a run holds: the rule is refused in words, or judged."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_agentbench.checks.policies import check_policies
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.moments import clock_misfits
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.suites.json_schemas import file_schema
from pytest_agentbench.suites.rule_check import rule_faults, rule_misfits
from tests.checks.builders import TOOLS, agent, call, run_of, user
from tests.checks.test_events import by
from tests.checks.test_rules import gave

NOW = datetime(2026, 11, 22, 10, tzinfo=UTC)
TOOL_NAMES = st.sampled_from(["refund", "get_order", "cancel_order"])
ARGUMENTS = st.sampled_from(["order_id", "amount"])
PATHS = st.sampled_from(["order_id", "amount", "total", "due", "lines.0.n", ".", "nowhere"])
SPANS = st.sampled_from(["0d", "-30d", "+1h", "2w", "15min", "-999999w"])
REFERENCES = st.builds(
    lambda kind, path, more: {kind: path, **more},
    st.sampled_from(["$argument", "$result"]),
    PATHS,
    st.sampled_from([{}, {"times": 0.5}, {"plus": 10}, {"plus": "30d"}, {"times": 2, "plus": 1}]),
)
MOMENTS = st.builds(lambda kind, span: {kind: span}, st.sampled_from(["$today", "$now"]), SPANS)
PLAIN = st.sampled_from(["W1", 5, 2.5, True, None, "2026-11-22", "2026-11-22T10:00Z", "open", ["W1"], {"n": 5}])
VALUES = st.recursive(
    PLAIN | REFERENCES | MOMENTS,
    lambda inner: st.one_of(
        st.builds(lambda key, one: {key: one}, st.sampled_from(["$lt", "$gte", "$not", "$has", "$each"]), inner),
        st.builds(lambda ones: {"$in": ones}, st.lists(inner, max_size=2)),
        st.builds(lambda key, one: {key: one}, st.sampled_from(["status", "total", "due"]), inner),
    ),
    max_leaves=3,
)


def _of(schema: dict[str, Any], key: str, depth: int) -> st.SearchStrategy[Any]:
    """Give values for a part of the schema; what it leaves open is a value with references and dates."""
    if "$ref" in schema:
        return _of(file_schema("suite")["$defs"][schema["$ref"].removeprefix("#/$defs/")], key, depth)
    if key in ("calls", "first"):
        return st.lists(TOOL_NAMES, min_size=1, max_size=2) | st.sampled_from([["refund"], "writes", "any"])
    if key in ("same", "per", "stating"):
        return st.lists(ARGUMENTS | REFERENCES if key == "stating" else ARGUMENTS, min_size=1, max_size=1)
    if key in ("where", "arguments"):
        return st.dictionaries(ARGUMENTS, VALUES, max_size=1)
    if key in ("result", "value"):
        return VALUES
    if key == "pattern":
        return st.sampled_from(["hand(ed)?", "W[0-9]"])
    if key in ("$argument", "$result"):
        return PATHS
    if key in ("$today", "$now"):
        return SPANS
    if key in ("times", "within") and "type" in schema:
        return st.integers(1, 2)
    return _of_type(schema, key, depth)


def _of_type(schema: dict[str, Any], key: str, depth: int) -> st.SearchStrategy[Any]:
    if "anyOf" in schema:
        ways = [way for way in schema["anyOf"] if depth > 0 or "array" not in str(way.get("type"))]
        return st.one_of([_of(way, key, depth) for way in ways])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        return _mapping(schema, depth)
    if kind == "array":
        return st.lists(_of(schema["items"], "", depth - 1), min_size=1, max_size=2)
    return st.sampled_from([3, "W1"]) if "number" in str(kind) else st.sampled_from(["W1", "order_id", "Done"])


def _mapping(schema: dict[str, Any], depth: int) -> st.SearchStrategy[dict[str, Any]]:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    nests = ("all", "any", "not", "then", "only_if")
    names = [name for name in properties if depth > 0 or name not in nests or name in required]
    if schema.get("maxProperties") == 1:
        return st.sampled_from(names).flatmap(
            lambda name: st.fixed_dictionaries({name: st.deferred(lambda: _of(properties[name], name, depth - 1))})
        )
    return st.fixed_dictionaries(
        {name: st.deferred(lambda name=name: _of(properties[name], name, depth - 1)) for name in required},
        optional={
            name: st.deferred(lambda name=name: _of(properties[name], name, depth - 1))
            for name in names
            if name not in required and not (required and name in nests)
        },
    )


RULES = st.deferred(lambda: _of(file_schema("suite")["$defs"]["RuleForm"], "", 3))
HANDED = Event.model_validate({"kind": "handoff", "from": "triage", "to": "W1"})
STEPS = st.lists(
    st.sampled_from(
        [
            user("Refund W1", "request"),
            user("Yes, W1", "confirm"),
            user("W1 on 2026-11-22"),
            agent("Done with W1, order_id handed over"),
            by("triage", agent("Hello")),
            by("W1", agent("W1 here"), HANDED),
            call("refund", order_id="W1", amount=5, wrote=True),
            call("refund", order_id="W2", amount="much", wrote=None),
            call("cancel_order", error=True, order_id="W1", wrote=False),
            gave("get_order", {"status": "open", "total": 7, "due": "2026-11-22", "lines": [{"n": 1}]}, order_id="W1"),
            gave("get_order", "nothing", order_id=5),
        ]
    ),
    max_size=6,
)
STATES = st.sampled_from([None, {}, {"W1": {"status": "open"}, "order_id": {"W1": {"total": 5}}}])


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(RULES, STEPS, STATES, st.booleans())
def test_every_rule_is_refused_or_judged(rule: dict[str, Any], steps: list[Any], state: Any, tells: bool) -> None:
    """Nothing but a misfit with a place, or an outcome that is kept, broken, not exercised or not measured."""
    policy = Policy(id="p", text="p", rule=rule)
    if list(rule_misfits(rule, ("rule",))) or list(clock_misfits(rule, ("rule",), NOW)):
        return
    assert all(path[0] == "rule" and text for path, text, _ in rule_faults(policy, TOOLS))
    shows = frozenset({"handoffs"} if tells else ())

    report = check_policies(
        run_of(*steps, policies=(policy,), now=NOW, initial_state=state, final_state=state, shows=shows)
    )

    (outcome,) = report.outcomes
    assert outcome.exercised is not False or outcome.kept is None
    allowed = (False, None) if outcome.kept is False else (outcome.kept,)  # one proven breach decides
    assert all(finding.passed in allowed for finding in report.findings if outcome.exercised)
    assert all(finding.cure for finding in report.findings if finding.passed is None)
