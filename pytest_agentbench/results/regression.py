"""What the gate `regression` measures: the success lost against a baseline, as far as chance does not explain it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentbench.core.run import Result
from pytest_agentbench.results.comparison import compare_runs


@dataclass(frozen=True, kw_only=True)
class Loss:
    """The success lost, 0..1, over `n` compared scenarios: 0 where the exact paired test does not show a loss."""

    value: float
    n: int
    p: float


def losses_against(baseline: Sequence[Result], runs: Sequence[Result]) -> dict[str, Loss]:
    """Give the loss of each variant of a suite; those of which no scenario could be compared are left out.

    A loss is shown where success fell and the two-sided p-value, corrected for the other variants, is below 5 %: so a
    session in which nothing changed fails in at most 2.5 % of cases. With faults the worst of them counts.
    """
    losses: dict[str, Loss] = {}
    for one in compare_runs(baseline, runs, success_only=True):
        success = one.paired.success
        if success is None:
            continue
        fell = max(0.0, -success.difference.value) if success.is_significant else 0.0
        variant = one.second_variant or one.variant
        before = losses.get(variant)
        if before is None or fell > before.value:
            losses[variant] = Loss(value=fell, n=one.paired.scenarios, p=success.p_holm)
    return losses
