"""From symbols to rows: sampled rows told anew with fresh keys and names, bindings carried from each row to the next.

Every row is held against its schema before it is accepted (`checking.py`). The twin repairs what is at fault where it
can, by other fresh values, and gives up with the reason where it cannot.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from pytest_agentbench.generation._reading.kinds import humanize, kind_of
from pytest_agentbench.generation.policies.events.checking import Ground, RowChecker, Validator
from pytest_agentbench.generation.policies.events.samples import Cluster, Place, Samples, dependency_order
from pytest_agentbench.generation.policies.events.tables import Table
from pytest_agentbench.generation.policies.values import Entity, EventRow, Relation

_TRIES = 4
"""Fresh values that are tried for one row before it is refused with its reason."""
_FILLED = 0.85
"""Share of nullable columns that are filled where some sampled row fills them."""
_DIGITS = re.compile(r"\d+")
_CODE = re.compile(r"(?=[\w#.\-]*\d)(?=[\w#.\-]*[A-Za-z#])[\w#.\-]{3,40}")


class RowsError(Exception):
    """No consistent rows could be made; says which row is at fault and why."""


@dataclass(kw_only=True)
class Made:
    """The rows of one event: `fresh` maps sampled rows to theirs, `entities` and `relations` say what they are."""

    rows: tuple[EventRow, ...]
    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    fresh: dict[Place, EventRow]


@dataclass(kw_only=True)
class RowMaker:
    """Makes the rows of clusters; `validators` are the user's own checks."""

    samples: Samples
    validators: Sequence[Validator] = ()
    _texts: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Note every text that stands in the state, so that fresh ones differ."""
        self.ground = Ground(self.samples.schema, self.samples.rows)
        for rows in self.samples.rows.values():
            for row in rows:
                self._texts |= {value for value in row.values() if isinstance(value, str)}

    def make(self, cluster: Cluster, random: Random) -> Made:
        """Give rows like those of a cluster, in dependency order; raise `RowsError` where some row stays at fault."""
        entities, relations = symbols(cluster, self.samples)
        symbol_of = {place: one.symbol for place, one in zip(cluster.rows, entities, strict=True)}
        told = ""
        for _ in range(_TRIES):
            renamed = self._renamed(cluster, random)
            made = {
                place: EventRow(
                    table=place[0],
                    values=self._values(place, renamed, random),
                    symbol=symbol_of[place],
                    bindings={one.column: one.target for one in relations if one.source == symbol_of[place]},
                )
                for place in cluster.rows
            }
            faults = RowChecker(self.ground, self.validators).check(made.values())
            if not faults:
                return Made(rows=tuple(made.values()), entities=entities, relations=relations, fresh=made)
            told = faults[0]
        raise RowsError(told)

    def changed(self, made: Made, changes: Mapping[Place, Mapping[str, Any]]) -> Made:
        """Give rows with other values in some of them; raise `RowsError` where that puts one at fault."""
        if not changes:
            return made
        fresh = {
            place: row.model_copy(update={"values": {**row.values, **changes.get(place, {})}})
            for place, row in made.fresh.items()
        }
        faults = RowChecker(self.ground, self.validators).check(fresh.values())
        if faults:
            raise RowsError(faults[0])
        symbols_of = {row.symbol: row for row in fresh.values()}
        return replace(made, rows=tuple(symbols_of[row.symbol] for row in made.rows), fresh=fresh)

    def _renamed(self, cluster: Cluster, random: Random) -> dict[str, str | int]:
        """Give a fresh key for each key of the cluster, and fresh names of persons."""
        renamed: dict[str, str | int] = {}
        taken = set(self._texts)
        for place in cluster.rows:
            for text in self.samples.key_texts(place):
                derived = told_anew(text, renamed)
                is_new = isinstance(derived, str) and derived != text and derived not in taken
                renamed[text] = derived if is_new else fresh_text(text, taken, random)
                taken.add(str(renamed[text]))
        return renamed

    def _values(self, place: Place, renamed: Mapping[str, str | int], random: Random) -> dict[str, Any]:
        table = self.samples.schema.get(place[0])
        assert table is not None  # noqa: S101 - clusters are of the schema's tables
        row = deepcopy(self.samples.row(place))
        integers = self._integer_keys(place, table, renamed)
        values = {name: integers.get(name, told_anew(value, renamed)) for name, value in row.items()}
        alone = self._single_columns(table)
        for column in table.columns:
            value = values.get(column.name)
            if value is None and not column.required and random.random() < _FILLED:
                values |= self._filled(place, table, column.name, random)
            elif (column.name in alone or _is_code(value)) and value == row.get(column.name) and isinstance(value, str):
                is_plain = column.name not in table.key and not self._is_link(table, column.name)
                if is_plain and kind_of(column.name) != "email":
                    values[column.name] = fresh_text(value, self._texts, random)
        return self._person(place, values, random)

    def _person(self, place: Place, values: dict[str, Any], random: Random) -> dict[str, Any]:
        """Give a person of a sampled table another name, put together from those of others, and an address to it."""
        rows = self.samples.rows[place[0]]
        kinds = {name: kind_of(name) for name, value in values.items() if isinstance(value, str)}
        if "email" not in kinds.values():
            return values
        for name, kind in kinds.items():
            if kind in ("first_name", "last_name", "name"):
                known = sorted({row[name] for row in rows if isinstance(row.get(name), str)})
                values[name] = random.choice(known)
        for name, kind in kinds.items():
            if kind == "email":
                parts = [values[one] for one in kinds if kinds[one] in ("first_name", "last_name", "name")]
                values[name] = self._address(parts, values[name], random)
        return values

    def _address(self, parts: Sequence[str], old: str, random: Random) -> str:
        domain = old.partition("@")[2] or "example.com"
        local = ".".join(_plain(part) for part in parts) or old.partition("@")[0]
        while (made := f"{local}{random.randrange(10, 1000)}@{domain}") in self._texts:
            pass
        return made

    def _filled(self, place: Place, table: Table, column: str, random: Random) -> dict[str, Any]:
        """Fill what the sampled row leaves empty as another one does that is alike in all columns of fixed sets."""
        if self._is_link(table, column):
            return {}
        own = self.samples.row(place)
        fixed = [one.name for one in table.columns if one.values]
        like = [
            row[column]
            for row in self.samples.rows[place[0]]
            if row.get(column) is not None and all(row.get(name) == own.get(name) for name in fixed)
        ]
        if not like:
            return {}
        value = random.choice(like)
        return {column: fresh_text(value, self._texts, random) if _is_code(value) else deepcopy(value)}

    def _integer_keys(self, place: Place, table: Table, renamed: Mapping[str, str | int]) -> dict[str, Any]:
        """Give keys and references that are numbers, whose texts alone would not tell what they are."""
        row = self.samples.row(place)
        found: dict[str, Any] = {}
        for text in self.samples.key_texts(place):
            if isinstance(row[table.key[0]], int):
                found[table.key[0]] = int(renamed[text])
        for link in table.references:
            target = self.samples.schema.get(link.table)
            if target is None or len(link.columns) != 1 or not isinstance(row.get(link.columns[0]), int):
                continue
            text = str(row[link.columns[0]])
            other = self.samples.place_of(link.table, target.key[0], row[link.columns[0]]) if target.key else None
            if other is not None and text in renamed and text in self.samples.key_texts(other):
                found[link.columns[0]] = int(renamed[text])
        return found

    def _is_link(self, table: Table, column: str) -> bool:
        return any(column in link.columns for link in table.references)

    def _single_columns(self, table: Table) -> set[str]:
        return {columns[0] for columns in table.unique if len(columns) == 1}


def symbols(cluster: Cluster, samples: Samples) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """Name the rows of a cluster by symbols (U1, O1: the table's initial and a number) and say how they are tied."""
    counts: dict[str, int] = {}
    initials: dict[str, str] = {}
    entities: list[Entity] = []
    by_place: dict[Place, str] = {}
    for place in cluster.rows:
        counts[place[0]] = counts.get(place[0], 0) + 1
        if place[0] not in initials:
            initials[place[0]] = _initial(place[0], set(initials.values()))
        symbol = f"{initials[place[0]]}{counts[place[0]]}"
        by_place[place] = symbol
        what = humanize(place[0])
        role = (
            "whose conversation it is"
            if place == cluster.root
            else "that it is about"
            if place in cluster.focuses
            else ""
        )
        entities.append(Entity(symbol=symbol, table=place[0], description=f"a row of {what} {role}".strip()))
    relations: list[Relation] = []
    for place, symbol in by_place.items():
        table = samples.schema.get(place[0])
        for link in table.references if table else ():
            for other, target in by_place.items():
                same = all(
                    samples.row(place).get(column) == samples.row(other).get(key)
                    for column, key in zip(link.columns, link.target, strict=False)
                )
                if other[0] == link.table and same and other != place and link.target:
                    relations.append(Relation(source=symbol, column=link.columns[0], target=target))
    return tuple(entities), tuple(relations)


def fresh_text(text: Any, taken: set[str], random: Random) -> Any:
    """Give an identifier of the same shape that is not taken: other digits, as many; a text without any gets some."""
    shaped = str(text)
    groups = list(_DIGITS.finditer(shaped))
    for round_ in range(200):
        if not groups:
            made = f"{shaped}_{random.randrange(10, 10 ** (3 + round_ // 50))}"
        else:
            group = max(groups, key=lambda one: (len(one[0]), -one.start()))
            width = len(group[0]) + round_ // 100
            low = 10 ** (width - 1) if width > 1 else 0
            made = f"{shaped[: group.start()]}{random.randrange(low, 10**width)}{shaped[group.end() :]}"
        if made not in taken:
            return int(made) if isinstance(text, int) else made
    raise RowsError(f"no identifier like {text!r} is free")


def ordered(rows: Sequence[EventRow], samples: Samples) -> tuple[EventRow, ...]:
    """Give rows so that each comes after those that it refers to, as far as the schema has no circles."""
    names = dependency_order(samples.schema)
    return tuple(sorted(rows, key=lambda row: names.index(row.table) if row.table in names else len(names)))


def told_anew(value: Any, renamed: Mapping[str, str | int]) -> Any:
    """Replace keys in a value: where it is one, where one stands in it as a whole part, and in keys of mappings."""
    if isinstance(value, str):
        if value in renamed:
            return renamed[value]
        for old, new in renamed.items():
            if len(old) > 2 and not old.isdigit() and old in value and isinstance(new, str):
                value = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(old)}(?![A-Za-z0-9_])", _constant(new), value)
        return value
    if isinstance(value, list):
        return [told_anew(one, renamed) for one in value]
    if isinstance(value, dict):
        return {told_anew(key, renamed): told_anew(one, renamed) for key, one in value.items()}
    return value


def _constant(text: str) -> Callable[[re.Match[str]], str]:
    return lambda _: text


def _is_code(value: Any) -> bool:
    """Whether a text is a code of one thing, such as a tracking number: letters and digits, no words, no date."""
    return (
        isinstance(value, str)
        and _CODE.fullmatch(value) is not None
        and len(_DIGITS.findall(value)) == 1
        and (len("".join(_DIGITS.findall(value))) >= 4)
    )


def _initial(table: str, taken: set[str]) -> str:
    letters = [word[0].upper() for word in humanize(table).split()]
    for length in range(1, len(letters) + 1):
        if "".join(letters[:length]) not in taken:
            return "".join(letters[:length])
    made = table[:2].upper()
    while made in taken:
        made += "X"
    return made


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "".join(letter for letter in letters.lower() if letter.isalnum())
