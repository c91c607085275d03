"""The pool: calls that were made and answered as they should, the only source of arguments beside earlier results."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.values import PoolEntry

_CLOSE = 0.05
"""Difference up to which two decimal numbers are of one thing: five kilometres in degrees, a few cents."""
FAILURE = "!"
"""What ids of entries hold whose answer is a planned failure: an empty one, or a refusal without an error flag."""


class Pool(Model):
    """Verified calls, in the order in which they were found."""

    entries: tuple[PoolEntry, ...] = ()

    def of(self, tool: str) -> tuple[PoolEntry, ...]:
        """Give the entries of a tool that did what it is for, in an environment in which nothing had been done."""
        return self._by_tool.get((tool, "alone"), ())

    def behind(self, tool: str) -> tuple[PoolEntry, ...]:
        """Give the entries of a tool that did what it is for after the call of another entry."""
        return self._by_tool.get((tool, "behind"), ())

    def failures(self, tool: str) -> tuple[PoolEntry, ...]:
        """Give the entries of a tool whose answer is a failure that a user may run into."""
        return self._by_tool.get((tool, "failure"), ())

    def chain(self, entry: PoolEntry) -> tuple[PoolEntry, ...]:
        """Give the entries whose calls come before that of an entry, in their order, and the entry."""
        found = [entry]
        while found[0].after and (before := self.get(found[0].after)) is not None and before not in found:
            found.insert(0, before)
        return tuple(found)

    def sources(self, tool: str) -> frozenset[str]:
        """Give the tools behind whose calls those of a tool were found to work."""
        before = [self.get(entry.after) for entry in self.behind(tool)]
        return frozenset(entry.tool for entry in before if entry is not None)

    def get(self, name: str) -> PoolEntry | None:
        """Find an entry by its id."""
        return self._by_id.get(name)

    @cached_property
    def _by_id(self) -> dict[str, PoolEntry]:
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def _by_tool(self) -> dict[tuple[str, str], tuple[PoolEntry, ...]]:
        found: dict[tuple[str, str], list[PoolEntry]] = {}
        for entry in self.entries:
            kind = "failure" if FAILURE in entry.id else "behind" if entry.after else "alone"
            found.setdefault((entry.tool, kind), []).append(entry)
        return {key: tuple(entries) for key, entries in found.items()}


def call_key(tool: str, arguments: JsonValue) -> str:
    """Give what is equal for equal calls, in whatever order arguments stand."""
    ordered = dict(sorted(arguments.items())) if isinstance(arguments, dict) else arguments
    return f"{tool} {dumps(ordered)}"


def pool_of(records: Iterable[JsonValue]) -> Pool:
    """Read a pool; raise `ValueError` where a record is no entry."""
    return Pool(entries=tuple(PoolEntry.model_validate(record) for record in records))


def distinct(entries: Iterable[PoolEntry]) -> list[PoolEntry]:
    """Give the first of entries that are alike."""
    kept: list[PoolEntry] = []
    for entry in entries:
        if not any(alike(entry.arguments, other.arguments) for other in kept):
            kept.append(entry)
    return kept


def alike(left: Mapping[str, JsonValue], right: Mapping[str, JsonValue]) -> bool:
    """Whether two sets of arguments mean the same to a person."""
    ours, theirs = read_slots(dict(left)), read_slots(dict(right))
    return ours.keys() == theirs.keys() and all(_alike(ours[path], theirs[path]) for path in ours)


def _alike(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return plain(left).replace("-", " ") == plain(right).replace("-", " ")
    if is_number(left) and is_number(right) and (isinstance(left, float) or isinstance(right, float)):
        return abs(left - right) <= _CLOSE
    return bool(left == right)
