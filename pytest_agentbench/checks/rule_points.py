"""The points of a conversation that rules are judged at: what occurred there, what was said, what the state held.

The state is known as long as every write before the point was observed: the environment kept it after each of them. It
is the initial state where there was none, and the final one where nothing was written from the point on.
"""

import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pytest_agentbench.checks.calls import handoffs_of
from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.checks.findings import WIDTH, call_text, value_text
from pytest_agentbench.checks.matchers import Doubt
from pytest_agentbench.checks.rule_arguments import NotThereError, RuleFacts, UnreckonedError, is_reckoned
from pytest_agentbench.checks.rules import Described, InState, Speech
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.json_values import JsonValue, is_number
from pytest_agentbench.core.matchers import is_matcher, is_reference
from pytest_agentbench.core.moments import is_moment
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.patterns import pattern
from pytest_agentbench.core.spoken import says, states
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Requestor


@dataclass(frozen=True)
class Point:
    """A place in a conversation: the last message before it, and the call (its position) where it is one.

    `subject` is the call that references lead to, `around` that of the rule around it, `what` names the point in
    messages (nothing at the beginning). `set_off` says that a trigger led here, `handoff` is the handoff (its position)
    where it is one, just before the message. `doubt` says why nobody can tell whether the rule is about it.
    """

    message: int = -1
    call: int | None = None
    subject: int | None = None
    what: str = ""
    set_off: bool = False
    handoff: int | None = None
    doubt: Doubt | None = None
    around: int | None = None

    @property
    def place(self) -> tuple[int, int | None, int | None]:
        """What tells points apart."""
        return self.message, self.call, self.handoff


@dataclass(frozen=True)
class Judged:
    """A point where a rule was set off; `why` says what was found there, `message` where it shows.

    `kept` None: not measured, and `cure` names what to add.
    `is_open` tells that what had come later could still have changed it: nothing that was missing is proven so far,
    `is_unsure` that not even the trigger is known to have occurred.
    """

    point: Point
    kept: bool | None
    why: str
    message: int | None = None
    is_open: bool = False
    cure: str = ""
    is_unsure: bool = False


def unknown(point: Point, doubt: Doubt, *, is_unsure: bool = False) -> Judged:
    """Say that nobody can tell what there is at a point."""
    return Judged(point, None, doubt.why, cure=doubt.cure, is_unsure=is_unsure)


def occasions(about: Described | Speech | ExpectedHandoff | None, point: Point, facts: RuleFacts) -> Iterator[Point]:
    """Give what occurs after a point that a rule is about, or, in doubt, may be about; None is the beginning."""
    if about is None:
        if facts.run.transcript.texts("assistant") or facts.calls:
            yield replace(point, set_off=True)
    elif isinstance(about, Described):
        for place in after(point, facts):
            fits = not facts.calls[place].rejected and facts.fits(about, place, point.subject)
            if fits is not False:
                yield at_call(place, point, facts, fits if isinstance(fits, Doubt) else None)
    elif isinstance(about, ExpectedHandoff):
        events = handoffs_of(facts.run)
        for number in handoffs_after(point, facts):
            index, event = events[number]
            if about.fits(event):
                yield Point(index, None, point.subject, printable(str(event)), set_off=True, handoff=number)
    else:
        yield from _words(about, point, facts)


def after(point: Point, facts: RuleFacts) -> Iterator[int]:
    """Give the calls (their positions) after a point."""
    for place, record in enumerate(facts.calls):
        if place > point.call if point.call is not None else record.message >= point.message:
            yield place


def handoffs_after(point: Point, facts: RuleFacts) -> list[int]:
    """Give the handoffs (their positions) after a point; each came just before the message that holds it."""
    if point.handoff is not None:
        return list(range(point.handoff + 1, len(handoffs_of(facts.run))))
    return [number for number, (index, _) in enumerate(handoffs_of(facts.run)) if index > point.message]


def at_call(place: int, point: Point, facts: RuleFacts, doubt: Doubt | None = None) -> Point:
    """Give the point that a call is, after another one."""
    record = facts.calls[place]
    what = call_text(record.call.name, record.call.arguments)
    return Point(record.message, place, place, what, set_off=True, doubt=doubt, around=point.subject)


def _words(trigger: Speech, point: Point, facts: RuleFacts) -> Iterator[Point]:
    party = "the user" if trigger.speaker == "user" else "the agent"
    for index, _ in facts.run.transcript.texts(trigger.speaker):
        try:
            found = find(facts, trigger.texts, [index], point.subject)
        except NotThereError:
            continue
        if found is not None and index >= point.message:
            doubt = found if isinstance(found, Doubt) else None
            what = f"{party} spoke" if isinstance(found, Doubt) else f"{party} said {found[1]}"
            yield Point(index, None, point.subject, what, set_off=True, doubt=doubt)


_SAY_WHICH = "name in `at` an argument that each of these calls has"
_KNOWN_WHERE = (
    "the state is known where `environment.state` can be read between calls and writes do not overlap; declare tools "
    "that only read under `reads`"
)


def judge_state(rule: InState, point: Point, facts: RuleFacts) -> Judged:
    """Hold the state before a call, else before a message, against what a rule asks for."""
    try:
        steps = [_key(facts.referred(step, point.subject) if is_reference(step) else step) for step in rule.at]
    except NotThereError:
        return unknown(point, Doubt("the call does not say which part of the state it is about", _SAY_WHICH))
    place = ".".join(map(printable, steps))
    found: JsonValue = _state_before(point, facts)
    if found is None:
        return unknown(point, Doubt(f"what {place} was then is not known", _KNOWN_WHERE))
    for depth, (step, written) in enumerate(zip(steps, rule.at, strict=True)):
        inner = _at(found, step)
        if inner is _NOTHING:
            cure = "" if is_reference(written) else _meant(step, found)
            above = ".".join(map(printable, steps[:depth])) or "the state"
            if cure:
                return unknown(point, Doubt(f"{above} has no {step!r}", cure))
            return Judged(point, False, f"while there was no {place}")
        found = inner
    named = rule.value if isinstance(rule.value, Mapping) and not is_matcher(rule.value) else {}
    if named and isinstance(found, dict):
        for key in (key for key in named if key not in found):
            # a key that differs in a letter or two from one that is there: nobody could ever have it
            if near := suggestion(key, set(found) - set(named)):
                return unknown(point, Doubt(f"{place} has no {key!r}", near))
    shown = (isinstance(found, dict) and {key: found[key] for key in named if key in found}) or found
    holds = facts.holds(rule.value, found, point.subject)
    if isinstance(holds, Doubt):
        return unknown(point, holds)
    wanted = "" if holds else f", not {facts.shown(rule.value)}"
    return Judged(point, holds, f"while {place} was {value_text(shown)}{wanted}")


_NOTHING: Any = object()


def _state_before(point: Point, facts: RuleFacts) -> State | None:
    run = facts.run
    records = run.made
    if point.call is not None:
        start = next((at for at, record in enumerate(records) if record is facts.calls[point.call]), None)
    else:
        start = next((at for at, record in enumerate(records) if record.message >= point.message), len(records))
    if start is None:  # a call of the conversation that the scenario begins with
        return None
    observed = [record.result is not None and record.result.wrote is True for record in records]
    quiet = [wrote(record, run.toolset) is False for record in records]
    if all(quiet[start:]) and run.final_state is not None:
        return run.final_state
    if not all(silent or seen for silent, seen in zip(quiet[:start], observed[:start], strict=True)):
        return None
    writes = sum(observed[:start])
    if not writes:
        return run.initial_state
    return run.states[writes - 1] if len(run.states) == sum(observed) else None


def _at(value: JsonValue, step: str) -> JsonValue:
    if isinstance(value, dict):
        return value.get(step, _NOTHING)
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return _NOTHING


def _key(step: JsonValue) -> str:
    return str(int(step) if isinstance(step, float) and step.is_integer() else step)


def _meant(name: str, found: JsonValue) -> str:
    """Say what a name of the suite's own was to be that is not there, or nothing where it is like none that is."""
    if not isinstance(found, dict):
        return ""
    parts = name.split(".")
    if parts[0] in found and len(parts) > 1:
        return f"write each key by itself: [{', '.join(parts)}]"
    return suggestion(name, found)


_STRAIGHT = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "–": "-"})

_CENTS = 100

_FIGURES = "have the agent say it in figures, or ask a judge about it in a rubric"


@dataclass(frozen=True)
class _Wanted:
    """What is to be said, as it is shown; `may_be_said` tells that a text may say it in words that code cannot read."""

    shown: str
    is_said: Callable[[str], bool]
    may_be_said: Callable[[str], bool] = lambda _: False


def _stated(values: Sequence[JsonValue], locale: str, *, are_reckoned: bool = False) -> _Wanted:
    """Want values that the run knows: a text says them where it states each, in any spelling that code can make of it.

    A reckoned number with more decimals is stated in whole cents as well. Zero is said in many words: *nothing to pay*.
    """

    def ways(value: JsonValue) -> list[JsonValue]:
        cents = [turn(value * _CENTS) / _CENTS for turn in (math.floor, math.ceil)] if is_number(value) else []
        return [value, *(cents if are_reckoned else ())]

    def are_said(wanted: Sequence[JsonValue], text: str) -> bool:
        return all(any(says(_worded(way), text) or states(way, text, locale) for way in ways(one)) for one in wanted)

    shown = " and ".join(value_text(_worded(one)) for one in values)
    others = [one for one in values if not _is_zero(one)]
    if len(others) == len(values):
        return _Wanted(shown, partial(are_said, values))
    return _Wanted(shown, partial(are_said, values), partial(are_said, others))


def _is_zero(value: JsonValue) -> bool:
    """Whether a value is a number that is zero, or a text that is one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    with suppress(ValueError):
        return float(value) == 0
    return False


def places(facts: RuleFacts, speaker: Requestor, messages: range, most: int | None = None) -> list[int]:
    """Give the indices of messages in which a party speaks: those in `messages`, the first `most` of them."""
    return [index for index, _ in facts.run.transcript.texts(speaker) if index in messages][:most]


def find(
    facts: RuleFacts, texts: Sequence[Any], messages: Iterable[int], subject: int | None
) -> tuple[int, str] | Doubt | None:
    """Give the first of these messages (indices) that says one of the texts, and the text as it is shown.

    Where none says one of those that can be told, give the doubt if one cannot be reckoned, or is zero and may have
    been said in other words; raise `NotThereError` if one leads to nothing.
    """
    wanted: list[_Wanted] = []
    doubts: list[Doubt] = []
    missing: NotThereError | None = None
    for text in texts:
        try:
            wanted.append(_wanted(facts, text, subject))
        except UnreckonedError:
            doubts.append(facts.doubt(text, subject))
        except NotThereError as error:
            missing = error
    for index in messages:
        text = facts.run.transcript.messages[index].text
        for one in wanted:
            if one.is_said(text):
                return index, one.shown
            if one.may_be_said(text):
                doubts.append(Doubt(f"{one.shown} may have been said in other words", _FIGURES))
    if missing is not None and not doubts:
        raise missing
    return doubts[0] if doubts else None


def described(facts: RuleFacts, texts: Sequence[Any], subject: int | None) -> str:
    """Say in words what would have to be said; raise `NotThereError` where references lead to nothing."""
    return " or ".join(_wanted(facts, text, subject).shown for text in texts)


def _wanted(facts: RuleFacts, text: Any, subject: int | None) -> _Wanted:
    """Read a text as it stands, a pattern, shown between slashes, or what a reference or a moment stands for."""
    locale = facts.run.scenario.language or "en"
    if is_reference(text):
        found = tuple(_values(facts.referred(text, subject)))
        if not found:
            raise NotThereError
        return _stated(found, locale, are_reckoned=is_reckoned(text))
    if is_moment(text):
        return _stated((facts.moment(text),), locale)
    if isinstance(text, dict):
        fitting = pattern(text["pattern"], ignore_case=True)
        shown = f"/{printable(shorten(fitting.text, WIDTH))}/"
        return _Wanted(shown, lambda said: fitting.search(_straightened(said)))
    return _Wanted(value_text(_worded(text)), partial(says, _worded(text)))


def _values(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _values(item)
    elif value is not None and str(value).strip():
        yield value


def _straightened(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text.translate(_STRAIGHT)).split())


def _worded(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
