"""Figures in a text that it must have from somewhere: amounts, dates, codes; and whether it does."""

import re
from collections.abc import Iterable, Iterator, Set
from decimal import Decimal, InvalidOperation
from itertools import combinations

_TOKEN = re.compile(r"(?<![\w])(?:[A-Za-z]+[-_#]?)?\d[\w]*(?:[.,:/-]\d[\w]*)*")
_UNIT = r"(?:seconds?|secondes?|minutes?|mins?|hours?|heures?|times?|fois|%)"
_WAIT = re.compile(rf"\s*(?:-|–|to|à|or|ou)?\s*\d*\s*(?:more |autres )?{_UNIT}\b", re.IGNORECASE)
_LIST = re.compile(r"(?:^|\n)\s*$")
_MOST = 120
"""Known numbers of which sums, differences and products count as known too."""


def figures(text: str) -> Iterator[str]:
    """Give the figures of `text`, leaving out single digits, waits ("5 minutes"), shares and list numbers."""
    for match in _TOKEN.finditer(text):
        token = match[0].rstrip(".,:/-")
        before, after = text[: match.start()], text[match.end() :]
        if len(re.sub(r"\D", "", token)) < 2 and token.isdigit():
            continue
        if _WAIT.match(after) or (_LIST.search(before) and after[:1] in ".)"):
            continue
        yield token


def flat(token: str) -> str:
    """Give the letters and digits of a figure in lower case."""
    return re.sub(r"[\W_]", "", token.lower())


def number(token: str) -> Decimal | None:
    """Give a figure as a number, None where it is none; thousands may be grouped."""
    plain = re.sub(r"(?<=\d)[,\u00a0\u202f ](?=\d{3}(?:\D|$))", "", token).replace(",", ".")
    try:
        return Decimal(plain)
    except InvalidOperation:
        return None


def unknown_figures(text: str, known: Iterable[str]) -> list[str]:
    """Give the figures of `text` that none of the `known` texts holds, spelled or rounded otherwise or added up."""
    found = list(dict.fromkeys(figures(text)))
    if not found:
        return []
    whole = flat("\n".join(known := list(known)))
    numbers = {value for one in known for token in _TOKEN.findall(one) if (value := number(token)) is not None}
    return [token for token in found if flat(token) not in whole and not _derived(number(token), numbers)]


def _derived(value: Decimal | None, numbers: Set[Decimal]) -> bool:
    """Whether a number is known, rounded from a known one, or a sum, difference or product of two."""
    if value is None:
        return False
    places = -int(exponent) if isinstance(exponent := value.as_tuple().exponent, int) and exponent < 0 else 0
    if any(round(known, places) == value or abs(known) == value for known in numbers):
        return True
    few = sorted(numbers)[:_MOST]
    return any(value in {a + b, abs(a - b), a * b} for a, b in combinations(few, 2)) or any(
        value == known * known for known in few
    )
