"""Postal addresses in free text: “Gartenweg 3, 80331 Munich”, “14 Oak Street in Leeds (LS2 8PD)”."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from support.entities import EMAIL, POSTCODE
from support.lexicon import COUNTRIES, words
from support.text import fold

_STREET_TYPES = r"(?:rue|avenue|boulevard|place|chemin|allee|impasse|quai|route|cours)"
_NUMBER_FIRST = re.compile(
    rf"\b\d{{1,4}} ?[a-z]?(?: (?:bis|ter))?(?: +|, +(?={_STREET_TYPES}\b))[^\W\d][^,;\d()\n]*", re.IGNORECASE
)
_NUMBER_LAST = re.compile(r"[^\W\d][^,;:!?\d()\n]*\s\d{1,4}\s?[a-z]?(?=\s*(?:,|;|\.|\)|\(|$|\n|\bin\b|\bà\b|-))", re.I)
_LEAD_IN = re.compile(
    r"^.*\b(?:to|at|is|address|into|be|a|au|aux|est|chez|sera|adresse|vers|now|instead|it|street|rue is)\b[\s:]+(?=\S)"
)
_SENTENCE_END = re.compile(r"(?:\s|\w{4,})\.\s+")
_STREET_END = re.compile(r"\s+(?:in|a|at|near)\s+|\.\s")
_ORDER_MENTION = re.compile(r"\bw[\s#-]*\d{4}\b|(?:#|n°|\border|\bcommande|\bnumber|\bnumero)\s*#?\s*\d{4}\b")
_LABEL = re.compile(
    r"\b(?:street|city|town|country|post ?code|zip(?: code)?|rue|ville|pays|code postal)\s*(?:is|est)?\s*:\s*"
)
_NOT_CITY = words(
    """
    in at the a is please thanks thank you now merci s'il vous plait svp and et from for my new to le la yes oui
    it order address instead of postcode post code postal zip city town country ville pays that's voila hi hello
    bonjour zipcode which who that email e-mail mail
    """
)


@dataclass(frozen=True)
class Address:
    """A postal address; parts that are not known yet are empty."""

    street: str = ""
    city: str = ""
    postcode: str = ""
    country: str = ""

    def over(self, other: "Address") -> "Address":
        """Fill what is missing here from `other`."""
        return replace(other, **{field.name: value for field in fields(self) if (value := getattr(self, field.name))})

    def __str__(self) -> str:
        return ", ".join(part for part in (self.street, f"{self.postcode} {self.city}".strip(), self.country) if part)


def parse_address(text: str) -> Address:
    """Read the last address in `text`; every part may be missing."""
    text = EMAIL.sub(",", _blank(_LABEL, _blank(_ORDER_MENTION, text), filler=","))
    country, text = _take_country(text)
    postcode, text = _take_postcode(text)
    street, text = _take_street(text)
    return Address(street, _city(text) if street or postcode else "", postcode, country)


def _take_country(text: str) -> tuple[str, str]:
    folded = fold(text)
    for country, others in COUNTRIES.items():
        for name in (country.lower(), *others):
            match = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", folded)
            if match and (name != "us" or text[match.start() : match.end()].isupper()):
                return country, text[: match.start()] + "," + text[match.end() :]
    return "", text


def _take_postcode(text: str) -> tuple[str, str]:
    """Cut the last postcode out; a `\\n` stays in its place, for the city is beside it."""
    found = list(POSTCODE.finditer(text))
    if not found:
        return "", text
    last = found[-1]
    return last.group().upper(), text[: last.start()] + "\n" + text[last.end() :]


def _take_street(text: str) -> tuple[str, str]:
    """Cut the last street with its house number out; a `\\r` stays in its place."""
    folded = fold(text)
    for find in (_number_first, _number_last):
        for start, end in find(folded):
            street = re.sub(r"^(\d+\s?\w?),\s", r"\1 ", text[start:end].strip(" .,;"))
            if re.search(r"[^\W\d_]{2,}", street):
                return street, text[:start] + "\r" + text[end:]
    return "", text


def _number_first(folded: str) -> Iterator[tuple[int, int]]:
    """Find “12 rue Hugo”, the last one first, up to what leads on to the city."""
    for match in reversed(list(_NUMBER_FIRST.finditer(folded))):
        end = _STREET_END.search(folded, match.start(), match.end())
        yield match.start(), end.start() if end else match.end()


def _number_last(folded: str) -> Iterator[tuple[int, int]]:
    """Find “Gartenweg 3”, the last one first, without the words that lead to it."""
    for match in reversed(list(_NUMBER_LAST.finditer(folded))):
        leads = [*_SENTENCE_END.finditer(match.group()), _LEAD_IN.match(match.group())]
        yield match.start() + max((lead.end() for lead in leads if lead), default=0), match.end()


def _city(text: str) -> str:
    """Pick the words beside the postcode, else those after the street."""
    for marker in ("\n", "\r"):
        if marker not in text:
            continue
        before, _, after = text.partition(marker)
        sides = [side for side in (_first_chunk(after), _last_chunk(before)) if side]
        if sides:
            return next((side for side in sides if side[0].isupper()), sides[0])
    return ""


def _first_chunk(text: str) -> str:
    sentence = re.split(r"[.!?](?:\s|$)", text, maxsplit=1)[0]
    for chunk in re.split(r"[,;()\n\r.!?]|\s-\s", sentence)[:3]:
        words = _city_words(chunk)
        if words:
            return " ".join(words)
    return ""


def _last_chunk(text: str) -> str:
    chunks = re.split(r"[,;()\r.!?]|\s-\s|\bin\b", text)
    words = _city_words(chunks[-1] if chunks[-1].strip() or len(chunks) < 2 else chunks[-2])
    return " ".join(words[-3:])


def _city_words(chunk: str) -> list[str]:
    words = re.findall(r"[^\W\d_][\w'’-]*", chunk)
    return [word for word in words if fold(word) not in _NOT_CITY and (word[0].isupper() or len(words) <= 2)]


def _blank(pattern: re.Pattern[str], text: str, *, filler: str = " ") -> str:
    for match in reversed(list(pattern.finditer(fold(text)))):
        text = text[: match.start()] + filler + text[match.end() :]
    return text
