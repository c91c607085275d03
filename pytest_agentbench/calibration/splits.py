"""How labelled conversations are divided into those that are learned from and those that a judge is held against."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pytest_agentbench.calibration.labelled import Labelled

TRAINING = 0.4
"""The share that is learned from (TRACE §4.1: 206 of 516)."""

SPLITS = 5
"""How often (TRACE §4.1)."""


@dataclass(frozen=True)
class Split:
    """One division."""

    training: tuple[Labelled, ...]
    test: tuple[Labelled, ...]


def seeded_splits(cases: Sequence[Labelled], *, seed: int = 0, count: int = SPLITS) -> list[Split]:
    """Give `count` divisions of 40 to 60, each drawn anew; same seed, same divisions."""
    splits = []
    for number in range(count):
        shuffled = _shuffled(cases, seed, number)
        size = round(TRAINING * len(shuffled))
        splits.append(Split(tuple(shuffled[:size]), tuple(shuffled[size:])))
    return splits


def folds(cases: Sequence[Labelled], count: int, *, seed: int = 0) -> list[Split]:
    """Give `count` divisions such that every conversation is tested once; raise `ValueError` for fewer than two."""
    if not 2 <= count <= len(cases):
        raise ValueError(f"{count!r} folds of {len(cases)} conversations, allowed: 2 to {len(cases)}")
    shuffled = _shuffled(cases, seed, 0)
    parts = [shuffled[place::count] for place in range(count)]
    return [Split(tuple(one for other in parts if other is not part for one in other), tuple(part)) for part in parts]


def _shuffled(cases: Sequence[Labelled], seed: int, number: int) -> list[Labelled]:
    shuffled = sorted(cases, key=lambda case: case.id)
    Random(f"{seed}/{number}").shuffle(shuffled)  # noqa: S311 - divides data
    return shuffled
