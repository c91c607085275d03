"""The grammar of matchers."""

from typing import Any

from pytest_agentbench.core.matchers import holds_matcher, matcher_misfits
from tests.tables import each


@each(
    ("value", "problem"),
    [
        ({"$aprox": 1}, "unknown matcher '$aprox'"),
        ({"$regex": "("}, "is not a regular expression"),
        ({"$regex": 3}, "$regex: found 3, expected a regular expression"),
        ({"$approx": "3"}, "$approx: found '3', expected a number"),
        ({"$approx": 3, "tl": 1}, "it takes only tol beside it (did you mean 'tol'?)"),
        ({"$approx": 10**400}, "expected a number"),
        ({"$subset": {"$any": True}}, "a mapping or a list"),
        ({"$approx": 3, "tol": -1}, "tol: found -1, expected a number, 0 or more"),
        ({"$any": 1}, "$any: found 1, allowed: true"),
        ({"$any": True, "$regex": "x"}, "$any has '$regex' beside it: a matcher is a mapping with one key"),
        ({"$regex": "x", "tol": 1}, "$regex has 'tol' beside it: a matcher is a mapping with one key"),
        ({"$call": "no_colon"}, "expected an import path package.module:name"),
        ({"$subset": 3}, "a mapping or a list"),
        ({"lines": [{"qty": {"$approx": None}}]}, "lines[0].qty.$approx: found None"),
        ({"$subset": {"a": {"$regx": "x"}}}, "$subset.a.$regx: unknown matcher '$regx', allowed: "),
    ],
)
def test_a_bad_matcher_is_reported(value: Any, problem: str) -> None:
    """What is wrong is said in a sentence, with the way to it."""
    (found,) = matcher_misfits(value)

    assert problem in str(found)


def test_plain_values_have_no_problems() -> None:
    """Values without matchers are never reported."""
    assert list(matcher_misfits({"a": [1, {"b": None}], "c": {"$any": True}})) == []


def test_only_dollar_keys_are_matchers() -> None:
    """Ordinary values, prices with a dollar included, are none."""
    assert not holds_matcher({"a": [{"price": "$3"}], "b": "$any"})
    assert holds_matcher({"a": [{"$subset": {}}]})
