"""Agents of real frameworks run through an import path and a few lines of glue, against a model on loopback.

All of them keep their client at module level, so the tests share one event loop, as all runs of a session do.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from pytest_agentbench.agents.callables import AdaptedAgent
from pytest_agentbench.agents.factory import build_agent
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import AgentError
from pytest_agentbench.core.suite import AgentSpec
from pytest_agentbench.core.transcript import Message, Transcript
from tests.agents.threads import run_thread
from tests.real.model_server import BROKEN, model_server

pytestmark = pytest.mark.real

one_loop = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parent / "agents"

GLUE = {
    "langgraph": ("langgraph_glue", "build", ("langgraph", "langchain_openai")),
    "pydantic-ai": ("pydantic_ai_glue", "Session", ("pydantic_ai", "openai")),
    "pydantic-ai-history": ("pydantic_ai_history_glue", "Session", ("pydantic_ai", "openai")),
    "openai": ("openai_glue", "Session", ("openai",)),
    "httpx": ("httpx_glue", "Session", ("httpx",)),
}

Build = Callable[[str], Awaitable[AdaptedAgent]]


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def model() -> AsyncIterator[None]:
    """Serve the model, and point every client at it."""
    with model_server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        patch.setenv("LANGSMITH_TRACING", "false")
        patch.setattr(sys, "path", list(sys.path))
        yield
        for name in {file.stem for file in AGENTS.glob("*.py")} & sys.modules.keys():
            module = sys.modules.pop(name)
            if hasattr(module, "close"):
                await module.close()


@pytest.fixture(params=GLUE)
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    """Give a function that builds the agent of one run, in a thread of its own, from a session id."""
    module, name, packages = GLUE[request.param]
    for package in packages:
        pytest.importorskip(package)
    spec = AgentSpec(kind="factory", target=f"{module}:{name}")
    with ExitStack() as threads:

        async def built(session_id: str) -> AdaptedAgent:
            run_sync = threads.enter_context(run_thread())
            offered = {"session_id": session_id}
            return await build_agent(spec, root=AGENTS, keywords={}, offered=offered, run_sync=run_sync)

        yield built


async def converse(agent: AdaptedAgent, *lines: str) -> Transcript:
    """Hold a conversation as the simulation does: the agent is given all that was said so far."""
    messages: list[Message] = []
    for line in lines:
        messages.append(Message(role="user", content=line))
        reply = await agent.reply(Turn(message=line, messages=tuple(messages)))
        messages.extend(reply.messages)
        await asyncio.sleep(0)
    return Transcript(messages=tuple(messages))


@pytest.mark.parametrize("glue", [module for module, _, _ in GLUE.values()])
def test_the_glue_has_at_most_eight_lines(glue: str) -> None:
    """Every line of code counts, imports included."""
    source = (AGENTS / f"{glue}.py").read_text()
    lines = [line for line in source.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert len(lines) <= 8


@one_loop
async def test_two_turns_with_a_call_each_count_every_call_once(build: Build) -> None:
    """The state that the framework accumulates is sliced: two calls, two results, two texts."""
    transcript = await converse(await build("s1"), "Where is W1?", "And W22?")
    records = transcript.trajectory
    assert [record.call.name for record in records] == ["get_order", "get_order"]
    assert [record.call.arguments for record in records] == [{"order_id": "W1"}, {"order_id": "W22"}]
    assert [record.result.content for record in records if record.result] == [
        "Order W1 is shipped",
        "Order W22 is shipped",
    ]
    assert [text for _, text in transcript.texts("assistant")] == [
        "Order W1 is shipped. You told me: Where is W1?",
        "Order W22 is shipped. You told me: Where is W1? | And W22?",
    ]


@one_loop
async def test_calls_of_tools_of_its_own_are_visible(build: Build) -> None:
    """An agent that returns its messages shows its calls."""
    agent = await build("s2")
    assert not agent.calls_visible
    await converse(agent, "Where is W1?")
    assert agent.calls_visible


@one_loop
async def test_the_same_line_twice_is_two_turns(build: Build) -> None:
    """A user who repeats a line does not bring the first turn's call back."""
    transcript = await converse(await build("s3"), "Where is W1?", "Where is W1?", "Where is W1?")
    assert len(transcript.trajectory) == 3
    assert len(transcript.messages) == 12


@one_loop
async def test_interleaved_sessions_do_not_leak(build: Build) -> None:
    """What one session is told never shows in the other, though they share a module and a loop."""
    lines = ["My word is {}", "Where is W{}?", "What did I tell you?"]
    words = ("canary", "sparrow")
    agents = [await build(word) for word in words]
    transcripts = await asyncio.gather(
        *(
            converse(agent, *(line.format(word if "word" in line else number) for line in lines))
            for number, (agent, word) in enumerate(zip(agents, words, strict=True))
        )
    )
    said = [" ".join(text for _, text in transcript.texts("assistant")) for transcript in transcripts]
    assert "canary" in said[0]
    assert "sparrow" not in said[0]
    assert "sparrow" in said[1]
    assert "canary" not in said[1]
    assert [record.call.arguments["order_id"] for t in transcripts for record in t.trajectory] == ["W0", "W1"]


@one_loop
async def test_a_kept_client_serves_one_run_after_the_other(build: Build) -> None:
    """A client made by the first run works in the next two, each in a thread of its own, on the one loop."""
    for number in range(3):
        transcript = await converse(await build(f"again-{number}"), f"Where is W{number}?")
        assert len(transcript.trajectory) == 1


@one_loop
async def test_a_tool_that_raises_is_blamed_on_its_line(build: Build) -> None:
    """What a framework lets through ends the run with the user's own file and line, not the framework's."""
    agent = await build("raises")
    with pytest.raises(AgentError, match=r"LookupError: no order W404 \(orders.py:\d+ in get_order\)"):
        await converse(agent, "Where is W404?")


@one_loop
async def test_arguments_that_are_no_json_show(build: Build) -> None:
    """Malformed arguments are a failed call, a call left over, or an error of the agent's, but never silence."""
    agent = await build("malformed")
    try:
        transcript = await converse(agent, f"Where is {BROKEN}?")
    except AgentError as error:
        assert "JSONDecodeError" in str(error)  # noqa: PT017 - each framework has a way of its own
        return
    [record] = transcript.trajectory
    assert record.call.raw == '{"order_id": "W1'
    assert record.result is None or (record.failed and record.result.content)
