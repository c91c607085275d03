"""A judge without a model: reads what was said, the tool log and the state, and says what is wrong with it.

It never sees which situation a conversation is of, what was injected, or where it comes from. What it cannot tell it
does not guess: a conversation against which nothing is found is POS. Each reason names one of `SIGNS`.
"""

from collections.abc import Callable, Iterator

from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.calibration.signs import arguments, calls, choices, claims, figures, state, talk, waste
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
    "done-twice": calls.done_twice,
    "claim-without-call": claims.claim_without_call,
    "claim-after-failure": claims.claim_after_failure,
    "deed-without-write": claims.deed_without_write,
    "deed-of-another-kind": claims.deed_of_another_kind,
    "part-left-undone": claims.part_left_undone,
    "promise-unkept": claims.promise_unkept,
    "claim-without-answer": claims.claim_without_answer,
    "wrong-argument": arguments.wrong_argument,
    "value-left-out": arguments.left_out,
    "another-choice": choices.another_choice,
    "wasted-calls": waste.wasted,
    "invented-figure": figures.invented,
    "invented-name": figures.invented_name,
    "part-for-the-whole": choices.part_for_the_whole,
    "raw-output": talk.raw_output,
    "nothing-said": talk.nothing_said,
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
