"""From symbols to rows: copies of sampled rows with fresh keys and names, keys carried from each row to the next.

No key and no person's name stands in the base rows, and every row is held against its schema (`schema.py`) before
it is accepted; what is at fault is tried again with other values, then given up with the reason.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from pydantic import Field

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.moments import moved
from pytest_agentbench.core.names import readable
from pytest_agentbench.core.text import without_accents
from pytest_agentbench.generation.draft import LostError
from pytest_agentbench.generation.policies.events.samples import Cluster, Place, Samples
from pytest_agentbench.generation.policies.events.schema import EventRow, RowChecker, Table, Validator, personal
from pytest_agentbench.generation.policies.model_question import Answer, ask
from pytest_agentbench.llm.protocols import Chat

_TRIES = 4
"""Fresh values that are tried for one row before it is refused with its reason."""

_LONGEST = 200
"""Characters of a text that a model writes; twice as many as there were, where that is more."""

_DAYS = 29
"""Days within which another one is looked for where a day is taken."""

_NAMES = ("first_name", "last_name", "name")
_DIGITS = re.compile(r"\d+")
_CODE = re.compile(r"(?=[\w#.\-]*\d)(?=[\w#.\-]*[A-Za-z#])[\w#.\-]{3,40}")
_DAY = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}")
"""A day, or a time, however it is written."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")

FreshRows = dict[Place, EventRow]
"""The rows of one event, in the order of their references, by the sampled rows that they are copies of."""

Renamed = Mapping[str, str | int]
"""Fresh keys by those that they stand for."""


class RowsError(LostError):
    """No consistent rows could be made; says which row is at fault and why."""

    def __init__(self, detail: str) -> None:
        super().__init__("rows", "inconsistent row", detail)


@dataclass(kw_only=True)
class RowMaker:
    """Makes the rows of clusters; `validators` are the user's own checks."""

    samples: Samples
    validators: Sequence[Validator] = ()
    _texts: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Note every text that stands in the state, so that fresh ones differ."""
        self.checker = RowChecker(self.samples.schema, self.samples.rows, self.validators)
        values = (value for rows in self.samples.rows.values() for row in rows for value in row.values())
        self._texts |= {str(value) for value in values if isinstance(value, str | int)}

    def make(self, cluster: Cluster, random: Random) -> FreshRows:
        """Give rows like those of a cluster, in dependency order; raise `RowsError` where some row stays at fault."""
        symbolic = symbols(cluster, self.samples)
        faults = [""]
        for _ in range(_TRIES):
            renamed = self._renamed(cluster, random)
            fresh = {
                place: row.model_copy(update={"values": self._values(place, renamed, random)})
                for place, row in symbolic.items()
            }
            faults = self.checker.check(fresh.values())
            if not faults:
                return fresh
        raise RowsError(faults[0])

    def _renamed(self, cluster: Cluster, random: Random) -> dict[str, str | int]:
        """Give a fresh key for each key of the cluster; what is put together of others' keys follows them."""
        renamed: dict[str, str | int] = {}
        taken = set(self._texts)
        for text in [text for place in cluster.rows for text in self.samples.key_texts(place)]:
            derived = renamed_in(text, renamed)
            is_new = isinstance(derived, str) and derived != text and derived not in taken
            renamed[text] = derived if is_new else fresh_text(text, taken, random)
            taken.add(str(renamed[text]))
        return renamed

    def _values(self, place: Place, renamed: Renamed, random: Random) -> dict[str, Any]:
        table = self.samples.schema.get(place[0])
        assert table is not None  # noqa: S101 - clusters are of the schema's tables
        row = deepcopy(self.samples.row(place))
        numbers = self._numbers(place, table, renamed)
        values = {name: numbers.get(name, renamed_in(value, renamed)) for name, value in row.items()}
        for name in [column.name for column in table.columns]:
            value = values.get(name)
            is_alone = (name,) in table.unique or _is_code(value) or self._is_found_by(table, name)
            is_linked = name in table.key or table.refers_by([name])
            is_kept = not isinstance(value, str) or value != row.get(name) or personal(name) == "email"
            if is_alone and not is_linked and not is_kept:
                values[name] = fresh_text(value, self._texts, random)
        for columns in table.unique:
            self._tell_apart(table, columns, row, values, random)
        return self._person(place, values, random) if self.samples.is_person(place[0]) else values

    def _is_found_by(self, table: Table, column: str) -> bool:
        """Whether a lookup finds rows by the codes of a column, which no two rows share: a fresh row has its own."""
        held = [row.get(column) for row in self.samples.rows[table.name]] if column in self.samples.asked else []
        texts = [str(value) for value in held if value is not None]
        are_codes = all(text.isupper() or any(map(str.isdigit, text)) for text in texts)
        return bool(texts) and are_codes and len(set(texts)) == len(texts) and not any(map(_DAY.match, texts))

    def _tell_apart(
        self, table: Table, columns: Sequence[str], row: Mapping[str, Any], values: dict[str, Any], random: Random
    ) -> None:
        """Give another day, or another row that is free, where columns that must stand once are those of a sample."""
        if not all(values.get(name) is not None and values[name] == row.get(name) for name in columns):
            return
        taken = {tuple(one.get(name) for name in columns) for one in self.samples.rows[table.name]}
        for name in columns:
            link = next((one for one in table.references if one.columns == (name,) and len(one.target) == 1), None)
            others: list[Any] = []
            if link is not None and link.table not in self.samples.owned(self.samples.roots[0]):
                others = [one.get(link.target[0]) for one in self.samples.rows.get(link.table, ())]
            elif isinstance(values[name], str) and _DATE.match(values[name]):
                days = [moved(values[name][:10], timedelta(number)) for number in range(1, _DAYS)]
                others = [f"{day}{values[name][10:]}" for day in days if day]
            free = [one for one in others if tuple({**values, name: one}[each] for each in columns) not in taken]
            if free:
                values[name] = random.choice(free)
                return

    def _person(self, place: Place, values: dict[str, Any], random: Random) -> dict[str, Any]:
        """Give a person a name that nobody has, an address to it, and a phone number of its own."""
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
        texts = {name: [row[name].split() for row in rows if isinstance(row.get(name), str)] for name in columns}
        parts = {name: found for name in columns if (found := [words for words in texts[name] if words])}
        taken = {tuple(row.get(name) for name in parts) for row in rows}
        for round_ in range(20 if parts else 0):
            drawn = {}
            for name, words in parts.items():
                first, last = random.choice(words), random.choice(words)
                drawn[name] = [*first[:1], *last[1:]] if len(parts) == 1 else first
            if round_ >= 10:
                letter, column = chr(ord("A") + random.randrange(26)), next(iter(parts))
                drawn[column] = [drawn[column][0], f"{letter}.", *drawn[column][1:]]
            candidate = {name: " ".join(one) for name, one in drawn.items()}
            if tuple(candidate.values()) not in taken:
                return candidate
        if parts:
            raise RowsError(f"no name is free in {table}")
        return {}  # a column may be empty in all rows

    def _address(self, parts: Sequence[str], old: str, random: Random) -> str:
        domain = old.partition("@")[2] or "example.com"
        plain = ["".join(filter(str.isalnum, filter(str.isascii, without_accents(one).lower()))) for one in parts]
        # names of other scripts leave nothing that an address is made of
        local = ".".join(filter(None, plain)) or old.partition("@")[0]
        for round_ in range(200):
            candidate = f"{local}{random.randrange(10, 10 ** (3 + round_ // 20))}@{domain}"
            if candidate not in self._texts:
                return candidate
        raise RowsError(f"no address like {old!r} is free")

    def _numbers(self, place: Place, table: Table, renamed: Renamed) -> dict[str, Any]:
        """Give keys and references that are numbers, whose texts alone would not tell what they are."""
        row, samples = self.samples.row(place), self.samples
        found = dict(zip(table.key, [renamed[text] for text in samples.key_texts(place)], strict=False))
        for link in table.references:
            if len(link.columns) == 1 and len(link.target) == 1:
                text = str(row.get(link.columns[0]))
                other = samples.place_of(link.table, link.target[0], row.get(link.columns[0]))
                if other is not None and text in renamed and text in samples.key_texts(other):
                    found[link.columns[0]] = renamed[text]
        return {name: int(value) for name, value in found.items() if isinstance(row.get(name), int)}


def symbols(cluster: Cluster, samples: Samples) -> FreshRows:
    """Name the rows of a cluster by symbols (U1, O1: the table's initial and a number) and say how they are tied."""
    counts: Counter[str] = Counter()
    initials: dict[str, str] = {}
    symbol_of: dict[Place, str] = {}
    for place in cluster.rows:
        counts[place[0]] += 1
        initial = initials.setdefault(place[0], "") or _initial(place[0], set(initials.values()))
        initials[place[0]] = initial
        symbol_of[place] = f"{initial}{counts[place[0]]}"
    found: FreshRows = {}
    for place, symbol in symbol_of.items():
        is_focus = " that it is about" if place in cluster.focuses else ""
        role = " whose conversation it is" if place == cluster.root else is_focus
        tied = {
            column: target
            for other, target in symbol_of.items()
            for column in (samples.refers(place, other) if other != place else ())
        }
        table = samples.schema.get(place[0])
        columns = [link.columns[0] for link in (table.references if table else ()) if link.columns[0] in tied]
        found[place] = EventRow(
            table=place[0],
            values=samples.row(place),
            symbol=symbol,
            description=f"a row of {readable(place[0])}{role}",
            bindings={column: tied[column] for column in columns},
        )
    return found


def fresh_text(text: Any, taken: set[str], random: Random) -> Any:
    """Give an identifier of the same shape that is not taken: other digits, as many; a text without any gets some."""
    shaped = str(text)
    group = max(_DIGITS.finditer(shaped), key=lambda one: (len(one[0]), -one.start()), default=None)
    for round_ in range(200):
        if group is None:
            candidate = f"{shaped}_{random.randrange(10, 10 ** (3 + round_ // 50))}"
        else:
            width = len(group[0]) + round_ // 100
            low = 10 ** (width - 1) if width > 1 else 0
            candidate = f"{shaped[: group.start()]}{random.randrange(low, 10**width)}{shaped[group.end() :]}"
        if candidate not in taken:
            return int(candidate) if isinstance(text, int) else candidate
    raise RowsError(f"no identifier like {text!r} is free")


def renamed_in(value: Any, renamed: Renamed) -> Any:
    """Replace keys in a value: where it is one, where one stands in it as a whole part, and in keys of mappings."""
    if isinstance(value, list):
        return [renamed_in(one, renamed) for one in value]
    if isinstance(value, dict):
        return {renamed_in(key, renamed): renamed_in(one, renamed) for key, one in value.items()}
    if not isinstance(value, str) or value in renamed:
        return renamed[value] if isinstance(value, str) else value
    for old, new in renamed.items():
        if len(old) > 2 and not old.isdigit() and old in value and isinstance(new, str):
            constant = new.replace("\\", r"\\")
            value = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(old)}(?![A-Za-z0-9_])", constant, value)
    return value


def _is_code(value: Any) -> bool:
    """Whether a text is a code of one thing, such as a tracking number: letters and digits, no words, no date."""
    if not isinstance(value, str) or _CODE.fullmatch(value) is None:
        return False
    groups = _DIGITS.findall(value)
    return len(groups) == 1 and len(groups[0]) >= 4


def _initial(table: str, taken: set[str]) -> str:
    letters = [word[0].upper() for word in readable(table).split()]
    free = ["".join(letters[:length]) for length in range(1, len(letters) + 1)]
    longer = (table[:2].upper() + "X" * more for more in range(len(taken) + 1))
    return next(one for one in (*free, *longer) if one not in taken)


class WrittenRow(Answer):
    """One row as a model gives it."""

    symbol: str
    table: str
    values: str = Field(description="a JSON object {column: value}")


class WrittenRows(Answer):
    """All rows of an event."""

    rows: list[WrittenRow]


@dataclass(frozen=True)
class ModelRows:
    """Fills the open columns of planned rows with a model: one call, one more where something is at fault."""

    chat: Chat
    samples: Samples
    checker: RowChecker

    async def __call__(self, fresh: FreshRows, random: Random) -> FreshRows:
        """Give the rows with the model's values; raise `RowsError` where they stay at fault."""
        planned = [
            {
                "symbol": row.symbol,
                "table": row.table,
                "keep": {name: one for name, one in row.values.items() if name not in (*opened, *row.bindings)},
                "open": {name: row.values[name] for name in opened},
                "refers": row.bindings,
            }
            for row in fresh.values()
            for opened in (self._open(row),)
        ]
        data = "\n".join(map(dumps, planned))
        try:
            answer = await ask(
                self.chat, WrittenRows, "rows.v1", data=data, random=random, faults=lambda one: self._faults(one, fresh)
            )
        except UnusableAnswerError as error:
            raise RowsError(str(error)) from error
        return dict(zip(fresh, self._filled(answer, fresh), strict=True))

    def _open(self, row: EventRow) -> tuple[str, ...]:
        """Give the columns that a model may fill: own keys and words, no states, flags, sums or dates that decide."""
        table = self.samples.schema.get(row.table)
        texts = {name: value for name, value in row.values.items() if isinstance(value, str) and not _DATE.match(value)}
        return tuple(
            one.name
            for one in (table.columns if table is not None else ())
            if table is not None
            and one.name in texts
            and not (one.values or table.refers_by([one.name]))
            and not (one.name in table.key and self.samples.key_is_borrowed(table))
        )

    def _filled(self, answer: WrittenRows, fresh: FreshRows) -> list[EventRow]:
        """Give the rows with what was written into open columns, and new keys wherever a row names an old one.

        Whatever else was written counts for nothing.
        """
        written = {one.symbol: _object(one.values) or {} for one in answer.rows}
        opened: list[tuple[EventRow, dict[str, Any]]] = []
        renamed: dict[str, str | int] = {}
        for row in fresh.values():
            values = written.get(row.symbol, {})
            opened.append((row, {name: values[name] for name in self._open(row) if name in values}))
            table = self.samples.schema.get(row.table)
            for key in table.key if table is not None and len(table.key) == 1 else ():
                if isinstance(new := opened[-1][1].get(key), str) and new:
                    renamed[str(row.values[key])] = new
        rows = []
        for row, values in opened:
            kept = {name: renamed_in(value, renamed) for name, value in row.values.items()}
            rows.append(row.model_copy(update={"values": {**kept, **values}}))
        return rows

    def _faults(self, answer: WrittenRows, fresh: FreshRows) -> list[str]:
        written = {one.symbol: _object(one.values) for one in answer.rows}
        if sorted(one.symbol for one in answer.rows) != sorted(row.symbol for row in fresh.values()):
            return [f"give each of these symbols once: {', '.join(row.symbol for row in fresh.values())}"]
        found = [f"{symbol}: values must be a JSON object" for symbol, values in written.items() if values is None]
        for row in fresh.values():
            values = written[row.symbol] or {}
            found += [
                f"{row.symbol}.{name}: {wrong}"
                for name in self._open(row)
                if (wrong := _text_fault(values.get(name), max(_LONGEST, 2 * len(row.values[name]))))
            ]
            found += self._twins(row, values)
        return found or self.checker.check(self._filled(answer, fresh))

    def _twins(self, row: EventRow, values: Mapping[str, Any]) -> Iterator[str]:
        """Say where a person has the name of somebody in the base rows."""
        names = [name for name in self._open(row) if personal(name) in _NAMES and isinstance(values.get(name), str)]
        mine = [values[name] for name in names]
        rows = self.samples.rows[row.table] if names and self.samples.is_person(row.table) else []
        if any(_as_heard([one.get(name) for name in names]) == _as_heard(mine) for one in rows):
            yield f"{row.symbol}: {' '.join(mine)} is somebody of {row.table} already; give another name"


def _text_fault(value: Any, most: int) -> str:
    """Say what is wrong with a text that a model wrote; "" where nothing is."""
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
