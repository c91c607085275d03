"""Plain words of labelled conversations, from one data file a language; values are put in, never invented."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Literal

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.validation.values import leaves

_LONGEST = 60
_MOST_FACTS = 5
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Fact:
    """A value of an answer and the words for where it stands."""

    key: str
    value: JsonValue
    path: str = ""

    @property
    def text(self) -> str:
        """The value as it is told."""
        return f"{self.value}"

    @property
    def has_figure(self) -> bool:
        """Whether it holds a figure of at least two digits, which cannot be there by accident."""
        return sum(map(str.isdigit, self.text)) > 1

    def __str__(self) -> str:
        return f"{self.key} {self.text}" if self.key else self.text


@dataclass(frozen=True)
class Line:
    """Something that is said: which plain phrase it is, the values that stay in it, and what it says or tells.

    `values` stay in it however it is worded, `said` are all those of a user and `told` the facts of an agent.
    `is_fixed` words are what the situation is about, and are never worded otherwise.
    """

    by: Literal["user", "agent"]
    kind: str
    text: str
    values: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    told: tuple[Fact, ...] = ()
    is_fixed: bool = False


class Words:
    """The phrases of one language, drawn from by `random`."""

    def __init__(self, language: str, random: Random) -> None:
        self._random = random
        self._phrases = _phrases(language if language in languages() else "en")

    def say(self, kind: str, /, **values: str) -> str:
        """Draw a phrase and put `values` in."""
        return self._random.choice(self._phrases[kind]).format(**values).strip()

    def entries(self, kind: str) -> list[str]:
        """Give all phrases of a kind."""
        return self._phrases[kind]


@cache
def languages() -> tuple[str, ...]:
    """Give the languages that have plain phrases: one is added by adding its file."""
    return tuple(sorted(one.name.removesuffix(".toml") for one in (files(__package__) / "wordings").iterdir()))


@cache
def _phrases(language: str) -> Mapping[str, list[str]]:
    return tomllib.loads((files(__package__) / "wordings" / f"{language}.toml").read_text(encoding="utf-8"))


def spoken(name: str) -> str:
    """Give an identifier in words: `brewTea` and `brew_tea` are `brew tea`."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().lower()


def flat(text: str) -> str:
    """Give the letters and digits of a text in lower case."""
    return "".join(char for char in text.casefold() if char.isalnum())


def facts_of(content: str) -> list[Fact]:
    """Give what an answer holds that can be told: its short texts and numbers, or the text itself."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = content
    if isinstance(value, str):
        plain = value.strip().rstrip(".")
        return [Fact("", plain)] if plain and len(plain) <= 5 * _LONGEST else []
    found: list[Fact] = []
    for path, leaf in leaves(value):
        if isinstance(leaf, bool) or not isinstance(leaf, str | int | float):
            continue
        if isinstance(leaf, str) and not 0 < len(leaf) <= _LONGEST:
            continue
        names = [part for part in re.split(r"[.\[\]]+", path) if part and not part.isdigit()]
        found.append(Fact(" ".join(spoken(name) for name in names[-2:]), leaf, path))
    return found


def chosen(facts: Sequence[Fact], random: Random) -> list[Fact]:
    """Choose a few facts, those with figures first, in the order of the answer."""
    ranked = sorted(facts, key=lambda fact: (not fact.has_figure, random.random()))[:_MOST_FACTS]
    return [fact for fact in facts if fact in ranked]


def altered(fact: Fact, elsewhere: str, random: Random) -> Fact | None:
    """Give the fact with one digit changed to what stands nowhere in `elsewhere`; None where that cannot be."""
    runs = [one for one in _FIGURE.finditer(fact.text) if sum(map(str.isdigit, one[0])) > 1]
    known = flat(elsewhere)
    for _ in range(40 if runs else 0):
        run = random.choice(runs)
        place = random.choice([one for one in range(run.start(), run.end()) if fact.text[one].isdigit()])
        digit = random.choice([one for one in "123456789" if one != fact.text[place]])
        other = fact.text[:place] + digit + fact.text[place + 1 :]
        if flat(other[run.start() : run.end()]).lstrip("0") not in known:
            return Fact(fact.key, other, fact.path)
    return None
