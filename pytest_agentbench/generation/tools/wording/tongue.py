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
    without a verb into a request, `questions` are the words that begin one. In phrases `{task}` is what is asked for,
    `{what}` a value's name. `ordinals` name the first places of a list, `nth` any other.

    The rest says how a value is woven into a task (`weaving.py`): `identifying` are words for what tells a thing from
    others, `of_noun` finds the thing in `number of a room`, `amount` what is counted in `number of nights`, `mention`
    and `by_noun` are patterns of `{noun}` in a task, `position` one of coordinates. `articles` gives the definite and
    the demonstrative article for the one that was there, and `""` for where none was.
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
    questions: frozenset[str]
    asks_question: str
    identifying: frozenset[str]
    joining: frozenset[str]
    searching: frozenset[str]
    matching: str
    searches_several: re.Pattern[str]
    searches: re.Pattern[str]
    of_noun: re.Pattern[str]
    amount: re.Pattern[str]
    some: str
    as_many: str
    mention: str
    by_noun: str
    by_identity: re.Pattern[str]
    or_else: re.Pattern[str]
    articles: Mapping[str, tuple[str, str]]
    contractions: tuple[tuple[re.Pattern[str], str], ...]
    position: re.Pattern[str]
    position_words: frozenset[str]
    in_place: str
    at_place: str
    there: str
    there_of: str
    for_value: str
    for_that: str
    for_its: str
    for_it: str
    for_nth: str
    nth_noun: str
    noun_of_nth: str
    noun_of_both: str
    by_value: str
    aside: str
    languages: Mapping[str, str]
    language_label: re.Pattern[str]
    in_language: str
    tells: str
    of_thing: str
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
