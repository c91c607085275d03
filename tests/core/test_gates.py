"""The grammar of gates."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.errors import GateError
from pytest_agentbench.core.gates import parse_gate, parse_gates


@pytest.mark.parametrize(
    ("text", "metric", "argument", "operator", "threshold"),
    [
        ("success >= 0.80", "success", "", ">=", 0.8),
        ("policy.refund-window>=0.9", "policy", "refund-window", ">=", 0.9),
        ("policy.a.b > 0", "policy", "a.b", ">", 0.0),
        ("  crashed <= 2 ", "crashed", "", "<=", 2.0),
        ("errors < 0.05", "errors", "", "<", 0.05),
        ("complexity.7 >= 1", "complexity", "7", ">=", 1.0),
        ("tag.x >= 0.5", "tag", "x", ">=", 0.5),
        ("strict_recall >= 0.5", "strict_recall", "", ">=", 0.5),
    ],
)
def test_gates_are_read(text, metric, argument, operator, threshold):
    """Name, optional argument after the first dot, comparison and number."""
    gate = parse_gate(text)
    assert (gate.metric, gate.argument, gate.operator, gate.threshold) == (metric, argument, operator, threshold)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "success >= 0.80"),
        ("success", "success >= 0.80"),
        ("sucess >= 0.8", "did you mean 'success'"),
        ("success >= 80", "write 0.8"),
        ("success >= 80%", "write 0.8"),
        ("success >= 80 %", "write 0.8"),
        ("success >= high", "compares with 'high', expected a share from 0 to 1"),
        ("success >= nan", "compares with 'nan', expected a share from 0 to 1"),
        ("success <= 0.8", "write `success >= 0.8`"),
        ("success == 0.8", "write `success >= 0.8`"),
        ("crashed >= 1", "write `crashed <= 1`"),
        ("crashed <= 0.5", "expected a number of runs: a whole number, 0 or more"),
        ("crashed <= -1", "expected a number of runs"),
        ("policy >= 0.5", "needs a name"),
        ("success.x >= 0.5", "takes no name"),
        ("success. >= 0.5", "takes no name"),
        ("succes.x >= 0.5", "did you mean 'success'"),
        ("complexity.high >= 0.5", "whole number"),
        (f"complexity.{'9' * 5000} >= 0.5", "whole number"),
        ("policy.refund-windw >= 0.9", "which is not listed; listed: 'refund-window' (did you mean 'refund-window'?)"),
    ],
)
def test_a_wrong_gate_says_what_to_write(text, says):
    """Each mistake is named with what was found and what to do."""
    with pytest.raises(GateError) as error:
        parse_gate(text, policies=["refund-window"])
    assert says in str(error.value)
    assert repr(text) in str(error.value)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


@given(st.text())
def test_any_text_is_a_gate_or_a_gate_error(text):
    """No text makes the parser raise anything else."""
    try:
        gate = parse_gate(text)
    except GateError:
        return
    assert gate.holds(gate.threshold) == (gate.operator in (">=", "<="))


def test_errors_are_gated_unless_set():
    """The default stands beside other gates, gives way to an explicit one, and never stands alone."""
    assert [gate.text for gate in parse_gates(["success >= 0.8"])] == ["success >= 0.8", "errors <= 0.05"]
    assert [gate.text for gate in parse_gates(["errors <= 0.5"])] == ["errors <= 0.5"]
    assert parse_gates([]) == ()
