"""What is wrong with a line: a value that it must state is missing, one is from nowhere, it names a tool or a policy.

Values are looked for, never read: the spellings of what is known are generated (`core/spoken.py`), and what looks like
a value (digits, an address, an identifier, a quotation) must be one of them or stand in an answer given before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_agentbench.core.json_values import JsonValue, decoded, is_number, same
from pytest_agentbench.core.spoken import counts, numbers_in_words, plain, says, states
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.draft import Draft, Reference, Stated, Turn
from pytest_agentbench.generation.language.plain import words_of
from pytest_agentbench.generation.tools.labels import is_identifier

_TOKEN = re.compile(
    r"(?:[^\W\d_]|[#€$£%+-])*+[\d@_](?:(?:[.,:/@#+-]*+\w)++(?:[.,:/@#+-]*+[%€$£])?|[.,:/@#+-]*+[%€$£])|\d"
)
"""What looks like a value: it has a digit, an `@` or a `_` in it. Nothing is gone back over, so a line of 2,000 `@` is
read as fast as any."""
_IN_MOMENT = re.compile(r"(?<=\d{4}-\d{2}-\d{2})[Tt](?=\d{2}:\d{2})")
"""What joins a date and a time, each of which is a value by itself."""
_QUOTED = re.compile(r"[\"“«„]\s?([^\"“”«»„]{1,120}?)\s?[\"”»“]")
_IDENTIFIER = re.compile(r"[_\d]|(?<=[a-z])[A-Z]|-")
_DATED = re.compile(r"(?<!\d)(?:\d{4}-\d{2}-\d{2}|\d{2}:\d{2})(?!\d)")
_MOST_DATES = 200
"""Dates and times of earlier answers that a line may say in its own way (*the one of 14 May*)."""
_EDGES = ".,:;!?()[]"
_LONGEST = 2_000
_LEAST = 100
"""Smaller numbers are equal by chance."""
_CODED = 4
"""Characters of a code, with a figure in it, that names one thing."""
_TELLING = 80
"""Characters up to which a person says what tells a thing apart."""
_POLICY_WORDS = 8
"""Words in a row of a policy's text that a user would not say by chance."""


def line_faults(line: str, turn: Turn, draft: Draft, *, policies: Sequence[str] = ()) -> list[str]:
    """Say what is wrong with the line of a turn of a draft; `policies` are texts that no user knows. [] is fine."""
    if not line.strip():
        return ["the line is empty"]
    if len(line) > _LONGEST:
        return [f"the line has {len(line)} characters; at most {_LONGEST} are read"]
    missing = [
        f"the line does not state {one.label} {printable(repr(value))}"
        for one in unsaid(draft, turn)
        for value in scalars_of(one.value)
        if not stated(value, line, draft.language, unit=one.label)
    ]
    return [*missing, *_from_nowhere(line, turn, draft), *_tools(line, draft), *_policy_text(line, policies)]


def unsaid(draft: Draft, turn: Turn) -> list[Stated]:
    """Give what a line must state: all but the own numbers, and codes of things, that an earlier line states already.

    Nobody gives the own number twice. *L-14* after *L-14* and *L-20* must say which; *3 weeks* may be another thing's.
    """
    said: dict[str, list[JsonValue]] = {}
    for earlier in draft.turns:
        if earlier is turn:
            break
        for one in earlier.states:
            said.setdefault(one.label, []).append(one.value)
    own = [*draft.owner.facts.values(), draft.owner.key]
    once = {(one.label, str(one.value)): one for one in reversed(turn.states)}

    def is_known(one: Stated) -> bool:
        values = [*said.get(one.label, ()), *(other.value for other in turn.states if other.label == one.label)]
        is_code = isinstance(one.value, str) and len(one.value) >= _CODED and any(map(str.isdigit, one.value))
        return one.label in said and all(value == one.value for value in values) and (is_code or one.value in own)

    return [one for one in turn.states if once[one.label, str(one.value)] is one and not is_known(one)]


def _from_nowhere(line: str, turn: Turn, draft: Draft) -> Iterator[str]:
    """Name each figure, code or quotation that no stated value and no earlier answer has."""
    known = _Known(turn, draft)
    counted = {str(count) for one in turn.references for count in (one.position + 1, one.count)}
    for token in dict.fromkeys(found.strip(_EDGES) for found in _TOKEN.findall(line)):
        parts = [token, *re.split(r"[,;/]", token)]
        if token and token not in counted and not any(known.has(part, line) for part in parts):
            yield f"the line states {printable(token)!r}, which is no value of this turn"
    for quoted in _QUOTED.findall(line):
        if not any(plain(quoted) in text for text in known.texts):
            yield f"the line quotes {printable(quoted)!r}, which is no value of this turn"
    several = len(turn.calls) + len(turn.refused) + len(turn.states) + len(turn.wanted)
    for number in sorted(numbers_in_words(line, draft.language)):
        is_value = any(isinstance(value, int) and value == number for value in known.values)
        if number > several and str(number) not in counted and not is_value and not known.stands(str(number)):
            yield f"the line states {number} in words, which is no value of this turn"


def telling(draft: Draft, one: Reference) -> dict[str, str]:
    """Give what only the entry that a reference points at has in its list, as people know it: `{first name: Ada}`."""
    return told_apart(decoded(draft.calls[one.source].answer), one) if one.source < len(draft.calls) else {}


def own_value(draft: Draft, one: Reference) -> tuple[str, JsonValue] | None:
    """Give the value that a reference points at, with its name, where the user says or knows it anyway: its number."""
    if one.source >= len(draft.calls):
        return None
    value: JsonValue = decoded(draft.calls[one.source].answer)
    for part in one.path.split("."):
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    is_telling = isinstance(value, str) or (is_number(value) and value >= _LEAST)
    return next((pair for pair in draft.known.items() if is_telling and same(pair[1], value)), None)


def told_apart(value: JsonValue, one: Reference) -> dict[str, str]:
    """Give what only the entry that a reference points at has in its list, of the answer that it stands in."""
    for part in one.path.split("."):
        if isinstance(value, list) and len(value) == one.count and part == str(one.position):
            rows = [row if isinstance(row, Mapping) else {} for row in value]
            return {
                words_of(name): item
                for name, item in rows[one.position].items()
                if isinstance(item, str) and 0 < len(item) <= _TELLING and not re.search(r"[\d_]", item)
                if not is_identifier(name)
                if sum(row.get(name) == item for row in rows) == 1
            }
        value = value.get(part) if isinstance(value, Mapping) else None
    return {}


@dataclass
class _Known:
    """The values that may be in a line, and texts in which its codes and figures may stand."""

    turn: Turn
    draft: Draft

    def __post_init__(self) -> None:
        turn, turns = self.turn, self.draft.turns
        at = next(place for place, one in enumerate(turns) if one is turn)
        answers = [plain(call.answer) for earlier in turns[:at] for call in earlier.calls]
        dates = dict.fromkeys(found for text in answers for found in _DATED.findall(text))
        self.values: list[JsonValue] = [
            *(value for one in turns[: at + 1] for said in one.states for value in scalars_of(said.value)),
            *(value for one in turns[: at + 1] for value in one.about),
            *(value for one in turns[: at + 1] for of in one.references for value in telling(self.draft, of).values()),
            *(own[1] for one in turns[: at + 1] for of in one.references if (own := own_value(self.draft, of))),
            *list(dates)[:_MOST_DATES],
        ]
        labels = [one.label for one in (*turn.states, *turn.references, *turn.wanted)]
        names = [words_of(call.call.name) for call in self.draft.calls]
        self.texts = [*answers, *(plain(str(value)) for value in self.values), *names, *map(plain, labels)]

    def stands(self, token: str) -> bool:
        """Whether a token stands in a text as a whole."""
        return any(stands_in(token, text, self.draft.language) for text in self.texts)

    def has(self, token: str, line: str) -> bool:
        """Whether a token is a value, or a part of one that the line states in words (`14` of *14 May*)."""
        wanted = plain(token)
        return (
            not wanted
            or self.stands(token)
            or any(
                isinstance(value, str | int | float)
                and not isinstance(value, bool)
                and states(value, line, self.draft.language)
                and _shares(wanted, str(value))
                for value in self.values
            )
        )


def _shares(token: str, value: str) -> bool:
    """Whether the figures of a token stand in a value (`14` in `2026-05-14`, `3pm` in `15:00`)."""
    figures = [one.lstrip("0") or "0" for one in re.findall(r"\d+", token)]
    own = {one.lstrip("0") or "0" for one in re.findall(r"\d+", value)}
    own |= {str(int(one) - 12) for one in own if len(one) == 2 and 12 < int(one) < 24}
    own |= {one[-2:] for one in own if len(one) == 4}
    return bool(figures) and all(one in own for one in figures)


def _tools(line: str, draft: Draft) -> Iterator[str]:
    names = dict.fromkeys(call.call.name for turn in draft.turns for call in (*turn.calls, *turn.refused))
    for name in names:
        if _IDENTIFIER.search(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line):
            yield f"the line names the tool {name!r}; a user knows no tools"


def _policy_text(line: str, policies: Sequence[str]) -> Iterator[str]:
    rows = set(_rows_of_words(line))
    for text in policies if rows else ():
        if shared := next((row for row in _rows_of_words(text) if row in rows), None):
            yield f"the line repeats a policy ({shorten(printable(' '.join(shared)), 80)!r}); a user knows none"


def _rows_of_words(text: str) -> Iterator[tuple[str, ...]]:
    words = plain(text).split()
    return (tuple(words[at : at + _POLICY_WORDS]) for at in range(len(words) - _POLICY_WORDS + 1))


def stated(value: JsonValue, line: str, language: str = "en", *, unit: str = "") -> bool:
    """Whether a line states a value; true, false and nothing are not looked for. `unit` is what the value counts."""
    if value is None or isinstance(value, bool) or not str(value).strip():
        return True
    return states(value, line, language) or says(str(value), line) or counts(value, unit, line, language)


def stands_in(value: JsonValue, text: str, language: str = "en") -> bool:
    """Whether a value stands in a text as a whole: 7 does in `7 days`, and neither in `2021-03-17` nor in `W7`."""
    return states(value, _IN_MOMENT.sub(" ", text), language)


def scalars_of(value: JsonValue) -> list[JsonValue]:
    """Give the plain values inside a value."""
    if isinstance(value, Mapping | list):
        return [one for item in (value.values() if isinstance(value, Mapping) else value) for one in scalars_of(item)]
    return [value]
