"""The states that expected calls lead to, computed once per scenario instead of once per run."""

import asyncio
from collections.abc import Callable

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.state import State
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.replay import expected_state
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.run_thread import GRACE


class Expected(Model):
    """Where a right run ends; `failed` says which expected calls (by position) fail: the state does not show those."""

    state: State | None = None
    failed: dict[int, str] = {}


class ExpectedStates:
    """Replays a scenario's expected calls on a fresh environment, the first time somebody asks."""

    def __init__(self) -> None:
        self._states: dict[str, asyncio.Future[Expected]] = {}

    async def of(
        self,
        plan: RunPlan,
        environment: Callable[[str], LocalEnvironment],
        *,
        seconds: float = GRACE,
        abandon: Callable[[], None] = lambda: None,
    ) -> Expected:
        """Give the state a right run ends in; None where calls are not stated or cannot be replayed.

        The calls may take `seconds`; what hangs is left behind by `abandon`. Raise `EnvironmentFaultError` where the
        environment breaks or hangs.
        """
        scenario = plan.scenario
        if not scenario.states_calls:
            return Expected()
        key = f"{plan.suite_key}::{scenario.id}" + (f"::{plan.way}" if plan.way else "")
        while (begun := self._states.get(key)) is not None:
            try:
                return await asyncio.shield(begun)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not begun.cancelled() or (task is not None and task.cancelling()):
                    raise  # otherwise the run that replayed the calls was cancelled, and this one replays them
        future = self._states[key] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_seen)
        try:
            name = digest(f"{key} expected")
            state, problems = await expected_state(
                lambda: environment(name), scenario.expected_calls, scenario, seconds=seconds, abandon=abandon
            )
        except BaseException as error:
            del self._states[key]
            if isinstance(error, AgentBenchError):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        expected = Expected(state=state, failed=problems)
        future.set_result(expected)
        return expected


def _seen(future: "asyncio.Future[Expected]") -> None:
    """Take note of an error that nobody else waited for."""
    if not future.cancelled():
        future.exception()
