"""Early stop: the trials of a scenario that are not needed any more, since those before have decided."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.results.run_directory import without_attempt
from pytest_agentbench.results.trials import StopRule
from pytest_agentbench.runs.plan import RunPlan

_TRIAL = re.compile(r"(?:\[|-)t\d+\]$")


class EarlyStop:
    """Knows how the trials of each scenario ended in this process, and says which need not be played.

    A trial is left out on the evidence of all earlier ones alone, so that the same trials are played in one process and
    in several; where that evidence is missing (a selection, a process that died), the trial is played.
    """

    def __init__(self, stored: Mapping[RunKey, Result]) -> None:
        """Know of those trials alone that ended elsewhere: `stored`, by their key without attempt, may grow."""
        self._stored = stored
        self._ended: dict[RunKey, Result] = {}

    def note(self, key: RunKey, result: Result) -> None:
        """Remember how a run ended."""
        self._ended[without_attempt(key)] = result

    def unneeded(self, plan: RunPlan) -> str:
        """Say why a trial is not needed, or give the empty string."""
        if not plan.stops_early or plan.trial == 1:
            return ""
        earlier = self._earlier(plan)
        if earlier is None:
            return ""
        scored = [result for result in earlier if result.decided]
        passed = sum(result.passed for result in scored)
        if not StopRule(most=plan.trials).stops(passed, len(scored)):
            return ""
        return f"not needed: {passed} of {count(len(scored), 'trial')} passed"

    def must_wait(self, plan: RunPlan) -> bool:
        """Whether it is not yet known if a trial is needed, so that it cannot start ahead."""
        return plan.stops_early and plan.trial > 1 and self._earlier(plan) is None

    def _earlier(self, plan: RunPlan) -> list[Result] | None:
        """Give the results of the trials before this one that were played, None where one of them is not known."""
        results: list[Result] = []
        for trial in range(1, plan.trial):
            key = without_attempt(plan.key.model_copy(update={"trial": trial}))
            found = self._ended.get(key) or self._stored.get(key)
            if found is None:
                passed = sum(result.passed for result in results if result.decided)
                n = sum(result.decided for result in results)
                # a trial that was not needed has no result, and makes those behind it unneeded
                return results if n and StopRule(most=plan.trials).stops(passed, n) else None
            results.append(found)
        return results


def scenario_of(nodeid: str) -> str:
    """Give what the node ids of all trials of a scenario have in common."""
    return _TRIAL.sub("", nodeid).removesuffix("]")


def own_first(pending: Sequence[int], nodeids: Sequence[str], owners: Mapping[str, object], node: object) -> list[int]:
    """Give the pending items that `node` may take: its own scenarios' and those nobody has begun."""
    return [index for index in pending if owners.get(scenario_of(nodeids[index]), node) is node]
