"""The states that expected calls lead to, computed once per scenario instead of once per run."""

import asyncio
from collections.abc import Callable

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.state import State
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.replay import expected_state
from pytest_agentbench.runs.plan import RunPlan


class ExpectedStates:
    """Replays a scenario's expected calls on a fresh environment, the first time somebody asks."""

    def __init__(self) -> None:
        self._states: dict[str, asyncio.Future[State | None]] = {}

    async def of(self, plan: RunPlan, environment: Callable[[str], LocalEnvironment]) -> State | None:
        """Give the state a right run ends in; None where calls are not stated or cannot be replayed."""
        scenario = plan.scenario
        if not scenario.states_calls:
            return None
        key = f"{plan.suite_key}::{scenario.id}"
        if key not in self._states:
            self._states[key] = asyncio.get_running_loop().create_future()
            try:
                name = digest(f"{key} expected")
                state, _ = await expected_state(lambda: environment(name), scenario.expected_calls)
            except BaseException:
                self._states.pop(key).cancel()
                raise
            self._states[key].set_result(state)
        return await asyncio.shield(self._states[key])
