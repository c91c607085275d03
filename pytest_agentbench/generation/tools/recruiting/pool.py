"""The pool: calls that were made and answered as they should, the only source of arguments beside earlier results."""

from collections.abc import Iterable
from functools import cached_property

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.values import PoolEntry

FAILURE = "!"
"""What ids of entries hold whose answer is a planned failure: an empty one, or a refusal without an error flag."""


class Pool(Model):
    """Verified calls, in the order in which they were found."""

    entries: tuple[PoolEntry, ...] = ()

    def of(self, tool: str) -> tuple[PoolEntry, ...]:
        """Give the entries of a tool that did what it is for."""
        return self._by_tool.get((tool, False), ())

    def failures(self, tool: str) -> tuple[PoolEntry, ...]:
        """Give the entries of a tool whose answer is a failure that a user may run into."""
        return self._by_tool.get((tool, True), ())

    def get(self, name: str) -> PoolEntry | None:
        """Find an entry by its id."""
        return self._by_id.get(name)

    @cached_property
    def _by_id(self) -> dict[str, PoolEntry]:
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def _by_tool(self) -> dict[tuple[str, bool], tuple[PoolEntry, ...]]:
        found: dict[tuple[str, bool], list[PoolEntry]] = {}
        for entry in self.entries:
            found.setdefault((entry.tool, FAILURE in entry.id), []).append(entry)
        return {key: tuple(entries) for key, entries in found.items()}


def call_key(tool: str, arguments: JsonValue) -> str:
    """Give what is equal for equal calls, in whatever order arguments stand."""
    ordered = dict(sorted(arguments.items())) if isinstance(arguments, dict) else arguments
    return f"{tool} {dumps(ordered)}"


def pool_of(records: Iterable[JsonValue]) -> Pool:
    """Read a pool; raise `ValueError` where a record is no entry."""
    return Pool(entries=tuple(PoolEntry.model_validate(record) for record in records))
