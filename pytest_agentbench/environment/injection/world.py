"""What faults need of a run's state: to put it back, and other rows than the one asked for."""

from collections.abc import Iterator
from typing import Any

from pytest_agentbench.core.state import State
from pytest_agentbench.core.values import same, to_json
from pytest_agentbench.environment.state_access import OpenState


class InjectionWorld:
    """The state as faults see it; `None` where the suite has none. Called in the thread of the tool."""

    def __init__(self, state: OpenState | None) -> None:
        self._state = state
        self._first: Any = None

    @property
    def can_be_put_back(self) -> bool:
        """Whether the state's provider has `save(handle)` and `restore(handle, saved)`, both sync."""
        provider = self._state.provider if self._state else None
        return all(callable(getattr(provider, name, None)) for name in ("save", "restore"))

    def begin(self) -> None:
        """Keep the state as it is at the start of the run."""
        if self.can_be_put_back:
            self._first = self.save()

    def save(self) -> Any:
        """Give what `restore` puts back."""
        assert self._state is not None  # noqa: S101 - `can_be_put_back` was asked
        return self._state.provider.save(self._state.handle)  # type: ignore[attr-defined]  # an optional method

    def restore(self, saved: Any) -> None:
        """Put the state back as it was when `saved` was made."""
        assert self._state is not None  # noqa: S101 - same
        self._state.provider.restore(self._state.handle, saved)  # type: ignore[attr-defined]  # same

    def restore_first(self) -> None:
        """Put the state back as it was at the start of the run."""
        self.restore(self._first)

    def others(self, value: Any) -> list[Any]:
        """Give the values that stand where `value` stands in the state: keys beside a key, a column's other cells."""
        if self._state is None:
            return []
        state: object = self._state.provider.snapshot(self._state.handle)
        if not isinstance(state, dict):  # an async provider
            return []
        found: list[Any] = []
        for other in _beside(to_json(state), to_json(value)):
            if not same(other, value) and not any(same(other, known) for known in found):
                found.append(other)
        return found


def _beside(state: State, value: Any) -> Iterator[Any]:
    """Yield keys of mappings that have `value` as a key, then cells of columns that hold it."""
    for part in state.values():
        if not isinstance(part, dict):
            continue
        if isinstance(value, str) and value in part:
            yield from part
        rows = [row for row in part.values() if isinstance(row, dict)]
        columns = {column for row in rows for column, cell in row.items() if same(cell, value)}
        for column in sorted(columns):
            yield from (row[column] for row in rows if row.get(column) is not None)
