"""Which calls a description fits, and the values that references in it lead to, exact amounts and dates among them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any

from pytest_agentbench.checks.effects import is_write_tool
from pytest_agentbench.checks.findings import cut, value_text
from pytest_agentbench.checks.matchers import Doubt, Matcher, Resolver, Truth, is_in_order
from pytest_agentbench.checks.rule_words import UNSAID, value_words
from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.expression import every
from pytest_agentbench.core.json_values import JsonValue, decoded, is_number, same, to_json
from pytest_agentbench.core.matchers import ARITHMETIC, COMPARISONS, REFERENCES, holds_matcher, is_reference
from pytest_agentbench.core.moments import dated, is_moment, moment_of, moment_text, moved, span_of
from pytest_agentbench.core.names import MOST_ALLOWED, listing, suggestion
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import printable

if TYPE_CHECKING:  # few policies have a rule
    from pytest_agentbench.checks.rules import Described

CENTS = 2
"""Decimals to which reckoned amounts are compared, or more where what they are reckoned from has more."""

_EXACT = Context(prec=20_000, rounding=ROUND_HALF_UP)
"""More digits than any number of a message or a file has."""


class NotThereError(LookupError):
    """A reference leads to nothing in this run; `lacking` is one that a call has no value for."""

    lacking: Mapping[str, Any] | None = None


class UnreckonedError(NotThereError):
    """What a reference leads to is missing or of another kind, so that nobody can reckon or compare with it."""


@dataclass(frozen=True)
class Amount:
    """A reckoned number, exactly, and the decimals to which others are compared with it."""

    exact: Decimal
    places: int
    is_whole: bool = False

    @property
    def number(self) -> float:
        """The amount as a number, infinite where it is too large for one."""
        return int(self.exact) if self.is_whole else float(self.exact)

    def is_within(self, operator: str, actual: JsonValue) -> bool:
        """Whether a value is a number that compares with the amount, both rounded half up, as `$lt`, … asks."""
        if not is_number(actual):
            return False
        number, amount = _rounded(_decimal(actual), self.places), _rounded(self.exact, self.places)
        return is_in_order(operator, (number > amount) - (number < amount))


def is_reckoned(reference: Mapping[str, Any]) -> bool:
    """Whether a reference reckons from what it leads to, and does not stand for it as it is."""
    return bool(reference.keys() & ARITHMETIC)


def path_of(reference: Mapping[str, Any]) -> str:
    """Give the way that a reference takes through the arguments or the result."""
    return next(str(path) for key, path in reference.items() if key in REFERENCES)


def value_at(reference: Mapping[str, Any], arguments: Mapping[str, Any], given: Callable[[], JsonValue]) -> JsonValue:
    """Give what a reference leads to as it is; raise `NotThereError` where there is nothing."""
    path = path_of(reference)
    found = to_json(arguments) if "$argument" in reference else given()
    for step in [] if path == "." else path.split("."):
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            raise NotThereError
    return found


def led_to(reference: Mapping[str, Any], arguments: Mapping[str, Any], given: Callable[[], JsonValue]) -> JsonValue:
    """Give what a reference stands for in a call and what it gave; raise `NotThereError` where there is nothing."""
    return _plain(reckoned(reference, arguments, given))


def _plain(found: Any) -> JsonValue:
    return found.number if isinstance(found, Amount) else found


def reckoned(reference: Mapping[str, Any], arguments: Mapping[str, Any], given: Callable[[], JsonValue]) -> Any:
    """Give what a reference stands for, a reckoned number as an `Amount`.

    Raise `NotThereError` where there is nothing, and `UnreckonedError` where nothing can be reckoned from it.
    """
    if not is_reckoned(reference):
        return value_at(reference, arguments, given)
    try:
        found = value_at(reference, arguments, given)
    except NotThereError:
        raise UnreckonedError from None
    factor, more = reference.get("times", 1), reference.get("plus", 0)
    reached: Any = None
    if isinstance(more, str):
        span = span_of(more)
        reached = moved(found, span) if span is not None and isinstance(found, str) else None
    elif is_number(found):
        exact = _EXACT.add(_EXACT.multiply(_decimal(found), _decimal(factor)), _decimal(more))
        places = max(CENTS, _decimals(found), _decimals(more))
        amount = Amount(exact, places, all(isinstance(one, int) for one in (found, factor, more)))
        reached = amount if is_number(amount.number) else None
    if reached is None:
        raise UnreckonedError
    return reached


def _decimal(number: float) -> Decimal:
    """Give the number that stands in a file or message: 19.99, not the binary number nearest to it."""
    return Decimal(number if isinstance(number, int) else repr(number))


def _decimals(number: float) -> int:
    exponent = _EXACT.normalize(_decimal(number)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _rounded(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places, _EXACT), context=_EXACT)


@dataclass(frozen=True)
class Heard:
    """Whether the user had agreed to a call, as the auditor saw it: in which turn, and how it is worded."""

    given: bool
    turn: int
    why: str


class RuleFacts:
    """The agent's calls of a run with what they gave, read once.

    `consents` says of calls (their positions) what the auditor saw of the user's consent; `unclear` collects those of
    which the acts of the user's turns say the opposite. `subject` is the call that references lead to.
    """

    def __init__(self, run: Run, resolve: Resolver | None = None, consents: Mapping[int, Heard] | None = None) -> None:
        self.run = run
        self.consents = consents or {}
        self.unclear: dict[int, Heard] = {}
        self.calls = run.calls
        self.resolve = resolve
        self.session = 1
        self._given: dict[int, JsonValue] = {}

    def given(self, place: int) -> JsonValue:
        """Give the result of a call: a JSON value where its text is one, else the text; `NotThereError` if none."""
        if place not in self._given:
            result = self.calls[place].result
            if result is None:
                raise NotThereError
            self._given[place] = decoded(result.content)
        return self._given[place]

    def is_of(self, about: "Described", place: int) -> bool:
        """Whether a call is one of the tools that a description names."""
        record = self.calls[place]
        if about.calls == "writes":
            return is_write_tool(record, self.run.toolset) is True
        return about.calls == "any" or record.call.name in about.calls

    def fits(self, about: "Described", place: int, subject: int | None) -> Truth:
        """Whether a call fits a description; dates count from the clock of its session."""
        self.session = self.calls[place].session
        if not self.is_of(about, place) or not (subject is None or self._has_same(about, place, subject)):
            return False
        with_these = self.has_arguments(about.where, place, subject)
        if with_these is False or about.result is UNSAID:
            return with_these
        try:
            return every([with_these, self.holds(about.result, self.given(place), subject)])
        except NotThereError:
            return False

    def has_arguments(self, values: Mapping[str, Any], place: int, subject: int | None) -> Truth:
        """Whether a call has these arguments; one left out fits nothing."""
        arguments = self.calls[place].call.arguments
        if not values.keys() <= arguments.keys():
            return False
        return every([self._matches(value, arguments[name], subject) for name, value in values.items()])

    def holds(self, pattern: Any, value: JsonValue, subject: int | None) -> Truth:
        """Whether a value has at least what a pattern names."""
        return self._matches(pattern, value, subject, least=True)

    def lack(self, reference: Mapping[str, Any], subject: int) -> Doubt:
        """Say which value a call does not have that a reference leads to, and which it has there."""
        name, path = printable(self.calls[subject].call.name), path_of(reference)
        steps: list[str] = []
        found: Any = None
        with suppress(NotThereError):
            found = self._into(value_at, {"$argument" if "$argument" in reference else "$result": "."}, subject)
        for step in path.split("."):
            inner = found.get(step) if isinstance(found, dict) else None
            if not isinstance(inner, dict):
                break
            found, steps = inner, [*steps, step]
        keys = [".".join([*steps, key]) for key in found] if isinstance(found, dict) else []
        verb = "was given" if "$argument" in reference else "gave"
        there = f", only {listing(map(printable, keys), MOST_ALLOWED)}" if keys else ""
        cure = with_hint("name another value in the rule", suggestion(path, keys))
        return Doubt(f"{name} {verb} no {printable(path)}{there}", cure)

    def doubt(self, reference: Mapping[str, Any], subject: int | None, wanted: str = "a number") -> Doubt:
        """Say why nothing can be reckoned from a reference, or compared with it."""
        path = printable(path_of(reference))
        wanted = "a date" if isinstance(reference.get("plus"), str) else wanted
        if subject is None:
            return Doubt(f"there is no call that {path} could be of", "name a value of a call")
        name, is_argument = printable(self.calls[subject].call.name), "$argument" in reference
        have = f"have each {name} be given {path}" if is_argument else f"have {name} give {path}"
        cure = f"{have} as {wanted}, or name another value in the rule"
        verb = "was given" if is_argument else "gave"
        try:
            found = self._into(value_at, reference, subject)
        except NotThereError:
            return Doubt(f"{name} {verb} no {path}", cure)
        is_wanted = moment_of(found) is not None if wanted == "a date" else is_number(found)
        wrong = "from which nothing that large can be reckoned" if is_wanted else f"which is not {wanted}"
        return Doubt(f"{name} {verb} {path} as {value_text(found)}, {wrong}", cure)

    def _into(self, read: Any, reference: Mapping[str, Any], subject: int) -> Any:
        return read(reference, self.calls[subject].call.arguments, lambda: self.given(subject))

    def reckoned(self, reference: Mapping[str, Any], subject: int | None) -> Any:
        """Give what a reference stands for, a reckoned number as an `Amount`; `NotThereError` where there is none."""
        if subject is None:
            raise NotThereError
        try:
            return self._into(reckoned, reference, subject)
        except NotThereError as error:
            error.lacking = reference
            raise

    def referred(self, reference: Mapping[str, Any], subject: int | None) -> JsonValue:
        """Give what a reference stands for; raise `NotThereError` where there is nothing."""
        return _plain(self.reckoned(reference, subject))

    def moment(self, value: Mapping[str, str]) -> str:
        """Give the date or time that `{$today: …}` or `{$now: …}` stands for; raise `ValueError` without a clock."""
        if self._now is None:
            raise ValueError(f"{next(iter(value))} is counted from the suite's `now`, which is not there")
        return moment_text(value, self._now)

    def shown(self, value: Any) -> str:
        """Show a value of a rule, a matcher in words, with the dates that are counted from the suite's `now`."""
        value = self._dated(value)
        return cut(value_words(value)) if holds_matcher(value) else value_text(value)

    def shown_values(self, values: Mapping[str, Any]) -> str:
        """Show what a rule asks of arguments: `order_id='W1'`, `amount more than 100`, `the same order_id`."""
        dates = {name: self._dated(value) for name, value in values.items()}
        return ", ".join(
            cut(value_words({name: value})) if holds_matcher(value) else f"{name}={value_text(value)}"
            for name, value in dates.items()
        )

    def shown_result(self, about: "Described") -> str:
        """Show in words what a rule asks of a result, "" where it asks for nothing."""
        if about.result is UNSAID:
            return ""
        value = self._dated(about.result)
        return cut(value_words(value)) if isinstance(value, Mapping) else value_text(value)

    def _dated(self, value: Any) -> Any:
        return value if self._now is None else dated(value, self._now)

    @property
    def _now(self) -> datetime | None:
        return None if self.run.now is None else self.run.now + self.run.scenario.later(self.session)

    def _matches(self, pattern: Any, value: JsonValue, subject: int | None, *, least: bool = False) -> Truth:
        try:
            return _RuleMatcher(self, subject, least=least).holds(pattern, to_json(value))
        except NotThereError:  # a reference that nothing is reckoned from leads to nothing: nothing equals that
            return False

    def _has_same(self, about: "Described", place: int, subject: int) -> bool:
        mine, theirs = self.calls[place].call.arguments, self.calls[subject].call.arguments
        return all(
            name in mine and name in theirs and same(to_json(mine[name]), to_json(theirs[name])) for name in about.same
        )


_SCALARS = ("$approx", "$size")


def _may_stand(operator: str, value: object) -> bool:
    """Whether what a reference stands for may be an operand."""
    if operator == "$size":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return is_number(value) or (isinstance(value, str) and operator in COMPARISONS)


class _RuleMatcher(Matcher):
    """Holds values against patterns of rules, in which references lead into a call.

    With `least` every mapping is the least that must be there: results hold more than rules name.
    """

    def __init__(self, facts: RuleFacts, subject: int | None, *, least: bool) -> None:
        super().__init__(facts.resolve)
        self._facts, self._subject, self._least = facts, subject, least

    def mapping_holds(self, expected: Mapping[Any, Any], actual: JsonValue) -> Truth:
        """Whether a value is such a mapping, or has at least what it names."""
        return self._subset(expected, actual) if self._least else super().mapping_holds(expected, actual)

    def matcher_holds(self, matcher: Mapping[str, Any], actual: JsonValue) -> Truth:
        """Whether a value is what a reference stands for, or what a matcher asks for."""
        if is_moment(matcher):
            return self._is_date(self._facts.moment(matcher), actual)
        if is_reference(matcher):
            return self._is_referred(matcher, actual)
        operator = next(key for key in matcher if key.startswith("$"))
        if operator in COMPARISONS:
            # what is no date is never compared with one letter by letter
            if any(map(_is_date_operand, matcher.values())) and moment_of(actual) is None:
                return False
            return every([self.compares(one, actual, bound) for one, bound in matcher.items()])
        operand = matcher[operator]
        if operator in _SCALARS and is_reference(operand):
            try:
                found = self._facts.referred(operand, self._subject)
            except NotThereError:
                found = None
            if not _may_stand(operator, found):
                return self._facts.doubt(operand, self._subject)
            operand = found
        elif operator == "$in" and is_reference(operand):
            listed = self._facts.referred(operand, self._subject)
            return isinstance(listed, list | dict) and any(same(one, actual) for one in listed)
        return self._operator_holds(operator, operand, actual, matcher.get("tol"))

    def compares(self, operator: str, actual: JsonValue, bound: Any) -> Truth:
        """Compare a value with a bound, which may be a date counted from `now`, or what a reference stands for."""
        if is_moment(bound):
            return super().compares(operator, actual, self._facts.moment(bound))
        if not is_reference(bound):
            return super().compares(operator, actual, bound)
        try:
            found = self._facts.reckoned(bound, self._subject)
        except NotThereError:
            found = None
        if isinstance(found, Amount):
            return found.is_within(operator, actual)
        is_plain = not is_reckoned(bound)
        if not _may_stand(operator, found):
            if not (is_plain or _is_date_operand(bound) or is_number(actual)):
                return False
            return self._facts.doubt(bound, self._subject, "a number, date or text" if is_plain else "a number")
        if isinstance(found, str) and is_plain and is_number(actual):
            return self._facts.doubt(bound, self._subject)
        return super().compares(operator, actual, found)

    def _is_referred(self, reference: Mapping[str, Any], actual: JsonValue) -> Truth:
        try:
            found = self._facts.reckoned(reference, self._subject)
        except UnreckonedError:
            return self._facts.doubt(reference, self._subject)
        if isinstance(found, Amount):
            return found.is_within("$lte", actual) and found.is_within("$gte", actual)
        return self._is_date(found, actual) if is_reckoned(reference) else same(found, actual)

    def _is_date(self, text: str, actual: JsonValue) -> Truth:
        """Whether a value is a date or time, however it is written."""
        if moment_of(actual) is None:
            return False
        return every([self.compares(operator, actual, text) for operator in ("$gte", "$lte")])


def _is_date_operand(operand: Any) -> bool:
    """Whether an operand is a date that is counted from today, or from another."""
    return is_moment(operand) or (is_reference(operand) and isinstance(operand.get("plus"), str))
