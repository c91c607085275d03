"""Argument values: equality and matchers."""

from typing import Any

import pytest

from pytest_agentbench.checks.matchers import matches, problems_in
from pytest_agentbench.core.errors import CheckError


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"$aprox": 1}, "unknown matcher '$aprox'"),
        ({"$regex": "("}, "is not a regular expression"),
        ({"$regex": 3}, "takes a text, found 3"),
        ({"$approx": "3"}, "takes a number, found '3'"),
        ({"$approx": 3, "tol": -1}, "not negative, found -1"),
        ({"$any": 1}, "takes true, found 1"),
        ({"$any": True, "$regex": "x"}, "one matcher at a time"),
        ({"$regex": "x", "tol": 1}, "takes no key 'tol'"),
        ({"$call": "no_colon"}, "'package.module:name'"),
        ({"$subset": 3}, "a mapping or a list"),
        ({"lines": [{"qty": {"$approx": None}}]}, "lines[0].qty: $approx"),
        ({"$subset": {"a": {"$regx": "x"}}}, "$subset.a: unknown matcher"),
    ],
)
def test_a_bad_matcher_is_reported_and_raises(value: Any, problem: str) -> None:
    """What is wrong is said in a sentence, with the way to it; using it raises the same."""
    assert any(problem in found for found in problems_in(value))


def test_using_a_bad_matcher_raises() -> None:
    """Matching against a matcher that is not well-formed is a ValueError, never a mismatch."""
    with pytest.raises(ValueError, match="unknown matcher"):
        matches({"$foo": 1}, 1)
    with pytest.raises(ValueError, match="cannot be resolved here"):
        matches({"$call": "a:b"}, 1)


def test_plain_values_have_no_problems() -> None:
    """Values without matchers are never reported."""
    assert problems_in({"a": [1, {"b": None}], "c": {"$any": True}}) == []
