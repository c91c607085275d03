"""Which value of a result a user asks to be told: one that has a name, is short, and can only be said in one way."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_agentbench.checks.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.generation.tools.reading import inner
from pytest_agentbench.generation.tools.tongue import Tongue
from pytest_agentbench.generation.tools.values import Card
from pytest_agentbench.users.kinds import humanize

_DEEP = 2
"""Objects within a result that are looked into: what lies deeper has no short name."""
_TEXT = re.compile(r"[^\W_][\w .'’@&/-]{1,38}[^\W_]")
_DATED = re.compile(r"\d{4}-\d{2}|\d{1,2}:\d{2}|T\d{2}")
_LEAST = 10
"""Smaller numbers are often written as words."""
_DECIMALS = 2
"""Decimals beyond which people round."""


@dataclass(frozen=True)
class Fact:
    """A value that can be asked for: its name in words, where it stands in the result, and how it is said."""

    name: str
    path: str
    text: str


def facts_of(result: JsonValue, card: Card, tongue: Tongue, said: str) -> Iterator[Fact]:
    """Yield what a user may ask to be told about a result; `said` is what it has said itself, which asks for nothing.

    In another language than English a name counts only where the tool's description uses its words too.
    """
    known = plain(said)
    described = plain(f"{card.declared_description} {card.actual_description} {card.output}")
    names: dict[str, int] = {}
    found = list(_scalars(inner(result), "", 0))
    for path, _ in found:
        names[_name(path)] = names.get(_name(path), 0) + 1
    for path, value in found:
        name = _name(path)
        text = spoken_form(value)
        if text is None or names[name] > 1 or not _is_a_name(name):
            continue
        if tongue.code != "en" and not all(word in described for word in plain(name).split()):
            continue
        if plain(text) not in known and plain(name) != plain(text):
            yield Fact(name, path, text)


def spoken_form(value: JsonValue) -> str | None:
    """Give a value as any agent would write it; None where agents differ (dates, codes with `_`, long decimals)."""
    if is_number(value):
        text = f"{value:.10f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        return text if abs(value) >= _LEAST and len(text.partition(".")[2]) <= _DECIMALS and value > 0 else None
    if not isinstance(value, str) or "_" in value or _DATED.search(value) or not _TEXT.fullmatch(value):
        return None
    return value


def _scalars(value: JsonValue, path: str, depth: int) -> Iterator[tuple[str, JsonValue]]:
    if not isinstance(value, Mapping) or depth > _DEEP:
        return
    for key, item in value.items():
        where = f"{path}.{key}" if path else str(key)
        if isinstance(item, Mapping):
            yield from _scalars(item, where, depth + 1)
        elif not isinstance(item, list):
            yield where, item


def _name(path: str) -> str:
    return humanize(path.rsplit(".", 1)[-1])


def _is_a_name(name: str) -> bool:
    """Whether a key reads as words: `due date`, `status`; not `id2`, `x` or `err`."""
    parts = name.split()
    return 1 <= len(parts) <= 3 and all(part.isalpha() and (len(part) > 3 or part in _SHORT) for part in parts)


_SHORT = frozenset(
    ("name", "city", "type", "town", "zip", "age", "fee", "nom", "prix", "lieu", "ville", "due", "for", "of")
)
