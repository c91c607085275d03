"""Whether somebody said what a rule asks for."""

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from pytest_agentbench.checks.rules import Speaker, Spoken
from pytest_agentbench.checks.rules_values import Facts
from pytest_agentbench.checks.wording import WIDTH, value_text
from pytest_agentbench.core.matchers import is_reference
from pytest_agentbench.core.moments import is_moment
from pytest_agentbench.core.patterns import Pattern, pattern
from pytest_agentbench.core.spoken import says
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue

_STRAIGHT = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "–": "-"})


def places(facts: Facts, speaker: Speaker, messages: range, most: int | None = None) -> list[int]:
    """Give the indices of messages in which a party speaks: those in `messages`, the first `most` of them."""
    return [index for index, _ in facts.run.transcript.texts(speaker) if index in messages][:most]


def find(facts: Facts, spoken: Spoken, messages: Iterable[int], subject: int | None) -> tuple[int, str] | None:
    """Give the first of these messages (indices) that says one of the texts, and the text as it is shown.

    Raise `NotThereError` where references of `spoken` lead to nothing.
    """
    wanted = list(_wanted(facts, spoken, subject))
    for index in messages:
        text = facts.run.transcript.messages[index].text
        for one in wanted:
            if _is_said(one, text):
                return index, shown_text(one)
    return None


def described(facts: Facts, spoken: Spoken, subject: int | None) -> str:
    """Say in words what would have to be said; raise `NotThereError` where references lead to nothing."""
    return " or ".join(map(shown_text, _wanted(facts, spoken, subject)))


def shown_text(wanted: object) -> str:
    """Show a text as it stands, and a pattern between slashes."""
    if isinstance(wanted, Pattern):
        return f"/{printable(shorten(wanted.text, WIDTH))}/"
    return " and ".join(map(value_text, wanted)) if isinstance(wanted, list) else value_text(wanted)


def _wanted(facts: Facts, spoken: Spoken, subject: int | None) -> Iterator[str | list[str] | Pattern]:
    for text in spoken.texts:
        if is_reference(text):
            yield [_worded(one) for one in _leaves(facts.referred(text, subject))]
        elif is_moment(text):
            yield facts.moment(text)
        elif isinstance(text, dict):
            yield pattern(text["pattern"], ignore_case=True)
        else:
            yield _worded(text)


def _is_said(wanted: str | list[str] | Pattern, text: str) -> bool:
    if isinstance(wanted, Pattern):
        straight = " ".join(unicodedata.normalize("NFKC", text.translate(_STRAIGHT)).split())
        return wanted.search(straight)
    return all(says(one, text) for one in ([wanted] if isinstance(wanted, str) else wanted))


def _leaves(value: JsonValue) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif value is not None:
        yield value


def _worded(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
