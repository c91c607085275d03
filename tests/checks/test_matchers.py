"""Argument values: equality and matchers."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.checks.matchers import matches
from pytest_agentbench.core.errors import CheckError
from pytest_agentbench.core.matchers import matcher_misfits
from tests.tables import each


@each(
    ("expected", "actual", "fits"),
    [
        (1, 1.0, True),
        ("1", 1, False),
        (True, 1, False),
        (0.3, 0.1 + 0.2, True),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ({"a": None}, {}, False),
        (10**400, 1.5, False),
        ({"$approx": 3.5, "tol": 0.01}, 3.509, True),
        ({"$approx": 3.5, "tol": 0.01}, 3.52, False),
        ({"$approx": 3.5, "tol": 0.01}, "3.5", False),
        ({"$approx": 1.0}, True, False),
        ({"$approx": 1.0}, 10**400, False),
        ({"$approx": 100}, 100.00001, True),
        ({"$regex": r"W\d+"}, "W12", True),
        ({"$regex": r"W\d+"}, "W12x", False),
        ({"$regex": r"\d+"}, 12, False),
        ({"$any": True}, None, True),
        ({"$subset": {"a": 1}}, {"a": 1.0, "b": 2}, True),
        ({"$subset": {"a": {"$regex": "x+"}}}, {"a": "xx"}, True),
        ({"$subset": {"a": 1}}, [1], False),
        ({"$subset": [1, 1]}, [1, 2], False),
        ({"$subset": [{"$any": True}, 1]}, [1, 2], True),
        ([{"$regex": "a"}, {"k": {"$any": True}}], ["a", {"k": 5}], True),
        (str.isdigit, "12", True),
    ],
)
def test_a_value_is_the_expected_one(expected: Any, actual: Any, fits: bool) -> None:
    """Equality is JSON equality with a tolerance, and each matcher says what it accepts."""
    assert matches(expected, actual) is fits


def test_a_predicate_is_found_through_the_resolver() -> None:
    """`$call` asks whatever the resolver gives for the path."""
    assert matches(
        {"$call": "shop.rules:is_open"}, "W1", {"shop.rules:is_open": lambda value: value == "W1"}.__getitem__
    )


def test_a_predicate_that_raises_is_an_error_of_the_check() -> None:
    """A predicate that raises neither matches nor fails to match."""
    with pytest.raises(CheckError, match="raised ZeroDivisionError"):
        matches(lambda value: 1 / value, 0)


def test_using_a_bad_matcher_raises() -> None:
    """Matching against a matcher that is not well-formed is a ValueError, never a mismatch."""
    with pytest.raises(ValueError, match="unknown matcher"):
        matches({"$foo": 1}, 1)
    with pytest.raises(ValueError, match="cannot be resolved here"):
        matches({"$call": "a:b"}, 1)


SMALL = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["a.b:c", "["])
KEYS = st.sampled_from(["$approx", "tol", "$regex", "$any", "$subset", "$call", "$other", "plain"])
VALUES = st.recursive(
    SMALL, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2), max_leaves=5
)


@settings(max_examples=150)
@given(value=VALUES, actual=SMALL)
def test_matchers_that_load_can_be_compared(value: Any, actual: Any) -> None:
    """A matcher that the grammar admits decides about any value."""
    if not list(matcher_misfits(value)):
        assert matches(value, actual, lambda _: lambda _: True) in (True, False)
