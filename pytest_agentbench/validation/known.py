"""What a party of a scenario knows, and where from: texts to look values up in, values with their keys, numbers."""

import re
from collections.abc import Iterator, Mapping

from pytest_agentbench.core.scenario import Instructions, Scenario
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.known_info import known_values
from pytest_agentbench.validation.values import Scalar, scalars

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")
_CODE = re.compile(r"[#\w.+-]*[\d@_][\w.+@-]*\w")
_LONGEST_VALUE = 100
_WORD = re.compile(r"[\w@.+'-]*\w")


class Known:
    """Texts and values, each with the place it comes from; values are compared in `core.spoken.plain` form."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []
        self.raw: list[tuple[str, str]] = []
        self.values: list[tuple[str, str, Scalar]] = []
        self.numbers: dict[float, str] = {}
        self._words: list[tuple[str, frozenset[str]]] = []
        self._every: set[str] = set()
        self._seen: set[str] = set()

    def add(self, place: str, value: JsonValue, key: str = "") -> None:
        """Take in a text or a JSON value; the same from another place adds nothing. `key` is that of a bare value."""
        for name, item in scalars(value, key):
            text = plain(str(item))
            if not text or (mark := f"{name}\n{text}") in self._seen:
                continue
            self._seen.add(mark)
            self.values.append((place, name, item))
            self.texts.append((place, text))
            self.raw.append((place, str(item)))
            self._words.append((place, words(text)))
            self._every |= self._words[-1][1]
            for number in _NUMBER.findall(text):
                self.numbers.setdefault(float(number), place)

    def place_of(self, text: str) -> str | None:
        """Give the first place that says a text: as a whole, not inside a longer word or number."""
        wanted = plain(text)
        if not wanted:
            return None
        literal = re.escape(wanted)
        pattern = re.compile(rf"(?<!\w){literal}(?!\w)(?!\.\d)" if wanted[0].isalnum() else literal)
        for place, said in self.texts:
            if wanted in said and pattern.search(said):
                return place
        return None

    def place_of_words(self, wanted: frozenset[str]) -> str | None:
        """Give the first place that says all words, in any order."""
        return next((place for place, said in self._words if wanted <= said), None)

    def says(self, value: Scalar) -> bool:
        """Whether some text says the value."""
        text = str(value)
        return words(plain(text)) <= self._every and self.place_of(text) is not None

    def under(self, key: str) -> Iterator[Scalar]:
        """Give the values that stand under a key."""
        return (value for _, name, value in self.values if name == key)

    def named_like(self, name: str) -> Iterator[Scalar]:
        """Give the values whose key says all words of `name`, such as `first name` for `first_name`."""
        wanted = words(name.replace("_", " ").lower())
        for _, key, value in self.values:
            if key and wanted and len(str(value)) <= _LONGEST_VALUE and wanted <= words(plain(key)):
                yield value

    def codes(self) -> Iterator[str]:
        """Give the words that look like ids or addresses: with a digit, an `@` or a `_` in them."""
        return (token for _, text in self.raw for token in _CODE.findall(text))

    @property
    def places(self) -> tuple[str, ...]:
        """The places looked in, each once."""
        return tuple(dict.fromkeys(place for place, _ in self.texts))


def words(text: str) -> frozenset[str]:
    """Give the words of a text in plain form; `_` and `#` part or open words."""
    return frozenset(_WORD.findall(text.replace("_", " ").replace("#", " ").replace("/", " ")))


def of_user(scenario: Scenario) -> Known:
    """Give what the simulated user says or knows: lines, known values, goal, known info, instructions, persona."""
    known = Known()
    for number, line in enumerate(scenario.lines, start=1):
        known.add(f"line {number}", line)
    known.add("knows", scenario.knows)
    for place, text in _told(scenario):
        known.add(place, text)
    for value, names in known_values(scenario, Toolset()):
        for name in names:
            known.add("known_info", value, name)
    initial = scenario.task.initial_state
    for message in (initial.message_history or ()) if initial else ():
        known.add("the history", message.get("content"))
    return known


def _told(scenario: Scenario) -> Iterator[tuple[str, str]]:
    story = scenario.task.user_scenario
    told = story.instructions if story else None
    if isinstance(told, Instructions):
        extra: Mapping[str, JsonValue] = told.model_extra or {}
        yield "goal", told.reason_for_call or ""
        yield "known_info", told.known_info or ""
        yield "task_instructions", told.task_instructions or ""
        yield from ((str(name), str(text)) for name, text in extra.items() if isinstance(text, str))
    elif told:
        yield "goal", told
    yield "persona", (story.persona if story else None) or ""
    yield "ticket", scenario.task.ticket or ""
