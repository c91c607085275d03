"""Values that name a thing: ids in texts, what ids of one kind have in common, and the names of values."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.matchers import is_matcher
from pytest_agentbench.core.spoken import plain

_CODE = re.compile(r"[^\W_][\w@.+-]*")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_LONG_NUMBER = 4
"""Digits from which a number without letters is taken for one that names a thing."""
_READ = 20_000
"""Characters of a text that are read, half of them from its end."""

Scalar = str | int | float


def clipped(text: str) -> str:
    """Give both ends of a huge text, so that time stays bounded."""
    return text if len(text) <= _READ else f"{text[: _READ // 2]} {text[-_READ // 2 :]}"


@lru_cache(maxsize=256)
def codes_in(text: str) -> dict[str, str]:
    """Give the words of a text that look like ids, in `plain` form with how they stand there.

    That are letters with digits, e-mail addresses and long numbers.
    """
    words = (word.rstrip(".+-") for word in _CODE.findall(clipped(text)))
    return {code: word for word in words if shape(code := plain(word))}


def shape(text: str) -> str:
    """Give what ids of one kind have in common: their letters, and how their digits stand; "" for what is no id."""
    if _EMAIL.fullmatch(text):
        return "@"
    if " " in text or not any(char.isdigit() for char in text):
        return ""
    if any(char.isalpha() for char in text):
        return re.sub(r"\d+", "0", text.casefold())
    return re.sub(r"\d", "0", text) if text.isdigit() and len(text) >= _LONG_NUMBER else ""


def plain_values(value: Any, name: str = "") -> Iterator[tuple[str, Scalar]]:
    """Give the plain values inside of data that are not blank, each with the closest key."""
    return ((key, one) for key, one, _ in named_values(to_json(value), name=name) if str(one).strip())


def named_values(value: Any, schema: Any = None, name: str = "") -> Iterator[tuple[str, Scalar, dict[str, Any]]]:
    """Give the plain values inside of arguments or data, each with the closest key and the schema of its place.

    Yes, no and nothing say nothing without their question, and matchers stand for no value: they are left out.
    """
    place = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict) and not is_matcher(value):
        inner = place.get("properties")
        for key, item in value.items():
            yield from named_values(item, inner.get(key) if isinstance(inner, dict) else None, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from named_values(item, place.get("items"), name)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value, place
