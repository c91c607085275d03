"""Values recognised by their shape alone: e-mail addresses, phone numbers, postcodes, codes, amounts, dates."""

import re
from collections.abc import Iterator
from functools import cache

from pytest_agentbench.users.phrases import LANGUAGES

EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
PHONE = re.compile(r"(?<![\w#-])\+?\(?\d{2,4}\)?(?:[ .-]\(?\d{2,4}\)?){2,4}(?![\w-])")
ZIP = re.compile(r"(?<![\w#$€.,-])\d{5}(?:-\d{4})?(?![\w-]|[.,]\d)|\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b")
USERNAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+_\d+\b")
CODE = (
    r"(?:#[A-Za-z]{0,4}-?\d[\w-]*|(?=[\w-]*\d)[A-Z][A-Z\d]*(?:-[A-Z\d]+)*|(?=[\w-]*\d)\d[A-Z\d]{2,}(?:-[A-Z\d]+)*|\d{4,}"
    r"|[a-z]+(?:_[a-z]+)*_\d+)"
)
"""The pattern of an identifier; every form holds a digit."""

BARE_CODE = re.compile(r"(?<![\w#$€.-])[A-Z]{1,4}-?\d{1,12}(?![\w-])")
HASH_CODE = re.compile(r"(?<!\w)#[A-Za-z]{0,4}-?\d[\w-]{0,40}")
AMOUNT = re.compile(
    r"(?:[$€£]|\b(?:usd|eur|gbp)\s?)\s?(?P<before>\d[\d,  ]*(?:[.,]\d{1,2})?)(?!\d)"
    r"|(?P<after>\d[\d,  ]*(?:[.,]\d{1,2})?)\s?(?:[$€£]|(?:dollars?|euros?|usd|eur|gbp)\b)",
    re.IGNORECASE,
)
_PHONE_DIGITS = 9
_ISO_DATE = re.compile(r"\b\d{4}-(?P<month>\d{2})-(?P<day>\d{2})\b")


def phones(text: str) -> list[str]:
    """Give every phone number of nine digits or more in `text`; shorter runs are dates."""
    return [match[0] for match in PHONE.finditer(text) if sum(char.isdigit() for char in match[0]) >= _PHONE_DIGITS]


def amounts(text: str) -> list[tuple[int, float]]:
    """Give (position, value) of every amount of money in `text`."""
    return [(match.start(), _number(match["before"] or match["after"])) for match in AMOUNT.finditer(text)]


def dates(text: str) -> list[tuple[int, int]]:
    """Give (month, day) of every ISO, English or French date in `text`."""
    found = [(int(match["month"]), int(match["day"])) for match in _ISO_DATE.finditer(text)]
    for match in _named_date().finditer(text):
        name, day = (
            (match["month_first"], match["day_after"])
            if match["month_first"]
            else (match["month_last"], match["day_before"])
        )
        found.append((_month(name), int(day)))
    return found


def codes_by_noun(text: str) -> Iterator[tuple[str, str]]:
    """Give (kind, code) of every code that a noun names: `order W1`, `reservation number is VA5SGQ`."""
    for match in _noun_code().finditer(text):
        word = match["noun"].lower()
        for language in LANGUAGES:
            stem = language.nouns.get(word) or language.nouns.get(word.removesuffix("s"))
            if stem is not None and stem != "phone":
                yield f"{stem}_id", match["code"]
                break


def codes_after(text: str) -> list[str]:
    """Give further codes of a list after its first: `orders W1, W2 and #W3`."""
    return re.findall(rf"(?:,|\band|\bet|&)\s+({CODE})(?!\w)", text)


def methods(text: str) -> set[str]:
    """Give the payment methods that `text` names, in English."""
    return {name for name, expression in _methods() if expression.search(text)}


def address_numbers(text: str) -> set[str]:
    """Give the house numbers of the street addresses in `text`."""
    return {match[name].lower() for match in _street().finditer(text) for name in match.groupdict() if match[name]}


def street_starts(text: str) -> list[int]:
    """Give where each street address of `text` begins."""
    return [match.start() for match in _street().finditer(text)]


def same_code(code: str) -> str:
    """Give the form in which two spellings of a code are equal."""
    number = re.sub(r"[\s().+-]", "", code)
    return number if number.isdigit() else code.lstrip("#").lower()


def _number(text: str) -> float:
    plain = re.sub(r"[\s  ]", "", text).rstrip(",.")
    if re.search(r",\d{1,2}$", plain):
        plain = plain.replace(".", "").replace(",", ".")
    return float(plain.replace(",", ""))


@cache
def _noun_code() -> re.Pattern[str]:
    nouns = "|".join(sorted({noun for language in LANGUAGES for noun in language.nouns}, key=len, reverse=True))
    return re.compile(
        rf"(?<!\w)(?P<noun>(?i:{nouns}))s?(?i:[ _-](?:ids?|numbers?|codes?|references?|no\.?|n°|num[ée]ro))?"
        rf"(?i:\s*(?:is|are|est|sont|:|=|n°|no\.?))?\s*[:'\"(]?\s*(?P<code>{CODE})(?!\w)"
    )


@cache
def _named_date() -> re.Pattern[str]:
    names = "|".join(
        rf"{month}|{month[:3]}\.?" if language.code == "en" else month
        for language in LANGUAGES
        for month in language.months
    )
    return re.compile(
        rf"\b(?P<month_first>{names}) (?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)"
        rf"|\b(?P<day_before>\d{{1,2}})(?:st|nd|rd|th|er)?(?: of)? (?P<month_last>{names})\b",
        re.IGNORECASE,
    )


def _month(name: str) -> int:
    word = name.lower().rstrip(".")
    for language in LANGUAGES:
        for index, month in enumerate(language.months, start=1):
            if month == word or (language.code == "en" and month[:3] == word):
                return index
    return 0


@cache
def _methods() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile(rf"(?<!\w)(?:{source})", re.IGNORECASE))
        for language in LANGUAGES
        for name, source in language.methods.items()
    )


@cache
def _street() -> re.Pattern[str]:
    sources = [language.street.replace("(?P<number>", f"(?P<number{n}>") for n, language in enumerate(LANGUAGES)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(sources)})(?!\w)", re.IGNORECASE)
