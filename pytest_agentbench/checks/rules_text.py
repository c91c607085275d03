"""Whether somebody said what a rule asks for."""

import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.checks.findings import WIDTH, value_text
from pytest_agentbench.checks.reckoning import NotThereError, UnreckonedError, is_reckoned
from pytest_agentbench.checks.rules import Speaker, Spoken
from pytest_agentbench.checks.rules_values import Facts
from pytest_agentbench.core.matchers import is_reference
from pytest_agentbench.core.moments import is_moment
from pytest_agentbench.core.patterns import Pattern, pattern
from pytest_agentbench.core.spoken import says, states
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue, is_number

_STRAIGHT = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "–": "-"})

_CENTS = 100


@dataclass(frozen=True)
class _Known:
    """Values that the run knows: a text says them where it states each, in any spelling that code can make of it.

    `rounded` says that they were reckoned: a number with more decimals is then stated in whole cents as well.
    """

    values: tuple[JsonValue, ...]
    locale: str
    rounded: bool = False

    def is_said(self, text: str) -> bool:
        """Whether a text states every value."""
        return all(any(self._states(way, text) for way in self._ways(one)) for one in self.values)

    def _ways(self, value: JsonValue) -> list[JsonValue]:
        if not self.rounded or not is_number(value):
            return [value]
        return [value, *(turn(value * _CENTS) / _CENTS for turn in (math.floor, math.ceil))]

    def _states(self, value: JsonValue, text: str) -> bool:
        return says(_worded(value), text) or states(value, text, self.locale)


def places(facts: Facts, speaker: Speaker, messages: range, most: int | None = None) -> list[int]:
    """Give the indices of messages in which a party speaks: those in `messages`, the first `most` of them."""
    return [index for index, _ in facts.run.transcript.texts(speaker) if index in messages][:most]


def find(facts: Facts, spoken: Spoken, messages: Iterable[int], subject: int | None) -> tuple[int, str] | None:
    """Give the first of these messages (indices) that says one of the texts, and the text as it is shown.

    Raise `NotThereError` where references of `spoken` lead to nothing, and `UnreckonedError` where no text was said of
    those that can be told.
    """
    wanted: list[str | _Known | Pattern] = []
    unreckoned: UnreckonedError | None = None
    for text in spoken.texts:
        try:
            wanted.append(_wanted(facts, text, subject))
        except UnreckonedError as error:
            unreckoned = error
    for index in messages:
        text = facts.run.transcript.messages[index].text
        for one in wanted:
            if _is_said(one, text):
                return index, shown_text(one)
    if unreckoned is not None:
        raise unreckoned
    return None


def described(facts: Facts, spoken: Spoken, subject: int | None) -> str:
    """Say in words what would have to be said; raise `NotThereError` where references lead to nothing."""
    return " or ".join(shown_text(_wanted(facts, text, subject)) for text in spoken.texts)


def shown_text(wanted: object) -> str:
    """Show a text as it stands, and a pattern between slashes."""
    if isinstance(wanted, Pattern):
        return f"/{printable(shorten(wanted.text, WIDTH))}/"
    if isinstance(wanted, _Known):
        return " and ".join(value_text(_worded(one)) for one in wanted.values)
    return value_text(wanted)


def _wanted(facts: Facts, text: Any, subject: int | None) -> str | _Known | Pattern:
    locale = facts.run.scenario.language or "en"
    if is_reference(text):
        found = tuple(_values(facts.referred(text, subject)))
        if not found:
            raise NotThereError
        return _Known(found, locale, rounded=is_reckoned(text))
    if is_moment(text):
        return _Known((facts.moment(text),), locale)
    return pattern(text["pattern"], ignore_case=True) if isinstance(text, dict) else _worded(text)


def _is_said(wanted: str | _Known | Pattern, text: str) -> bool:
    if isinstance(wanted, Pattern):
        straight = " ".join(unicodedata.normalize("NFKC", text.translate(_STRAIGHT)).split())
        return wanted.search(straight)
    return says(wanted, text) if isinstance(wanted, str) else wanted.is_said(text)


def _values(value: JsonValue) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _values(item)
    elif value is not None and str(value).strip():
        yield value


def _worded(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
