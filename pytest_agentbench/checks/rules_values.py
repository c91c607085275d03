"""Which calls a description fits, and what references in it stand for."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.checks.effects import is_write_tool
from pytest_agentbench.checks.matchers import Resolver, matches
from pytest_agentbench.checks.rules import UNSAID, Described
from pytest_agentbench.core.matchers import ARITHMETIC, COMPARISONS, REFERENCES, is_matcher, is_reference
from pytest_agentbench.core.moments import dated, is_moment, moment_of, moment_text, moved, span_of
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.values import JsonValue, is_number, same, to_json

_COMPARISONS = frozenset(COMPARISONS)

DECIMALS = 9
"""Decimals of a number that was reckoned: 0.1 times 3 is 0.3 in a message and in what must be said."""

_SCALAR = ("$approx", "$size", *COMPARISONS)
"""Matchers that compare with a number, or a text; a reference to anything else fits nothing."""


class NotThereError(LookupError):
    """A reference leads to nothing in this run."""


class Facts:
    """The agent's calls of a run with what they gave, read once."""

    def __init__(self, run: Run, resolve: Resolver | None = None) -> None:
        self.run = run
        self.calls = run.calls
        self._resolve = resolve
        self._given: dict[int, JsonValue] = {}

    def given(self, place: int) -> JsonValue:
        """Give the result of a call: a JSON value where its text is one, else the text; `NotThereError` if none."""
        if place not in self._given:
            result = self.calls[place].result
            if result is None:
                raise NotThereError
            self._given[place] = decoded(result.content)
        return self._given[place]

    def is_of(self, about: Described, place: int) -> bool:
        """Whether a call is one of the tools that a description names."""
        record = self.calls[place]
        if about.calls == "writes":
            return is_write_tool(record, self.run.toolset) is True
        return about.calls == "any" or record.call.name in about.calls

    def fits(self, about: Described, place: int, subject: int | None) -> bool:
        """Whether a call fits a description; `subject` is the call that references in the description lead to."""
        record = self.calls[place]
        return (
            self.is_of(about, place)
            and (subject is None or self._alike(about, record, self.calls[subject]))
            and self.has_arguments(about.where, place, subject)
            and (about.result is UNSAID or self._gave(about.result, place, subject))
        )

    def has_arguments(self, values: Mapping[str, Any], place: int, subject: int | None) -> bool:
        """Whether a call has these arguments; one left out fits nothing."""
        arguments = self.calls[place].call.arguments
        try:
            return all(
                name in arguments and matches(self.bound(value, subject), arguments[name], self._resolve)
                for name, value in values.items()
            )
        except NotThereError:
            return False

    def bound(self, value: Any, subject: int | None) -> Any:
        """Put in the place of each reference what it stands for; raise `NotThereError` where that is missing."""
        if is_moment(value):
            return _dated(self.moment(value))
        if is_reference(value):
            found = self.referred(value, subject)
            return _dated(found) if value.keys() & ARITHMETIC and isinstance(found, str) else _literal(found)
        if isinstance(value, Mapping):
            bound = {key: self._operand(key, item, subject) for key, item in value.items()}
            return _Dates(bound) if any(map(_is_date, value.values())) and value.keys() <= _COMPARISONS else bound
        if isinstance(value, list | tuple):
            return [self.bound(item, subject) for item in value]
        return value

    def referred(self, reference: Mapping[str, Any], subject: int | None) -> JsonValue:
        """Give the value that a reference leads to; raise `NotThereError` where there is none."""
        if subject is None:
            raise NotThereError
        return led_to(reference, self.calls[subject].call.arguments, lambda: self.given(subject))

    def number(self, reference: Mapping[str, Any], subject: int | None) -> float | None:
        """Give the number that a reference leads to, None where there is none."""
        try:
            found = self.referred(reference, subject)
        except NotThereError:
            return None
        return found if is_number(found) else None

    def moment(self, value: Mapping[str, str]) -> str:
        """Give the date or time that `{$today: …}` or `{$now: …}` stands for; raise `ValueError` without a clock."""
        if self.run.now is None:
            raise ValueError(f"{next(iter(value))} is counted from the suite's `now`, which is not there")
        return moment_text(value, self.run.now)

    def told(self, value: Any) -> Any:
        """Give a value of a rule as messages tell it: with the dates that are counted from the suite's `now`."""
        return value if self.run.now is None else dated(value, self.run.now)

    def holds(self, pattern: Any, value: JsonValue, subject: int | None) -> bool:
        """Whether a value has at least what a pattern names."""
        try:
            return matches(_at_least(self.bound(pattern, subject)), value, self._resolve)
        except NotThereError:
            return False

    def _operand(self, key: object, value: Any, subject: int | None) -> Any:
        if key in COMPARISONS and is_moment(value):
            return self.moment(value)
        if key == "$in" and is_reference(value):
            found = self.referred(value, subject)
            return [_literal(one) for one in found] if isinstance(found, list | dict) else []
        if is_reference(value) and key in _SCALAR:
            found = self.referred(value, subject)
            if not _compares(str(key), found):
                raise NotThereError
            return found
        return self.bound(value, subject)

    def _alike(self, about: Described, record: CallRecord, other: CallRecord) -> bool:
        mine, theirs = record.call.arguments, other.call.arguments
        return all(
            name in mine and name in theirs and same(to_json(mine[name]), to_json(theirs[name])) for name in about.same
        )

    def _gave(self, pattern: Any, place: int, subject: int | None) -> bool:
        try:
            return self.holds(pattern, self.given(place), subject)
        except NotThereError:
            return False


@dataclass(frozen=True)
class _Same:
    """Matches one value: what tools give is never read as a matcher."""

    value: JsonValue

    def __call__(self, actual: JsonValue) -> bool:
        return same(self.value, actual)


@dataclass(frozen=True)
class _Dates:
    """Matches dates within bounds: what is no date is never compared with one letter by letter."""

    bounds: Mapping[str, Any]

    def __call__(self, actual: JsonValue) -> bool:
        return moment_of(actual) is not None and matches(self.bounds, actual)


def _compares(operator: str, value: object) -> bool:
    if operator == "$size":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return is_number(value) or (isinstance(value, str) and operator in COMPARISONS)


def path_of(reference: Mapping[str, Any]) -> str:
    """Give the way that a reference takes through the arguments or the result."""
    return next(str(path) for key, path in reference.items() if key in REFERENCES)


def led_to(reference: Mapping[str, Any], arguments: Mapping[str, Any], given: Callable[[], JsonValue]) -> JsonValue:
    """Give what a reference leads to in a call and what it gave; raise `NotThereError` where there is nothing."""
    path = path_of(reference)
    found = to_json(arguments) if "$argument" in reference else given()
    for step in [] if path == "." else path.split("."):
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            raise NotThereError
    return _reckoned(found, reference.get("times"), reference.get("plus"))


def _reckoned(value: JsonValue, factor: float | None, more: float | str | None) -> JsonValue:
    """Multiply and add to a number, or move a date; raise `NotThereError` where the value is neither."""
    if factor is None and more is None:
        return value
    if isinstance(more, str):
        span = span_of(more)
        found = None if span is None or not isinstance(value, str) else moved(value, span)
        if found is None:
            raise NotThereError
        return found
    if not is_number(value):
        raise NotThereError
    reckoned = value * (1 if factor is None else factor) + (more or 0)
    if not is_number(reckoned):
        raise NotThereError
    return round(reckoned, DECIMALS)


def _dated(text: str) -> Any:
    """Match a date or time however it is written."""
    return _Dates({"$gte": text, "$lte": text})


def _is_date(operand: Any) -> bool:
    """Whether an operand is a date that is counted from today, or from another."""
    return is_moment(operand) or (is_reference(operand) and isinstance(operand.get("plus"), str))


def _literal(value: JsonValue) -> Any:
    return _Same(value) if isinstance(value, dict | list) else value


def _at_least(pattern: Any) -> Any:
    """Read every mapping of a pattern as the least that must be there: results hold more than rules name."""
    if isinstance(pattern, Mapping):
        inner = {key: _at_least(item) for key, item in pattern.items()}
        if is_matcher(pattern):
            return _at_least(pattern["$subset"]) if isinstance(pattern.get("$subset"), Mapping) else inner
        return {"$subset": inner}
    return [_at_least(item) for item in pattern] if isinstance(pattern, list | tuple) else pattern


def decoded(text: str) -> JsonValue:
    """Give what a tool gave: the JSON value that its text is, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
