"""Takes personal data out of a conversation: found anywhere in it, replaced everywhere in it."""

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue, decoded, leaves, to_json, with_texts
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.suites.personal.detection import PersonalKind, by_field, by_shape
from pytest_agentbench.suites.record import Record

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
    """Makes fakes under one key: the same value and key, the same fake.

    It is computed from the value and a key, so nothing has to be remembered; who does not have the key cannot find the
    value by trying some out.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def fake(self, kind: PersonalKind, value: str) -> str:
        """Give what stands for a value; e-mail domains, phone and card formats and letter case are kept plausible."""
        what = f"{_sort(kind)}\0{_plain(kind, value)}".encode("utf-8", "replace")
        number = int.from_bytes(hmac.new(self._key, what, hashlib.sha256).digest())
        return _MAKERS[kind](value, number)


def _sort(kind: PersonalKind) -> str:
    return "digits" if kind in ("card", "phone", "ssn", "postcode", "birth") else kind


def _plain(kind: PersonalKind, value: str) -> str:
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


def hash_on(value: str, place: int) -> int:
    """Give more digits for a long value."""
    return int.from_bytes(hashlib.sha256(f"{place}\0{len(value)}".encode()).digest()[:16])


def _cased(value: str, made: str) -> str:
    if value.isupper():
        return made.upper()
    return made.lower() if value.islower() else made


_MAKERS: dict[PersonalKind, Callable[[str, int], str]] = {
    "email": _email,
    "phone": _digits,
    "card": _digits,
    "iban": lambda value, number: value[:2] + _digits(value[2:], number),
    "ip": lambda _value, number: f"192.0.2.{number % 254 + 1}",
    "ssn": _digits,
    "name": _name,
    "street": lambda _value, number: f"{number % 900 + 10} {_STREETS[number // 13 % len(_STREETS)]}",
    "postcode": _digits,
    "birth": _birth,
}


M = TypeVar("M", bound=Model)

_KEPT = frozenset({"role", "requestor", "kind", "id", "tool_call_id", "tool", "allowed"})
"""Fields of messages, and of what is in them, that hold nothing personal and must stay as they are."""

Swap = Callable[[str], str]
"""Replaces personal data in a text."""


class Masker:
    """Masks conversations; `replaced` counts what was replaced, by kind."""

    def __init__(self, fakes: Fakes) -> None:
        self._fakes = fakes
        self.replaced: Counter[str] = Counter()

    def record(self, record: Record) -> Record:
        """Give a conversation without its personal data: texts, arguments, results, and what else was recorded."""
        found = self._found(record)
        if not found:
            return record
        longest_first = sorted(found, key=lambda one: (-len(one), one))
        pattern = re.compile("|".join(map(_whole, longest_first)))
        names = {value.lower(): value for value in longest_first if found[value] == "name" and value.isalpha()}
        inside = re.compile("|".join(map(_inside, sorted(names, key=len, reverse=True)))) if names else None

        def swap(text: str) -> str:
            text = pattern.sub(lambda match: self._swapped(match[0], found), text)
            if inside is None:
                return text
            return inside.sub(lambda match: self._swapped(names[match[0]], found).lower(), text)

        messages = tuple(_masked(message, swap) for message in record.transcript.messages)
        transcript = record.transcript.model_copy(update={"messages": messages})
        return record.model_copy(update={"transcript": transcript, "extra": with_texts(to_json(record.extra), swap)})

    def _found(self, record: Record) -> dict[str, PersonalKind]:
        """Collect the personal data of a conversation; what several kinds claim is the first's."""
        found: dict[str, PersonalKind] = {}
        for kind, value in _claims(record):
            found.setdefault(value, kind)
        for value, kind in list(found.items()):  # "Ada Lovelace" is called Ada later on
            if kind == "name":
                for word in value.split():
                    if len(word) > 2:
                        found.setdefault(word, "name")
        return found

    def _swapped(self, text: str, found: dict[str, PersonalKind]) -> str:
        kind = found[text]
        self.replaced[kind] += 1
        whole = next(
            (name for name, k in found.items() if k == kind == "name" and text != name and text in name.split()), None
        )
        if whole is not None:  # the first name of a full one stays its first name
            fake = self._fakes.fake("name", whole).split()
            return fake[0] if whole.split()[0] == text else fake[-1]
        return self._fakes.fake(kind, text)


def _claims(record: Record) -> Iterator[tuple[PersonalKind, str]]:
    values = [value for message in record.transcript.messages for value in _values(message)]
    values.append(to_json(record.extra))
    for value in values:
        yield from by_field(decoded(value) if isinstance(value, str) else value)
    for text in (leaf for leaf in leaves(values) if isinstance(leaf, str)):
        yield from by_shape(text)


def _is_kept(model: Model, name: str) -> bool:
    return name in _KEPT or (name == "name" and isinstance(model, ToolCall))


def _values(model: Model) -> Iterator[JsonValue]:
    """Give what the fields of a message hold, those of the models in it included."""
    for name, value in model:
        if not _is_kept(model, name):
            for one in value if isinstance(value, tuple) else (value,):
                yield from _values(one) if isinstance(one, Model) else [to_json(one)]


def _masked(model: M, swap: Swap) -> M:
    """Give a message, or a model in it, with every text in it swapped but for those that are kept."""
    changed = {name: _swapped(value, swap) for name, value in model if not _is_kept(model, name)}
    return model.model_copy(update={name: value for name, value in changed.items() if value != getattr(model, name)})


def _swapped(value: Any, swap: Swap) -> Any:
    if isinstance(value, Model):
        return _masked(value, swap)
    if isinstance(value, tuple):
        return tuple(_swapped(one, swap) for one in value)
    return with_texts(to_json(value), swap)


def _inside(word: str) -> str:
    """Give a pattern of a name that is a part of an identifier, such as `ada_lovelace_42`."""
    return rf"(?<![^\W\d_]){word}(?=[_\d])|(?<=[_\d]){word}(?![^\W\d_])"


def _whole(value: str) -> str:
    """Give a pattern of a value that is no part of a longer word."""
    before = r"(?<!\w)" if value[:1].isalnum() else ""
    after = r"(?!\w)" if value[-1:].isalnum() else ""
    return f"{before}{re.escape(value)}{after}"
