"""The table of runs: grouped by what they are of, and what a run tells of a policy."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from pytest_agentbench.core.run import Result

K = TypeVar("K", bound=Hashable)

GROUPS: dict[str, Callable[[Result], Iterable[str]]] = {
    "suite": lambda run: [run.key.suite],
    "variant": lambda run: [run.key.variant] if run.key.variant else [],
    "tool": lambda run: run.tools,
    "agent": lambda run: run.agents,
    "tag": lambda run: run.tags,
}
"""The labels of a run by what rows and gates may be about."""


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


def kept(run: Result, policy: str) -> bool | None:
    """Whether a run that exercised a policy kept it; None where it does not count for it."""
    outcomes = [outcome for outcome in run.policies if outcome.policy == policy and outcome.counts]
    return all(outcome.kept for outcome in outcomes) if outcomes else None


def leaves_open(run: Result, policy: str) -> bool:
    """Whether a run lists a policy, or judged it, and does not tell what became of it."""
    outcomes = [outcome for outcome in run.policies if outcome.policy == policy]
    return bool(policy in run.listed_policies or outcomes) and not any(one.is_measured for one in outcomes)
