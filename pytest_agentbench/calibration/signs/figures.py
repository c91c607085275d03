"""The sign of figures that come from nowhere: amounts, codes, days and times of day."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator
from decimal import Decimal

from pytest_agentbench.calibration.signs.days import blanked, days, times
from pytest_agentbench.calibration.signs.knowledge import Knowledge, is_relative, numbers, tokens
from pytest_agentbench.calibration.signs.reading import Reading
from pytest_agentbench.core.spoken import plain

_UNIT = r"(?:seconds?|secondes?|minutes?|mins?|hours?|heures?|times?|fois|%)"
_WAIT = re.compile(rf"\s*(?:-|–|to|a|or|ou)?\s*\d*\s*(?:more |autres )?{_UNIT}(?!\w)")
_LIST = re.compile(r"(?:^|\n)\s*$")
_EXAMPLE = re.compile(
    r"\be\.g\b|\bfor example\b|\bfor instance\b|\bsuch as\b|\blooks? like\b|\bformat|\bpar exemple\b|\bp\. ?ex\b|\bdu type\b|\bcomme ceci\b|\bressembl"
)
_UNTOLD = re.compile(r"\d(?:st|nd|rd|th|er|re|e|eme|g|x|h|d|am|pm|k|m|km|cm|kg|p|c|s|j|l)?")
"""One digit with a unit says too little to come from anywhere."""
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|e|eme)")
_CENTS = re.compile(r"\s?(?:p|pence|c|ct|cents?|centimes?|%)(?!\w)")
_CURRENCY = "eur|usd|gbp|chf|cad|aud|jpy|x"
_WRONG_DAY = re.compile(r"(?<!\d)\d{4}-(?:\d\d-(?:3[2-9]|[4-9]\d|00)|(?:1[3-9]|[2-9]\d|00)-\d\d)(?!\d)")
_PERSON = re.compile(
    r"\b(?:Dr|Doctor|Mr|Mrs|Ms|Miss|Professor|Prof|Docteur|Monsieur|Madame|Mme|Mlle|Maître)\.? "
    r"(?P<name>[A-ZÀ-Ý][\w'’]+(?:[ -][A-ZÀ-Ý][\w'’]+)*)"
)
_OWN_NAME = re.compile(r"(?:\bici|\bje suis|\bi['’]m|\bi am|\bname is|\bthis is|\bappelle)\s$", re.IGNORECASE)
_PRICE = re.compile(r"(?<![\d.,])\d{1,3}(?:[  ,.]?\d{3})*[.,]\d\d(?!\d)")
"""A number with two decimals, which `plain` takes trailing zeros from."""
_BEFORE_PRICE = re.compile(r"(?:[$€£¥]|\b(?:eur|usd|gbp|chf|cad|aud|jpy))\s?$")
_AFTER_PRICE = re.compile(r"\s?(?:[$€£¥]|(?:eur|usd|gbp|chf|cad|aud|jpy|euros?|pounds?|dollars?|francs?|pence)\b)")
_SENTENCES = re.compile(r"(?<=[.!?…])\s+|\n+")


def invented(reading: Reading) -> Iterator[str]:
    """Find figures that the agent tells and that neither the user, a tool nor its briefing gave.

    What adds up from told numbers or from a column of an answer counts as known, as do spans from known days, and what
    the agent told before, which was looked at in its turn.
    """
    user_told = [value for _, said in reading.user for value in numbers(plain(said))]
    for index, text in reading.agent:
        known = reading.knowledge(index, told=True)
        for figure in unknown_figures(text, known, user_told):
            yield f"{figure!r} came from nowhere"
            return


def invented_name(reading: Reading) -> Iterator[str]:
    """Find people, named with a title, of whom neither the user, a tool nor the agent's briefing spoke."""
    for index, text in reading.agent:
        known = reading.knowledge(index, told=True).text
        for found in _PERSON.finditer(text):
            introduces = _OWN_NAME.search(text[: found.start()])
            if not introduces and not any(part in known for part in re.findall(r"\w{2,}", plain(found["name"]))):
                yield f"{found[0]!r} came from nowhere"
                return


def unknown_figures(text: str, known: Knowledge, also_told: list[Decimal]) -> Iterator[str]:
    """Give the days, times and other figures of a text that are not known and do not follow from what is."""
    said = "\n".join(plain(sentence) for sentence in _SENTENCES.split(text) if not _EXAMPLE.search(sentence.casefold()))
    yield from (match[0] for match in _WRONG_DAY.finditer(said) if match[0] not in known.text)
    named = days(said)
    for place in {one.start: one for one in named}.values():
        readings = [one for one in named if one.start == place.start]
        if not any(known.has_day(one.month, one.day, one.year) for one in readings):
            yield said[place.start : place.end]
    clock = times(blanked(said, named))
    for one in clock:
        span = one.minutes[0]
        if not known.has_time(one.minutes) and not known.has_span(span) and not _is_number(said[one.start :], known):
            yield said[one.start : one.end]
    prices = {plain(match[0]) for match in _PRICE.finditer(text)}
    yield from _others(blanked(said, [*named, *clock]), known, also_told, prices)


def _is_number(text: str, known: Knowledge) -> bool:
    """Whether what looks like a time begins with a known number of two digits or more: `45 h`."""
    found = re.match(r"\d+", text)
    return found is not None and Decimal(found[0]) in known.numbers


def _others(said: str, known: Knowledge, also_told: list[Decimal], prices: set[str]) -> Iterator[str]:
    told = [value for value in numbers(said) if value in known.numbers]
    for match in tokens(said):
        figure = match[0].rstrip(".,:/-_")
        before, after = said[: match.start()], said[match.end() :]
        if _WAIT.match(after) or (_LIST.search(before) and after[:1] in ".)") or known.says(figure):
            continue
        is_price = figure in prices or bool(_BEFORE_PRICE.search(before) or _AFTER_PRICE.match(after))
        for part in _parts(figure):
            if not known.says(part) and not _is_known(part, after, known, [*told, *also_told], is_price=is_price):
                yield figure
                break


def _parts(figure: str) -> list[str]:
    """Give a number or code by itself, and the halves of a range or a list of them."""
    halves = re.split(r"[/_]|(?<=\d)-(?=\d)", figure)
    return [half for half in halves if half and _UNTOLD.fullmatch(half) is None]


def _is_known(part: str, after: str, known: Knowledge, told: list[Decimal], *, is_price: bool) -> bool:
    """Whether a number, with a unit or a currency at it or without, is known or follows; a code never follows."""
    if ordinal := _ORDINAL.fullmatch(part):
        return known.has_day_of_month(int(ordinal[1])) or is_relative(known.text)
    found = re.fullmatch(rf"(?:{_CURRENCY})?(\d+(?:\.\d+)?)([a-z]{{0,3}})", part)
    value = next(numbers(found[1]), None) if found else None
    if found is None or value is None:
        return False
    return known.has_number(value, told, is_price=is_price) or _is_cents(value, found[2] or after, known)


def _is_cents(value: Decimal, after: str, known: Knowledge) -> bool:
    """Whether a number of pence, cents or per cent is a known one of pounds, euros or wholes."""
    return _CENTS.match(after) is not None and any(one * 100 == value for one in known.numbers)
