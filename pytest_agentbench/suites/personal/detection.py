"""Personal data by its shape: e-mail and IP addresses, phone, card, bank and social security numbers; and by field names.

What has no shape, a name or a street, is found where a field or a sentence says what it is, and then wherever else the
conversation holds it.
"""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator
from typing import Literal

from pytest_agentbench.core.json_values import JsonValue

Kind = Literal["email", "phone", "card", "iban", "ip", "ssn", "name", "street", "postcode", "birth"]

_SHAPES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("email", re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")),
    ("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")),
    ("card", re.compile(r"(?<![\w-])(?:\d[ -]?){12,18}\d(?![\w-])")),
    ("ssn", re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")),
    ("ip", re.compile(r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])")),
    (
        "phone",
        re.compile(
            r"(?<![\w.-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]\d{2,4}){2,4}(?![\w-])|(?<![\w.])\+\d{8,14}(?!\w)"
        ),
    ),
)

_FIELDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
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
_PHONE_DIGITS = 9
"""Shorter runs are dates and codes, but for local numbers, such as 555-0103."""

_LOCAL_PHONE = re.compile(r"(?<![\w.-])\d{3}-\d{4}(?![\w-])")


def by_shape(text: str) -> Iterator[tuple[Kind, str]]:
    """Yield what looks like personal data in a text; card numbers pass Luhn's test."""
    for kind, pattern in _SHAPES:
        for match in pattern.finditer(text):
            digits = sum(char.isdigit() for char in match[0])
            if (kind == "card" and not is_card(match[0])) or (kind == "phone" and digits < _PHONE_DIGITS):
                continue
            yield kind, match[0]
    for match in _LOCAL_PHONE.finditer(text):
        yield "phone", match[0]
    for match in _OWN_STREET.finditer(text):
        yield "street", match["street"]
    for match in _OWN_NAME.finditer(text):
        yield "name", match["name"]


def by_field(value: JsonValue) -> Iterator[tuple[Kind, str]]:
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


def _kind_of(key: str, beside: dict[str, JsonValue]) -> Kind | None:
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
