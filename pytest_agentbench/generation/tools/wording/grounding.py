"""Whether a text says only what is known: every number, date, code, quotation and proper name is traced.

A value counts as known where it stands in an argument or a result in any spelling: other case and accents, rounded to
the decimals that the text gives, a number in words or before a hyphen (`15-day`), a date or a time of day in any form
(`moments.py`), thousands separated.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation._reading.phrases.language import words
from pytest_agentbench.generation.tools.probing.reading import inner
from pytest_agentbench.generation.tools.wording.moments import Moments
from pytest_agentbench.generation.tools.wording.numerals import TELLING, numbers_in

_NUMBER = re.compile(r"(?<![\w.,])-?\d+(?:[.,]\d+)*(?![\w]|[.,]\d)")
_CODE = re.compile(r"(?<!\w)(?=[\w@./:#+-]*\d)(?=[\w@./:#+-]*[A-Za-zÀ-ÿ@_])[\w@.:/#+-]*\w|[\w.+-]+@[\w.-]+\w")
_MEASURE = re.compile(r"(-?\d+(?:[.,]\d+)*)(?:°?[a-zA-Zµ%€$/²³]{1,5}|st|nd|rd|th|er|e|ème)")
_QUOTED = re.compile(r"[\"“«]\s*([^\"”»]{1,200}?)\s*[\"”»]")
_NAME = re.compile(r"[^\W\d_][\w'’-]*")
_BREAK = re.compile(r"[.!?:;\n«\"“(]\s*$")
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_DATE_LIKE = re.compile(r"(?<![\w/.-])\d{1,2}[/.]\d{1,2}(?:[/.](?:\d{4}|\d{2}))?(?![\d.])")
_COMPOUND = re.compile(r"(\d+(?:[.,]\d+)?)-[a-zà-ÿ]{3,}(?:-[a-zà-ÿ]{2,})?")
_DAYS = words(
    "monday tuesday wednesday thursday friday saturday sunday lundi mardi mercredi jeudi vendredi samedi dimanche "
    "i i'd i'm i'll i've ok mr mrs ms dr madame monsieur english french gps id api url isbn pdf usd eur"
)


@dataclass
class Grounds:
    """What may be said: texts and values of arguments, results and descriptions."""

    _texts: list[str] = field(default_factory=list)
    _numbers: set[float] = field(default_factory=set)
    _moments: Moments = field(default_factory=Moments)
    _words: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)

    def add(self, value: JsonValue) -> None:
        """Take in a text or a JSON value, keys included, and how many entries its lists have."""
        mark = dumps(value)
        if mark in self._seen:
            return
        self._seen.add(mark)
        for part in _parts(value):
            if is_number(part):
                self._numbers.add(float(part))
                self._moments.add_number(float(part))
                continue
            found = _read(str(part))
            self._texts.append(found.text)
            self._words |= found.words
            self._numbers |= found.numbers
            self._moments.days |= found.moments.days
            self._moments.times |= found.moments.times

    def says(self, text: str) -> bool:
        """Whether a text stands somewhere as a whole."""
        wanted = plain(text)
        pattern = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
        return not wanted or any(wanted in known and pattern.search(known) for known in self._texts)

    def has_number(self, token: str) -> bool:
        """Whether a number is known, exactly or before it was rounded to the decimals of `token`."""
        readings = _readings(token)
        if not readings:
            return self.says(token)
        decimals = len(re.split(r"[.,]", token)[-1]) if re.search(r"[.,]\d+$", token) else 0
        half = 0.5 * 10**-decimals
        return any(
            abs(number - known) < 1e-9 or (abs(abs(number) - abs(known)) <= half + 1e-9 and known != int(known))
            for known in self._numbers
            for number in readings
        )

    def has_value(self, value: JsonValue) -> bool:
        """Whether a value of an argument is said, also in words: a number, a date, a time."""
        if isinstance(value, bool):
            return False
        if is_number(value):
            return float(value) in self._numbers
        alone = Moments()
        alone.add(str(value))
        bare = _ISO.sub("", str(value)).strip()
        if alone.days and not bare:
            return all(map(self._moments.has_day, alone.days))
        return self.says(str(value))

    def has_word(self, word: str) -> bool:
        """Whether a name is known, in the singular or possessive too."""
        flat = re.sub(r"['’]s?$", "", plain(word)).strip("'’-")
        parts = [part for part in re.split(r"['’-]", flat) if part]
        return flat in self._words or all(part in self._words or len(part) == 1 for part in parts)

    def unknown(self, text: str) -> list[str]:
        """Give the concrete values of a text that stand nowhere, in order; numbers in words from eleven on are such."""
        rest = self._moments.without(text)
        clocks = [said for said in Moments.clock_times(rest) if not self.says(said)]
        for said in clocks:
            rest = rest.replace(said, " ")
        found = clocks + [said for said in _QUOTED.findall(rest) if not self.says(said) and not self._all_words(said)]
        rest = _QUOTED.sub(lambda match: match[0] if match[1] not in found else " ", rest)
        rest = _DATE_LIKE.sub(lambda match: self._dated(match, found), rest)
        for match in _CODE.finditer(rest):
            measure = _MEASURE.fullmatch(match[0]) or _COMPOUND.fullmatch(match[0])
            known = self.says(match[0]) or (measure is not None and self.has_number(measure[1]))
            if not known and not all(
                self.says(part) or self.has_number(part) for part in re.split(r"[/:-]", match[0]) if part
            ):
                found.append(match[0])
        rest = _CODE.sub(" ", rest)
        found += [token for token in _NUMBER.findall(rest) if not self.has_number(token)]
        found += [
            said
            for said, number in numbers_in(rest)
            if number >= TELLING and float(number) not in self._numbers and not self.says(said)
        ]
        found += self._names(rest)
        return list(dict.fromkeys(found))

    def _names(self, text: str) -> Iterator[str]:
        tokens = list(_NAME.finditer(text))
        for place, token in enumerate(tokens):
            word = token[0]
            if not word[0].isupper() or plain(word) in _DAYS or self.has_word(word):
                continue
            before = text[: token.start()]
            opens = not before.strip() or _BREAK.search(before) is not None
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            joins = following is not None and following[0][0].isupper() and text[token.end() : following.start()] == " "
            if opens and not (joins and following is not None and plain(following[0]) not in _DAYS):
                continue
            yield word

    def _all_words(self, text: str) -> bool:
        return all(self.has_word(word) for word in _NAME.findall(text)) and all(
            map(self.has_number, _NUMBER.findall(text))
        )

    def _dated(self, match: re.Match[str], found: list[str]) -> str:
        if re.fullmatch(r"\d+\.\d+", match[0]):
            return match[0]  # a decimal
        if not self.says(match[0]):
            found.append(match[0])
        return " "


@dataclass(frozen=True)
class _Read:
    """What one text makes known."""

    text: str
    words: frozenset[str]
    numbers: frozenset[float]
    moments: Moments


@lru_cache(maxsize=20_000)
def _read(part: str) -> _Read:
    """Read a text; results come again in every story that is told of them."""
    text = plain(part)
    moments = Moments()
    moments.add(part)
    numbers = {number for token in _NUMBER.findall(_ISO.sub(" ", part)) for number in _readings(token)}
    return _Read(
        text=text,
        words=frozenset(re.findall(r"[^\W_]+", text)) | frozenset(re.findall(r"[\w'-]+", text)),
        numbers=frozenset(numbers | {float(number) for _, number in numbers_in(part)}),
        moments=moments,
    )


def names_said(text: str, names: Iterable[str]) -> list[str]:
    """Give the names of tools and arguments that a text says as programs spell them: `find_parcel`, `orderId`.

    A name that is a plain word (`city`, `search`) is one to people too and counts only where it is called: `search(`.
    """
    found = []
    for name in names:
        is_code = bool(re.search(r"[_\d]|[a-z][A-Z]|[.:/-]", name)) and humanize(name) != name
        pattern = rf"(?<![\w]){re.escape(name)}(?!\w)" if is_code else rf"(?<!\w){re.escape(name)}\("
        if re.search(pattern, text):
            found.append(name)
    return found


def holds_code(text: str) -> bool:
    """Whether a text holds JSON, a call or markup instead of words."""
    return bool(re.search(r"[{}]|\[\s*[\"{\[]|\w+\([^)]*=|```|\"\s*:\s*[\"\d{\[]|</?\w+>", text))


def _parts(value: JsonValue) -> Iterator[JsonValue]:
    value = inner(value)
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield humanize(str(key)) if len(str(key)) < 60 else str(key)
            yield str(key)
            yield from _parts(item)
    elif isinstance(value, list | tuple):
        yield len(value)
        for item in value:
            yield from _parts(item)
    elif value is not None and not isinstance(value, bool):
        yield value


def _readings(token: str) -> list[float]:
    """Give the numbers that a token may mean: `51,034` is thousands to some and has decimals to others."""
    sign = -1 if token.startswith("-") else 1
    bare = token.lstrip("-")
    spelt = [plain(bare), *([bare.replace(",", ".")] if re.fullmatch(r"\d{1,3},\d{3}", bare) else [])]
    found: list[float] = []
    for one in spelt:
        with suppress(ValueError):
            found.append(float(one) * sign)
    return found
