"""The words of labelled conversations, from template data, in English and French; values are put in, never invented."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.validation.values import leaves

LANGUAGES = ("en", "fr")

_LONGEST = 60
_MOST_FACTS = 3
_STEM = 5
"""Letters by which a word of the user's and the name of a value are compared."""


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

    def __str__(self) -> str:
        return f"{self.key} {self.text}" if self.key else self.text


class Words:
    """Template data of one language, drawn from by `random`."""

    def __init__(self, language: str, random: Random) -> None:
        self.language = language
        self._random = random
        self._data = _data(language)

    def say(self, name: str, /, **values: str) -> str:
        """Draw a wording and put `values` in."""
        return self._random.choice(self._data[name]).format(**values).strip()

    def entries(self, name: str) -> list[str]:
        """Give all entries."""
        return self._data[name]

    def told(self, facts: list[Fact]) -> str:
        """Tell facts one after the other."""
        return "; ".join(map(str, facts))


@cache
def _data(language: str) -> Mapping[str, list[str]]:
    return tomllib.loads((files(__package__) / "wordings" / f"{language}.toml").read_text(encoding="utf-8"))


def spoken(name: str) -> str:
    """Give an identifier in words: `brewTea` and `brew_tea` are `brew tea`."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().lower()


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
        if isinstance(leaf, bool) or leaf is None or not isinstance(leaf, str | int | float):
            continue
        if isinstance(leaf, str) and not 0 < len(leaf) <= _LONGEST:
            continue
        names = [part for part in re.split(r"[.\[\]]+", path) if part and not part.isdigit()]
        found.append(Fact(" ".join(spoken(name) for name in names[-2:]), leaf, path))
    return found


def telling(facts: list[Fact], random: Random, *, near: str = "") -> list[Fact]:
    """Choose facts that tell something, in the order of the answer: those that `near` speaks of and figures first."""
    asked = {word[:_STEM] for word in re.findall(r"[^\W\d_]{3,}", near.casefold())}
    spoken_of = [place for place, fact in enumerate(facts) if asked & {word[:_STEM] for word in fact.key.split()}]
    figures = [place for place, fact in enumerate(facts) if has_figure(fact)]
    chosen = random.sample(spoken_of, min(_MOST_FACTS - 1, len(spoken_of)))
    others = [place for place in figures if place not in chosen]
    chosen += random.sample(others, min(_MOST_FACTS - 1 - len(chosen), len(others)))
    rest = [place for place in range(len(facts)) if place not in figures and place not in chosen]
    chosen += random.sample(rest, min(_MOST_FACTS - len(chosen), len(rest)))
    return [facts[place] for place in sorted(chosen)]


def has_figure(fact: Fact) -> bool:
    """Whether a fact holds a figure of at least two digits, which cannot be there by accident."""
    return len(re.sub(r"\D", "", fact.text)) >= 2


def altered(fact: Fact, elsewhere: str, random: Random) -> Fact | None:
    """Give the fact with one digit of its figure changed to what stands nowhere in `elsewhere`; None where none does.

    `elsewhere` is compared by letters and digits alone.
    """
    text = fact.text
    runs = [match for match in re.finditer(r"\d+(?:[.,]\d+)*", text) if len(re.sub(r"\D", "", match[0])) >= 2]
    flat = re.sub(r"[\W_]", "", elsewhere.lower())
    for _ in range(40):
        if not runs:
            return None
        run = random.choice(runs)
        places = [place for place in range(run.start(), run.end()) if text[place].isdigit()]
        place = random.choice(places)
        digit = random.choice([d for d in "123456789" if d != text[place]])
        other = text[:place] + digit + text[place + 1 :]
        figure = other[run.start() : run.end()]
        if re.sub(r"\D", "", figure).lstrip("0") not in flat:
            return Fact(fact.key, other, fact.path)
    return None
