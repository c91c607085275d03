"""Stopping trials early: Wald's sequential test of each scenario, cut off at the most trials, and its error rates.

A scenario that passes four times in a row needs no fifth trial to be called reliable, nor one that fails twice to be
called broken; those in between get all. How many trials a scenario got then depends on how they ended, so that
passed / trials is biased: `unbiased_rate` is not.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Decision = Literal["reliable", "unreliable", "undecided"]


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """Wald's sequential probability ratio test of a pass rate, cut off after `most` trials.

    Tells a scenario that passes at `reliable` from one that passes at `unreliable`; each is taken for the other with at
    most about `error` (the cut-off leaves some undecided instead). Source: A. Wald, Ann. Math. Statist. 16 (1945); the
    bounds are his, ±log((1 − error) / error).
    """

    most: int
    reliable: float = 0.9
    unreliable: float = 0.5
    error: float = 0.1

    def decision(self, passed: int, n: int) -> Decision:
        """Say what `passed` of `n` trials show."""
        evidence = passed * math.log(self.reliable / self.unreliable)
        evidence += (n - passed) * math.log((1 - self.reliable) / (1 - self.unreliable))
        bound = math.log((1 - self.error) / self.error)
        return "reliable" if evidence >= bound else "unreliable" if evidence <= -bound else "undecided"

    def stops(self, passed: int, n: int) -> bool:
        """Whether no further trial is needed, or none is left."""
        return n >= self.most or self.decision(passed, n) != "undecided"


def unbiased_rate(rule: StopRule, passed: int, n: int) -> float:
    """Estimate the pass rate of a scenario whose trials were stopped by `rule`, without bias.

    The share of the ways to this end that begin with a pass. Source: M. A. Girshick, F. Mosteller and L. J. Savage,
    Ann. Math. Statist. 17 (1946). Where `rule` cannot have ended here, as in a selection of trials, passed / n.
    """
    return _rates(rule).get((passed, n), passed / n)


@lru_cache(maxsize=256)
def _rates(rule: StopRule) -> dict[tuple[int, int], float]:
    """Give the unbiased rate at every end; cached, since every scenario of a suite asks."""
    begun = {(passed, n): ways for passed, n, ways in _ends(rule, first=True)}
    return {(passed, n): begun.get((passed, n), 0) / ways for passed, n, ways in _ends(rule, first=None)}


def _ends(rule: StopRule, *, first: bool | None) -> Iterator[tuple[int, int, int]]:
    """Give each end (passed, trials) and how many ways lead there; with `first` only those that begin so."""
    ways = {0: 1}
    for n in range(1, rule.most + 1):
        following: dict[int, int] = {}
        for passed, count in ways.items():
            for gain in (0, 1):
                if n == 1 and first is not None and bool(gain) is not first:
                    continue
                following[passed + gain] = following.get(passed + gain, 0) + count
        ways = {}
        for passed, count in following.items():
            if rule.stops(passed, n):
                yield passed, n, count
            else:
                ways[passed] = count
