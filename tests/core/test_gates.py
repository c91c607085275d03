"""The grammar of gates."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.errors import GateError
from pytest_agentbench.core.gate_grammar import parse_gate, parse_gates
from tests.tables import each


@each(
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
        ("agent.cost_usd <= 12.5", "agent.cost_usd", "", "<=", 12.5),
        ("agent.refunds >= 0.5", "agent", "refunds", ">=", 0.5),
        ("turn.seconds.p95 < 1.10*baseline", "turn.seconds.p95", "", "<", 1.1),
        ("success >= baseline", "success", "", ">=", 1.0),
        ("pass^4 >= 0.5", "pass^", "4", ">=", 0.5),
    ],
)
def test_gates_are_read(text, metric, argument, operator, threshold):
    """Name, optional argument after the first dot, comparison and number."""
    gate = parse_gate(text)
    assert (gate.metric, gate.argument, gate.operator, gate.threshold) == (metric, argument, operator, threshold)


@each(
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
        ("category.consnt >= 0.9", "which no policy has; there are: 'consent' (did you mean 'consent'?)"),
        ("agent.cost_eur <= 1", "compares with '<='"),
        ("agent.tokens >= 5", "write `agent.tokens <= 5`"),
        ("agent.tokens <= lots", "expected a number, 0 or more, or a factor such as 1.10 * baseline"),
        ("turn.secnds.p95 <= 5", "did you mean 'turn.seconds.p95'"),
        ("agent.tokens <= 1.1 * basline", "did you mean 'baseline'"),
        ("regression <= 1 * baseline", "is a difference from the baseline already"),
        ("pass^9 >= 0.5", "expected pass^1 to pass^8"),
        ("toll.refund >= 0.5", "did you mean 'tool'"),
        ("policy.refund-windw >= 0.9", "which is not listed; listed: 'refund-window' (did you mean 'refund-window'?)"),
    ],
)
def test_a_wrong_gate_says_what_to_write(text, says):
    """Each mistake is named with what was found and what to do."""
    with pytest.raises(GateError) as error:
        parse_gate(text, known={"policy": ["refund-window"], "category": ["consent"]})
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
