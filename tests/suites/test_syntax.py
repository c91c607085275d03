"""Gates and matchers: what suite files admit is what the floors that use them understand, and nothing else."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.checks.matchers import problems_in
from pytest_agentbench.core.errors import GateError
from pytest_agentbench.results.gates import parse_gate
from pytest_agentbench.suites.gates import gate_fault
from pytest_agentbench.suites.matchers import matcher_misfits
from pytest_agentbench.suites.names import suggestion

METRICS = [
    *(
        "success",
        "complete",
        "crashed",
        "stalled",
        "errors",
        "name_recall",
        "strict_recall",
        "succes",
        "success.x",
        "a b",
    ),
    *("policy.late", "policy", "policy.none", "complexity.5", "complexity.x", "tag.smoke", "tag."),
]
GATES = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(METRICS),
    st.sampled_from(["", " "]),
    st.sampled_from([">=", ">", "<=", "<", "==", "=", "!=", ""]),
    st.sampled_from(["", " ", "  "]),
    st.sampled_from(["0", "1", "0.80", ".5", "2", "1.5", "80%", "80 %", "-1", "x", "", "0.5 x"]),
)
SMALL = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["a.b:c", "["])
KEYS = st.sampled_from(["$approx", "tol", "$regex", "$any", "$subset", "$call", "$other", "plain"])
VALUES = st.recursive(
    SMALL, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2), max_leaves=5
)


@settings(max_examples=500)
@given(gate=GATES)
def test_gates_that_load_can_be_evaluated(gate: str) -> None:
    """A gate is refused at loading exactly when the evaluation would refuse it."""
    try:
        parse_gate(gate, policies=["late"])
    except GateError:
        parses = False
    else:
        parses = True
    assert (gate_fault(gate, ["late"]) is None) == parses


@settings(max_examples=500)
@given(value=VALUES)
def test_matchers_that_load_can_be_evaluated(value: Any) -> None:
    """A matcher is refused at loading exactly when the comparison would refuse it."""
    assert bool(list(matcher_misfits(value, ()))) == bool(problems_in(value))


@pytest.mark.parametrize(
    ("name", "allowed", "meant"),
    [
        ("polcies", ["policies", "policy"], "did you mean 'policies'?"),
        ("polices", ["policies"], "did you mean 'policies'?"),
        ("expcet", ["expect"], "did you mean 'expect'?"),
        ("Expect", ["expect"], "did you mean 'expect'?"),
        ("xyz", ["id", "says"], ""),
        ("ab", ["id"], ""),
        ("x", ["y"], ""),
        ("scenario", ["scenarios", "state"], "did you mean 'scenarios'?"),
        ("anything", [], ""),
    ],
)
def test_names_within_two_edits_are_suggested(name: str, allowed: list[str], meant: str) -> None:
    """A close name is suggested, a far or very short one is not."""
    assert suggestion(name, allowed) == meant
