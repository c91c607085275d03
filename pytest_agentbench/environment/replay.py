"""The state that the expected calls lead to, found by making them on a fresh environment."""

from collections.abc import Callable, Sequence

from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.seams import Environment
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall


async def expected_state(
    env_factory: Callable[[], Environment], calls: Sequence[ExpectedCall]
) -> tuple[State | None, list[str]]:
    """Make the calls of both parties in order; give the state they lead to, and what went wrong in the scenario.

    The state is None where it cannot be read, or where a call that may write holds matchers (`{$regex: …}`); reads
    with matchers are left out. A call that fails is a problem of the scenario, and the others are made all the same.
    Raise `EnvironmentFaultError` where the environment breaks.
    """
    problems: list[str] = []
    async with env_factory() as environment:
        if await environment.snapshot() is None:
            return None, []
        for call in calls:
            if holds_matcher(call.arguments):
                spec = environment.tools.get(call.name, call.requestor)
                if spec is not None and spec.kind == "read":
                    continue
                return None, problems
            made = ToolCall(name=call.name, arguments=call.arguments, requestor=call.requestor)
            result = await environment.call(made)
            if result.error:
                text = printable(shorten(result.content, 300))
                problems.append(f"expected call {call.name} fails in the scenario's own state: {text}")
        return await environment.snapshot(), problems
