"""Databases that share their records with a base until a record is looked at: a fresh world in microseconds.

A τ² database is a pydantic model whose tables are dicts of models. Copying 2,000 records for a run that touches three
is what makes τ²'s own evaluator slow; here a record is copied when it is first read, and only those are compared.
"""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, time, timedelta
from enum import Enum
from typing import Any, TypeVar

from pydantic import BaseModel

Database = TypeVar("Database", bound=BaseModel)

_IMMUTABLE = (str, int, float, bool, type(None), Enum, date, time, timedelta)


class LazyRecords(dict[str, Any]):
    """A table over a base table: what is read is a copy of one's own, so the base never changes.

    While `is_read` is set, for a tool that is declared to change nothing, records are given as they are.
    """

    def __init__(self, base: dict[str, Any]) -> None:
        super().__init__(base)
        self.base = base
        self.touched: set[str] = set()
        self.is_read = False

    def __getitem__(self, key: str) -> Any:
        """Give the record, one's own copy from the first time on."""
        record = super().__getitem__(key)
        if key not in self.touched and not self.is_read:
            record = copied(record)
            self[key] = record
        return record

    def __setitem__(self, key: str, record: Any) -> None:
        """Put a record of one's own."""
        self.touched.add(key)
        super().__setitem__(key, record)

    def __delitem__(self, key: str) -> None:
        """Take a record out; the base keeps it."""
        super().__delitem__(key)
        self.touched.add(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Give the record, one's own copy, or the default."""
        return self[key] if key in self else default  # noqa: SIM401 - this is what get does

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Give the record, or put the default."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str, *default: Any) -> Any:
        """Take a record out and give it."""
        if key not in self and default:
            return default[0]
        record = self[key]
        del self[key]
        return record

    def popitem(self) -> tuple[str, Any]:
        """Take the last record out and give it."""
        key = next(reversed(self))
        return key, self.pop(key)

    def update(self, *others: Any, **records: Any) -> None:
        """Put several records."""
        for key, record in dict(*others, **records).items():
            self[key] = record

    def clear(self) -> None:
        """Take every record out."""
        for key in list(self):
            del self[key]

    def values(self) -> Any:
        """Give every record, each one's own copy: whoever looks at all of them may change all of them."""
        self._own()
        return super().values()

    def items(self) -> Any:
        """Give every key with its record, each one's own copy."""
        self._own()
        return super().items()

    def copy(self) -> dict[str, Any]:
        """Give a plain dict of one's own records."""
        self._own()
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        """Give a plain copy that shares nothing."""
        return copy.deepcopy(dict(self), memo)

    def _own(self) -> None:
        if self.is_read:
            return
        for key in self.keys() - self.touched:
            self[key]


def over(database: Database) -> Database:
    """Give a database of one's own over `database`; tables are shared until looked at, anything else is copied."""
    values: dict[str, Any] = {}
    for name in type(database).model_fields:
        value = getattr(database, name)
        values[name] = LazyRecords(value) if _is_table(value) else copied(value)
    return type(database).model_construct(**values)


def copied(value: Any) -> Any:
    """Copy plain records several times faster than `copy.deepcopy`, which copies whatever is no plain record."""
    if isinstance(value, _IMMUTABLE):
        return value
    kind = type(value)
    if kind is list:
        return [copied(item) for item in value]
    if kind is dict:
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, BaseModel) and value.__pydantic_extra__ is None and value.__pydantic_private__ is None:
        made: Any = object.__new__(kind)
        object.__setattr__(made, "__dict__", {name: copied(item) for name, item in value.__dict__.items()})
        object.__setattr__(made, "__pydantic_fields_set__", set(value.__pydantic_fields_set__))
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
        return made
    return copy.deepcopy(value)


def same_content(left: BaseModel | None, right: BaseModel | None) -> bool:
    """Whether two databases are equal as τ²'s hashes say it: their key-sorted JSON, so 1 and 1.0 differ."""
    if left is None or right is None:
        return left is right
    if type(left) is not type(right):
        return False
    return all(_same_field(getattr(left, name), getattr(right, name)) for name in type(left).model_fields)


def records_apart(left: BaseModel | None, right: BaseModel | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give both databases as plain JSON, of tables over one base only the records that either has looked at."""
    if left is None or right is None or type(left) is not type(right):
        return {}, {}
    sides: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name in type(left).model_fields:
        mine, theirs = getattr(left, name), getattr(right, name)
        if isinstance(mine, LazyRecords) and isinstance(theirs, LazyRecords) and mine.base is theirs.base:
            looked_at = mine.touched | theirs.touched | (mine.keys() ^ theirs.keys())
            for side, table in zip(sides, (mine, theirs), strict=True):
                side[name] = {key: _plain(dict.get(table, key)) for key in sorted(looked_at) if key in table}
        else:
            sides[0][name], sides[1][name] = _plain(mine), _plain(theirs)
    return sides


@contextmanager
def read_only(*databases: BaseModel | None) -> Iterator[None]:
    """Give records as they are, for as long as a tool looks at them that changes none."""
    values = (getattr(one, name) for one in databases if one is not None for name in type(one).model_fields)
    tables = [value for value in values if isinstance(value, LazyRecords)]
    for table in tables:
        table.is_read = True
    try:
        yield
    finally:
        for table in tables:
            table.is_read = False


def fingerprint(database: BaseModel | None) -> str:
    """Give a text that changes whenever the database does: what is not shared with the base, as JSON."""
    if database is None:
        return ""
    parts: list[str] = []
    for name in type(database).model_fields:
        value = getattr(database, name)
        if isinstance(value, LazyRecords):
            gone = sorted(value.base.keys() - value.keys())
            own = {key: dict.get(value, key) for key in sorted(value.touched & value.keys())}
            # a tool may look at every record: those that equal the base are told apart without writing them out
            changed = [f"{key}={_text(record)}" for key, record in own.items() if record != value.base.get(key)]
            parts.append(f"{name}: -{gone} +{changed}")
        else:
            parts.append(f"{name}:{_text(value)}")
    return "\n".join(parts)


def _is_table(value: object) -> bool:
    return type(value) is dict and bool(value) and all(isinstance(record, BaseModel) for record in value.values())


def _same_field(left: object, right: object) -> bool:
    if isinstance(left, LazyRecords) and isinstance(right, LazyRecords) and left.base is right.base:
        if left.keys() != right.keys():
            return False
        looked_at = (left.touched | right.touched) & left.keys()
        return all(_text(dict.get(left, key)) == _text(dict.get(right, key)) for key in looked_at)
    return _text(left) == _text(right)


def _text(value: object) -> str:
    return json.dumps(_plain(value), sort_keys=True, default=str)


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: _plain(dict.get(value, key)) for key in _keys(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _keys(value: dict[Any, Any]) -> Iterator[Any]:
    return iter(dict.keys(value))
