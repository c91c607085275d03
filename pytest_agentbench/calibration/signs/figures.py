"""The sign of figures that come from nowhere."""

import re
from collections.abc import Iterator, Set
from decimal import Decimal
from itertools import combinations

from pytest_agentbench.calibration.signs.reading import Reading, flat
from pytest_agentbench.checks.handling.figures import figures, number

_MOST = 40
"""Told numbers of which sums, differences and products count as known too."""


def invented(reading: Reading) -> Iterator[str]:
    """Find figures that the agent tells and that neither the user nor a tool gave.

    A sum, difference or product counts as known where the same message or the user's words tell both of its parts.
    """
    for index, text in reading.agent:
        known = reading.known(index)
        found = [figure for figure in dict.fromkeys(figures(text)) if not _is_known(figure, known)]
        told = {value for figure in figures(text) if _is_known(figure, known) and (value := number(figure)) is not None}
        told |= {value for _, said in reading.user for figure in figures(said) if (value := number(figure)) is not None}
        for figure in found:
            value = number(figure)
            if value is not None and _is_computed(value, told, known):
                continue
            if _is_other_unit(figure, text, known) or _is_day(figure, known):
                continue
            yield f"{figure!r} came from nowhere"
            return


def _is_computed(value: Decimal, told: Set[Decimal], known: str) -> bool:
    """Whether a number is made of two told ones, or is the sum or difference of a told one and one of a call."""
    if any(value in {a + b, abs(a - b), a * b} for a, b in combinations(sorted(told)[:_MOST], 2)):
        return True
    others = {other for token in figures(known) if (other := number(token)) is not None and "." in token}
    return "." in f"{value}" and any(value in {a + b, abs(a - b)} for a in told for b in others)


def _is_other_unit(figure: str, text: str, known: str) -> bool:
    """Whether a number of pence, cents or per cent is a known one of pounds, euros or wholes."""
    found = re.fullmatch(r"(\d+(?:[.,]\d+)?)(p|c|ct)?", figure)
    value = number(found[1]) if found else None
    unit = re.search(rf"{re.escape(figure)}\s?(?:p|pence|c|ct|cents?|centimes?|%)(?!\w)", text)
    if value is None or not (unit or (found and found[2])):
        return False
    return any(one * 100 == value for token in re.findall(r"\d+\.\d+", known) if (one := number(token)) is not None)


def _is_day(figure: str, known: str) -> bool:
    """Whether an ordinal is the day of a known date."""
    found = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th|er|e)", figure.lower())
    return found is not None and re.search(rf"\d{{4}}-\d\d-0?{found[1]}(?!\d)", known) is not None


def _is_known(figure: str, known: str) -> bool:
    bare = flat(figure)
    if bare in flat(known):
        return True
    value = number(figure)
    if value is None:
        return False
    exponent = value.as_tuple().exponent
    places = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    others = {one for token in figures(known) if (one := number(token)) is not None}
    return any(round(one, places) == value or abs(one) == value for one in others)
