"""A judge without a model: reads what was said, the tool log and the state, and says what is wrong with it.

It never sees which situation a conversation is of, what was injected, or where it comes from. What it cannot tell it
does not guess: a conversation against which nothing is found is POS. Each reason names one of `SIGNS`.
"""

from collections.abc import Callable, Iterator

from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.calibration.signs import calls, figures, state, talk
from pytest_agentbench.calibration.signs.reading import Reading
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.rubric import Label

Sign = Callable[[Reading], Iterator[str]]

SIGNS: dict[str, Sign] = {
    "user-dissatisfied": talk.dissatisfied,
    "failure-untold": calls.failure_untold,
    "need-unmet": calls.need_unmet,
    "repeated-failure": calls.repeated_failure,
    "no-attempt": calls.no_attempt,
    "claim-without-call": calls.claim_without_call,
    "deed-without-write": calls.deed_without_write,
    "claim-without-answer": calls.claim_without_answer,
    "wrong-argument": calls.wrong_argument,
    "wasted-calls": calls.wasted,
    "invented-figure": figures.invented,
    "raw-output": talk.raw_output,
    "asked-again": talk.asked_again,
    "answer-about-another": state.about_another,
    "answer-of-another-day": state.another_day,
    "confirmed-otherwise": state.confirmed_otherwise,
    "answer-against-state": state.against_rows,
    "effect-missing": state.effect_missing,
}
"""What is looked for, by name."""

NAME = "deterministic"


class Sighting(Model):
    """Something found against a conversation."""

    sign: str
    message: str


class Opinion(Model):
    """A label with the reasons for it."""

    label: Label
    sightings: tuple[Sighting, ...] = ()


def judge(case: Case, *, without: frozenset[str] = frozenset()) -> Opinion:
    """Judge one conversation by every sign but those `without`; NEG where one is found."""
    reading = Reading(case)
    found = tuple(
        Sighting(sign=name, message=message)
        for name, sign in SIGNS.items()
        if name not in without
        for message in sign(reading)
    )
    return Opinion(label="NEG" if found else "POS", sightings=found)
