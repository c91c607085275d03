"""The points of a conversation that rules are judged at: what was judged there, what was said, and what the state held.

Where that is not known (None), all, any and not are those of Kleene's three-valued logic: one broken part breaks `all`,
one kept part keeps `any`, and otherwise what is not known stays so.

The state is known as long as every write before the point was observed: the environment kept it after each of them. It
is the initial state where there was none, and the final one where nothing was written from the point on.
"""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.checks.findings import WIDTH, call_text, value_text
from pytest_agentbench.checks.reckoning import NotThereError, UnreckonedError, is_reckoned
from pytest_agentbench.checks.rules import Described, InState, Speaker, Spoken
from pytest_agentbench.checks.rules_values import Doubt, Facts
from pytest_agentbench.core.matchers import is_matcher, is_reference
from pytest_agentbench.core.moments import is_moment
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.patterns import Pattern, pattern
from pytest_agentbench.core.spoken import says, states
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue, is_number


@dataclass(frozen=True)
class Point:
    """A place in a conversation: the last message before it, and the call (its position) where it is one.

    `subject` is the call that references lead to, `what` names the point in messages (nothing at the beginning).
    `set_off` says that a trigger led here, `handoff` is the handoff (its position) where it is one, just before the
    message. `doubt` says why nobody can tell whether the call is one that the rule is about.
    """

    message: int = -1
    call: int | None = None
    subject: int | None = None
    what: str = ""
    set_off: bool = False
    handoff: int | None = None
    doubt: Doubt | None = None

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


def every(known: Iterable[bool | None]) -> bool | None:
    """Whether all hold: one that does not decides, then one that is not known."""
    found = list(known)
    return False if False in found else None if None in found else True


def some(known: Iterable[bool | None]) -> bool | None:
    """Whether one holds: one that does decides, then one that is not known."""
    found = list(known)
    return True if True in found else None if None in found else False


def opposite(known: bool | None) -> bool | None:
    """Turn what is known round."""
    return None if known is None else not known


def doubted(found: Iterable[Judged], doubt: Doubt | None) -> Iterator[Judged]:
    """Take back what was found broken, or is not known, at a call that the rule may not be about."""
    for one in found:
        if doubt is None:
            yield one
        elif one.kept:
            yield replace(one, is_unsure=True)
        else:
            yield replace(one, kept=None, why=doubt.why, cure=doubt.cure, is_unsure=True)


def calls_of(about: Described, point: Point, facts: Facts) -> Iterator[Point]:
    """Give the calls after a point that a rule is about, or, in doubt, may be about."""
    for place in after(point, facts):
        fits = facts.fits(about, place, point.subject)
        if fits is not False:
            yield at_call(place, facts, None if fits else facts.unsure(about, point.subject))


def after(point: Point, facts: Facts) -> Iterator[int]:
    """Give the calls (their positions) after a point."""
    for place, record in enumerate(facts.calls):
        if place > point.call if point.call is not None else record.message >= point.message:
            yield place


def at_call(place: int, facts: Facts, doubt: Doubt | None = None) -> Point:
    """Give the point that a call is."""
    record = facts.calls[place]
    what = call_text(record.call.name, record.call.arguments)
    return Point(record.message, place, place, what, set_off=True, doubt=doubt)


_SAY_WHICH = "name in `at` an argument that each of these calls has"
_KNOWN_WHERE = (
    "the state is known where `environment.state` can be read between calls and writes do not overlap; declare tools "
    "that only read under `reads`"
)


@dataclass(frozen=True)
class Reading:
    """Whether the state was as asked for, None where that is not known; `why` says what it was, `cure` what to add."""

    holds: bool | None
    why: str
    cure: str = ""


def read_state(rule: InState, facts: Facts, message: int, call: int | None, subject: int | None) -> Reading:
    """Hold the state before a call (its position), else before a message, against what a rule asks for."""
    try:
        steps = [_key(facts.referred(step, subject)) if is_reference(step) else _key(step) for step in rule.at]
    except NotThereError:
        return Reading(None, "the call does not say which part of the state it is about", _SAY_WHICH)
    place = ".".join(map(printable, steps))
    state = _state_before(facts, message, call)
    if state is None:
        return Reading(None, f"what {place} was then is not known", _KNOWN_WHERE)
    found: JsonValue = state
    for depth, (step, written) in enumerate(zip(steps, rule.at, strict=True)):
        inner = _at(found, step)
        if inner is _NOTHING:
            cure = "" if is_reference(written) else _meant(step, found)
            above = ".".join(map(printable, steps[:depth])) or "the state"
            return (
                Reading(None, f"{above} has no {step!r}", cure)
                if cure
                else Reading(False, f"while there was no {place}")
            )
        found = inner
    if (mistake := _misspelt(rule.value, found)) is not None:
        return Reading(None, f"{place} has no {mistake[0]!r}", mistake[1])
    named = {key: found[key] for key in rule.value if key in found} if _is_row(rule.value, found) else None
    shown = named or found
    holds = facts.holds(rule.value, found, subject)
    if holds is None:
        doubt = facts.doubt(subject, rule.value)
        return Reading(None, doubt.why, doubt.cure)
    if holds:
        return Reading(True, f"while {place} was {value_text(shown)}")
    return Reading(False, f"while {place} was {value_text(shown)}, not {value_text(facts.told(rule.value))}")


_NOTHING: Any = object()


def _state_before(facts: Facts, message: int, call: int | None) -> State | None:
    run = facts.run
    records = run.made
    if call is not None:
        start = next((at for at, record in enumerate(records) if record is facts.calls[call]), None)
    else:
        start = next((at for at, record in enumerate(records) if record.message >= message), len(records))
    if start is None:  # a call of the conversation that the scenario begins with
        return None
    observed = [record.result is not None and record.result.wrote is True for record in records]
    effects = [wrote(record, run.toolset) for record in records]
    if not any(effect is not False for effect in effects[start:]) and run.final_state is not None:
        return run.final_state
    if any(effect is not False and not seen for effect, seen in zip(effects[:start], observed[:start], strict=True)):
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
    whole = isinstance(step, float) and step.is_integer()
    return str(int(step) if whole else step)


def _meant(name: str, found: JsonValue) -> str:
    """Say what a name of the suite's own was to be that is not there, or nothing where it is like none that is."""
    if not isinstance(found, dict):
        return ""
    parts = name.split(".")
    if parts[0] in found and len(parts) > 1:
        return f"write each key by itself: [{', '.join(parts)}]"
    return suggestion(name, found)


def _is_row(value: Any, found: JsonValue) -> bool:
    """Whether a rule names keys, and there is something that has keys."""
    return isinstance(value, Mapping) and not is_matcher(value) and isinstance(found, dict)


def _misspelt(value: Any, found: JsonValue) -> tuple[str, str] | None:
    """Give a key that differs in a letter or two from one that is there, and that one: nobody could ever have it."""
    if not _is_row(value, found):
        return None
    return next(
        ((key, near) for key in value if key not in found and (near := suggestion(key, set(found) - set(value)))), None
    )


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
