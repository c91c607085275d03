"""Names of things: as words, in a list, and what a mistyped one probably meant."""

import re
from collections.abc import Iterable

from pytest_agentbench.core.spoken import plain

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHORT = 2
"""Letters up to which a word of a longer name (`date_of_birth`) tells nothing."""
IDENTIFIERS = frozenset({"id", "no", "nr", "num", "number", "code", "key", "ref", "reference", "uuid"})
"""Last words of names that say no more than that the thing before them is meant."""

MOST_ALLOWED = 12
"""Names that a message of a wrong one lists."""


def readable(name: str) -> str:
    """Give a name as words: `order_id` and `orderId` as *order id*, *order Id*."""
    return " ".join(_CAMEL.sub(" ", name).replace("_", " ").split())


def suggestion(name: str, allowed: Iterable[str]) -> str:
    """Give `did you mean 'x'?` for the nearest allowed name, else the empty string."""
    near = nearest(name, allowed)
    return "" if near is None else f"did you mean {near!r}?"


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """Give the allowed name that a mistyped one probably meant, None where nobody can tell.

    That is one within edit distance 2, or the only one that differs in its ending (`policies` for `policy`), or that
    holds all words of the name: `permit_id` for `permit`.
    """
    names = list(allowed)
    best = min(((_distance(name.lower(), other.lower()), other) for other in names), default=(3, ""))
    # two edits turn any short name into another, so short names must share more than that
    if best[0] <= min(2, len(name) // 2):
        return best[1]
    words = set(letters_of(name))
    alike = [other for other in names if _differ_in_ending(name.lower(), other.lower())]
    alike = alike or [other for other in names if words and words <= set(letters_of(other))]
    return alike[0] if len(alike) == 1 else None


def _differ_in_ending(left: str, right: str) -> bool:
    """Whether two names of about the same length share all but the last letter of the shorter one."""
    shared = min(len(left), len(right)) - 1
    return shared > _SHORT and abs(len(left) - len(right)) <= 2 and left[:shared] == right[:shared]


def words_of(name: str) -> tuple[str, ...]:
    """Split the name of a value into its telling words, however it is spelled: `order_id`, `orderId`, `order id`."""
    found = tuple(_WORD.findall(plain(readable(name))))
    telling = tuple(word for word in found if len(word) > _SHORT)
    return telling if len(telling) > 1 else found


def letters_of(name: str) -> list[str]:
    """Give the words of an identifier in lower case, in snake, kebab or camel case, its digits left out."""
    return [word.lower() for word in _LETTERS.findall(name)]


def count(number: int, noun: str, plural: str = "") -> str:
    """Say how many there are: `1 run`, `2 runs`; `plural` is that of a noun that takes more than an s."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def listing(names: Iterable[str], most: int = 20) -> str:
    """Join names with commas, the number of those left out at the end."""
    ordered = list(names)
    rest = len(ordered) - most
    return ", ".join(ordered[:most]) + (f" and {rest} more" if rest > 0 else "")


def _distance(left: str, right: str) -> int:
    """Count the edits between two names (optimal string alignment: a swap of neighbours is one edit), 3 at most."""
    if abs(len(left) - len(right)) > 2:
        return 3
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        following = [i]
        for j, b in enumerate(right, 1):
            cost = min(row[j] + 1, following[j - 1] + 1, row[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            following.append(cost)
        before, row = row, following
    return min(row[-1], 3)
