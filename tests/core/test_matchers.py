"""The grammar of matchers."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.matchers import Matcher
from pytest_agentbench.core.matchers import COMPARISONS, holds_matcher, matcher_misfits
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
        ({"a": {"$gt": 3, "$lt": 2}}, "a: nothing is more than 3 and less than 2, so this never fits"),
        ({"$gte": 3, "$lt": 3}, "nothing is at least 3 and less than 3"),
        ({"$gt": 3, "$lte": 2, "$lt": 9}, "nothing is more than 3 and at most 2 and less than 9"),
        ({"$gt": "2026-03-01", "$lt": "2026-02-01"}, "nothing is more than '2026-03-01' and less than '2026-02-01'"),
        ({"$gt": "b", "$lt": "a"}, "nothing is more than 'b' and less than 'a'"),
        ({"$gt": 3, "$lt": "b"}, "numbers are compared with numbers, texts with texts"),
        ({"$not": {"$gt": 3, "$lt": 2}}, "$not: nothing is more than 3"),
        ({"$has": {"n": {"$gt": 3, "$lt": 2}}}, "$has.n: nothing is more than 3"),
        ({"$not": {"$any": True}}, "$not: found a mapping with '$any', which everything fits, so this never does"),
        ({"$in": []}, "$in: found an empty list, which nothing is one of: expected at least one value"),
        ({"$size": {"$gt": 3, "$lt": 4}}, "no whole number from 0 on is more than 3 and less than 4"),
        ({"$size": {"$lt": 0}}, "no whole number from 0 on is less than 0, so this never fits"),
        ({"$size": {"$gt": "a"}}, "a whole number is not more than 'a'"),
        ({"$size": {"$regex": "3"}}, "expected a whole number from 0, or a matcher of numbers"),
        ({"$in": [1], "$gt": 3}, "$in has '$gt' beside it: a matcher is a mapping with one key"),
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


BOUND = st.one_of(st.integers(-4, 4), st.sampled_from(["a", "b", "2026-01-01", "2026-01-02", "2026-01-01T10:00Z"]))


@given(st.dictionaries(st.sampled_from(COMPARISONS), BOUND, min_size=1), st.one_of(BOUND, st.floats(-5, 5), st.text()))
def test_what_is_refused_as_impossible_fits_nothing(matcher: dict[str, Any], value: Any) -> None:
    """Whatever is compared, and in whatever way it is bounded."""
    if list(matcher_misfits(matcher)):
        compare = Matcher().compares
        assert not all(compare(operator, value, bound) for operator, bound in matcher.items())


@given(st.dictionaries(st.sampled_from(COMPARISONS), st.integers(-4, 4), min_size=1))
def test_numbers_that_leave_no_room_are_all_refused(matcher: dict[str, Any]) -> None:
    """In steps of a half all that may fit between whole bounds is tried; of sizes, all that there are."""
    compare = Matcher().compares
    fitting = [one / 2 for one in range(-10, 11) if all(compare(key, one / 2, bound) for key, bound in matcher.items())]
    sizes = [one for one in fitting if one >= 0 and one.is_integer()]

    assert bool(list(matcher_misfits(matcher))) is (not fitting)
    assert bool(list(matcher_misfits({"$size": matcher}))) is (not sizes)


def test_references_are_left_to_the_run() -> None:
    """They may be anything, but for one that is to lie above and below itself; moments of a kind are compared."""
    one, other = {"$argument": "a"}, {"$result": "b"}

    assert not list(matcher_misfits({"$gt": one, "$lt": other}, references=True))
    assert not list(matcher_misfits({"$gte": one, "$lte": one}, references=True))
    assert not list(matcher_misfits({"$gt": {"$now": "-1d"}, "$lt": {"$today": "0d"}}, references=True))
    assert list(matcher_misfits({"$gt": one, "$lt": one}, references=True))
    assert list(matcher_misfits({"$gt": {"$today": "0d"}, "$lt": {"$today": "-30d"}}, references=True))
    assert Matcher().holds({"$gt": 3, "$lt": 2}, 5) is False
