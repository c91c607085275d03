"""Whether a message names a value that the user knows: by the words of its name, or by another name for it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product

from pytest_agentbench.core.spoken import plain

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_SHORT = 2
"""Letters up to which a word of a longer name (`date_of_birth`) need not be said."""
_INFLECTED, _COMPOUND = 4, 5
"""Letters from which a word may have an ending, and from which it may stand inside a longer one (`Bestellnummer`)."""
_BETWEEN = 3
"""Other words that may stand between the words of a name: *the number of your order*."""
_IDENTIFIERS = frozenset({"id", "no", "nr", "num", "number", "code", "key", "ref", "reference", "uuid"})
"""Last words of names that say no more than that the thing before them is meant."""

Synonyms = Mapping[str, Sequence[str]]


def words_of(name: str) -> tuple[str, ...]:
    """Split a name of a value, however it is spelled: `order_id`, `orderId`, `order id`."""
    found = tuple(_WORD.findall(plain(_CAMEL.sub(" ", name).replace("_", " "))))
    telling = tuple(word for word in found if len(word) > _SHORT)
    return telling if len(telling) > 1 else found


def readable(name: str) -> str:
    """Give a name as words: `order_id` as *order id*."""
    return " ".join(_CAMEL.sub(" ", name).replace("_", " ").split())


def named(names: Iterable[str], text: str, synonyms: Synonyms, *, loosely: bool = False) -> bool:
    """Whether `text` holds all words of one of `names`, close together, or their synonyms.

    `loosely` leaves out a last word such as `id`: *which order?* names `order_id`.
    """
    said = _tokens(text)
    for name in names:
        for ways in _ways(name, synonyms):
            if _close(ways, said) or (loosely and ways and ways[-1] in _IDENTIFIERS and _close(ways[:-1], said)):
                return True
    return False


def _ways(name: str, synonyms: Synonyms) -> Iterable[tuple[str, ...]]:
    """Give every way to say a name: its own words, then with synonyms of each word, or of the whole."""
    words = words_of(name)
    yield words
    yield from (words_of(other) for other in synonyms.get(" ".join(words), ()))
    choices = [(word, *synonyms.get(word, ())) for word in words]
    if len(words) > 1:
        for choice in product(*choices):
            yield tuple(part for one in choice for part in words_of(one))


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(plain(text)))


def _close(words: Sequence[str], said: Sequence[str]) -> bool:
    """Whether all words are said within a few others, in any order."""
    if not words:
        return False
    places = [[at for at, token in enumerate(said) if _is_form(token, word)] for word in words]
    reach = len(words) - 1 + (_BETWEEN if len(words) > 1 else 0)
    return all(places) and any(
        all(any(abs(at - first) <= reach for at in others) for others in places[1:]) for first in places[0]
    )


def _is_form(token: str, word: str) -> bool:
    if token == word or not word.isascii():
        return word in token
    return (len(word) >= _INFLECTED and token.startswith(word)) or (len(word) >= _COMPOUND and word in token)
