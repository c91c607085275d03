"""Traceability of values: what is reformatted is found, what is made up is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.generation.tools.grounding import Grounds, holds_code, names_said


def known() -> Grounds:
    """What one result of a tool makes known."""
    grounds = Grounds()
    grounds.add(
        {"city": "Saint-Étienne", "temp": 17.46, "date": "2026-03-01", "rows": [{"id": "W-104", "cost": 1234.5}] * 3}
    )
    return grounds


@pytest.mark.parametrize(
    "text",
    [
        "It is 17.5 degrees in Saint-Etienne on March 1.",
        "Il fait 17,46 °C à Saint-Étienne le 1er mars 2026.",
        "Order W-104 costs 1,234.50.",
        "I found 3 rows.",
        "It is about 17 degrees on 01/03/2026.",
        'For "Saint-Étienne" it is 17.46°C.',
    ],
)
def test_reformatted_values_are_traced(text: str) -> None:
    """Rounding, dates in words, thousands, accents and units change nothing."""
    assert known().unknown(text) == []


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        ("It is 18.2 degrees there.", "18.2"),
        ("It rains in Lyon today.", "Lyon"),
        ("Order W-105 is late.", "W-105"),
        ("le 2 mars 2026", "2"),
        ("on 02/03/2026", "02/03/2026"),
        ("There are 4 rows.", "4"),
        ("Write to ada@example.com.", "ada@example.com"),
        ('The city is called "Grand Harbour".', "Grand Harbour"),
    ],
)
def test_invented_values_are_named(text: str, invented: str) -> None:
    """Another number, name, code, date, address or quotation is not known."""
    assert invented in known().unknown(text)


@given(st.floats(1, 1e6), st.integers(0, 3))
def test_any_rounding_of_a_number_is_traced(number: float, decimals: int) -> None:
    """A number rounded to fewer decimals is the same number."""
    grounds = Grounds()
    grounds.add({"value": number + 0.1234567})

    assert grounds.unknown(f"It is {number + 0.1234567:.{decimals}f}.") == []


def test_names_of_tools_and_code_are_told_from_words() -> None:
    """`get_order` and `orderId` are of programs, `city` is a word unless it is called."""
    assert names_said("use get_order with orderId in the city", ["get_order", "orderId", "city"]) == [
        "get_order",
        "orderId",
    ]
    assert names_said("city(Paris)", ["city"]) == ["city"]
    assert holds_code('{"city": 1}')
    assert holds_code("search(q=1)")
    assert not holds_code("look it up (order id: W1)")
