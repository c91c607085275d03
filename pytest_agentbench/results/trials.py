"""Runs by scenario, and several trials of one: their rate, pass@k and pass^k, and Wald's test that stops them early."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.gate_grammar import MOST_K
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.intervals import (
    Interval,
    clustered_wilson,
    mean_pass_at_k,
    mean_pass_hat_k,
    wilson_of_rates,
)

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


K = TypeVar("K", bound=Hashable)


class ScenarioTrials(Model):
    """The trials of one scenario under one variant: `passed` of `n` scored ones, and the pass rate, 0..1.

    `rate` is corrected for an early stop. `decision` is what the early stop came to, None where there was none.
    """

    suite: str
    scenario: str
    variant: str = ""
    fault: str = ""
    passed: int
    n: int
    planned: int = 1
    rate: float
    decision: Decision | None = None

    @property
    def is_flaky(self) -> bool:
        """Whether some trials passed and some did not."""
        return 0 < self.passed < self.n

    @property
    def name(self) -> str:
        """The scenario as node ids name it, without the trial."""
        label = "-".join(part for part in (self.variant, self.fault) if part)
        return f"{self.scenario}[{label}]" if label else self.scenario


class PassK(Model):
    """pass@k and pass^k over `n` scenarios with at least k scored trials."""

    k: int
    n: int
    at_least_one: Interval
    all: Interval


class TrialsReport(Model):
    """What several trials tell: pass@k and pass^k for each k, and the flaky scenarios, least reliable first.

    `left_out` counts the trials that an early stop found not to be needed; pass@k and pass^k are then not given beyond
    the first, since how many trials a scenario got depends on how they ended.
    """

    scenarios: int
    runs: int
    most: int
    passes: tuple[PassK, ...] = ()
    flaky: tuple[ScenarioTrials, ...] = ()
    left_out: int = 0
    early_stop: bool = False


def grouped(runs: Iterable[Result], labels: Callable[[Result], Iterable[K]]) -> dict[K, list[Result]]:
    """Give the runs of each label, in the order in which labels come; a run stands once under each of its own."""
    groups: dict[K, list[Result]] = {}
    for run in runs:
        for label in dict.fromkeys(labels(run)):
            groups.setdefault(label, []).append(run)
    return groups


def scenarios_of(runs: Iterable[Result]) -> dict[str, list[Result]]:
    """Give the runs of each scenario of one suite."""
    return grouped(runs, lambda run: [run.key.scenario])


def by_scenario(runs: Iterable[Result]) -> tuple[ScenarioTrials, ...]:
    """Group scored runs by suite, scenario, variant and fault, in the order in which they come."""
    groups = grouped(runs, lambda run: [(run.key.suite, run.key.scenario, run.key.variant, run.key.fault)])
    return tuple(_trials(group) for group in groups.values() if any(run.scored for run in group))


def rate_of(runs: Sequence[Result], kept: Callable[[Result], bool] | None = None) -> Interval | None:
    """Give the rate of scored `runs` that passed (or that `kept` holds of) with its 95 % interval; None without any.

    The interval knows that runs of one scenario resemble each other (`clustered_wilson`); with one run a scenario it is
    Wilson's. After an early stop the rate is the mean over scenarios of each one's unbiased rate, since scenarios that
    are hard to tell got more trials than others.
    """
    if kept is None and any(run.stops_early for run in runs):
        rates: dict[tuple[str, str], list[float]] = {}
        for one in by_scenario(runs):
            rates.setdefault((one.suite, one.scenario), []).append(one.rate)
        return wilson_of_rates([math.fsum(held) / len(held) for held in rates.values()], runs=len(runs))
    scenarios = grouped(runs, lambda run: [(run.key.suite, run.key.scenario)]).values()
    return clustered_wilson(
        [(sum(run.passed if kept is None else kept(run) for run in mine), len(mine)) for mine in scenarios]
    )


def trials_report(runs: Sequence[Result], *, left_out: int = 0) -> TrialsReport | None:
    """Sum up several trials; None where every scenario was played once."""
    played = Counter((run.key.suite, run.key.scenario, run.key.variant, run.key.fault) for run in runs if run.scored)
    most = max(played.values(), default=0)
    if most < 2 and not left_out:
        return None
    scenarios = by_scenario(runs)
    early_stop = any(run.stops_early for run in runs)
    return TrialsReport(
        scenarios=len(scenarios),
        runs=sum(one.n for one in scenarios),
        most=most,
        passes=() if early_stop else tuple(_pass_ks(scenarios, most)),
        flaky=tuple(
            sorted((one for one in scenarios if one.is_flaky), key=lambda one: (one.rate, one.suite, one.name))
        ),
        left_out=left_out,
        early_stop=early_stop,
    )


def _pass_ks(scenarios: Sequence[ScenarioTrials], most: int) -> Iterable[PassK]:
    counts = [(one.passed, one.n) for one in scenarios]
    for k in range(1, min(most, MOST_K) + 1):
        one, every = mean_pass_at_k(counts, k), mean_pass_hat_k(counts, k)
        if one is not None and every is not None:
            yield PassK(k=k, n=one.n, at_least_one=one, all=every)


def _trials(group: Sequence[Result]) -> ScenarioTrials:
    scored = [run for run in group if run.scored]
    passed, n, key = sum(run.passed for run in scored), len(scored), group[0].key
    rule = StopRule(most=max(n, group[0].trials)) if group[0].stops_early else None
    return ScenarioTrials(
        suite=key.suite,
        scenario=key.scenario,
        variant=key.variant,
        fault=key.fault,
        passed=passed,
        n=n,
        planned=group[0].trials,
        rate=passed / n if rule is None else unbiased_rate(rule, passed, n),
        decision=None if rule is None else rule.decision(passed, n),
    )
