"""Which call is struck: counts the calls of a run and gives each its fault."""

import threading
from collections import Counter
from collections.abc import Sequence
from random import Random

from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.fault import FaultHit, FaultSpec
from pytest_agentbench.core.tool import ToolCall


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

    def random(self, number: int) -> Random:
        """Give the chance of one call: the same in every session with the same seed."""
        return Random(digest([self._seed, number]))  # noqa: S311 - chooses what to spoil
