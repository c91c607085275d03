"""What spoils an answer: emptied, broken off, or with one wrong value.

Each gives UNCHANGED where there is nothing to spoil.
"""

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from pytest_agentbench.core.tool import ToolResult
from pytest_agentbench.core.values import is_number


class _Unchanged:
    """Marks an answer in which a fault found nothing to spoil."""


UNCHANGED: Final = _Unchanged()

Alter = Callable[[Any], Any]


def emptied(value: Any) -> Any:
    """Give an answer of the same form that holds nothing."""
    if isinstance(value, ToolResult):
        return _within(value, emptied)
    if isinstance(value, dict):
        return {} if value else UNCHANGED
    if isinstance(value, list | tuple):
        return type(value)() if value else UNCHANGED
    if isinstance(value, str):
        return "" if value else UNCHANGED
    return None if value is not None else UNCHANGED


def truncated(value: Any) -> Any:
    """Give the first half of an answer: of a text its characters, of a list its entries, of an object its keys."""
    if isinstance(value, ToolResult):
        half = value.content[: len(value.content) // 2]
        return value.model_copy(update={"content": half}) if len(value.content) > 1 else UNCHANGED
    if isinstance(value, str):
        return value[: len(value) // 2] if len(value) > 1 else UNCHANGED
    if isinstance(value, list | tuple):
        return value[: len(value) // 2] if value else UNCHANGED
    if isinstance(value, dict):
        return dict(list(value.items())[: len(value) // 2]) if value else UNCHANGED
    return UNCHANGED


def corrupted(value: Any, random: Random) -> Any:
    """Give the answer with one of its values wrong: numbers first, then texts that hold digits."""
    if isinstance(value, ToolResult):
        return _within(value, lambda content: corrupted(content, random))
    if isinstance(value, dict | list):
        spoilt = copy.deepcopy(value)
        places = list(_places(spoilt))
        numbers = [place for place in places if is_number(place[0][place[1]])]
        texts = [place for place in places if isinstance(place[0][place[1]], str) and _digits(place[0][place[1]])]
        if not numbers and not texts:
            return UNCHANGED
        owner, key = random.choice(numbers or texts)
        owner[key] = corrupted(owner[key], random)
        return spoilt
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + random.choice([1, 2, 3, 10, 100])
    if isinstance(value, float):
        return round(value * random.choice([0.5, 1.1, 2, 10]) + 1, 2)
    if isinstance(value, str) and (digits := _digits(value)):
        place = random.choice(digits)
        other = random.choice([digit for digit in "123456789" if digit != value[place]])
        return value[:place] + other + value[place + 1 :]
    return UNCHANGED


def _within(result: ToolResult, alter: Alter) -> Any:
    """Alter what a result's text stands for: the JSON in it, else the text itself."""
    try:
        content = json.loads(result.content)
    except (ValueError, RecursionError):
        content = result.content
    is_text = isinstance(content, str)
    altered = alter(content)
    if altered is UNCHANGED:
        return UNCHANGED
    text = altered if is_text and isinstance(altered, str) else json.dumps(altered)
    return result.model_copy(update={"content": text})


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where a leaf of nested JSON stands: its owner and key."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in entries:
        if isinstance(item, dict | list):
            yield from _places(item)
        else:
            yield value, key


def _digits(value: str) -> list[int]:
    return [index for index, char in enumerate(value) if char in "0123456789"]
