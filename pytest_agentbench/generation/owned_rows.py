"""The rows in states and answers, with the calls that gave them: what ownership is read from."""

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import IDENTIFIERS
from pytest_agentbench.generation.draft import PlannedCall
from pytest_agentbench.generation.tools.graph.name_match import words
from pytest_agentbench.generation.tools.labels import NAMES, is_identifier, is_role
from pytest_agentbench.generation.tools.probing.result_parser import inner, parsed

_WRAPPERS = frozenset({"item", "result", "data", "row", "entry", "record", "list", "content"})
"""Names of lists that do not say of what."""
_VARIANTS = 1.2
"""Rows for each value of a column, up to which the column tells rows apart: some changed between two answers."""
ANSWER = "answer/"
"""Begins the name of rows that stand in the answers of a tool."""
_CODE, _FIGURES = 3, 4
"""Characters from which a key with a digit is unlikely to stand in two places by chance, with a letter and without."""
_DEEPEST = 12
"""Rows inside rows that are read."""


@dataclass(frozen=True)
class CallRecord:
    """A call with its answer; `sources` are the numbers of earlier calls whose answers gave some of its arguments."""

    tool: str
    arguments: Mapping[str, JsonValue]
    result: JsonValue = None
    writes: bool = False
    sources: frozenset[int] = frozenset()


def records_of(calls: Iterable[PlannedCall]) -> list[CallRecord]:
    """Give the calls of a draft as they count for ownership."""
    return [
        CallRecord(
            one.call.name,
            one.call.arguments,
            parsed(one.answer),
            one.writes,
            frozenset(at.call for at in one.origins.values() if at.call is not None),
        )
        for one in calls
    ]


@dataclass(eq=False)
class Row:
    """A row of a table or an answer: its plain cells, its key in a table, the row that lists it, that it is part of."""

    source: str
    noun: str
    cells: dict[str, JsonValue]
    key: str = ""
    listed_in: "Row | None" = None
    part_of: "Row | None" = None
    asked: Mapping[str, JsonValue] = field(default_factory=dict)
    columns: frozenset[str] = frozenset()
    name: str = ""

    @property
    def repeats(self) -> tuple[str, ...]:
        """The columns that hold the key under which the row stands in its table."""
        return tuple(name for name, value in self.cells.items() if self.key and str(value) == self.key)


def cells_of(arguments: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Yield the plain values of arguments, each with the last name on the way to it."""
    for name, value in arguments.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Mapping):
                yield from cells_of(one)
            else:
                yield str(name), one


def every_cell(rows: Sequence[Row], calls: Sequence[CallRecord]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each key in rows and arguments: the column's name, the kind, where, and the key."""
    for row in rows:
        if row.key:
            yield "", row.noun, row.source, row.key
        for name, value in row.cells.items():
            if is_key(value):
                yield name, kind_of(name, row.noun), row.source, str(value)
    for call in calls:
        for name, value in cells_of(call.arguments):
            if is_key(value):
                yield name, kind_of(name, noun_of(call.tool)), f"arguments/{call.tool}", str(value)


def rows_of_call(call: CallRecord) -> Iterator[Row]:
    asked = dict(cells_of(call.arguments))
    for row in rows_in(f"{ANSWER}{call.tool}", call.result, noun_of(call.tool)):
        row.asked = asked if row.listed_in is None and row.part_of is None else {}
        yield row


def outer_rows(call: CallRecord) -> Iterator[Row]:
    return (row for row in rows_of_call(call) if row.listed_in is None and row.part_of is None)


def read_call(name: str, answer: JsonValue) -> CallRecord | None:
    """Give the read that told a field of a state, `list_leave(crew_code='MTR-114')`; None for any other field."""
    try:
        call = ast.parse(name, mode="eval").body if name.endswith(")") else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            values = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}
            return CallRecord(call.func.id, values, answer)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return None


def tables_in(name: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the tables that a field of a state is: several under their names, where a tool reads them as one answer."""
    parts = inner(value)
    if isinstance(parts, Mapping) and parts and all(isinstance(one, list) for one in map(inner, parts.values())):
        firsts = {str(key): next(iter(inner(part)), None) for key, part in parts.items()}
        if not _is_keyed(firsts):  # the same columns in each: rows by whose they are
            yield from ((str(key), part) for key, part in parts.items())
            return
    yield name, value


def rows_in(
    source: str, value: JsonValue, noun: str, around: Row | None = None, *, deep: int = 0, is_table: bool = False
) -> Iterator[Row]:
    """Yield the rows of a table, of an answer, or of a field of a row, and those inside them."""
    value = inner(value) if deep < _DEEPEST else None
    if isinstance(value, list):
        for item in map(inner, value):
            if isinstance(item, Mapping):
                yield from _row_of(Row(source, noun, {}, listed_in=around), item, deep)
            elif around is not None and is_key(item):
                yield Row(source, noun, {source.rpartition(".")[2]: item}, listed_in=around)
    elif isinstance(value, Mapping) and (is_table or _is_keyed(value)):
        for key, item in value.items():
            if isinstance(record := inner(item), Mapping):
                yield from _row_of(Row(source, noun, {}, str(key), listed_in=around), record, deep)
    elif isinstance(value, Mapping):
        yield from _row_of(Row(source, noun, {}, part_of=around), value, deep)


def _row_of(row: Row, record: Mapping[str, JsonValue], deep: int) -> Iterator[Row]:
    parts = {str(name): inner(item) for name, item in record.items() if isinstance(inner(item), Mapping | list)}
    row.cells = {str(name): item for name, item in record.items() if str(name) not in parts}
    row.columns, row.name = frozenset(map(str, record)), _name(record)
    telling = [
        name for name, item in row.cells.items() if is_key(item) and (isinstance(item, str) or is_identifier(name))
    ]
    is_wrapper = (
        not row.key and bool(parts) and (not telling or any(_WRAPPERS.intersection(words(name)[-1:]) for name in parts))
    )
    if not is_wrapper:
        yield row
    for name, item in parts.items():
        noun = row.noun if noun_of(name) in _WRAPPERS else noun_of(name)
        yield from rows_in(f"{row.source}.{name}", item, noun, row.listed_in if is_wrapper else row, deep=deep + 1)


def _is_keyed(value: Mapping[str, JsonValue]) -> bool:
    """Whether an object holds like records by their keys."""
    columns = [set(one) if isinstance(one := inner(item), Mapping) else set[str]() for item in value.values()]
    return len(columns) > 1 and len(set.intersection(*columns)) * 2 > len(set.union(*columns))


def key_columns(rows: Sequence[Row]) -> dict[str, str]:
    """Give the column that tells the rows of each source apart, "" where none does."""
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if not row.key:
            by_source[row.source].append(row)
    return {source: key_column(several) for source, several in by_source.items()}


def key_column(rows: Sequence[Row]) -> str:
    """Give the column that tells rows apart: one that is called as their key is, the very first, or another key."""
    columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    keys = [name for name in columns if is_identifier(name)]
    own = [name for name in keys if kind_of(name, rows[0].noun) == rows[0].noun]
    for name in (*own, *columns[:1], *keys):
        values = [row.cells.get(name) for row in rows]
        variants = {str(row.cells) for row in rows}
        if all(map(is_key, values)) and len(variants) <= _VARIANTS * len(set(map(str, values))):
            return name
    return ""


def key_names(rows: Sequence[Row]) -> dict[str, str]:
    """Give what columns call keys of tables, with the tables' nouns: `badge`, where all `people` have theirs in it.

    A name that says whose a row is, that tables are called by, or that two have, names no kind.
    """
    columns: dict[str, set[str]] = {}
    for row in rows:
        if row.key:
            here = {kind_of(name, row.noun) for name in row.repeats}
            columns[row.noun] = columns.get(row.noun, here) & here
    nouns = {row.noun for row in rows if not row.source.startswith(ANSWER)}
    claimed = [(kind, noun) for noun, kinds in columns.items() for kind in kinds - nouns if not is_role(kind)]
    several = Counter(kind for kind, _ in claimed)
    return {kind: noun for kind, noun in claimed if several[kind] == 1}


def kind_of(name: str, noun: str) -> str:
    """Give the kind of thing that a column holds keys of: its words without *id* and the like, else the row's noun."""
    return " ".join(word for word in words(name) if word not in IDENTIFIERS) or noun


def noun_of(name: str) -> str:
    return next((word for word in reversed(words(name)) if word not in IDENTIFIERS), name)


def listed_by(call: CallRecord, carries: Callable[[Row, str, JsonValue], bool]) -> Iterator[tuple[str, str, str]]:
    """Yield by what a call lists rows: the name, kind and value of an argument that each row of its answer carries."""
    rows = list(outer_rows(call))
    for name, value in cells_of(call.arguments):
        if len(rows) > 1 and all(carries(row, name, value) for row in rows):
            yield name, kind_of(name, noun_of(call.tool)), str(value)


def is_key(value: JsonValue) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= 64) or (isinstance(value, int) and not isinstance(value, bool))


def is_telling(key: str) -> bool:
    least = _CODE if any(map(str.isalpha, key)) else _FIGURES
    return len(key) >= least and any(map(str.isdigit, key))


def _name(record: Mapping[str, JsonValue]) -> str:
    nested = record.get("name")
    if isinstance(nested, Mapping):
        return " ".join(value for value in nested.values() if isinstance(value, str))
    parts = [str(value) for column, value in record.items() if set(words(column)) & NAMES and isinstance(value, str)]
    return " ".join(parts[:2])
