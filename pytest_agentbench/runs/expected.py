"""The states that expected calls lead to, computed once per scenario instead of once per run."""

import asyncio
from collections.abc import Callable

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.state import State
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.replay import expected_state
from pytest_agentbench.runs.plan import RunPlan


class Expected(Model):
    """Where a right run ends, and which expected calls (by position) fail on the way: the state does not show them."""

    state: State | None = None
    failed: tuple[int, ...] = ()


class ExpectedStates:
    """Replays a scenario's expected calls on a fresh environment, the first time somebody asks."""

    def __init__(self) -> None:
        self._states: dict[str, asyncio.Future[Expected]] = {}

    async def of(self, plan: RunPlan, environment: Callable[[str], LocalEnvironment]) -> Expected:
        """Give the state a right run ends in; None where calls are not stated or cannot be replayed.

        Raise `EnvironmentFaultError` where the environment breaks.
        """
        scenario = plan.scenario
        if not scenario.states_calls:
            return Expected()
        key = f"{plan.suite_key}::{scenario.id}"
        if key not in self._states:
            self._states[key] = asyncio.get_running_loop().create_future()
            try:
                name = digest(f"{key} expected")
                calls = scenario.expected_calls
                state, problems = await expected_state(lambda: environment(name), calls, scenario)
            except BaseException:
                self._states.pop(key).cancel()
                raise
            self._states[key].set_result(Expected(state=state, failed=tuple(sorted(problems))))
        return await asyncio.shield(self._states[key])
