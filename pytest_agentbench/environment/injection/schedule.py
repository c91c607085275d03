"""Which call is struck, by counting the calls of a run, and what faults need of its state."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.fault import FaultHit, FaultSpec
from pytest_agentbench.core.json_values import same, to_json
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall
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


class Schedule:
    """The faults of one run; safe from several threads. Calls are counted per fault, among those that fit it."""

    def __init__(self, faults: Sequence[FaultSpec], *, seed: str) -> None:
        self.faults = tuple(faults)
        self._seed = seed
        self._counts = [0] * len(self.faults)
        self._calls = 0
        self._equal: Counter[str] = Counter()
        self._met: dict[int, FaultHit] = {}
        self._lock = threading.Lock()

    @property
    def met(self) -> tuple[FaultHit, ...]:
        """The faults that came to pass, in the order of their calls."""
        with self._lock:
            return tuple(self._met[number] for number in sorted(self._met))

    @property
    def struck(self) -> set[str]:
        """The tools of which some call was struck."""
        return {hit.tool for hit in self.met}

    def next(self, call: ToolCall) -> tuple[int, FaultSpec | None]:
        """Count a call; give its number, from 1, and the first fault that strikes it."""
        with self._lock:
            self._calls += 1
            mark = dumps([call.name, call.arguments])
            self._equal[mark] += 1
            chosen: FaultSpec | None = None
            for index, fault in enumerate(self.faults):
                if not fault.fits(call):
                    continue
                self._counts[index] += 1
                if chosen is None and (not fault.calls or self._counts[index] in fault.calls):
                    chosen = fault
            if chosen is not None:
                self._met[self._calls] = FaultHit(
                    fault=chosen,
                    call=self._calls,
                    nth=self._equal[mark],
                    tool=call.name,
                    arguments=call.arguments,
                )
            return self._calls, chosen

    def missed(self, number: int) -> None:
        """Take back that a call was struck: there was nothing in it that the fault could change."""
        with self._lock:
            self._met.pop(number, None)

    def hid(self, number: int) -> None:
        """Note that what a call was answered is what its tool could have given."""
        with self._lock:
            self._met[number] = self._met[number].model_copy(update={"hidden": True})

    def random(self, number: int) -> Random:
        """Give the chance of one call: the same in every session with the same seed."""
        return Random(digest([self._seed, number]))  # noqa: S311 - chooses what to spoil
