"""From symbols to rows: copies of sampled rows with fresh keys and names, keys carried from each row to the next.

No key and no person's name stands in the base rows, and every row is held against its schema (`row_checks.py`) before
it is accepted; what is at fault is tried again with other values, then given up with the reason.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.names import readable
from pytest_agentbench.core.text import without_accents
from pytest_agentbench.generation.policies.asking import Answer, ask
from pytest_agentbench.generation.policies.events.row_checks import Ground, RowChecker, Validator
from pytest_agentbench.generation.policies.events.samples import Cluster, Place, Samples
from pytest_agentbench.generation.policies.events.schema import EventRow, Table, personal
from pytest_agentbench.llm.seams import Chat

_TRIES = 4
"""Fresh values that are tried for one row before it is refused with its reason."""
_DIGITS = re.compile(r"\d+")
_CODE = re.compile(r"(?=[\w#.\-]*\d)(?=[\w#.\-]*[A-Za-z#])[\w#.\-]{3,40}")


ROWS = "rows.v1"
"""The template by which a model fills rows in."""

_NAMES = ("first_name", "last_name", "name")
_LONGEST = 200
"""Characters of a text that a model writes; twice as many as there were, where that is more."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Entity(Model):
    """Something an event is about: a symbol such as C1, what it is, and the table that its row stands in."""

    symbol: str
    table: str = ""
    description: str = ""


class Relation(Model):
    """That one entity names another: the `column` of `source`'s row holds the key of `target`'s."""

    source: str
    column: str
    target: str


class RowsError(Exception):
    """No consistent rows could be made; says which row is at fault and why."""


@dataclass(kw_only=True)
class FreshRows:
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
                self._texts |= {str(value) for value in row.values() if isinstance(value, str | int)}

    def make(self, cluster: Cluster, random: Random) -> FreshRows:
        """Give rows like those of a cluster, in dependency order; raise `RowsError` where some row stays at fault."""
        entities, relations = symbols(cluster, self.samples)
        symbol_of = {place: one.symbol for place, one in zip(cluster.rows, entities, strict=True)}
        fault = ""
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
                return FreshRows(rows=tuple(made.values()), entities=entities, relations=relations, fresh=made)
            fault = faults[0]
        raise RowsError(fault)

    def _renamed(self, cluster: Cluster, random: Random) -> dict[str, str | int]:
        """Give a fresh key for each key of the cluster, and fresh names of persons."""
        renamed: dict[str, str | int] = {}
        taken = set(self._texts)
        for place in cluster.rows:
            for text in self.samples.key_texts(place):
                derived = renamed_in(text, renamed)
                is_new = isinstance(derived, str) and derived != text and derived not in taken
                renamed[text] = derived if is_new else fresh_text(text, taken, random)
                taken.add(str(renamed[text]))
        return renamed

    def _values(self, place: Place, renamed: Mapping[str, str | int], random: Random) -> dict[str, Any]:
        table = self.samples.schema.get(place[0])
        assert table is not None  # noqa: S101 - clusters are of the schema's tables
        row = deepcopy(self.samples.row(place))
        integers = self._integer_keys(place, table, renamed)
        values = {name: integers.get(name, renamed_in(value, renamed)) for name, value in row.items()}
        alone = self._single_columns(table)
        for column in table.columns:
            value = values.get(column.name)
            if (column.name in alone or _is_code(value)) and value == row.get(column.name) and isinstance(value, str):
                is_plain = column.name not in table.key and not self._is_link(table, column.name)
                if is_plain and personal(column.name) != "email":
                    values[column.name] = fresh_text(value, self._texts, random)
        return self._person(place, values, random)

    def _person(self, place: Place, values: dict[str, Any], random: Random) -> dict[str, Any]:
        """Give a person a name that nobody has, an address to it, and a phone number of its own."""
        if not self.samples.is_person(place[0]):
            return values
        kinds = {name: personal(name) for name, value in values.items() if isinstance(value, str)}
        names = [name for name, kind in kinds.items() if kind in _NAMES]
        values |= self._named(place[0], names, random)
        for name, kind in kinds.items():
            if kind == "email":
                values[name] = self._address([values[one] for one in names], values[name], random)
            elif kind == "phone":
                values[name] = fresh_text(values[name], self._texts, random)
        return values

    def _named(self, table: str, columns: Sequence[str], random: Random) -> dict[str, str]:
        """Put a name together from parts of those there are, such that no row has it; with an initial if all are."""
        rows = self.samples.rows[table]
        parts = {
            name: [row[name].split() for row in rows if isinstance(row.get(name), str) and row[name].strip()]
            for name in columns
        }
        columns = [name for name in columns if parts[name]]  # a column may be empty in all rows
        if not columns:
            return {}
        taken = {tuple(row.get(name) for name in columns) for row in rows}
        for round_ in range(20):
            made = {}
            for name in columns:
                first, last = random.choice(parts[name]), random.choice(parts[name])
                words = [*first[:1], *last[1:]] if len(columns) == 1 else first
                made[name] = " ".join(words)
            if round_ >= 10:
                letter = chr(ord("A") + random.randrange(26))
                first_column = made[columns[0]].split()
                made[columns[0]] = " ".join([first_column[0], f"{letter}.", *first_column[1:]])
            if tuple(made.values()) not in taken:
                return made
        raise RowsError(f"no name is free in {table}")

    def _address(self, parts: Sequence[str], old: str, random: Random) -> str:
        domain = old.partition("@")[2] or "example.com"
        # names of other scripts leave nothing that an address is made of
        local = ".".join(plain for part in parts if (plain := _plain(part))) or old.partition("@")[0]
        for round_ in range(200):
            made = f"{local}{random.randrange(10, 10 ** (3 + round_ // 20))}@{domain}"
            if made not in self._texts:
                return made
        raise RowsError(f"no address like {old!r} is free")

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
        what = readable(place[0])
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


def renamed_in(value: Any, renamed: Mapping[str, str | int]) -> Any:
    """Replace keys in a value: where it is one, where one stands in it as a whole part, and in keys of mappings."""
    if isinstance(value, str):
        if value in renamed:
            return renamed[value]
        for old, new in renamed.items():
            if len(old) > 2 and not old.isdigit() and old in value and isinstance(new, str):
                value = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(old)}(?![A-Za-z0-9_])", _constant(new), value)
        return value
    if isinstance(value, list):
        return [renamed_in(one, renamed) for one in value]
    if isinstance(value, dict):
        return {renamed_in(key, renamed): renamed_in(one, renamed) for key, one in value.items()}
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
    letters = [word[0].upper() for word in readable(table).split()]
    for length in range(1, len(letters) + 1):
        if "".join(letters[:length]) not in taken:
            return "".join(letters[:length])
    made = table[:2].upper()
    while made in taken:
        made += "X"
    return made


def _plain(text: str) -> str:
    return "".join(letter for letter in without_accents(text).lower() if letter.isascii() and letter.isalnum())


class WrittenRow(Answer):
    """One row as a model gives it."""

    symbol: str
    table: str
    values: str = Field(description="a JSON object {column: value}")


class WrittenRows(Answer):
    """All rows of an event."""

    rows: list[WrittenRow]


class ModelRows:
    """Fills the open columns of planned rows with a model: one call, one more where something is at fault."""

    def __init__(self, chat: Chat, samples: Samples, validators: Sequence[Validator], ground: Ground) -> None:
        self._chat = chat
        self._samples = samples
        self._validators = validators
        self._ground = ground

    async def __call__(self, made: FreshRows, random: Random) -> FreshRows:
        """Give the rows with the model's values; raise `RowsError` where they stay at fault."""
        planned = [self._planned(row) for row in made.rows]
        data = "\n".join(dumps(one) for one in planned)
        try:
            answer = await ask(
                self._chat, WrittenRows, ROWS, data=data, random=random, faults=lambda one: self._faults(one, made)
            )
        except UnusableAnswerError as error:
            raise RowsError(str(error)) from error
        by_symbol = {row.symbol: row for row in self._carried(answer, made)}
        rows = {place: by_symbol[row.symbol] for place, row in made.fresh.items()}
        return FreshRows(rows=tuple(rows.values()), entities=made.entities, relations=made.relations, fresh=rows)

    def _carried(self, answer: WrittenRows, made: FreshRows) -> list[EventRow]:
        """Give the rows as written, with the new keys wherever a kept column names an old one.

        Schemas do not declare every reference; a model that knows of none leaves the old key where it stood.
        """
        values = {one.symbol: _object(one.values) or {} for one in answer.rows}
        renamed = self._renamed(values, made)
        rows = []
        for row in made.rows:
            written = values.get(row.symbol, {})
            open_columns = self._open(row)
            kept = {
                name: renamed_in(value, renamed)
                for name, value in written.items()
                if name not in open_columns and name not in row.bindings and value == row.values.get(name)
            }
            rows.append(row.model_copy(update={"values": {**written, **kept}}))
        return rows

    def _renamed(self, values: Mapping[str, Mapping[str, Any]], made: FreshRows) -> dict[str, str | int]:
        found: dict[str, str | int] = {}
        for row in made.rows:
            table = self._samples.schema.get(row.table)
            key = table.key[0] if table is not None and len(table.key) == 1 else ""
            new = values.get(row.symbol, {}).get(key)
            if key in self._open(row) and isinstance(new, str) and new:
                found[str(row.values[key])] = new
        return found

    def _planned(self, row: EventRow) -> dict[str, Any]:
        open_columns = self._open(row)
        return {
            "symbol": row.symbol,
            "table": row.table,
            "keep": {name: value for name, value in row.values.items() if name not in (*open_columns, *row.bindings)},
            "open": {name: row.values[name] for name in open_columns},
            "refers": row.bindings,
        }

    def _open(self, row: EventRow) -> tuple[str, ...]:
        """Give the columns that a model may fill: own keys and words, no states, flags, sums or dates that decide."""
        table = self._samples.schema.get(row.table)
        if table is None:
            return ()
        linked = {name for link in table.references for name in link.columns}
        return tuple(
            column.name
            for column in table.columns
            if isinstance(row.values.get(column.name), str)
            and column.name not in linked
            and not column.values
            and not _DATE.match(row.values[column.name])
            and not (column.name in table.key and self._samples.key_is_borrowed(table))
        )

    def _faults(self, answer: WrittenRows, made: FreshRows) -> list[str]:
        planned = {row.symbol: row for row in made.rows}
        found: list[str] = []
        if sorted(one.symbol for one in answer.rows) != sorted(planned):
            found.append(f"give each of these symbols once: {', '.join(planned)}")
        keys: dict[str, Any] = {}
        rows: list[EventRow] = []
        for one in answer.rows:
            row = planned.get(one.symbol)
            if row is None:
                continue
            if one.table != row.table:
                found.append(f"{one.symbol}: is a row of {row.table}, not of {one.table[:40]}")
                continue
            values = _object(one.values)
            if values is None:
                found.append(f"{one.symbol}: values must be a JSON object")
                continue
            found += self._row_faults(row, values)
            table = self._samples.schema.get(row.table)
            if table is not None and len(table.key) == 1:
                keys[one.symbol] = values.get(table.key[0])
            rows.append(row.model_copy(update={"values": values}))
        for row in rows:
            for column, symbol in row.bindings.items():
                if symbol in keys and row.values.get(column) != keys[symbol]:
                    found.append(f"{row.symbol}.{column}: must hold the key of {symbol}, {keys[symbol]!r}")
        found += [fault for row in rows for fault in self._twins(row)]
        return found or RowChecker(self._ground, self._validators).check(self._carried(answer, made))

    def _twins(self, row: EventRow) -> list[str]:
        """Say where a person has the name of somebody in the base rows."""
        names = [name for name, value in row.values.items() if personal(name) in _NAMES and isinstance(value, str)]
        if not names or not self._samples.is_person(row.table):
            return []
        mine = [row.values[name] for name in names]
        heard = _as_heard(mine)
        taken = any(_as_heard([one.get(name) for name in names]) == heard for one in self._samples.rows[row.table])
        return (
            [f"{row.symbol}: {' '.join(mine)} is somebody of {row.table} already; give another name"] if taken else []
        )

    def _row_faults(self, row: EventRow, values: Mapping[str, Any]) -> list[str]:
        free = {*self._open(row), *row.bindings}
        missing = [name for name in row.values if name not in values]
        changed = [
            name for name in row.values if name in values and name not in free and values[name] != row.values[name]
        ]
        filled = [(name, values[name], len(row.values[name])) for name in self._open(row) if name in values]
        return [
            *(f"{row.symbol}: the column {name} is missing" for name in missing),
            *(f"{row.symbol}.{name}: must stay {row.values[name]!r}" for name in changed),
            *(f"{row.symbol}.{name}: {wrong}" for name, value, size in filled if (wrong := _text_fault(value, size))),
        ]


def _text_fault(value: Any, size: int) -> str:
    """Say what is wrong with a text that a model wrote in the place of one of this size; "" where nothing is."""
    most = max(_LONGEST, 2 * size)
    if value is None or (isinstance(value, str) and not value.strip()):
        return "must be filled"
    if not isinstance(value, str):
        return "must be a text"
    if len(value) > most:
        return f"{most} characters at most"
    # columns of several lines keep them
    return "" if value.replace("\n", "").isprintable() else "only characters that can be read"


def _as_heard(names: Sequence[Any]) -> list[str]:
    """Give names as people tell them apart: not by spaces, capitals or accents."""
    return [" ".join(without_accents(str(name)).casefold().split()) for name in names]


def _no_number(text: str) -> None:
    raise ValueError(text)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
