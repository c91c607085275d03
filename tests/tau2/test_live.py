"""A τ² domain as the tools and the state of a run."""

from typing import Any

import pytest

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.suite import EnvironmentSpec
from pytest_agentbench.core.tool import ToolResult
from pytest_agentbench.environment.python_calls import Done, Invoker
from pytest_agentbench.environment.state_access import OpenState
from pytest_agentbench.environment.toolset import offered_tools
from pytest_agentbench.tau2.checkout import CheckoutSource
from pytest_agentbench.tau2.environment import Tau2Environment


async def at_once(work: Any) -> Any:
    """Run sync code where it is."""
    return work()


async def opened(source: CheckoutSource, initial: dict[str, Any] | None = None) -> OpenState:
    """The state of a run."""
    state = OpenState(Tau2Environment(source).state, at_once)
    await state.open(initial or {}, "run")
    return state


async def performed(source: CheckoutSource, opened_state: OpenState, name: str, /, **arguments: Any) -> ToolResult:
    """Make one call as the environment does."""
    tools = offered_tools(Tau2Environment(source), EnvironmentSpec())
    invoker = Invoker()
    invoker.work_on(opened_state, {})
    done = invoker.perform(tools.functions["assistant", name], arguments)
    assert isinstance(done, Done)
    return done.result


async def test_calls_reach_the_world_and_writes_are_seen(notes: CheckoutSource) -> None:
    """Results are in the domain's words; an argument called `state` is an argument."""
    state = await opened(notes)

    read = await performed(notes, state, "read", key="a")
    wrote = await performed(notes, state, "write", key="d", state="NY")

    assert (read.content, read.error, read.wrote) == ("first", False, False)
    assert (wrote.error, wrote.wrote) == (False, True)
    assert (await state.snapshot())["notes"]["d"] == {"text": "NY", "stars": 0.0}


async def test_what_a_tool_raises_is_its_answer(notes: CheckoutSource) -> None:
    """Refusals and wrong arguments come as τ² words them."""
    state = await opened(notes)

    refused = await performed(notes, state, "write", key="forbidden")
    wrong = await performed(notes, state, "write", nonsense=1)

    assert (refused.content, refused.error, refused.wrote) == ("Error: this note is not yours", True, False)
    assert wrong.error
    assert "nonsense" in wrong.content


async def test_two_parties_have_two_databases(bells: CheckoutSource) -> None:
    """The state shows both, coupled after each call."""
    state = await opened(bells)

    await performed(bells, state, "write", key="d")

    found = await state.snapshot()
    assert (len(found["agent"]["notes"]), found["user"]["notes_seen"]) == (4, 4)


async def test_a_run_begins_where_its_task_says(notes: CheckoutSource) -> None:
    """The whole initial state goes to the world; one that cannot be set up is the environment's fault."""
    drop = {"env_type": "assistant", "func_name": "drop", "arguments": {"key": "a"}}
    state = await opened(notes, {"initialization_actions": [drop]})

    assert (await state.snapshot())["notes"].keys() == {"b", "c"}
    with pytest.raises(EnvironmentFaultError, match="initial state: AttributeError"):
        await opened(notes, {"initialization_actions": [{**drop, "func_name": "nonsense"}]})


def test_tools_are_described_as_the_domain_describes_them(bells: CheckoutSource) -> None:
    """Name, schema and kind are the domain's; the function shown to agents has the signature."""
    loaded = offered_tools(Tau2Environment(bells), EnvironmentSpec())

    assert {(tool.name, tool.requestor, tool.kind) for tool in loaded.toolset} == {
        ("read", "assistant", "read"),
        ("write", "assistant", "write"),
        ("drop", "assistant", "write"),
        ("ring", "user", "write"),
    }
    assert loaded.functions["assistant", "write"].named(("k",), {}) == {"key": "k"}
