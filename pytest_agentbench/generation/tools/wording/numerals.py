"""Numbers in words, English and French, from zero to ninety-nine and in hundreds: `twenty-one`, `quatre-vingt-dix`."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from pytest_agentbench.core.spoken import plain

_ENGLISH = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_ENGLISH_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_FRENCH = [
    "zero",
    "un",
    "deux",
    "trois",
    "quatre",
    "cinq",
    "six",
    "sept",
    "huit",
    "neuf",
    "dix",
    "onze",
    "douze",
    "treize",
    "quatorze",
    "quinze",
    "seize",
    "dix-sept",
    "dix-huit",
    "dix-neuf",
]
_FRENCH_TENS = ["vingt", "trente", "quarante", "cinquante", "soixante", "soixante", "quatre-vingt", "quatre-vingt"]

TELLING = 11
"""From here on a number in words is a value; smaller ones are words of everyday speech (`one more`, `two things`)."""


def numbers_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield the numbers that a text says in words, with the words."""
    for match in _pattern().finditer(plain(text)):
        yield match[0], _spelt()[_joined(match[0])]


@cache
def _spelt() -> Mapping[str, int]:
    """Give every number by its words, without accents and with hyphens."""
    found: dict[str, int] = {}
    for number in range(100):
        for words in (_english(number), *_french(number)):
            found.setdefault(words, number)
    hundreds = {f"{word}-hundred": 100 * n for n, word in enumerate(_ENGLISH[:10]) if n}
    return {**found, **hundreds, **{f"{word}-cents": 100 * n for n, word in enumerate(_FRENCH[:10]) if n > 1}}


@cache
def _pattern() -> re.Pattern[str]:
    names = sorted(_spelt(), key=len, reverse=True)
    either = "|".join(re.escape(name).replace(r"\-", "[ -]") for name in names)
    return re.compile(rf"(?<![\w-])(?:{either})(?![\w-])")


def _english(number: int) -> str:
    if number < 20:
        return _ENGLISH[number]
    tens, ones = divmod(number, 10)
    return _ENGLISH_TENS[tens - 2] + (f"-{_ENGLISH[ones]}" if ones else "")


def _french(number: int) -> Iterator[str]:
    if number < 20:
        yield _FRENCH[number]
        return
    tens, ones = divmod(number, 10)
    name = _FRENCH_TENS[tens - 2]
    ones += 10 * (tens in (7, 9))
    if number == 80:
        yield "quatre-vingts"
    if not ones:
        yield name
    elif ones in (1, 11) and tens < 8:
        yield f"{name}-et-{_FRENCH[ones]}"
    else:
        yield f"{name}-{_FRENCH[ones]}"
        if ones == 1:
            yield f"{name}-une"


def _joined(words: str) -> str:
    return re.sub(r"[ -]+", "-", words)
