"""Values in a text that nobody can guess: e-mail addresses, numbers, codes, dates, street numbers, the own name."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_agentbench.users.shapes import EMAIL, address_numbers, dates, phones

_READ = 8_000
_DIGIT = re.compile(r"\d")
_CODE = re.compile(
    r"(?<![\w@.])#?[A-Za-z0-9]*\d[A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*|(?<![\w@.])#?[A-Za-z]+(?:[_-][A-Za-z]+)*[_-]?\d[\w-]*"
)
_GROUPED = re.compile(r"\d{1,3}(?:[, \u00a0\u202f]\d{3})+(?!\d)")
_DECIMAL = re.compile(r"(?<![\w.])\d+[.,]\d{1,2}(?![\w])")
_MEASURE = re.compile(
    r"\d{1,4}(?:st|nd|rd|th|er|e|è?me|s|x|k|p|d|g|w|v|l|m|h|am|pm|hrs?|gb|tb|mb|kb|mbps|gbps|ml|cl|mm|cm|km|kg|lbs?|oz|hz|mhz|ghz|mah|mp|inch(?:es)?|in|ft|min|h\d{2}|usd|eur|dpi|fps|w?h|ghz|days?|years?|hours?)",
    re.IGNORECASE,
)
_DIMENSIONS = re.compile(r"\d{1,4}(?:x\d{1,4}){1,2}|\d{1,3}-\d{1,3}|\d{1,4}-[a-z]{2,}(?:-[a-z]+)*", re.IGNORECASE)
_NUMERIC_DATE = re.compile(
    r"(?<![\w/.-])(?P<first>\d{1,2})[/.](?P<second>\d{1,2})(?P<year>[/.](?:19|20)?\d{2})?(?![\w/]|[.-]\d)"
)
_NAMED = re.compile(
    r"(?:\b[Mm]y (?:full )?name is|\b[Mm]y name['’]s|\b[Jj]e m['’]appelle|\b[Mm]on nom est|\bje suis (?:M\.|Mme|Monsieur|Madame))"
    r"[ :]+(?P<name>[A-ZÀ-Ý][\w'’-]+(?: [A-ZÀ-Ý][\w'’-]+){0,3})"
)
_BETWEEN = re.compile(r"[\W_]+")
_SHORTEST = 4
"""Characters of a code: three digits are a quantity, an age, a size."""


@dataclass(frozen=True)
class Value:
    """A value as it is written, and the forms of which one must be known."""

    text: str
    forms: tuple[str, ...]


def values_of(text: str) -> Iterator[Value]:
    """Give every value of `text` that a person either knows or makes up; amounts and quantities are none."""
    rest = text[:_READ]
    for name in _NAMED.finditer(rest):
        yield from (Value(part, (flat(part),)) for part in name["name"].split() if len(part) > 1)
    if "@" in rest:
        for address in EMAIL.findall(rest):
            yield Value(address, (flat(address),))
        rest = EMAIL.sub(" ", rest)
    if not _DIGIT.search(rest):  # which all that follows holds
        return
    for number in phones(rest):
        yield Value(number, (flat(number), flat(number)[-_PHONE_TAIL:]))
        rest = rest.replace(number, " ")
    for month, day in dates(rest):
        yield Value(f"{month:02}-{day:02} (month-day)", (date_form(month, day),))
    for house in sorted(address_numbers(rest)):
        yield Value(house, (number_form(house),))
    yield from _codes(rest)


_PHONE_TAIL = 7


def _codes(text: str) -> Iterator[Value]:
    plain = _DECIMAL.sub(" ", _GROUPED.sub(" ", text))
    for match in _NUMERIC_DATE.finditer(plain):
        first, second = int(match["first"]), int(match["second"])
        is_date = match["year"] or "0" in (match["first"][0], match["second"][0]) or 12 < max(first, second) != 24
        if is_date and 1 <= min(first, second) <= 12 and max(first, second) <= 31:
            yield Value(match[0], (date_form(first, second), date_form(second, first), flat(match[0])))
    plain = _NUMERIC_DATE.sub(" ", plain)
    for match in _CODE.finditer(plain):
        code = match[0].rstrip("-_")
        if not _is_common(code, plain[: match.start()], plain[match.end() :]):
            yield Value(code, (flat(code),))


def _is_common(code: str, before: str, after: str) -> bool:
    """Tell whether a token with a digit is an amount, a quantity, a measure, a year, a time or a word with a number."""
    bare = code.lstrip("#")
    if len(bare) < _SHORTEST or _MEASURE.fullmatch(bare) or _DIMENSIONS.fullmatch(bare):
        return True
    if bare.isdigit():
        is_year = re.fullmatch(r"(?:19|20)\d{2}", bare) is not None
        is_amount = re.search(r"[$€£]\s?$", before) is not None or re.match(
            r"\s?(?:[$€£]|dollars?|euros?|usd|eur|points?|miles?)", after, re.IGNORECASE
        )
        return is_year or bool(is_amount) or after[:1] == ":"
    return re.fullmatch(r"(?:19|20)\d{2}-\d{2}-\d{2}", bare) is not None  # read as a date


def flat(text: str) -> str:
    """Give the letters and digits of `text` in lower case, so that spellings of one value are equal."""
    return _BETWEEN.sub("", text.lower())


def date_form(month: int, day: int) -> str:
    """Give the form of a date without its year, which no text holds."""
    return f"\0{month}-{day}"


def number_form(number: str) -> str:
    """Give the form of a number that stands alone."""
    return f"\0n{number.lower()}"
