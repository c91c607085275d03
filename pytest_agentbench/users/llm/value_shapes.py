"""Values of a known shape, found in a text of any language: e-mail addresses, ids, long numbers, dates in figures."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.ids import clipped, shape
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.moments import dates_of
from pytest_agentbench.core.spoken import plain, states

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_DATE = re.compile(r"(?<![\w.,/-])(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})(?![\w/-]|[.,]\d)")
_TIME = re.compile(r"(?<!\w)\d{1,2}[:.h]\d{2}(?::\d{2})?(?!\w)")
_DECIMAL = re.compile(
    r"(?<![\w.])\d{1,3}(?:[., '\u00a0\u202f]\d{3})*[.,]\d{1,2}(?!\w)|(?<![\w.])\d{1,3}(?:[,'\u00a0\u202f]\d{3})+(?!\w)"
)
_GROUPS = re.compile(r"(?<!\w)\+?\(?\d{1,4}\)?(?:[ ./-]\(?\d{2,4}\)?){2,5}(?!\w)")
_ID = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
_CODE = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_COUNTED = re.compile(r"\d{1,4}(?:[-x]?[a-z]{1,4}|x\d{1,4})|\d{1,4}-[a-z]+(?:-[a-z]+)*")
"""A number with what it counts: 24th, 16gb, 2x4, 12-inch."""

_SPAN = re.compile(r"\d{1,3}[a-z]{0,2}-\d{1,3}[a-z]{0,2}|(?:19|20)\d\d-(?:19|20)\d\d")
"""From one number to another: 10-12, 3-4pm, 1990-1995."""

_BETWEEN = re.compile(r"[\W_]+")
_SHORTEST = 4
"""Letters and digits from which nobody hits on a value by chance."""

_ROUND = 50
"""What a number is a multiple of that somebody estimates; it divides a hundred, so that two digits tell."""

_WHOLE = re.compile(r"(?<![\w.-])\d{1,4}(?![\w-]|\.\d)")
_LEAST_AMOUNT, _MOST_NUMBERS = 10, 40
"""Numbers that are reckoned with: from which one on, and how many of the last."""

_WEEK = 7
_TAIL = 7
"""Last digits of a telephone number, which stand with or without what it begins with."""


@dataclass(frozen=True)
class Value:
    """A value as it is written, with its letters and digits in one run; `days` are those that it may name."""

    text: str
    flat: str
    days: tuple[date, ...] = ()
    is_phone: bool = False


def normal(text: str) -> str:
    """Give both ends of a text in lower case, with the digits of every script as ours."""
    return _folded(clipped(text))


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    return "".join(str(unicodedata.digit(char)) if char.isdigit() and not char.isascii() else char for char in folded)


def flat(text: str) -> str:
    """Give the letters and digits of a text, so that spellings of one value are equal."""
    return _BETWEEN.sub("", normal(text))


@lru_cache(maxsize=256)
def values_in(text: str) -> tuple[Value, ...]:
    """Give the values of a text that somebody must have been told.

    Amounts with decimals or a currency, round numbers, years, times and counted things are none: people estimate them.
    """
    return tuple(_values(normal(text)))


def _values(rest: str) -> Iterator[Value]:
    for found in _EMAIL.finditer(rest):
        yield Value(found[0], flat(found[0]))
    rest = _EMAIL.sub(" ", rest)
    if not any(map(str.isdigit, rest)):
        return
    for found in _DATE.finditer(rest):
        if days := tuple(dict.fromkeys(dates_of(int(found[1]), int(found[3]), int(found[4])))):
            yield Value(found[0], flat(found[0]), days=days)
            rest = rest.replace(found[0], " ")
    for found in _GROUPS.finditer(rest):
        if sum(map(str.isdigit, found[0])) > _TAIL:
            yield Value(found[0], flat(found[0]), is_phone=True)
            rest = rest.replace(found[0], " ")
    rest = _TIME.sub(" ", _DECIMAL.sub(" ", rest))
    for found in _CODE.finditer(rest):
        beside = rest[: found.start()].rstrip()[-1:] + rest[found.end() :].lstrip()[:1]
        if _is_told(found[0], beside):
            yield Value(found[0], flat(found[0]))


def _is_told(code: str, beside: str) -> bool:
    if not any(map(str.isdigit, code)) or len(flat(code)) < _SHORTEST:
        return False
    if _COUNTED.fullmatch(code) or _SPAN.fullmatch(code):
        return False
    if not code.isdigit():
        return sum(map(str.isdigit, code)) > 1  # one digit makes no id: GPT-4, mp3-files
    is_year = len(code) == 4 and code[:2] in ("19", "20")
    is_amount = any(unicodedata.category(char) == "Sc" for char in beside) or not int(code[-2:]) % _ROUND
    return not (is_year or is_amount)


@lru_cache(maxsize=256)
def short_ids_in(text: str) -> tuple[Value, ...]:
    """Give words with one digit that may be ids, such as `ord-7`: they are where ids of their kind are about.

    `GPT-4` looks the same, so that only what else is known can tell (see `Known.has_kind`).
    """
    words = (found[0] for found in _CODE.finditer(normal(text)))
    return tuple(
        Value(word, flat(word))
        for word in words
        if sum(map(str.isdigit, word)) == 1 and len(flat(word)) >= _SHORTEST and not _COUNTED.fullmatch(word)
    )


class Known:
    """All that a user was told and heard, as texts in which values are looked for in any spelling."""

    def __init__(self, texts: Iterable[str], locale: str, ids: Iterable[object] = ()) -> None:
        """Know `texts`; `ids` are values that stand under a name, so that others of their kind are ids, too."""
        self._ids = " ".join(map(str, ids))
        self._text = "\n".join(map(clipped, texts))
        self._flat = _BETWEEN.sub("", _folded(self._text))
        self._locale = locale

    def holds(self, value: Value) -> bool:
        """Whether a value is known, or in part (`ending in 8902`), or is a day up to a week from a known one.

        So is the sum or difference of two known numbers, from 10: people reckon.
        """
        if (value.flat[-_TAIL:] if value.is_phone else value.flat) in self._flat:
            return True
        near = (day + timedelta(days=days) for day in value.days for days in sorted(range(-_WEEK, _WEEK + 1), key=abs))
        return any(states(day.isoformat(), self._text, self._locale) for day in near) or (
            value.flat.isdecimal() and int(value.flat) in self._reckoned
        )

    def has_kind(self, value: Value) -> bool:
        """Whether one of the ids differs in its digits alone: in a text, `step-1` is no id."""
        return shape(value.text) in self._kinds

    @cached_property
    def _kinds(self) -> set[str]:
        return {shape(word) for word in _CODE.findall(_folded(self._ids))} - {""}

    @cached_property
    def _reckoned(self) -> set[int]:
        numbers = [number for one in _WHOLE.findall(plain(self._text)) if (number := int(one)) >= _LEAST_AMOUNT]
        pairs = combinations(dict.fromkeys(numbers[-_MOST_NUMBERS:]), 2)
        return {result for one, other in pairs for result in (one + other, abs(one - other))}


def told(view: View) -> Iterator[str]:
    """Give every text that the user was told, or that either party said, with what its own tools take and returned."""
    yield from (view.persona or "", view.goal, *view.says, view.known_info, *view.unknown, view.task_instructions)
    data: list[object] = [view.knows]
    for message in (*view.earlier, *view.messages):
        data += [message.text, *(call.arguments for call in message.tool_calls)]
        data += [request.arguments for request in message.approvals]
    for tool in view.tools:
        data += [tool.description, tool.parameters]
    for one in data:
        yield from _texts(to_json(one))


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict | list):
        for item in value:
            yield from _texts(item)
        yield from _texts(list(value.values())) if isinstance(value, dict) else ()
    else:
        yield str(value)


@lru_cache(maxsize=512)
def ids_in(text: str) -> dict[str, str]:
    """Give what looks like an id (a digit beside letters, a long number, an e-mail address), by its letters and digits.

    The spelling is that of the text.
    """
    plain = unicodedata.normalize("NFKC", clipped(text))
    found = {flat(one): one for one in _EMAIL.findall(plain)}
    for one in _ID.findall(_EMAIL.sub(" ", plain)):
        if shape(one.casefold()):
            found.setdefault(flat(one), one)
    return found


def stated_values(text: str, known: Iterable[Any], ids: Iterable[str], locale: str) -> tuple[Any, ...]:
    """Give the `known` values that a text states, and the ids in it that are of the kind of one of `ids`."""
    found = [one for one in known if states(one, text, locale)]
    written = ids_in(text)
    if written:
        plain = {flat(str(one)) for one in found}
        shapes = {shape(one.casefold()) for one in ids} - {""}
        found += [raw for code, raw in written.items() if code not in plain and shape(raw.casefold()) in shapes]
    return tuple(dict.fromkeys(found))
