"""What is wrong with a line: a value that it must state is missing, one is from nowhere, it names a tool or a policy.

Values are looked for, never read: the spellings of what is known are generated (`core/spoken.py`), and what looks like
a value (digits, an address, an identifier, a quotation) must be one of them or stand in an answer given before.
"""

import re
from collections.abc import Iterator, Sequence

from pytest_agentbench.core.spoken import numbers_in_words, plain, says, states
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Draft, Turn
from pytest_agentbench.generation.language.plain import words_of

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
_POLICY_WORDS = 8
"""Words in a row of a policy's text that a user would not say by chance."""


def line_faults(line: str, turn: Turn, draft: Draft, *, policies: Sequence[str] = ()) -> list[str]:
    """Say what is wrong with the line of a turn of a draft; `policies` are texts that no user knows. [] is fine."""
    if not line.strip():
        return ["the line is empty"]
    if len(line) > _LONGEST:
        return [f"the line has {len(line)} characters; at most {_LONGEST} are read"]
    return [
        *_unstated(line, turn, draft.language),
        *_from_nowhere(line, turn, draft),
        *_tools(line, draft),
        *_policy_text(line, policies),
    ]


def _unstated(line: str, turn: Turn, language: str) -> Iterator[str]:
    for one in turn.states:
        for value in scalars_of(one.value):
            if not stated(value, line, language):
                yield f"the line does not state {one.label} {printable(repr(value))}"


def _from_nowhere(line: str, turn: Turn, draft: Draft) -> Iterator[str]:
    """Name each figure, code or quotation that no stated value and no earlier answer has."""
    known, texts = _known(turn, draft)
    language = draft.language
    counted = {str(one.position + 1) for one in turn.references} | {str(one.count) for one in turn.references}
    for token in dict.fromkeys(found.strip(_EDGES) for found in _TOKEN.findall(line)):
        spelt = [token, *re.split(r"[,;/]", token)]
        if token and token not in counted and not any(_is_known(one, line, known, texts, language) for one in spelt):
            yield f"the line states {printable(token)!r}, which is no value of this turn"
    for quoted in _QUOTED.findall(line):
        if not any(plain(quoted) in text for text in texts):
            yield f"the line quotes {printable(quoted)!r}, which is no value of this turn"
    numbers = {value for value in known if isinstance(value, int)}
    several = len(turn.calls) + len(turn.refused) + len(turn.states) + len(turn.wanted)
    for number in sorted(numbers_in_words(line, language)):
        spelt_number = number in numbers or any(stands_in(str(number), text, language) for text in texts)
        if number > several and str(number) not in counted and not spelt_number:
            yield f"the line states {number} in words, which is no value of this turn"


def _known(turn: Turn, draft: Draft) -> tuple[list[JsonValue], list[str]]:
    """Give the values that may be in the line, and texts in which its codes and figures may stand."""
    at = next((place for place, one in enumerate(draft.turns) if one is turn), draft.turns.index(turn))
    known: list[JsonValue] = []
    texts: list[str] = []
    for one in draft.turns[: at + 1]:
        for stated_ in one.states:
            known += scalars_of(stated_.value)
        known += one.about
    for earlier in draft.turns[:at]:
        texts += [plain(call.answer) for call in earlier.calls]
    known += list(dict.fromkeys(found for text in texts for found in _DATED.findall(text)))[:_MOST_DATES]
    texts += [plain(str(value)) for value in known]
    texts += [words_of(call.call.name) for call in draft.calls]
    labels = [one.label for one in turn.states] + [one.label for one in turn.references]
    texts += map(plain, [*labels, *(one.label for one in turn.wanted)])
    return known, texts


def _is_known(token: str, line: str, known: Sequence[JsonValue], texts: Sequence[str], language: str) -> bool:
    wanted = plain(token)
    if not wanted or any(stands_in(token, text, language) for text in texts):
        return True
    # a date in words has its day in figures: the value is stated, and its parts are no values of their own
    return any(
        isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and states(value, line, language)
        and _shares(wanted, str(value))
        for value in known
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
    said = plain(line).split()
    runs = {tuple(said[at : at + _POLICY_WORDS]) for at in range(len(said) - _POLICY_WORDS + 1)}
    for text in policies if runs else ():
        words = plain(text).split()
        shared = next(
            (
                words[at : at + _POLICY_WORDS]
                for at in range(len(words))
                if tuple(words[at : at + _POLICY_WORDS]) in runs
            ),
            None,
        )
        if shared:
            yield f"the line repeats a policy ({shorten(printable(' '.join(shared)), 80)!r}); a user knows none"


def stated(value: JsonValue, line: str, language: str = "en") -> bool:
    """Whether a line states a value; true, false and nothing are not looked for."""
    if value is None or isinstance(value, bool) or not str(value).strip():
        return True
    return states(value, line, language) or says(str(value), line)


def stands_in(value: JsonValue, text: str, language: str = "en") -> bool:
    """Whether a value stands in a text as a whole: 7 does in `7 days`, and neither in `2021-03-17` nor in `W7`."""
    return states(value, _IN_MOMENT.sub(" ", text), language)


def scalars_of(value: JsonValue) -> list[JsonValue]:
    """Give the plain values inside a value."""
    if isinstance(value, dict):
        return [one for item in value.values() for one in scalars_of(item)]
    if isinstance(value, list):
        return [one for item in value for one in scalars_of(item)]
    return [value]
