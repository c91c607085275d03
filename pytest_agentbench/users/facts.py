"""What a scripted user can give when it is asked: the values of `knows`, and ids in what τ² tells its user in prose."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.values import to_json
from pytest_agentbench.suites.language import Language
from pytest_agentbench.users.labels import named, readable
from pytest_agentbench.users.wants import clipped

_VALUE = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w|#?\w*\d[\w-]*")
_WORD = re.compile(r"[^\W\d_]+")
_IDENTIFIER = re.compile(r"[a-z]+(?:_[a-z]+)+")
_BEFORE = 4
"""Words before a value in prose that may be its name."""


@dataclass(frozen=True)
class Fact:
    """A value and the names by which an agent may ask for it; `label` is the one that it is given under."""

    name: str
    value: Any
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """The value as it is said."""
        return ", ".join(map(spoken, self.value)) if isinstance(self.value, list) else spoken(self.value)

    def is_stated(self, text: str, locale: str) -> bool:
        """Whether a text states the value, of a list all of it."""
        values = self.value if isinstance(self.value, list) else [self.value]
        said = clipped(text)
        return bool(values) and all(states(one, said, locale) for one in values)

    def sentence(self, language: Language) -> str:
        """Say what is known in the plain form of the language."""
        text = language.fact.format(label=readable(self.name), value=self.text)
        return text[:1].upper() + text[1:]


def spoken(value: Any) -> str:
    """Give a value as a person would write it: a name such as `no_longer_needed` as words."""
    if not isinstance(value, str):
        return dumps(value)
    return value.replace("_", " ") if _IDENTIFIER.fullmatch(value) else value


def facts_of(view: View) -> tuple[Fact, ...]:
    """Give what the user knows by name, or, where nothing has a name, what looks like an id in prose."""
    if view.knows:
        return tuple(Fact(name, to_json(value), (name, *view.also.get(name, ()))) for name, value in view.knows.items())
    return tuple(_in_prose(clipped(view.known_info)))


def asked_for(facts: Sequence[Fact], text: str, language: Language, *, loosely: bool) -> list[Fact]:
    """Give the facts that a message names and does not itself state."""
    return [
        fact
        for fact in facts
        if named(fact.names, text, language.labels, loosely=loosely) and not fact.is_stated(text, language.locale)
    ]


def _in_prose(text: str) -> list[Fact]:
    """Give each e-mail address, id and number of a text; two words side by side before it are a name for it."""
    found: dict[str, Fact] = {}
    for line in re.split(r"[\n;]|\.\s", text):
        for match in _VALUE.finditer(line):
            words = _WORD.findall(line[: match.start()])[-_BEFORE:]
            pairs = [f"{one} {other}" for one, other in pairwise(words)]
            names = ("email", *pairs) if "@" in match[0] else tuple(pairs)
            if names:
                found.setdefault(match[0], Fact(names[0], match[0], names))
    return list(found.values())
