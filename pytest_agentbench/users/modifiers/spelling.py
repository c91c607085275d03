"""Values as people spell them: `basic_economy` and `basic economy`, `#W1` and `w1`, `555-123` and `555123`."""

import re
from functools import lru_cache

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.users.known_info import text_of

_BREAK = re.compile(r"[\s_-]+")
_DIGITS = re.compile(r"[\d\s().+_-]+")


def normal(value: JsonValue) -> str:
    """Give the form in which two spellings of a value are equal."""
    text = text_of(value).strip().lower().lstrip("#")
    if _DIGITS.fullmatch(text) and any(char.isdigit() for char in text):
        return re.sub(r"\D", "", text)
    return _BREAK.sub(" ", text).strip()


@lru_cache(maxsize=4096)
def spelled(value: str) -> re.Pattern[str]:
    """Compile what finds `value` in a text, however it is spelled, as a whole word; nothing for an empty value."""
    plain = normal(value)
    if not plain:
        return re.compile(r"(?!)")
    if plain.isdigit() and not value.strip().lstrip("#").isdigit():
        body = r"[\s().+_-]*".join(plain)
    else:
        body = r"[\s_-]+".join(re.escape(part) for part in plain.split(" "))
    return re.compile(rf"(?<!\w)#?{body}(?!\w)", re.IGNORECASE)


def mentions(text: str, value: str) -> bool:
    """Tell whether `text` says `value`."""
    return bool(spelled(value).search(text))


def as_said(value: JsonValue) -> str:
    """Give a value as a person says it: names of options without underscores, codes as they are."""
    text = text_of(value)
    return text if any(char.isdigit() for char in text) else text.replace("_", " ")
