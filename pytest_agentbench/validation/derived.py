"""Rules by which a value follows from known ones without standing there word for word.

In this order; the first that applies names how the value is reached:

1. *constant*: true, false, null, an empty text, list or mapping; a value that the tool's schema lists or defaults to
2. *said*: a text or number that is said, whatever its case, accents, separators and trailing zeros
3. *same words*: all words of the value are said in one place, in any order, `_`, `#` and `/` apart
4. *date*: a date that is said in another form (`2024-05-20`: May 20, 20 mai, 5/20, 20.05.2024), or relatively
5. *count*: a whole number up to 20
6. *computed*: the sum, difference, product or share of two known numbers, or the sum of several in one place
7. *abbreviation*: two or three capitals that stand in this order in a word or name that is said
8. *own words*: a text of four words or more in which every word with a digit is known; so is an expression of
   known numbers
"""

import re
from collections.abc import Mapping
from datetime import date
from itertools import combinations

from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number, same
from pytest_agentbench.validation.known import Known, words

COUNTED = 20
"""Whole numbers up to this one are counts of what is known."""
OWN_WORDS = 4
"""Words from which a text is the agent's own."""
_NUMBERS = 150
"""Known numbers up to which pairs are computed."""

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ].*)?")
_RELATIVE = re.compile(
    r"\b(?:today|tomorrow|yesterday|next (?:day|week|month)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"(?:day|days|week|weeks) (?:later|earlier|after|before|from)|(?:later|earlier|following|previous|same) day|"
    r"aujourd'hui|demain|hier|lendemain|veille|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\b"
)
_MONTHS = (
    ("january", "janvier"), ("february", "fevrier"), ("march", "mars"), ("april", "avril"), ("may", "mai"),
    ("june", "juin"), ("july", "juillet"), ("august", "aout"), ("september", "septembre"), ("october", "octobre"),
    ("november", "novembre"), ("december", "decembre"),
)  # fmt: skip
_CAPITALS = re.compile(r"[A-Z]{2,3}")
_TITLED = re.compile(r"[A-ZÀ-Ý][\w'’-]*(?: [A-ZÀ-Ý][\w'’-]*){0,3}")
_EXPRESSION = re.compile(r"[\d\s.+*/()-]+")
_WITH_DIGIT = re.compile(r"[\w#.+@-]*\d[\w.+@-]*")
_CENT = 0.0051


def way_to(value: JsonValue, schema: Mapping[str, JsonValue], known: Known) -> tuple[str, str] | None:
    """Give (rule, place) by which a value is reached, or None."""
    listed = [*schema.get("enum", ()), schema.get("const"), schema.get("default")]
    if value is None or isinstance(value, bool) or value in ("", [], {}) or any(same(value, one) for one in listed):
        return "constant", "the tool's schema"
    if place := known.place_of(str(value)):
        return "said", place
    if is_number(value):
        return _number(float(value), known)
    return _text(str(value), known)


def _text(value: str, known: Known) -> tuple[str, str] | None:
    wanted = words(plain(value))
    if wanted and (place := known.place_of_words(wanted)):
        return "same words", place
    if (found := _DATE.fullmatch(value)) and (place := _date(found, known)):
        return "date", place
    if _CAPITALS.fullmatch(value) and (place := _abbreviated(value, known)):
        return "abbreviation", place
    if _EXPRESSION.fullmatch(value):
        found_numbers = [_number(float(number), known) for number in re.findall(r"\d+(?:\.\d+)?", value)]
        return ("own words", "known numbers") if all(found_numbers) else None
    tokens = [token for token in _WITH_DIGIT.findall(value) if not token.isdigit() or int(token) > COUNTED]
    if len(value.split()) >= OWN_WORDS and all(known.place_of(token) or _is_number(token, known) for token in tokens):
        return "own words", "what is known"
    return None


def _is_number(token: str, known: Known) -> bool:
    try:
        return _number(float(token.strip(".#")), known) is not None
    except ValueError:
        return False


def _number(value: float, known: Known) -> tuple[str, str] | None:
    if value in known.numbers:
        return "said", known.numbers[value]
    if value.is_integer() and 0 <= value <= COUNTED:
        return "count", "what is known"
    numbers = list(known.numbers)[:_NUMBERS]
    for left, right in combinations(numbers, 2):
        results = [left + right, left - right, right - left, left * right]
        results += [left / right] if right else []
        if any(abs(value - result) < _CENT for result in results):
            return "computed", f"{known.numbers[left]} and {known.numbers[right]}"
    by_place: dict[str, float] = {}
    for number, place in known.numbers.items():
        by_place[place] = by_place.get(place, 0.0) + number
    summed = next((place for place, total in by_place.items() if abs(total - value) < _CENT), None)
    return ("computed", summed) if summed else None


def _date(found: re.Match[str], known: Known) -> str | None:
    try:
        day = date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None
    names = "|".join(name for month in _MONTHS[day.month - 1] for name in {month, month[:3]})
    n, m = day.day, day.month
    pattern = re.compile(
        rf"\b(?:{names})\.? 0?{n}(?:st|nd|rd|th)?\b|\b0?{n}(?:st|nd|rd|th|er)?(?: of)? (?:{names})\b"
        rf"|\b0?{m}[/.-]0?{n}\b|\b0?{n}[/.-]0?{m}\b"
    )
    for place, text in known.texts:
        if pattern.search(text) or _RELATIVE.search(text):
            return place
    return None


def _abbreviated(value: str, known: Known) -> str | None:
    letters = re.compile(".*?".join(value.lower()))
    for place, text in known.raw:
        for name in _TITLED.findall(text):
            flat = plain(name)
            if flat[:1] == value[0].lower() and letters.match(flat):
                return place
            if len(flat) > len(value) and letters.search(flat):
                return place
    return None
