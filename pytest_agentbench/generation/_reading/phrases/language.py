"""What one natural language contributes to the scripted user: patterns it understands and phrases it says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Language:
    """Patterns (regular expressions, lower case, matched ignoring case) and phrases of one language.

    `kinds` maps a kind of value to the pattern of its names, most specific first; `nouns` maps the noun of an
    identifier ("order" in "order number") to its kind's stem. `labels` are how the user names a kind.
    """

    code: str
    stopwords: frozenset[str]
    kinds: Mapping[str, str]
    identifier: tuple[str, ...]
    nouns: Mapping[str, str]
    which: str
    which_one: str
    starts_open: str
    own_name: str
    requests: tuple[str, ...]
    wh_requests: tuple[str, ...]
    alternatives: tuple[str, ...]
    dropped: tuple[str, ...]
    back_reference: str
    forward_reference: str
    confirmations: tuple[str, ...]
    questions: tuple[str, ...]
    rhetorical: tuple[str, ...]
    completed: str
    anything: str
    addressed: str
    conditional: str
    extras: str
    closers: tuple[str, ...]
    offers_help: tuple[str, ...]
    handovers: tuple[str, ...]
    waits: tuple[str, ...]
    instructions: tuple[str, ...]
    answers: str
    agreements: str
    fillers: str
    negation: str
    unknown: str
    bounds: str
    methods: Mapping[str, str]
    months: tuple[str, ...]
    street: str
    option_split: str
    option_lead: str
    first_person: tuple[tuple[str, str], ...]
    labels: Mapping[str, str]
    say_value: str
    say_free_value: str
    say_unknown: str
    say_yes: str
    say_yes_value: str
    say_no: str
    say_no_extra: str
    say_choice: str
    say_wait: str
    say_closing: str
    join_or: str


def words(text: str) -> frozenset[str]:
    """Give the words of `text` as a set."""
    return frozenset(text.split())


def either(*patterns: str) -> re.Pattern[str]:
    """Compile alternatives, each bounded by non-word characters where it starts or ends with a word."""
    joined = "|".join(f"(?:{pattern})" for pattern in patterns if pattern)
    return re.compile(rf"(?<!\w)(?:{joined})(?:\b|(?<!\w))" if joined else r"(?!)", re.IGNORECASE)
