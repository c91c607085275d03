"""JSON values: one normal form for comparing what files, agents and tools call the same value."""

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeGuard
from uuid import UUID

from pydantic import BaseModel

from pytest_agentbench.core.text import stable

JsonValue = Any
"""None, bool, int, float, str, or a list or string-keyed dict of these."""

TOLERANCE = 1e-9
"""Relative and absolute tolerance under which two numbers are the same value."""


_PLAIN = frozenset({str, int, float, bool, type(None)})


def to_json(value: object) -> JsonValue:
    """Turn `value` into exact builtin JSON types; what has no JSON form becomes its `str`, without an address."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    # most of what there is are plain values in plain containers, so that these are looked at first, and in place
    if kind is dict:
        return {
            key if type(key) is str else str(to_json(key)): item if type(item) in _PLAIN else to_json(item)
            for key, item in value.items()  # type: ignore[attr-defined]  # it is what was just asked
        }
    if kind is list or kind is tuple:
        return [item if type(item) in _PLAIN else to_json(item) for item in value]  # type: ignore[attr-defined]  # same
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, Mapping):
        return {key if type(key) is str else str(to_json(key)): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((to_json(item) for item in value), key=repr)
    return _leaf_to_json(value)


def _leaf_to_json(value: object) -> JsonValue:
    if isinstance(value, BaseModel):
        return to_json(value.model_dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_json({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float | Decimal):
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, PurePath | UUID):
        return str(value)
    return _number_or_text(value)


def _number_or_text(value: object) -> JsonValue:
    """Give the Python number inside a scalar of another library (numpy's `item()`), else the text."""
    item = getattr(value, "item", None)
    if callable(item):
        try:
            inner = item()
        except (TypeError, ValueError):
            return stable(str(value))
        if type(inner) in (bool, int, float, str):
            return inner
    return stable(str(value))


def leaves(value: JsonValue) -> Iterator[str | int | float]:
    """Give the texts and numbers inside a value, however deep, in its order; True, False and null are left out."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            left.extend(reversed(list(one.values())))
        elif isinstance(one, list | tuple):
            left.extend(reversed(one))
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            yield one


def with_texts(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """Give a value with every text in it changed, however deep; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: with_texts(item, change) for key, item in value.items()}
    return [with_texts(item, change) for item in value] if isinstance(value, list | tuple) else value


def decoded(text: str) -> JsonValue:
    """Give what a tool gave: the JSON value that its text is, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def whole(value: object) -> int:
    """Give a whole number, of which 2.0 is one and true is none; raise `ValueError` for anything else."""
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 2**53)
    if not isinstance(value, int | float) or not is_whole or isinstance(value, bool):
        raise ValueError("no whole number")
    return int(value)


def is_count(value: object) -> TypeGuard[int]:
    """Whether `value` is a whole number from 0; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether `value` is a number that a float can hold; True and False, infinities and NaN are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def same(left: JsonValue, right: JsonValue) -> bool:
    """Compare two JSON values: 1 equals 1.0, True does not equal 1, list order counts, NaN equals NaN."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _same_number(left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and bool(left == right)


def exactness(value: JsonValue) -> str:
    """Give a text that is equal for JSON values that are equal to the last digit, 1 and 1.0 among them."""
    return json.dumps(_with_fractions(value, float), sort_keys=True)


def likeness(value: JsonValue) -> str:
    """Give a text that is equal for JSON values that are equal to nine digits, to look one up among many.

    Values that are the `same` have one text, but for two that lie on both sides of where the ninth digit is rounded.
    """
    return json.dumps(_with_fractions(value, lambda number: float(f"{number:.9g}")), sort_keys=True)


def _with_fractions(value: JsonValue, change: Callable[[float], float]) -> JsonValue:
    """Give a value with whole numbers as integers, and every other number changed."""
    if isinstance(value, Mapping):
        return {key: _with_fractions(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_fractions(item, change) for item in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() else change(value)
    return value


def _same_number(left: float, right: float) -> bool:
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    try:
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except OverflowError:  # an int that no float can hold is not any float
        return False
