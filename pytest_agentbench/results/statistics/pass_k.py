"""pass@k and pass^k: the chance that at least one, or that every one, of k trials passes."""

import math
from collections.abc import Callable, Sequence

from pytest_agentbench.results.statistics.clusters import wilson_of_rates
from pytest_agentbench.results.statistics.interval import Interval

Counts = tuple[int, int]
"""How many trials of a scenario passed, and how many were scored."""


def pass_at_k(passed: int, n: int, k: int) -> float:
    """Estimate the chance that at least one of `k` trials passes, without bias: 1 − C(n − c, k) / C(n, k).

    Source: M. Chen et al., "Evaluating Large Language Models Trained on Code" (2021), equation 1.
    Raises `ValueError` unless 0 <= passed <= n and 1 <= k <= n.
    """
    _check(passed, n, k)
    return 1 - math.comb(n - passed, k) / math.comb(n, k)


def pass_hat_k(passed: int, n: int, k: int) -> float:
    """Estimate the chance that all of `k` trials pass, without bias: C(c, k) / C(n, k).

    Source: S. Yao et al., "τ-bench" (2024), §3 (pass^k); τ²-bench computes the same.
    Raises `ValueError` unless 0 <= passed <= n and 1 <= k <= n.
    """
    _check(passed, n, k)
    return math.comb(passed, k) / math.comb(n, k)


def mean_pass_at_k(scenarios: Sequence[Counts], k: int) -> Interval | None:
    """Give pass@k averaged over scenarios, with the interval of their mean; scenarios of fewer trials are left out."""
    return _mean(pass_at_k, scenarios, k)


def mean_pass_hat_k(scenarios: Sequence[Counts], k: int) -> Interval | None:
    """Give pass^k averaged over scenarios (τ²-bench's estimator), with the interval of their mean.

    Scenarios of fewer than `k` trials are left out; τ²-bench stops at the fewest trials of any task instead.
    """
    return _mean(pass_hat_k, scenarios, k)


def _mean(estimate: Callable[[int, int, int], float], scenarios: Sequence[Counts], k: int) -> Interval | None:
    kept = [(passed, n) for passed, n in scenarios if n >= k]
    mean = wilson_of_rates([estimate(passed, n, k) for passed, n in kept], runs=sum(n for _, n in kept))
    return None if mean is None else mean.model_copy(update={"n": len(kept)})


def _check(passed: int, n: int, k: int) -> None:
    if not 0 <= passed <= n or not 1 <= k <= n:
        raise ValueError(f"expected 0 <= passed <= n and 1 <= k <= n, found passed={passed!r}, n={n!r}, k={k!r}")
