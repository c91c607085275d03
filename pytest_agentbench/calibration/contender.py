"""What is calibrated: something that may learn from labelled conversations and then labels others."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from pytest_agentbench.calibration.deterministic import NAME, SIGNS, judge
from pytest_agentbench.calibration.labelled import Case, Labelled
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.rubric import Label

Estimate = Callable[[Case], Awaitable[Label | None]]
"""Labels one conversation; None where it could not."""


class Contender(Protocol):
    """A judge, or a way to learn one. `learns` False means that all training sets give the same judge."""

    name: str
    learns: bool

    @property
    def mark(self) -> str:
        """A hash of what decides: model, prompts and rubric."""
        ...

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn from labelled conversations."""
        ...


class Deterministic:
    """The judge without a model; `without` names signs that are left out."""

    name = NAME
    learns = False

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        self._without = without

    @property
    def mark(self) -> str:
        """A hash of the signs that are looked for."""
        return digest([NAME, sorted(SIGNS.keys() - self._without)])

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Give the judge: there is nothing to learn."""

        async def estimate(case: Case) -> Label | None:
            return judge(case, without=self._without).label

        return estimate
