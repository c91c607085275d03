"""Databases that others generated, held against themselves: keys, references, what stands in whose profile.

No schema is asked for: a table's key is the column named after it (`order_id` of `orders`), a reference is a field
named after a table, and `paper_id` leads to the container (`papers`) of whoever the row belongs to.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.suites.intellagent.intellagent import ForeignEvent

Kind = Literal["duplicate key", "wrong table", "no key", "dangling reference", "not in profile", "duplicate part"]

_SUFFIXES = ("_id", "_number")


class Inconsistency(Model):
    """One row at fault: of which kind, in which table, and in words."""

    kind: Kind
    table: str
    message: str


class Audit(Model):
    """What was found in many events: how many have something, and how often each kind occurs, by events."""

    events: int
    inconsistent: int
    kinds: dict[str, int] = {}


def audit_events(events: Sequence[ForeignEvent]) -> Audit:
    """Count the events whose databases contradict themselves, and what each kind of contradiction is found in."""
    found = [{one.kind for one in audit(event.database)} for event in events]
    counts = Counter(kind for kinds in found for kind in kinds)
    return Audit(events=len(events), inconsistent=sum(map(bool, found)), kinds=dict(sorted(counts.items())))


def audit(database: Mapping[str, Any]) -> tuple[Inconsistency, ...]:
    """Find what is inconsistent in a database of rows by table, as lists or as mappings by key."""
    tables = {name: [_plain(row) for row in _rows(content)] for name, content in database.items()}
    keys = {name: _key(name, rows) for name, rows in tables.items()}
    found: list[Inconsistency] = []
    for name, rows in tables.items():
        found += _keys(name, rows, keys)
        for row in rows:
            found += _references(name, row, tables, keys)
            found += _parts(name, row)
            found += _profiles(name, row, tables, keys)
    return tuple(dict.fromkeys(found))


def _rows(content: Any) -> list[dict[str, Any]]:
    rows = content.values() if isinstance(content, Mapping) else content if isinstance(content, list) else ()
    return [dict(row) for row in rows if isinstance(row, Mapping)]


def _plain(value: Any) -> Any:
    """Read what was saved as the text of a Python or JSON value."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, str) and value[:1] in "{[" and value[-1:] in "}]":
        text = value.replace("’", "'").replace("‘", "'")
        for read in (json.loads, ast.literal_eval):
            try:
                return _plain(read(text))
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value


def _singular(name: str) -> str:
    return name.removesuffix("s")


def _key(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    columns = dict.fromkeys(column for row in rows for column in row)
    wanted = [_singular(name) + suffix for suffix in _SUFFIXES]
    return next((column for column in (*wanted, "id") if column in columns), "")


def _keys(name: str, rows: Sequence[dict[str, Any]], keys: Mapping[str, str]) -> Iterator[Inconsistency]:
    key = keys[name]
    counts = Counter(str(row[key]) for row in rows if key and row.get(key) is not None)
    for value, times in counts.items():
        if times > 1:
            yield _fault("duplicate key", name, f"{key} {value!r} stands {times} times")
    for row in rows:
        if not key or row.get(key) is None:
            other = next((table for table, own in keys.items() if table != name and own and row.get(own)), "")
            if other:
                yield _fault("wrong table", name, f"a row without {key or 'a key'} has the key of {other}")
            elif rows:
                yield _fault("no key", name, f"a row has no {key or 'key'}")


def _references(
    name: str, row: dict[str, Any], tables: Mapping[str, list[dict[str, Any]]], keys: Mapping[str, str]
) -> Iterator[Inconsistency]:
    for table, key in keys.items():
        if not key or key == "id":
            continue
        known = {str(other.get(key)) for other in tables[table]}
        for path, field, value in _fields(row, ""):
            named = field in (key, _singular(table)) or (field == table and path.endswith("[]"))
            is_own = table == name and path == key
            if named and not is_own and isinstance(value, str | int) and str(value) not in known:
                yield _fault("dangling reference", name, f"{path} {value!r} is not in {table}")


def _parts(name: str, row: dict[str, Any]) -> Iterator[Inconsistency]:
    """Find mappings whose entries share an id that should tell them apart, or do not have that of their key."""
    for path, _, value in _fields(row, "", containers=True):
        if not isinstance(value, Mapping) or len(value) < 1:
            continue
        entries = [one for one in value.values() if isinstance(one, Mapping)]
        for column in dict.fromkeys(column for one in entries for column in one if column.endswith("id")):
            counts = Counter(str(one[column]) for one in entries if one.get(column) is not None)
            for shown, times in counts.items():
                if times > 1:
                    yield _fault("duplicate part", name, f"{path}: {column} {shown!r} stands {times} times")


def _profiles(
    name: str, row: dict[str, Any], tables: Mapping[str, list[dict[str, Any]]], keys: Mapping[str, str]
) -> Iterator[Inconsistency]:
    """Find ids that should stand in a container of the row's owner and do not."""
    for table, key in keys.items():
        if table == name or not key or row.get(key) is None:
            continue
        for owner in tables[table]:
            if owner.get(key) != row[key]:
                continue
            for container, content in owner.items():
                if not isinstance(content, Mapping) or not all(isinstance(one, Mapping) for one in content.values()):
                    continue
                for path, field, value in _fields(row, ""):
                    stem = field.removesuffix("_id")
                    is_one = field.endswith("_id") and container.startswith(stem) and f"{stem}s" not in tables
                    if is_one and isinstance(value, str) and value not in content:
                        message = f"{path} {value!r} is not in {container} of {table} {row[key]!r}"
                        yield _fault("not in profile", name, message)


def _fields(value: Any, path: str, *, containers: bool = False) -> Iterator[tuple[str, str, Any]]:
    """Walk through fields: where one is, its name, its value; of `containers` or of plain values."""
    items: list[tuple[str, str, Any]] = []
    if isinstance(value, Mapping):
        items = [(f"{path}.{key}" if path else str(key), str(key), one) for key, one in value.items()]
    elif isinstance(value, list):
        name = path.rpartition(".")[2].removesuffix("[]")
        items = [(f"{path}[]", name, one) for one in value]
    for where, field, one in items:
        is_container = isinstance(one, Mapping | list)
        if is_container == containers:
            yield where, field, one
        if is_container:
            yield from _fields(one, where, containers=containers)


def _fault(kind: Kind, table: str, message: str) -> Inconsistency:
    return Inconsistency(kind=kind, table=table, message=shorten(printable(f"{table}: {message}"), 200))
