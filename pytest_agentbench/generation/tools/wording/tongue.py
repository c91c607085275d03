"""What one natural language contributes to generated texts: verbs of descriptions, and the phrases that users say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Code = Literal["en", "fr"]

Person = Literal["user", "you", "third"]
"""Who a task is told of: by the user itself, to the user, of the user."""


@dataclass(frozen=True, kw_only=True)
class Tongue:
    """One language.

    `verbs` are infinitives that descriptions begin with, `forms` maps other forms of them to these, `gives` those that
    speak of what a tool answers to what a user says. `service` are the words in which a service speaks of itself and of
    its users, as a user says them; `persons` those in which a user speaks, as others say them. `leads` are patterns of
    openings that say nothing, `determiners` come before nouns, `singular` ones look like plurals. `wants` turns a
    description without a verb into a request, `questions` are the words that begin one. `follows` ask for what comes
    next. In phrases `{task}` is what is asked for, `{what}` a value's name. `ordinals` name the first places of a list,
    `nth` any other.

    The rest says how a value is woven into a task (`weaving.py`): `identifying` are words for what tells a thing from
    others, `of_noun` finds the thing in `number of a room`, `number_of_other` another one in it, by which `thing_by`
    names it, `amount` what is counted in `number of nights`, `mention` and `by_noun` are patterns of `{noun}` in a
    task, `position` one of coordinates. `articles` gives the definite and the demonstrative article for the one that
    was there, and `""` for where none was. `by_any` is what a search goes by, `one_found` the thing that it is for,
    `alternatives` a clause of which a user means one half. `asides` are labels and the sentence that says their value,
    where a task has no place for it; `is_value` and `are_values` say any other. `prepositions` are names of arguments
    that stand before their value (`from`), `features` what a value may be of a thing without telling it from others.
    `made` finds what a task makes, `called` names it, `one_thing` is what a task does something to, `towards` are verbs
    after which one of several stands behind `to`. `by_query` finds the search text of a task, `optional` what it may do
    without, `statement` a value that says something.

    What a description says beside a wish (`trimming.py`): `looks` are verbs of those that look things up, `condition`
    is a clause that tells which things a tool takes and `state` a word of one, `limit` how much it takes, `provided`
    when and what for, `means` by what that is known, `second` another verb with an object, `same_thing` an object that
    was named before, `optionally` what may be left out. `infinitive` is how one looks.

    `from_language` and `into_language` are words for the two sides of a translation, `some_languages` where a task
    speaks of both; `denial` begins values that would deny what is said of them.
    """

    code: Code
    verbs: frozenset[str]
    forms: Mapping[str, str]
    gives: Mapping[str, str]
    service: Mapping[str, str]
    persons: Mapping[Person, Mapping[str, str]]
    needless: re.Pattern[str]
    leads: tuple[re.Pattern[str], ...]
    determiners: frozenset[str]
    singular: frozenset[str]
    wants: str
    wants_one: str
    articles_of_one: frozenset[str]
    again: str
    conjoined: frozenset[str]
    boolean: re.Pattern[str]
    whether: str
    asks: tuple[str, ...]
    asks_again: tuple[str, ...]
    chain: str
    follows: tuple[str, ...]
    questions: frozenset[str]
    asks_question: str
    identifying: frozenset[str]
    joining: frozenset[str]
    prepositions: frozenset[str]
    features: frozenset[str]
    searching: frozenset[str]
    matching: str
    searches_several: re.Pattern[str]
    searches: re.Pattern[str]
    of_noun: re.Pattern[str]
    number_of_other: re.Pattern[str]
    thing_by: str
    amount: re.Pattern[str]
    relative: re.Pattern[str]
    listing: re.Pattern[str]
    people_words: frozenset[str]
    units: frozenset[str]
    marks: frozenset[str]
    some_thing: re.Pattern[str]
    makes: frozenset[str]
    called: str
    towards: frozenset[str]
    made: re.Pattern[str]
    one_thing: re.Pattern[str]
    by_query: re.Pattern[str]
    statement: re.Pattern[str]
    searches_in: re.Pattern[str]
    for_text: str
    looking: str
    some: str
    as_many: str
    mention: str
    by_noun: str
    by_any: re.Pattern[str]
    by_rest: re.Pattern[str]
    unsaid: re.Pattern[str]
    optional: re.Pattern[str]
    looks: frozenset[str]
    condition: re.Pattern[str]
    state: re.Pattern[str]
    limit: re.Pattern[str]
    provided: re.Pattern[str]
    means: re.Pattern[str]
    second: re.Pattern[str]
    same_thing: re.Pattern[str]
    optionally: re.Pattern[str]
    infinitive: re.Pattern[str]
    bare_plural: str
    one_found: re.Pattern[str]
    found: str
    some_date: re.Pattern[str]
    date_label: frozenset[str]
    on_date: str
    months: tuple[str, ...]
    first_day: str
    day_and_time: str
    definite: frozenset[str]
    alternatives: re.Pattern[str]
    longer: tuple[re.Pattern[str], str]
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
    asides: tuple[tuple[re.Pattern[str], str], ...]
    whether_aside: tuple[tuple[re.Pattern[str], str, str], ...]
    attributes: frozenset[str]
    with_that: str
    is_value: str
    are_values: str
    aside: str
    plural: re.Pattern[str]
    number_of: str
    code_of: str
    languages: Mapping[str, str]
    language_label: re.Pattern[str]
    in_language: str
    into_one: str
    from_into: str
    from_language: frozenset[str]
    into_language: frozenset[str]
    some_languages: re.Pattern[str]
    denial: re.Pattern[str]
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
