"""How often a comparison of two sessions raises a false alarm, and how often it sees what it should.

Run `python benchmarks/regression_power.py [--repeats 1000] [--scenarios 100] [--trials 3] [--loss 0.10]`. Sessions are
simulated: every scenario has a pass rate of its own (Beta-distributed around 0.8: most are easy, some are flaky), every
trial is a coin with that rate, and both sessions are compared as `agentbench compare` and `regression <= 0` do.

- *A/A*: both sessions have the same rates; the nominal false alarm is 5 % two-sided, 2.5 % for the gate, which looks
  for losses alone. The exact test keeps below it.
- *seeded*: the second session's rates are lower, by `--loss` on average (each by the same share of itself). The nominal
  power is that of a normal approximation that knows the simulation's own spread.
- *detectable*: the rates are lower by what the comparison itself says that it would show 4 times out of 5.
- *coverage*: how often the interval of the difference holds the true one (nominal 95 %), and that of the rate of one
  session its true mean, scenarios being drawn anew each time.
"""

import argparse
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.results.comparison import losses_against
from pytest_agentbench.results.significance import compare_paired
from pytest_agentbench.results.trials import rate_of

MEAN, SPREAD = 0.8, 3.0
"""The mean of the scenarios' pass rates, and how far they lie apart: Beta(SPREAD · MEAN, SPREAD · (1 − MEAN))."""


@dataclass
class Figures:
    """Counts over the repeats of one kind."""

    repeats: int = 0
    alarms: int = 0
    gate: int = 0
    covered: int = 0
    rate_covered: int = 0
    detectable: float = 0.0


def session(rates: Sequence[float], trials: int, rng: random.Random) -> list[Result]:
    """Simulate a session: every trial of every scenario passes with its rate."""
    return [
        _result(f"s{place:03}", trial, passed=rng.random() < rate)
        for place, rate in enumerate(rates)
        for trial in range(1, trials + 1)
    ]


def draw_rates(count: int, rng: random.Random) -> list[float]:
    """Draw the pass rates of scenarios."""
    return [rng.betavariate(SPREAD * MEAN, SPREAD * (1 - MEAN)) for _ in range(count)]


def simulate(*, repeats: int, scenarios: int, trials: int, loss: float, seed: int) -> Figures:
    """Compare `repeats` pairs of sessions, the second worse by `loss` on average."""
    rng, figures = random.Random(seed), Figures()
    for _ in range(repeats):
        rates = draw_rates(scenarios, rng)
        lower = [rate * (1 - loss / MEAN) for rate in rates]
        first, second = session(rates, trials, rng), session(lower, trials, rng)
        paired = compare_paired(first, second, success_only=True)
        change, rate = paired.success, rate_of(first)
        assert change is not None
        assert rate is not None
        figures.repeats += 1
        figures.alarms += change.p < 0.05
        figures.gate += any(lost.value > 0 for lost in losses_against(first, second).values())
        # the mean loss of the population that the scenarios are drawn from, not of those drawn
        figures.covered += change.difference.low <= -loss <= change.difference.high
        figures.rate_covered += rate.low <= MEAN <= rate.high
        figures.detectable += (paired.detectable or math.nan) / repeats
    return figures


def nominal_power(*, scenarios: int, trials: int, loss: float) -> float:
    """Give the power of the two-sided 5 % test by a normal approximation that knows the spread of the simulation."""
    a, b = SPREAD * MEAN, SPREAD * (1 - MEAN)
    square = a * (a + 1) / ((a + b) * (a + b + 1))  # E[rate²]
    kept = 1 - loss / MEAN
    within = (MEAN - square + kept * MEAN - kept * kept * square) / trials
    between = (1 - kept) ** 2 * (square - MEAN * MEAN)
    reach = loss / math.sqrt((within + between) / scenarios)
    return NormalDist().cdf(reach - NormalDist().inv_cdf(0.975))


def report(options: argparse.Namespace) -> Iterator[str]:
    """Give the lines of the table."""
    common = {"repeats": options.repeats, "scenarios": options.scenarios, "trials": options.trials}
    yield f"{options.scenarios} scenarios x {options.trials} trials, {options.repeats} repeats, seed {options.seed}"
    yield f"{'':38}{'measured':>10}{'nominal':>10}"
    same = simulate(**common, loss=0.0, seed=options.seed)
    yield _line("A/A: two-sided p < 0.05", same.alarms, same, "<= 5.0 %")
    yield _line("A/A: gate regression <= 0 fails", same.gate, same, "<= 2.5 %")
    yield _line("A/A: interval holds 0", same.covered, same, "95.0 %")
    yield _line("A/A: rate's interval holds it", same.rate_covered, same, "95.0 %")
    worse = simulate(**common, loss=options.loss, seed=options.seed + 1)
    power = nominal_power(scenarios=options.scenarios, trials=options.trials, loss=options.loss)
    points = f"{options.loss * 100:.0f} points"
    yield _line(f"{points}: two-sided p < 0.05", worse.alarms, worse, f"{power:.1%}".replace("%", " %"))
    yield _line(f"{points}: gate regression <= 0 fails", worse.gate, worse, f"{power:.1%}".replace("%", " %"))
    yield _line(f"{points}: interval holds it", worse.covered, worse, "95.0 %")
    told = same.detectable
    shown = simulate(**common, loss=told, seed=options.seed + 2)
    yield _line(f"{told * 100:.1f} points (said to be detectable)", shown.alarms, shown, "80.0 %")


def _line(label: str, count: int, figures: Figures, nominal: str) -> str:
    return f"{label:38}{count / figures.repeats * 100:>8.1f} %{nominal:>10}"


def _result(scenario: str, trial: int, *, passed: bool) -> Result:
    return Result(
        key=RunKey(suite="suite", scenario=scenario, trial=trial),
        verdict=Verdict.PASSED if passed else Verdict.FAILED,
        blame=None if passed else Blame.AGENT,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="False alarm and power of comparisons.")
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--scenarios", type=int, default=100)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--loss", type=float, default=0.10)
    parser.add_argument("--seed", type=int, default=7)
    for line in report(parser.parse_args()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
