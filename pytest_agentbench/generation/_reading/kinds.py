"""Kinds of values: which ones a text names (`email`, `order_id`, `free:seat preference`), and the kind of a name.

A kind is one of the languages' `kinds`, `<stem>_id` for an identifier, `any_id` for an identifier without a noun, or
`free:<words>` for a name that only the scenario knows.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from pytest_agentbench.generation._reading.phrases import LANGUAGES, either, is_stopword, pattern
from pytest_agentbench.generation._reading.phrases.language import words

FREE = "free:"
ANY_ID = "any_id"

_CAMEL = re.compile(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Ý])|(?<=[A-Z])(?=[A-Z][a-z])")
_POSSESSIVE = re.compile(r"['’]s\b")
_SPLIT = re.compile(r"[\W_]+")
_OWN_START = re.compile(r"(?:^|[,(:*•/\-–;.\"&]|\d[.)])\s*$")
_DETERMINERS = words(
    "your the my you a an our his her their this that votre vos le la les l mon ma mes ton ta tes un une own"
)
_GENERAL_ORDER = (
    "email", "phone", "zip", "date_of_birth", "first_name", "last_name", "payment_method", "address", "user_id",
)  # fmt: skip
_LAST = ("amount", "city", "country", "reason")


def humanize(name: str) -> str:
    """Turn `orderId`, `order_id` or `Order-ID` into `order id`."""
    return " ".join(_SPLIT.sub(" ", _CAMEL.sub(" ", _POSSESSIVE.sub("", name[:200]))).lower().split())


@lru_cache(maxsize=4096)
def kind_of(name: str) -> str:
    """Give the kind that a name stands for; a name that no language knows is a kind of its own."""
    words = humanize(name)
    core = " ".join(word for word in words.split() if word not in _DETERMINERS)
    for start, end, kind in _spans(core, ()):
        if kind != ANY_ID and not core[:start].strip() and not core[end:].strip():
            return kind
    return FREE + core if core else ANY_ID


def kinds_in(text: str, free: Iterable[str] = ()) -> tuple[str, ...]:
    """Give the kinds that `text` names, in the order named; `free` are the free kinds to look for."""
    return tuple(dict.fromkeys(kind for _, _, kind in _spans(text, tuple(free))))


def label_of(kind: str) -> str:
    """Give plain words for a kind: `order id`, `seat preference`."""
    return kind.removeprefix(FREE).replace("_", " ")


class _Reader:
    """Takes spans of a text one kind after another; what one kind took is not read again for the next."""

    def __init__(self, text: str) -> None:
        self.rest = text.replace("_", " ")
        self.found: list[tuple[int, int, str]] = []

    def take(self, match: re.Match[str], kind: str) -> None:
        start, end = match.span()
        self.found.append((start, end, kind))
        self.rest = self.rest[:start] + "\0" * (end - start) + self.rest[end:]

    def take_all(self, expression: re.Pattern[str], kind: str) -> None:
        for match in expression.finditer(self.rest):
            self.take(match, kind)


def _spans(text: str, free: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Find every kind named, the scenario's own and the specific ones first."""
    reader = _Reader(text)
    for kind in sorted(free, key=len, reverse=True):
        reader.take_all(_free_pattern(kind), kind)
    for kind in _GENERAL_ORDER:
        reader.take_all(_kind_pattern(kind), kind)
    for name in ("identifier", "which"):
        for expression in _noun_patterns(name):
            for match in expression.finditer(reader.rest):
                stem = _stem(match["noun"], bare=name == "identifier")
                if stem is not None:
                    reader.take(match, stem)
    for match in _kind_pattern("name").finditer(reader.rest):
        if _is_own(reader.rest[: match.start()]):
            reader.take(match, "name")
    for kind in _LAST:
        reader.take_all(_kind_pattern(kind), kind)
    return sorted(reader.found)


@cache
def _kind_pattern(kind: str) -> re.Pattern[str]:
    return either(*(language.kinds[kind] for language in LANGUAGES if kind in language.kinds))


@cache
def _noun_patterns(field: str) -> tuple[re.Pattern[str], ...]:
    sources = [getattr(language, field) for language in LANGUAGES]
    flat = [source for value in sources for source in ([value] if isinstance(value, str) else value)]
    return tuple(re.compile(rf"(?<!\w){source}(?!\w)", re.IGNORECASE) for source in flat)


@lru_cache(maxsize=1024)
def _free_pattern(kind: str) -> re.Pattern[str]:
    words = [re.escape(word.removesuffix("s") if len(word) > 3 else word) for word in kind.removeprefix(FREE).split()]
    forward = r"(?:['’]?s)?[\W_]+(?:\w+[\W_]+){0,1}?".join(words)
    backward = r"s?[\W_]+(?:of|de|du|d['’])[\W_]*(?:\w+\W+){0,2}?".join(reversed(words))
    return either(forward + "s?", backward + "s?" if len(words) > 1 else "")


def _stem(noun: str, *, bare: bool) -> str | None:
    """Give the identifier kind of a noun; `bare` ones ("your number") are `any_id`."""
    word = noun.lower()
    for language in LANGUAGES:
        stem = language.nouns.get(word) or language.nouns.get(word.removesuffix("s"))
        if stem is not None:
            return stem if stem == "phone" else f"{stem}_id"
    if not bare:
        return None
    return ANY_ID if is_stopword(word) else f"{word}_id"


def _is_own(before: str) -> bool:
    """Tell whether a bare `name` after `before` is the speaker's own, not a product's or a friend's."""
    tail = before[-60:]
    if _OWN_START.search(tail) or tail.rstrip().endswith("\0"):
        return True
    return any(True for match in pattern("own_name").finditer(tail) if not tail[match.end() :].strip("\0 \t*"))
