"""Fakes: what stands for a piece of personal data, of its shape, and the same wherever it stands.

A fake is computed from the value and a key, so nothing has to be remembered; who does not have the key cannot find the
value by trying some out.
"""

import hashlib
import hmac
import re
from collections.abc import Callable

from pytest_agentbench.suites.personal.finding import Kind

_FIRST = (
    "Alex", "Andrea", "Camille", "Charlie", "Claude", "Dana", "Dominique", "Elia", "Emery", "Florence", "Jamie",
    "Jordan", "Kim", "Lee", "Lou", "Maxime", "Morgan", "Noa", "Quinn", "Robin", "Sacha", "Sam", "Taylor", "Yael",
)  # fmt: skip
_LAST = (
    "Adler", "Baker", "Bernard", "Castel", "Cooper", "Dubois", "Ellis", "Fischer", "Garnier", "Hughes", "Ito", "Keller",
    "Lambert", "Moreau", "Novak", "Okafor", "Parker", "Ricci", "Sato", "Silva", "Turner", "Vidal", "Weber", "Yilmaz",
)  # fmt: skip
_STREETS = (
    "Acacia Avenue",
    "Birch Street",
    "Cedar Lane",
    "Elm Road",
    "Linden Way",
    "Maple Drive",
    "Oak Street",
    "Pine Row",
)


class Fakes:
    """Makes fakes under one key: the same value and key, the same fake."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def fake(self, kind: Kind, value: str) -> str:
        """Give what stands for a value; e-mail domains, phone and card formats and letter case are kept plausible."""
        what = f"{_sort(kind)}\0{_plain(kind, value)}".encode("utf-8", "replace")
        number = int.from_bytes(hmac.new(self._key, what, hashlib.sha256).digest())
        return _MAKERS[kind](value, number)


def _sort(kind: Kind) -> str:
    return "digits" if kind in ("card", "phone", "ssn", "postcode", "birth") else kind


def _plain(kind: Kind, value: str) -> str:
    if kind == "name":
        return value.casefold()
    return re.sub(r"[\W_]", "", value).casefold() if _sort(kind) == "digits" else value.casefold()


def _email(_value: str, number: int) -> str:
    """Give an address that names nobody: the name of whose it is has a fake of its own."""
    return f"person.{number % 10_000_000:07}@example.org"


def _name(value: str, number: int) -> str:
    """Give a name for each word: the last of several is a last name."""
    words = value.split()
    if len(words) < 2:
        return _cased(value, _FIRST[number % len(_FIRST)])
    first, last = _FIRST[number % len(_FIRST)], _LAST[number // 7 % len(_LAST)]
    return _cased(value, f"{first} {last}")


def _street(_value: str, number: int) -> str:
    return f"{number % 900 + 10} {_STREETS[number // 13 % len(_STREETS)]}"


def _digits(value: str, number: int) -> str:
    """Give other digits in the same format; a leading + or 0 stays."""
    made = []
    for place, char in enumerate(value):
        if not char.isdigit() or (place < 1 and char == "0"):
            made.append(char)
            continue
        made.append(str(number % 9 + 1))
        number = number // 9 or hash_on(value, place)
    return "".join(made)


def _birth(value: str, number: int) -> str:
    year, month, day = 1950 + number % 50, number // 50 % 12 + 1, number // 600 % 28 + 1
    return f"{year}-{month:02}-{day:02}" if re.fullmatch(r"\d{4}-\d{2}-\d{2}", value) else _digits(value, number)


def _ip(_value: str, number: int) -> str:
    return f"192.0.2.{number % 254 + 1}"


def _iban(value: str, number: int) -> str:
    return value[:2] + _digits(value[2:], number)


def hash_on(value: str, place: int) -> int:
    """Give more digits for a long value."""
    return int.from_bytes(hashlib.sha256(f"{place}\0{len(value)}".encode()).digest()[:16])


def _cased(value: str, made: str) -> str:
    if value.isupper():
        return made.upper()
    return made.lower() if value.islower() else made


_MAKERS: dict[Kind, Callable[[str, int], str]] = {
    "email": _email,
    "phone": _digits,
    "card": _digits,
    "iban": _iban,
    "ip": _ip,
    "ssn": _digits,
    "name": _name,
    "street": _street,
    "postcode": _digits,
    "birth": _birth,
}
