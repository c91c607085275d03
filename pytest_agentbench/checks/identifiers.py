"""Which arguments of a call say what it is about, and whether a text states them.

An argument identifies where one of `STRATEGIES` says so. Only texts and whole numbers do, on their own or in a list;
a flag, a fraction or a mapping never does. What the session fixes (the scenario's `context`) is not asked about.
A text states a value in any spelling, or by naming what no other thing of its kind has that the run came across.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from pytest_agentbench.checks.rule_arguments import NotThereError, RuleFacts
from pytest_agentbench.core.json_values import JsonValue, same, to_json
from pytest_agentbench.core.spoken import plain, states

_ID_NAME = re.compile(
    r"(?:.*[_-])?(?:ids?|numbers?|no|nr|codes?|keys?|refs?|uuids?|skus?)|.*[a-z](?:Id|Number|Code|Key)s?"
)
_WORDS = re.compile(r"[^\W_][\w@.+-]*\b")
_ID_FORMATS = frozenset({"uuid"})
_LONGEST = 200
"""Characters of a value that is looked for; what is longer is a text, and identifies nothing."""

_Things = dict[str, dict[str, Any]]
"""Things of one kind by their id, each with the plain values that are known of it."""


class KnownThings:
    """What a run had come across before a call: the ids in results, and what the results say of each."""

    def __init__(self, facts: RuleFacts, before: int) -> None:
        state = facts.run.initial_state or {}
        self.tables = {table: rows for table, rows in state.items() if isinstance(rows, Mapping)}
        self._values: set[str] = set()
        self._kinds: dict[str, _Things] = {}
        for place in range(before):
            try:
                self._read(facts.given(place), "", {})
            except NotThereError:
                continue
        for identity in self._values:
            for table, rows in self.tables.items():
                if identity in rows:
                    self._add(f"table {table}", identity, _plain_fields(rows[identity]))

    @classmethod
    def by(cls, facts: RuleFacts, before: int) -> "KnownThings":
        """Give what a run had come across, read once for all rules and answers that ask about the same call."""
        known = _SEEN.setdefault(facts, {})
        if before not in known:
            known[before] = cls(facts, before)
        return known[before]

    def is_key(self, value: JsonValue) -> bool:
        """Whether a value is an id in some result, or the key of some row of the initial state."""
        return bool(self.kinds_of(value)) or any(str(value) in rows for rows in self.tables.values())

    def kinds_of(self, value: JsonValue) -> list[_Things]:
        """Give the things among which a value is an id."""
        return [things for things in self._kinds.values() if str(value) in things]

    def are_alike(self, one: JsonValue, other: JsonValue) -> bool:
        """Whether two values are ids of the same kind of thing, or are spelled after the same pattern."""
        kinds = [*self.kinds_of(one), *(rows for rows in self.tables.values() if str(one) in rows)]
        return any(str(other) in things for things in kinds) or _form(one) == _form(other)

    def _add(self, kind: str, identity: str, fields: Mapping[str, Any]) -> None:
        self._kinds.setdefault(kind, {}).setdefault(identity, {}).update(fields)

    def _read(self, value: JsonValue, name: str, around: Mapping[str, Any]) -> None:
        """Take in the things of a result; what stands around a thing, such as the product of a variant, is its own."""
        if isinstance(value, list):
            for item in value:
                self._read(item, name, around)
        elif isinstance(value, dict):
            fields = {**around, **_plain_fields(value)}
            own = next((key for key, item in value.items() if _ID_NAME.fullmatch(key) and _is_id(item)), None)
            if own is not None:
                self._add(own, str(value[own]), fields)
            inner = {f"{key} of {name}": item for key, item in fields.items()}
            for key, item in value.items():
                if isinstance(item, dict) and name and any(char.isdigit() for char in key):
                    self._add(f"in {name}", key, {**inner, **_plain_fields(item)})
                self._read(item, key, inner)
        elif _is_id(value):
            self._values.add(str(value))


_SEEN: WeakKeyDictionary[RuleFacts, dict[int, KnownThings]] = WeakKeyDictionary()
"""What was read of runs that are being judged, by the number of calls before."""


def by_name(name: str, _value: JsonValue, schema: Mapping[str, Any], _seen: KnownThings) -> bool:
    """Take an argument that is named, or in the tool's schema declared, as an id."""
    items = schema.get("items")
    formats = {schema.get("format"), items.get("format") if isinstance(items, Mapping) else None}
    return _ID_NAME.fullmatch(name) is not None or bool(formats & _ID_FORMATS)


def by_key(_name: str, value: JsonValue, _schema: Mapping[str, Any], seen: KnownThings) -> bool:
    """Take a text that is the key of a row, or an id in a result; a number may be anything."""
    return isinstance(value, str) and seen.is_key(value)


STRATEGIES: dict[str, Callable[[str, JsonValue, Mapping[str, Any], KnownThings], bool]] = {
    "name": by_name,
    "key": by_key,
}
"""What makes an argument (name, value, its JSON Schema) one that identifies; take an entry out to do without it."""


@dataclass(frozen=True)
class Subject:
    """The values that say what a call is about, each with the name of its argument; `own` are all that it has.

    Arguments in `stating` must be stated by the agent itself.
    """

    values: tuple[tuple[str, JsonValue], ...]
    own: tuple[JsonValue, ...]
    seen: KnownThings
    locale: str = "en"
    stating: frozenset[str] = frozenset()

    def is_meant(self, about: Iterable[Any]) -> bool:
        """Whether `about` names something of the call, as it is or within words ("4 hours"), or nothing at all."""
        named = [to_json(value) for value in about]
        return not named or any(self._is_named_by(one, mine) for one in named for mine in self.own)

    def _is_named_by(self, named: JsonValue, mine: JsonValue) -> bool:
        in_words = isinstance(named, str) and " " in named.strip()
        return _equal(named, mine) or (in_words and says_value(mine, str(named), self.locale))

    def another(self, about: Iterable[Any]) -> tuple[str, JsonValue, JsonValue] | None:
        """Give an argument, its value and the other value that `about` names for it; None where it names none.

        What `about` names for some other argument of the call is no other value.
        """
        named = [to_json(value) for value in about]
        strange = [value for value in named if not any(_equal(value, mine) for mine in self.own)]
        right = {name for name, value in self.values if any(_equal(value, one) for one in named)}
        for name, value in self.values:
            other = [one for one in strange if name not in right and self.seen.are_alike(value, one)]
            if other:
                return name, value, other[0]
        return None

    def is_named(self, texts: Iterable[str]) -> bool:
        """Whether a text states one of the values."""
        said = "\n".join(texts)
        return any(self._is_stated(value, said) for _, value in self.values)

    def unstated(self, texts: Iterable[str], user: Iterable[str]) -> list[tuple[str, JsonValue]]:
        """Give the values that no text states.

        Where some other value of the call is stated, two kinds of ids need not be: one that the user gave itself,
        without another of its kind (*I'm patient P2*), and one that it did not bring up and to which the run knows no
        alternative.
        """
        said, wanted = "\n".join(texts), "\n".join(user)
        is_told = any(says_value(value, said, self.locale) for value in self.own)
        return [
            (name, value)
            for name, value in self.values
            if not self._is_stated(value, said)
            and not (is_told and name not in self.stating and self._goes_without_saying(value, wanted, said))
        ]

    def _goes_without_saying(self, value: JsonValue, wanted: str, said: str) -> bool:
        """Whether an id that the agent did not state can be no other: nobody spoke of another one."""
        kinds = self.seen.kinds_of(value)
        if not says_value(value, wanted, self.locale):
            return bool(kinds) and all(len(things) == 1 for things in kinds)
        both = f"{wanted}\n{said}"
        rivals = {other for things in kinds for other in things}
        rivals |= {word for word in _WORDS.findall(both) if _form(word) == _form(value)}
        return not any(not _equal(value, other) and says_value(other, both, self.locale) for other in rivals)

    def _is_stated(self, value: JsonValue, text: str) -> bool:
        """Whether a text states a value, or names of the thing behind an id what no other of its kind has all of."""
        if says_value(value, text, self.locale):
            return True
        for things in self.seen.kinds_of(value):
            mine = {key: item for key, item in things[str(value)].items() if says_value(item, text, self.locale)}
            others = (fields for identity, fields in things.items() if identity != str(value))
            if mine and not any(all(same(other.get(key), item) for key, item in mine.items()) for other in others):
                return True
        return False


def subject_of(
    facts: RuleFacts,
    place: int,
    about: Iterable[Any] = (),
    stating: Iterable[str] = (),
    values: Iterable[tuple[str, JsonValue]] = (),
) -> Subject:
    """Give what says which thing a call is about: by `STRATEGIES`, by what `about` names, and what `stating` lists.

    `values` are terms of the call that are none of its arguments, and must be stated like these.
    """
    call = facts.calls[place].call
    spec = facts.run.toolset.get(call.name)
    schemas = (spec.parameters.get("properties") if spec else None) or {}
    fixed = [item for value in facts.run.scenario.context.values() for item in _items(to_json(value))]
    named = [to_json(value) for value in about]
    seen, outer_ones = KnownThings.by(facts, place), set(stating)
    found: list[tuple[str, JsonValue]] = []
    asked_for = set(outer_ones)
    every: list[JsonValue] = []
    for outer, given in call.arguments.items():
        for name, value, schema in _leaves(outer, to_json(given), schemas.get(outer)):
            every.append(value)
            asked_for |= {name} if outer in outer_ones else set()
            is_asked = name in asked_for or any(_equal(value, one) for one in named)
            is_free = _is_id(value) and not any(_equal(value, one) for one in fixed)
            if is_asked or (is_free and any(one(name, value, schema, seen) for one in STRATEGIES.values())):
                found.append((name, value))
    terms = [(name, item) for name, value in values for item in _items(to_json(value))]
    return Subject(
        tuple(found + terms),
        tuple(every + [item for _, item in terms]),
        seen,
        facts.run.scenario.language or "en",
        frozenset(asked_for.union(name for name, _ in terms)),
    )


def says_value(value: JsonValue, text: str, locale: str) -> bool:
    """Whether a text states a value, in any of its spellings; a letter as it stands: the S of a size is no 's."""
    if isinstance(value, str) and len(value) == 1 and value.isalpha():
        return re.search(rf"(?<![\w'’]){value}(?!\w)", text) is not None
    return states(value, text, locale)


def _leaves(name: str, value: JsonValue, schema: object) -> Iterator[tuple[str, JsonValue, Mapping[str, Any]]]:
    """Give the values in an argument, each with the key that it stands under and the schema of the list or itself."""
    described = schema if isinstance(schema, Mapping) else {}
    if isinstance(value, dict):
        properties = described.get("properties") or {}
        for key, item in value.items():
            yield from _leaves(key, item, properties.get(key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for item in value:
            yield from _leaves(name, item, described.get("items"))
    else:
        yield from ((name, item, described) for item in (value if isinstance(value, list) else [value]))


def _items(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, list):
        for item in value:
            yield from _items(item)
    else:
        yield value


def _is_id(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST)


def _plain_fields(value: object) -> dict[str, Any]:
    """Give what is telling of a thing: its texts, the codes in them, and its numbers of more than one digit."""
    fields: dict[str, Any] = {}
    for key, item in value.items() if isinstance(value, Mapping) else ():
        if isinstance(item, str) and item.strip():
            fields[str(key)] = item
            words = item.split()
            codes = [word for word in words if any(char.isdigit() for char in word)] if len(words) > 1 else []
            fields.update({f"{key}, word {place}": word for place, word in enumerate(codes)})
        elif isinstance(item, int | float) and not isinstance(item, bool) and abs(item) >= 10:
            fields[str(key)] = item
    return fields


def _equal(one: JsonValue, other: JsonValue) -> bool:
    return same(one, other) or (_is_id(one) and _is_id(other) and plain(str(one)) == plain(str(other)))


def _form(value: JsonValue) -> tuple[str, int] | str:
    """Give the letters and the length of a code of letters and digits; anything else is like itself alone."""
    text = str(value)
    if not any(char.isdigit() for char in text) or not any(char.isalpha() for char in text):
        return text
    return re.sub(r"\d+", "#", text), len(text)
