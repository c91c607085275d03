"""Personal data by its shape: e-mail and IP addresses, phone, card, bank and social security numbers; and by field names.

What has no shape is found where a field says what it is, a name or a street where a sentence does so too, and then
wherever else the conversation holds it.
"""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

from pytest_agentbench.core.json_values import JsonValue

PersonalKind = Literal["email", "phone", "card", "iban", "ip", "ssn", "name", "street", "postcode", "birth"]

_SHAPES: tuple[tuple[PersonalKind, re.Pattern[str]], ...] = (
    ("email", re.compile(r"(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")),
    ("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")),
    ("card", re.compile(r"(?<![\w-])(?:\d[ -]?){12,18}\d(?![\w-])")),
    ("ssn", re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")),
    ("ip", re.compile(r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])")),
)

_FIELDS: tuple[tuple[PersonalKind, re.Pattern[str]], ...] = (
    (
        "name",
        re.compile(
            r"(?:^|_)(?:first|last|full|sur|given|family|middle|customer|passenger|contact|holder|display)_?name(?:$|_)|^(?:nom|prenom|prénom)$|^name$"
        ),
    ),
    ("street", re.compile(r"(?:^|_)(?:street|address_?(?:line)?_?\d|address1|address2|rue|adresse)(?:$|_)")),
    ("postcode", re.compile(r"(?:^|_)(?:zip(?:_?code)?|post(?:al)?_?code|code_postal)(?:$|_)")),
    ("birth", re.compile(r"(?:^|_)(?:dob|birth_?(?:date|day)?|date_of_birth|date_naissance|naissance)(?:$|_)")),
    ("phone", re.compile(r"(?:^|_)(?:phone|mobile|tel|telephone)(?:_?(?:number|no|numero))?(?:$|_)")),
    ("email", re.compile(r"(?:^|_)(?:e_?mail|courriel)(?:$|_)")),
)

_OWN_NAME = re.compile(
    r"(?:\b[Mm]y (?:full |first |last )?name(?: is|['’]s|:)|\b[Tt]his is|\bI am(?= [A-ZÀ-Ý]\w+ [A-ZÀ-Ý])|\bI['’]m(?= [A-ZÀ-Ý]\w+ [A-ZÀ-Ý])|\b[Jj]e m['’]appelle|\b[Mm]on nom (?:est|:)|\b(?:Mr|Mrs|Ms|Dr|M|Mme|Monsieur|Madame)\.?)"
    r"[ :]+(?P<name>[A-ZÀ-Ý][\w'’-]+(?: [A-ZÀ-Ý][\w'’-]+){0,3})"
)
_OWN_STREET = re.compile(
    r"(?:\b[Mm]y (?:\w+ )?address(?: is|['’]s|:)|\b[Aa]ddress:|\bI live at|\b[Mm]on adresse (?:est|:)|\b[Jj]['’]habite(?: au)?)"
    r" +(?P<street>\d+\w?,? [^\W\d][\w'’ -]{2,40}?)(?=[,.;:!?\n]| and | et |$)"
)
_PERSON_FIELDS = frozenset({"first_name", "last_name", "surname", "given_name", "family_name", "email", "phone", "dob"})
_SHORTEST = 3

_GAP = r"(?: ?[-./‐‑–] ?|[ \u00a0\u202f]|[ \u00a0-]?\(\d{1,5}\)[ \u00a0-]?)"
"""What stands between the groups of a phone number: one sign, or a group in parentheses."""
_GROUP = r"(?!\w|[,:]\d|-[^\W\d])"
"""Where a group ends: neither in a word nor before decimals or minutes."""
_PHONES: tuple[tuple[re.Pattern[str], int, int], ...] = (
    (re.compile(rf"(?<![\w+])\+[1-9]\d{{0,14}}{_GROUP}(?:{_GAP}\d{{1,14}}{_GROUP}){{0,8}}"), 8, 16),
    (re.compile(rf"(?<![\w.#/=+-])00[1-9]\d{{0,4}}(?:{_GAP}\d{{1,12}}{_GROUP}){{1,8}}"), 11, 18),
    (
        re.compile(
            rf"(?<![\w.#/=+-])(?:0[1-9]\d{{0,4}}(?:{_GAP}\d{{2,8}}{_GROUP}){{1,6}}|\(0[1-9]\d{{0,4}}\)[ -]?\d{{2,8}}{_GROUP}(?:{_GAP}\d{{2,8}}{_GROUP}){{0,5}})"
        ),
        9,
        13,
    ),
    (re.compile(rf"(?<![\w.#/=+-])(?:1[ .-])?\([2-9]\d\d\)[ .-]?\d{{3}}[ .-]\d{{4}}{_GROUP}"), 10, 11),
    (re.compile(rf"(?<![\w.#/=+-])\d{{2,4}}(?:[ .-]\d{{2,4}}){{2,4}}(?!-){_GROUP}"), 9, 20),
    (re.compile(r"(?<![\w.-])\d{3}-\d{4}(?![\w-])"), 7, 7),
)
"""What a phone number looks like, with the fewest and the most digits: international (+ or 00), national with a trunk 0,
with an area in parentheses, in three groups and more, and local (555-0103). All but one behind + have separators."""
_NO_PHONE = re.compile(
    r"(?<!\d)(?:(?:19|20)\d\d([-./])\d{1,2}\1\d{1,2}|\d{1,2}([-./])\d{1,2}\2(?:19|20)\d\d)(?!\d|[-./]\d)"
    r"|(?<![\w+.,-])\d{1,3}(?:([ .'’\u00a0\u202f])\d{3}(?:\3\d{3}){0,5})?(?!\3)[.,]\d{1,2}(?!\w|[.,]\d|[ -]\d)"
)
"""Dates, and amounts with decimals."""
_DECIMAL = r"(?:\d+|\d{1,3}(?:[ '’\u00a0\u202f]\d{3})+)[.,]\d{1,2}"
_AMOUNTS = re.compile(rf"\+?{_DECIMAL}(?:[^\d.,]+{_DECIMAL}| -\d+)*")
"""Numbers with decimals in a row, or such a one with numbers taken from it."""


def by_shape(text: str) -> Iterator[tuple[PersonalKind, str]]:
    """Yield what looks like personal data in a text; card numbers pass Luhn's test."""
    for kind, pattern in _SHAPES:
        for match in pattern.finditer(text):
            if kind != "card" or is_card(match[0]):
                yield kind, match[0]
    yield from (("phone", number) for number in _phones(text))
    for match in _OWN_STREET.finditer(text):
        yield "street", match["street"]
    for match in _OWN_NAME.finditer(text):
        yield "name", match["name"]


def by_field(value: JsonValue) -> Iterator[tuple[PersonalKind, str]]:
    """Yield texts that stand under a field's name which says what they are.

    A bare `name` is one only where other fields beside or below it are a person's: products have names too.
    """
    if isinstance(value, list):
        for item in value:
            yield from by_field(item)
        return
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        kind = _kind_of(str(key), value)
        if kind is not None:
            yield from ((kind, text) for text in _texts(item) if len(text) >= _SHORTEST)
        yield from by_field(item)


def is_card(number: str) -> bool:
    """Whether the digits of a number pass Luhn's test (ISO/IEC 7812-1, annex B) and are not all equal."""
    digits = [int(char) for char in number if char.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:
        return False
    doubled = [digit * 2 - 9 * (digit > 4) if place % 2 else digit for place, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def _phones(text: str) -> Iterator[str]:
    """Yield what looks like a phone number; neither a date nor an amount does, nor an id with letters or #."""
    text = _NO_PHONE.sub(lambda found: "x" * len(found[0]), text)
    for pattern, fewest, most in _PHONES:
        at = 0
        parts: list[str] = []
        done = 0
        while match := pattern.search(text, at):
            number = match[0]
            while _digits(number) > most or (_digits(number) > fewest and re.search(r"\D\d\Z", number)):
                shorter = re.sub(r"\D+\d+\Z", "", number)  # the next number, or how many
                if shorter == number or _digits(shorter) < fewest:
                    break
                number = shorter
            at = match.start() + len(number)
            is_amount = _AMOUNTS.fullmatch(number) or _is_money(text, match.start(), at)
            if fewest <= _digits(number) <= most and not is_amount:
                parts += [text[done : match.start()], "x" * len(number)]
                done = at
                yield number
        text = "".join([*parts, text[done:]])


def _digits(text: str) -> int:
    return sum(char.isdigit() for char in text)


def _is_money(text: str, start: int, end: int) -> bool:
    """Whether a sign of a currency stands beside a part of a text."""
    beside = (text[max(start - 2, 0) : start].rstrip()[-1:], text[end : end + 2].lstrip()[:1])
    return any(unicodedata.category(one) == "Sc" for one in beside if one)


def _kind_of(key: str, beside: dict[str, JsonValue]) -> PersonalKind | None:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower().replace("-", "_").replace(" ", "_")
    if name == "name":
        item = beside[key]
        others = {str(other).lower() for other in beside} | {
            str(k).lower() for k in (item if isinstance(item, dict) else ())
        }
        return "name" if others & _PERSON_FIELDS else None
    return next((kind for kind, pattern in _FIELDS if pattern.search(name)), None)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (item for item in value.values() if isinstance(item, str))
