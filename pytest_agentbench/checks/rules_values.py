"""Which calls a description fits, and what references in it stand for."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.checks.effects import is_write_tool
from pytest_agentbench.checks.findings import value_text
from pytest_agentbench.checks.matchers import Resolver, matches
from pytest_agentbench.checks.reckoning import (
    Amount,
    NotThereError,
    UnreckonedError,
    is_reckoned,
    path_of,
    reckoned,
    value_at,
)
from pytest_agentbench.checks.rules import UNSAID, Described
from pytest_agentbench.core.matchers import COMPARISONS, is_matcher, is_reference
from pytest_agentbench.core.moments import dated, is_moment, moment_of, moment_text
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.values import JsonValue, decoded, is_number, same, to_json

_COMPARISONS = frozenset(COMPARISONS)

DECIMALS = 9
"""Decimals of a sum: 0.1 and 0.2 come to 0.3 in a message."""


@dataclass(frozen=True)
class Doubt:
    """Why nobody can tell whether a call is the one that a rule describes, and what to do about it."""

    why: str
    cure: str


@dataclass(frozen=True)
class Heard:
    """Whether the user had agreed to a call, as the auditor saw it: in which turn, and how it is worded."""

    given: bool
    turn: int
    why: str


class Facts:
    """The agent's calls of a run with what they gave, read once.

    `consents` says of calls (their positions) what the auditor saw of the user's consent; `unclear` collects those of
    which the acts of the user's turns say the opposite.
    """

    def __init__(self, run: Run, resolve: Resolver | None = None, consents: Mapping[int, Heard] | None = None) -> None:
        self.run = run
        self.consents = consents or {}
        self.unclear: dict[int, Heard] = {}
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

    def fits(self, about: Described, place: int, subject: int | None) -> bool | None:
        """Whether a call fits a description, None where that cannot be told (see `doubt`).

        `subject` is the call that references in the description lead to.
        """
        record = self.calls[place]
        if not self.is_of(about, place) or not (subject is None or self._alike(about, record, self.calls[subject])):
            return False
        with_these = self.has_arguments(about.where, place, subject)
        if with_these is False or about.result is UNSAID:
            return with_these
        gave = self._gave(about.result, place, subject)
        return False if gave is False else None if None in (gave, with_these) else True

    def has_arguments(self, values: Mapping[str, Any], place: int, subject: int | None) -> bool | None:
        """Whether a call has these arguments, None where that cannot be told; one left out fits nothing."""
        arguments = self.calls[place].call.arguments
        if not values.keys() <= arguments.keys():
            return False
        found = [self._matches(value, arguments[name], subject) for name, value in values.items()]
        return False if False in found else None if None in found else True

    def doubt(self, subject: int | None, *values: Any) -> Doubt:
        """Say which reference in these values nobody can reckon or compare with."""
        binding = _Binding(self, subject, guess=True)
        for value in values:
            with suppress(NotThereError):
                binding.bound(value)
        return [*binding.doubts, *binding.of_kind][0]

    def unsure(self, about: Described, subject: int | None) -> Doubt:
        """Say which reference keeps calls from being told to fit a description."""
        return self.doubt(subject, *about.where.values(), about.result)

    def referred(self, reference: Mapping[str, Any], subject: int | None) -> JsonValue:
        """Give what a reference stands for; raise `NotThereError` where there is nothing."""
        found = self.reckoned(reference, subject)
        return found.number if isinstance(found, Amount) else found

    def reckoned(self, reference: Mapping[str, Any], subject: int | None) -> JsonValue | Amount:
        """Give what a reference stands for, a number that was reckoned as an amount."""
        if subject is None:
            raise NotThereError
        return reckoned(reference, self.calls[subject].call.arguments, lambda: self.given(subject))

    def doubt_of(self, reference: Mapping[str, Any], subject: int | None, wanted: str = "a number") -> Doubt:
        """Say why nothing can be reckoned from a reference, or compared with it."""
        path = printable(path_of(reference))
        wanted = "a date" if isinstance(reference.get("plus"), str) else wanted
        if subject is None:
            return Doubt(f"there is no call that {path} could be of", "name a value of a call")
        record, is_argument = self.calls[subject], "$argument" in reference
        name = printable(record.call.name)
        verb = "was given" if is_argument else "gave"
        have = f"have each {name} be given {path}" if is_argument else f"have {name} give {path}"
        cure = f"{have} as {wanted}, or name another value in the rule"
        try:
            found = value_at(reference, record.call.arguments, lambda: self.given(subject))
        except NotThereError:
            return Doubt(f"{name} {verb} no {path}", cure)
        is_wanted = moment_of(found) is not None if wanted == "a date" else is_number(found)
        wrong = "from which nothing that large can be reckoned" if is_wanted else f"which is not {wanted}"
        return Doubt(f"{name} {verb} {path} as {value_text(found)}, {wrong}", cure)

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

    def holds(self, pattern: Any, value: JsonValue, subject: int | None) -> bool | None:
        """Whether a value has at least what a pattern names, None where that cannot be told."""
        return self._matches(pattern, value, subject, _at_least)

    def _matches(
        self, pattern: Any, value: JsonValue, subject: int | None, read: Callable[[Any], Any] = lambda bound: bound
    ) -> bool | None:
        """Match a value with the pattern, where need be twice: as if each unknown part fitted, and as if none did."""
        high, low = _Binding(self, subject, guess=True), _Binding(self, subject, guess=False)
        try:
            found = matches(read(high.bound(pattern)), value, self._resolve)
            if not (high.doubts or high.of_kind) or found == matches(read(low.bound(pattern)), value, self._resolve):
                return found
        except NotThereError:
            return False
        return None

    def _alike(self, about: Described, record: CallRecord, other: CallRecord) -> bool:
        mine, theirs = record.call.arguments, other.call.arguments
        return all(
            name in mine and name in theirs and same(to_json(mine[name]), to_json(theirs[name])) for name in about.same
        )

    def _gave(self, pattern: Any, place: int, subject: int | None) -> bool | None:
        try:
            return self.holds(pattern, self.given(place), subject)
        except NotThereError:
            return False


class _Binding:
    """Puts in the place of references what they stand for; `guess` says whether a part fits that nobody can tell."""

    def __init__(self, facts: Facts, subject: int | None, *, guess: bool) -> None:
        self._facts = facts
        self._subject = subject
        self._guess = guess
        self.doubts: list[Doubt] = []
        self.of_kind: list[Doubt] = []  # doubts only where a number is held against them

    def bound(self, value: Any) -> Any:
        """Give a pattern without references; raise `NotThereError` where one that is not reckoned leads to nothing."""
        if is_moment(value):
            return _dated(self._facts.moment(value))
        if is_reference(value):
            return self._referred(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        return [self.bound(item) for item in value] if isinstance(value, list | tuple) else value

    def _referred(self, reference: Mapping[str, Any]) -> Any:
        try:
            found = self._facts.reckoned(reference, self._subject)
        except UnreckonedError:
            return self._unknown(reference)
        if isinstance(found, Amount):
            return _Every((_Bound("$lte", found), _Bound("$gte", found)))
        return _dated(found) if is_reckoned(reference) else _literal(found)

    def _mapping(self, value: Mapping[str, Any]) -> Any:
        if value and value.keys() <= _COMPARISONS:
            return self._bounds(value)
        if "$not" in value:
            self._guess = not self._guess
            try:
                return {key: self.bound(item) for key, item in value.items()}
            finally:
                self._guess = not self._guess
        if isinstance(value.get("$size"), Mapping) and not is_reference(value["$size"]):
            return _Sized(self.bound(value["$size"]))
        scalar = next((key for key in ("$approx", "$size") if is_reference(value.get(key))), None)
        if scalar is None:
            return {key: self._operand(key, item) for key, item in value.items()}
        try:
            return {**value, scalar: self._scalar(scalar, value[scalar])}
        except UnreckonedError:
            return self._unknown(value[scalar])

    def _operand(self, key: object, value: Any) -> Any:
        if key == "$in" and is_reference(value):
            found = self._facts.referred(value, self._subject)
            return [_literal(one) for one in found] if isinstance(found, list | dict) else []
        return self.bound(value)

    def _bounds(self, bounds: Mapping[str, Any]) -> Any:
        """Bind comparisons; what is no date is never compared with one letter by letter."""
        parts: list[Any] = [_is_moment] if any(map(_is_date, bounds.values())) else []
        for operator, operand in bounds.items():
            if is_moment(operand):
                parts.append({operator: self._facts.moment(operand)})
            elif not is_reference(operand):
                parts.append({operator: operand})
            else:
                parts.extend(self._compared(operator, operand))
        if all(isinstance(part, Mapping) for part in parts):
            return {operator: bound for part in parts for operator, bound in part.items()}
        return _Every(tuple(parts))

    def _compared(self, operator: str, reference: Mapping[str, Any]) -> Iterator[Any]:
        try:
            found = self._facts.reckoned(reference, self._subject)
            if not isinstance(found, Amount) and not _compares(operator, found):
                raise UnreckonedError
        except NotThereError:
            if is_reckoned(reference) and not _is_date(reference):
                yield is_number
            yield self._unknown(reference, "a number, date or text")
        else:
            if isinstance(found, str) and not is_reckoned(reference):
                self.of_kind.append(self._facts.doubt_of(reference, self._subject))
                yield _Text(operator, found, self._guess)
            else:
                yield _Bound(operator, found) if isinstance(found, Amount) else {operator: found}

    def _scalar(self, operator: str, reference: Mapping[str, Any]) -> JsonValue:
        try:
            found = self._facts.referred(reference, self._subject)
        except NotThereError:
            raise UnreckonedError from None
        if not _compares(operator, found):
            raise UnreckonedError
        return found

    def _unknown(self, reference: Mapping[str, Any], wanted: str = "a number") -> Any:
        wanted = "a number" if is_reckoned(reference) else wanted
        self.doubts.append(self._facts.doubt_of(reference, self._subject, wanted))
        return _Guess(self._guess)


@dataclass(frozen=True)
class _Same:
    """Matches one value: what tools give is never read as a matcher."""

    value: JsonValue

    def __call__(self, actual: JsonValue) -> bool:
        return same(self.value, actual)


@dataclass(frozen=True)
class _Guess:
    """Fits everything or nothing: stands where nobody can tell what a value is to be compared with."""

    fits: bool

    def __call__(self, actual: JsonValue) -> bool:
        return self.fits


@dataclass(frozen=True)
class _Bound:
    """Matches numbers that compare so with an amount, in its decimals."""

    operator: str
    amount: Amount

    def __call__(self, actual: JsonValue) -> bool:
        return self.amount.is_within(self.operator, actual)


@dataclass(frozen=True)
class _Text:
    """Matches texts and dates that compare so with one; of a number nobody can tell."""

    operator: str
    text: str
    guess: bool

    def __call__(self, actual: JsonValue) -> bool:
        return self.guess if is_number(actual) else matches({self.operator: self.text}, actual)


@dataclass(frozen=True)
class _Sized:
    """Matches what has such a length."""

    size: Any

    def __call__(self, actual: JsonValue) -> bool:
        return isinstance(actual, list | dict | str) and matches(self.size, len(actual))


@dataclass(frozen=True)
class _Every:
    """Matches what every part does."""

    parts: tuple[Any, ...]

    def __call__(self, actual: JsonValue) -> bool:
        return all(matches(part, actual) for part in self.parts)


def _compares(operator: str, value: object) -> bool:
    if operator == "$size":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return is_number(value) or (isinstance(value, str) and operator in COMPARISONS)


def _is_moment(actual: JsonValue) -> bool:
    return moment_of(actual) is not None


def _dated(text: str) -> Any:
    """Match a date or time however it is written."""
    return _Every((_is_moment, {"$gte": text, "$lte": text}))


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
