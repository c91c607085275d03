"""What a scripted user knows, and whether a message asks for it: by the words of its name, or by other names for it.

Names come from structure: the keys of `knows`, or, for a value that stands in τ²'s prose, the names under which calls,
initial data and examples of tools hold the same value or one of the same form, and the words before it that such names
consist of.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.names import readable
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import to_json
from pytest_agentbench.suites.language import Language
from pytest_agentbench.users.wants import clipped, shape

_VALUE = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w|#?\w*\d[\w-]*|(?<=\w )[A-Z]\w*(?: [A-Z]\w*)+")
"""E-mail addresses, what has a digit, and two or more words in a row with capitals, but at the beginning."""
_EXAMPLE = re.compile(r"['\"“‘`]([^\s'\"”’`]{2,40})['\"”’`]")
_DESCRIBED = 1_000
"""Characters of a description that are searched for examples."""
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(r"[a-z]+(?:_[a-z]+)+")
_BEFORE = 4
"""Words before a value in prose that may be its name."""
_SHORT = 2
"""Letters up to which a word of a longer name (`date_of_birth`) need not be said, and a value is no fact of prose."""
_INFLECTED, _COMPOUND = 4, 5
"""Letters from which a word may have an ending, and from which it may stand inside a longer one (`Bestellnummer`)."""
_BETWEEN = 3
"""Other words that may stand between the words of a name: *the number of your order*."""
_IDENTIFIERS = frozenset({"id", "no", "nr", "num", "number", "code", "key", "ref", "reference", "uuid"})
"""Last words of names that say no more than that the thing before them is meant."""


@dataclass(frozen=True)
class Fact:
    """A value and the names by which an agent may ask for it; `name` is the one that it is given under."""

    name: str
    value: Any
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The value as it is said."""
        return ", ".join(map(spoken, self.value)) if isinstance(self.value, list) else spoken(self.value)

    def is_stated(self, text: str, locale: str) -> bool:
        """Whether a text states the value, of a list all of it."""
        values = self.value if isinstance(self.value, list) else [self.value]
        said = clipped(text)
        return bool(values) and all(states(one, said, locale) for one in values)

    def is_asked(self, text: str, language: Language, *, loosely: bool) -> bool:
        """Whether a message names the value and does not itself state it."""
        is_named = named(self.names, text, language.labels, loosely=loosely)
        return is_named and not self.is_stated(text, language.locale)

    def sentence(self, language: Language) -> str:
        """Say what is known in the plain form of the language."""
        text = language.fact.format(label=readable(self.name), value=self.text)
        return text[:1].upper() + text[1:]


def spoken(value: Any) -> str:
    """Give a value as a person would write it: a name such as `no_longer_needed` as words."""
    if not isinstance(value, str):
        return dumps(value)
    return value.replace("_", " ") if _IDENTIFIER.fullmatch(value) else value


Labels = Sequence[tuple[str, str | int | float]]
"""Names with a value that each of them stands for, "" where none is known."""


def facts_of(view: View, labels: Labels = ()) -> tuple[Fact, ...]:
    """Give what the user knows by name, or, where nothing has a name, the values that its prose states.

    These are the values of `labels`, and what looks like an id.
    """
    if view.knows:
        return tuple(Fact(name, to_json(value), (name, *view.also.get(name, ()))) for name, value in view.knows.items())
    text = clipped(view.known_info)
    found: dict[str, Fact] = {}
    stated = [(name, value) for name, value in labels if value != "" and _is_told(value, text)] if text else []
    for name, value, names in [*((name, value, ()) for name, value in stated), *_in_prose(text, labels)]:
        known = found.setdefault(plain(str(value)), Fact(name, value))
        every = tuple(dict.fromkeys((*known.names, name, *names)))
        found[plain(str(value))] = Fact(known.name, known.value, every)
    return tuple(found.values())


def labels_in(scenario: Scenario, toolset: Toolset) -> Labels:
    """Give the names of values in the calls that a scenario expects, in what it starts from and in its tools."""
    initial = scenario.task.initial_state
    sources: list[Any] = [call.arguments for way in scenario.ways for call in way.expected_calls]
    if initial is not None:
        sources += [action.get("arguments") for action in initial.initialization_actions or ()]
        sources.append(initial.initialization_data)
    found = [leaf for source in sources for leaf in _leaves("", source)]
    for name, schema in (pair for spec in toolset for pair in (spec.parameters.get("properties") or {}).items()):
        described = schema.get("description") if isinstance(schema, dict) else None
        examples = _EXAMPLE.findall(described[:_DESCRIBED]) if isinstance(described, str) else []
        found += [(name, example) for example in examples or [""]]
    return tuple(dict.fromkeys(found))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str | int | float]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(str(key), item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(name, item)
    elif name and isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value


def _is_told(value: str | float, text: str) -> bool:
    """Whether prose states a value; a short word counts as it is written alone (the name *Li*, not *no*)."""
    word = str(value)
    return (len(word) > _SHORT or (not word.islower() and word in text)) and states(value, text)


def _in_prose(text: str, labels: Labels) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Give each e-mail address, id, number and proper name of a text that its form or the words before it name."""
    names = [(name, shape(plain(str(value)))) for name, value in labels]
    vocabulary = _IDENTIFIERS.union(*(words_of(name) for name, _ in labels))
    for line in re.split(r"[\n;]|\.\s", text):
        for match in _VALUE.finditer(line):
            form = shape(plain(match[0]))
            called = [name for name, other in names if form and other == form]
            called += ["email"] if form == "@" else []
            called += _words_before(line[: match.start()], vocabulary)
            if called:
                yield called[0], match[0], tuple(called)


def _words_before(text: str, vocabulary: frozenset[str]) -> list[str]:
    """Give the closest words of the vocabulary before a value, with the word before where they say just *number*."""
    words = _LETTERS.findall(text)[-_BEFORE:]
    ends = [at + 1 for at, word in enumerate(words) if plain(word) in vocabulary]
    if not ends:
        return []
    start = ends[-1] - 1
    while start and plain(words[start - 1]) in vocabulary:
        start -= 1
    if start and all(plain(word) in _IDENTIFIERS for word in words[start : ends[-1]]):
        start -= 1
    return [" ".join(words[start : ends[-1]])]


def named(names: Iterable[str], text: str, synonyms: Mapping[str, Sequence[str]], *, loosely: bool = False) -> bool:
    """Whether `text` holds all words of one of `names`, close together, or their synonyms.

    `loosely` leaves out a last word such as `id`: *which order?* names `order_id`.
    """
    said = _tokens(text)
    for ways in (ways for name in names for ways in _ways(name, synonyms)):
        if _close(ways, said) or (loosely and ways and ways[-1] in _IDENTIFIERS and _close(ways[:-1], said)):
            return True
    return False


def _ways(name: str, synonyms: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Give every way to say a name: its own words, then with synonyms of the whole, or of each word."""
    words = words_of(name)
    yield words
    yield from (words_of(other) for other in synonyms.get(" ".join(words), ()))
    if len(words) > 1:
        for choice in product(*((word, *synonyms.get(word, ())) for word in words)):
            yield tuple(part for one in choice for part in words_of(one))


def words_of(name: str) -> tuple[str, ...]:
    """Split a name of a value, however it is spelled: `order_id`, `orderId`, `order id`."""
    found = tuple(_WORD.findall(plain(readable(name))))
    telling = tuple(word for word in found if len(word) > _SHORT)
    return telling if len(telling) > 1 else found


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(plain(text)))


def _close(words: Sequence[str], said: Sequence[str]) -> bool:
    """Whether all words are said within a few others, in any order."""
    places = [[at for at, token in enumerate(said) if _is_form(token, word)] for word in words]
    reach = len(words) - 1 + (_BETWEEN if len(words) > 1 else 0)
    return bool(places and all(places)) and any(
        all(any(abs(at - first) <= reach for at in others) for others in places[1:]) for first in places[0]
    )


def _is_form(token: str, word: str) -> bool:
    if token == word or not word.isascii():
        return word in token
    return (len(word) >= _INFLECTED and token.startswith(word)) or (len(word) >= _COMPOUND and word in token)
