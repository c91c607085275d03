"""What one natural language contributes to generated texts: verbs of descriptions, and the phrases that users say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Code = Literal["en", "fr"]


@dataclass(frozen=True, kw_only=True)
class Tongue:
    """One language.

    `verbs` are infinitives that descriptions begin with, `forms` maps other forms of them to what a user says,
    `leads` are patterns of openings that say nothing, `determiners` come before nouns. `wants` turns a description
    without a verb into a request. In phrases `{task}` is what is asked for, `{what}` a value's name.
    `ordinals` name the first places of a list, `nth` any other.
    """

    code: Code
    verbs: frozenset[str]
    forms: Mapping[str, str]
    leads: tuple[re.Pattern[str], ...]
    determiners: frozenset[str]
    wants: str
    boolean: re.Pattern[str]
    whether: str
    asks: tuple[str, ...]
    asks_again: tuple[str, ...]
    chain: str
    refers: str
    refers_first: str
    refers_nth: str
    refers_of: str
    refers_plainly: str
    tells: str
    ordinals: tuple[str, ...]
    nth: str
    yes: str
    no: str
    joined: str
    label: str
    answer: str
    answer_nothing: str
    step: str
    closings: tuple[str, ...]
    summary_one: str
    summary_many: str
    situation: str
    entities: str
    no_entities: str
    goal: str
    goal_entities: str
    manners: tuple[str, ...]
    known_name: str
    known_value: str
    forgotten: str
    abbreviations: Mapping[str, str]
    vague: frozenset[str]
    hedges: re.Pattern[str]
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]

    def ordinal(self, place: int) -> str:
        """Name a place of a list, counted from 0."""
        return self.ordinals[place] if place < len(self.ordinals) else self.nth.format(n=place + 1)
