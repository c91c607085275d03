"""The state that the expected calls lead to, found by making them on a fresh environment."""

import asyncio
from collections.abc import Callable, Sequence

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Requestor, ToolCall
from pytest_agentbench.environment.faults import HungError
from pytest_agentbench.environment.local import LocalEnvironment


async def prepare(environment: LocalEnvironment, scenario: Scenario) -> None:
    """Make a scenario's `initialization_actions` (τ²); raise `EnvironmentFaultError` where one fails or is no tool."""
    initial = scenario.task.initial_state
    for action in (initial.initialization_actions or ()) if initial else ():
        name = str(action.get("func_name"))
        requestor: Requestor = "user" if action.get("env_type") == "user" else "assistant"
        if not environment.can_call(name, requestor):
            raise EnvironmentFaultError(f"initialization action {name!r}: the environment has no such tool")
        result = await environment.call(
            ToolCall(name=name, arguments=action.get("arguments") or {}, requestor=requestor)
        )
        if result.error:
            raise EnvironmentFaultError(f"initialization action {name!r} failed: {result.content}")


async def expected_state(
    env_factory: Callable[[], LocalEnvironment],
    calls: Sequence[ExpectedCall],
    scenario: Scenario | None = None,
    *,
    seconds: float | None = None,
    abandon: Callable[[], None] = lambda: None,
) -> tuple[State | None, dict[int, str]]:
    """Make the calls of both parties in order; give the state they lead to, and which of them (by position) fail.

    The state is None where it cannot be read, where a call is of a tool that cannot be called here (the agent brings
    its own), or where a call that may write holds matchers (`{$regex: …}`); reads with matchers are left out. What
    fails is told in the tool's words, and the others are made all the same. The environment is prepared as `scenario`
    asks. Raise `EnvironmentFaultError` where the environment breaks, or where preparing and calling take more than
    `seconds`; `abandon` then leaves the thread to what hangs in it.
    """
    problems: dict[int, str] = {}
    async with env_factory() as environment:
        if await environment.snapshot() is None:
            return None, problems
        try:
            async with asyncio.timeout(seconds):
                if scenario is not None:
                    await prepare(environment, scenario)
                can_be_told = await _replayed(environment, calls, problems)
        except TimeoutError:
            abandon()
            raise HungError(
                f"the replay of the expected calls has not ended within {seconds:g} s{environment.busy}"
            ) from None
        return (await environment.snapshot() if can_be_told else None), problems


async def _replayed(environment: LocalEnvironment, calls: Sequence[ExpectedCall], problems: dict[int, str]) -> bool:
    """Make the calls, noting those that fail; False where one cannot be made."""
    for position, call in enumerate(calls):
        if not environment.can_call(call.name, call.requestor):
            return False
        if holds_matcher(call.arguments):
            spec = environment.tools.get(call.name, call.requestor)
            if spec is not None and spec.kind == "read":
                continue
            return False
        made = ToolCall(name=call.name, arguments=call.arguments, requestor=call.requestor)
        result = await environment.call(made)
        if result.error:
            problems[position] = printable(shorten(result.content, 300))
    return True
