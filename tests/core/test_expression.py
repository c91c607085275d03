"""Expressions over metrics: what they say, what is undecided, and what is none."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.matching import match_calls
from pytest_agentbench.checks.verdict import measure
from pytest_agentbench.core.expression import METRICS, check_expression, holds
from tests.checks.builders import run_of
from tests.tables import each

VALUES = {"strict_recall": 0.9, "tool_errors": 0.0, "finished": 1.0, "echo_rate": None}


@each(
    ("text", "truth"),
    [
        ("strict_recall >= 0.9", True),
        ("strict_recall > 0.9", False),
        ("tool_errors == 0 and finished == 1", True),
        ("tool_errors != 0 or finished == 1", True),
        ("not tool_errors == 0", False),
        ("0 <= tool_errors < 2", True),
        ("(tool_errors > 0 or strict_recall >= 0.5) and finished == 1", True),
        ("tool_errors > -1", True),
        ("echo_rate < 0.5", None),
        ("echo_rate < 0.5 and tool_errors > 0", False),
        ("echo_rate < 0.5 or tool_errors == 0", True),
        ("not echo_rate < 0.5", None),
        ("agent_turns > 1", None),
    ],
)
def test_an_expression_is_true_false_or_undecided(text: str, truth: bool | None) -> None:
    """Comparisons join as in Python, and what is not measured decides only where it must."""
    assert holds(text, VALUES) is truth


@each(
    ("text", "message"),
    [
        ("strict_recal >= 0.9", "did you mean 'strict_recall'"),
        ("finished", "finished == 1"),
        ("__import__('os').system('true')", "no comparison"),
        ("tool_errors == len('x')", "neither a metric nor a number"),
        ("tool_errors + 1 > 2", "neither a metric nor a number"),
        ("tool_errors in finished", "allowed: >="),
        ("tool_errors == True", "neither a metric nor a number"),
        ("tool_errors == 'a'", "neither a metric nor a number"),
        ("", "no expression"),
        ("tool_errors == 0; finished == 1", "no expression"),
        ("(" * 300 + "finished == 1" + ")" * 300, "allowed: 500"),
        ("(lambda: 1)() == 1", "neither a metric nor a number"),
        ("finished == 1\x00", "no expression"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_reason(text: str, message: str) -> None:
    """Calls, arithmetic, unknown names and broken text raise `ValueError`; nothing of them is run."""
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        check_expression(text)


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    """No text raises anything but `ValueError`."""
    with suppress(ValueError):
        assert holds(text, VALUES) in {True, False, None}


def test_the_names_are_those_that_are_measured() -> None:
    """Every metric of a run may stand in an expression, and `finished` besides."""
    run = run_of()

    measured = measure(run, match_calls((), run.transcript.trajectory))

    assert set(METRICS) == {*measured, "finished"}
