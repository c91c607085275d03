"""Agents of real frameworks, named at `agent:` as they are, against a model on loopback: no glue.

They keep their clients at module level, so the tests share one event loop, as all runs of a session do.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from pytest_agentbench.agents.factory import build_agent
from pytest_agentbench.agents.frameworks.agent import FrameworkAgent
from pytest_agentbench.core.approvals import Decision
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import AgentBenchError, AgentError, ProviderError
from pytest_agentbench.core.suite import AgentSpec
from pytest_agentbench.core.transcript import Message, Transcript, awaiting
from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, calls, text
from pytest_agentbench.testing.fault import status
from tests.agents.threads import run_thread

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore"),  # the frameworks deprecate each other's parts
]

one_loop = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parent / "agents"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One framework: where its agent is, what it needs, and how its model speaks."""

    target: str
    packages: tuple[str, ...]
    say: Callable[[str], Answer] = text


def finally_(said: str) -> Answer:
    """Speak as the model of a tool calling smolagents agent does."""
    return call("final_answer", answer=said)


KINDS = {
    "langgraph": Kind(target="langgraph_agent:graph", packages=("langgraph", "langchain_openai")),
    "langgraph-forgets": Kind(target="langgraph_forgetful:graph", packages=("langgraph", "langchain_openai")),
    "pydantic-ai": Kind(target="pydantic_ai_agent:agent", packages=("pydantic_ai", "openai")),
    "openai-agents": Kind(target="openai_agents_agent:agent", packages=("agents",)),
    "smolagents": Kind(target="smolagents_agent:agent", packages=("smolagents",), say=finally_),
    "adk": Kind(target="adk_agent:root_agent", packages=("google.adk", "litellm")),
}

Build = Callable[[str], Awaitable[FrameworkAgent]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[ModelServer]:
    """Serve a model, and point every client at it."""
    with ModelServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        patch.setenv("LANGSMITH_TRACING", "false")
        patch.setattr(sys, "path", list(sys.path))
        yield server
        for name in {file.stem for file in AGENTS.glob("*.py")} & sys.modules.keys():
            module = sys.modules.pop(name)
            if hasattr(module, "close"):
                await module.close()


@pytest.fixture(params=KINDS)
def name(request: pytest.FixtureRequest) -> str:
    """Name a framework whose packages are there."""
    for package in KINDS[request.param].packages:
        pytest.importorskip(package)
    return str(request.param)


@pytest.fixture
def kind(name: str) -> Kind:
    """Give the framework."""
    return KINDS[name]


@pytest.fixture
def build_of() -> Iterator[Callable[[str], Build]]:
    """Give what builds the agents of runs, each with a thread of its own, for an import path."""
    with ExitStack() as threads:

        def of(target: str) -> Build:
            async def built(session_id: str) -> FrameworkAgent:
                run_sync = threads.enter_context(run_thread())
                spec, offered = AgentSpec(kind="factory", target=target), {"session_id": session_id}
                made = await build_agent(spec, root=AGENTS, keywords={}, offered=offered, run_sync=run_sync)
                assert isinstance(made, FrameworkAgent)
                return made

            return built

        yield of


@pytest.fixture
def build(kind: Kind, build_of: Callable[[str], Build]) -> Build:
    """Give what builds the framework's agents."""
    return build_of(kind.target)


async def converse(agent: FrameworkAgent, *lines: str) -> Transcript:
    """Hold a conversation."""
    messages: list[Message] = []
    for line in lines:
        asked = awaiting(messages)
        decisions = tuple(Decision(kind="respond", id=one.id, tool=one.tool, text=line) for one in asked)
        messages.append(Message(role="user", content=line, decisions=decisions))
        reply = await agent.reply(Turn(message=line, messages=tuple(messages), decisions=decisions))
        messages.extend(reply.messages)
    return Transcript(messages=tuple(messages))


@one_loop
async def test_two_turns_with_a_call_each(model: ModelServer, kind: Kind, build: Build) -> None:
    """Calls, results and texts come once each, and the second turn's model saw the first turn."""
    say = kind.say
    model.play(
        [call("get_order", order_id="W1"), say("It is shipped."), call("get_order", order_id="W22"), say("So is it.")]
    )

    transcript = await converse(await build("s1"), "Where is W1?", "And W22?")

    records = transcript.trajectory
    assert [(record.call.name, record.call.arguments) for record in records] == [
        ("get_order", {"order_id": "W1"}),
        ("get_order", {"order_id": "W22"}),
    ]
    assert [record.result.content for record in records if record.result] == [
        "Order W1 is shipped",
        "Order W22 is shipped",
    ]
    assert not any(record.failed for record in records)
    assert [said for _, said in transcript.texts("assistant")] == ["It is shipped.", "So is it."]
    assert "Where is W1?" in json.dumps(model.requests[-1].messages)
    assert model.left == 0


@one_loop
async def test_interleaved_sessions_do_not_leak(model: ModelServer, kind: Kind, build: Build) -> None:
    """What one session is told is never in a request of the other's."""

    def echo(request: ModelRequest) -> Answer:
        words = {word for word in ("canary", "sparrow") if word in json.dumps(request.messages)}
        return kind.say(" ".join(sorted(words)))

    model.play(echo)
    agents = [await build(word) for word in ("canary", "sparrow")]
    transcripts = await asyncio.gather(
        *(
            converse(agent, f"My word is {word}.", "Which?")
            for agent, word in zip(agents, ("canary", "sparrow"), strict=True)
        )
    )

    said = [[text for _, text in transcript.texts("assistant")] for transcript in transcripts]
    assert said == [["canary", "canary"], ["sparrow", "sparrow"]]


@one_loop
async def test_tokens_are_counted_over_the_run(model: ModelServer, kind: Kind, build: Build) -> None:
    """What the framework says about its model's tokens becomes numbers of the agent's own, so far in this run."""
    agent = await build("usage")
    model.play([kind.say("One.").using(input=100, output=7), kind.say("Two.").using(input=200, output=5)])

    first = await agent.reply(Turn(message="One?"))
    second = await agent.reply(Turn(message="Two?"))

    assert first.metrics == {"input_tokens": 100.0, "output_tokens": 7.0}
    assert second.metrics == {"input_tokens": 300.0, "output_tokens": 12.0}


@one_loop
async def test_calls_made_at_once_have_their_own_results(model: ModelServer, kind: Kind, build: Build) -> None:
    """Each call of a message is answered by its own result."""
    model.play([calls(call("get_order", order_id="W1"), call("get_order", order_id="W2")), kind.say("Both.")])

    transcript = await converse(await build("parallel"), "Where are they?")

    assert {
        record.call.arguments["order_id"]: record.result.content for record in transcript.trajectory if record.result
    } == {
        "W1": "Order W1 is shipped",
        "W2": "Order W2 is shipped",
    }


ROWS = {
    "raises": call("get_order", order_id="W404"),
    "unknown tool": call("find_order", order_id="W1"),
    "bad arguments": call("get_order", id="W1"),
    "malformed arguments": call("get_order", '{"order_id": "W1'),
    "HTTP 500": status(500),
    "silence": text(""),
}

RAISED = r"crashed agent: the agent raised LookupError: no order W404 \(orders.py:\d+ in get_order\)"
SERVER = r"crashed provider: the agent's client: \w+: .*"

TABLE = {
    "langgraph": {
        "raises": RAISED,
        "unknown tool": r"error: .*find_order is not a valid tool.*",
        "bad arguments": r"error: .*order_id.*",
        "malformed arguments": r"crashed agent: the LangGraph run ended without an answer: its model called get_order "
        r"with arguments that are no JSON object: .*W1.*",
        "HTTP 500": SERVER,
        "silence": r"crashed agent: the LangGraph run ended without an answer: its last message is empty",
    },
    "pydantic-ai": {
        "raises": RAISED,
        "unknown tool": r"error: .*Unknown tool name: 'find_order'.*",
        "bad arguments": r"error: .*order_id.*",
        "malformed arguments": r"error: .*",
        "HTTP 500": SERVER,
        "silence": r"crashed agent: the agent raised \w+: .*",
    },
    "openai-agents": {
        "raises": r"error: An error occurred while running the tool.*",
        "unknown tool": r"crashed agent: the agent raised ModelBehaviorError: .*find_order.*",
        "bad arguments": r"error: An error occurred while running the tool.*",
        "malformed arguments": r"error: An error occurred while running the tool.*",
        "HTTP 500": SERVER,
        "silence": r"crashed agent: the OpenAI Agents SDK run ended without an answer: .*",
    },
    "smolagents": {
        "raises": r"error: .*LookupError: no order W404.*",
        "unknown tool": r"error: Unknown tool find_order.*",
        "bad arguments": r"error: .*id.*",
        "malformed arguments": r"result: Order \{\"order_id\": \"W1 is shipped",
        "HTTP 500": SERVER,
        "silence": r"crashed agent: .*",
    },
    "adk": {
        "raises": RAISED,
        "unknown tool": r"error: .*find_order.*",
        "bad arguments": r"error: .*order_id.*",
        "malformed arguments": r"crashed agent: the Google ADK run ended without an answer: its model gave "
        r"MALFORMED_FUNCTION_CALL.*",
        "HTTP 500": SERVER,
        "silence": r"crashed agent: the Google ADK run ended without an answer: .*",
    },
}
TABLE["langgraph-forgets"] = TABLE["langgraph"]


@pytest.mark.parametrize("row", ROWS)
@one_loop
async def test_the_failure_table(model: ModelServer, name: str, kind: Kind, build: Build, row: str) -> None:
    """Whatever goes wrong is the agent's crash, the provider's, or an error result that its model is told."""
    broken = ROWS[row]
    model.play((lambda _: broken) if row in ("HTTP 500", "silence") else [broken, kind.say("Sorry.")])

    assert re.fullmatch(TABLE[name][row], await outcome(await build(row), "Where is W1?"), re.DOTALL)


async def outcome(agent: FrameworkAgent, line: str) -> str:
    """Say in a line what a turn led to."""
    try:
        transcript = await converse(agent, line)
    except ProviderError as error:
        return f"crashed provider: {error}"
    except AgentError as error:
        return f"crashed agent: {error}"
    except AgentBenchError as error:
        return f"{type(error).__name__}: {error}"
    [record] = transcript.trajectory
    assert [said for _, said in transcript.texts("assistant")] == ["Sorry."]
    return f"{'error' if record.failed else 'result'}: {record.result.content if record.result else None}"


@one_loop
async def test_an_interrupt_is_said_and_what_follows_resumes_the_graph(
    model: ModelServer, build_of: Callable[[str], Build]
) -> None:
    """LangGraph's way of asking a person: its call shows once it was answered."""
    pytest.importorskip("langgraph")
    model.play([call("get_order", order_id="W1"), text("It is shipped.")])

    transcript = await converse(await build_of("langgraph_asking:graph")("asks"), "Where is W1?", "Please do")

    assert [said for _, said in transcript.texts("assistant")] == ["May I look W1 up?", "It is shipped."]
    [record] = transcript.trajectory
    assert record.turn == 4
    assert record.result is not None
    assert record.result.content == "Order W1 is shipped (Please do)"


@one_loop
async def test_calls_that_code_makes_are_shown(model: ModelServer, build_of: Callable[[str], Build]) -> None:
    """Of a CodeAgent the calls of its code show, failed ones as errors, and never the code."""
    pytest.importorskip("smolagents")
    model.play(
        [
            text('Thought: look\n<code>\nprint(get_order("W1"))\nprint(get_order(order_id="W404"))\n</code>'),
            text('Thought: done\n<code>\nfinal_answer("One is there.")\n</code>'),
        ]
    )

    transcript = await converse(await build_of("smolagents_agent:coder")("code"), "Where are they?")

    assert [(record.call.name, record.call.arguments, record.failed) for record in transcript.trajectory] == [
        ("get_order", {"order_id": "W1"}, False),
        ("get_order", {"order_id": "W404"}, True),
    ]
    assert [said for _, said in transcript.texts("assistant")] == ["One is there."]


@one_loop
async def test_a_checkpointer_without_async_methods_is_used_in_the_runs_thread(
    build_of: Callable[[str], Build],
) -> None:
    """SqliteSaver raises on any await: the graph's sync API is used, and the conversation is remembered."""
    pytest.importorskip("langgraph.checkpoint.sqlite")

    transcript = await converse(await build_of("langgraph_sqlite:graph")("sqlite"), "Hello", "Again")

    assert [said for _, said in transcript.texts("assistant")] == ["1 so far.", "3 so far."]


@one_loop
async def test_async_nodes_with_such_a_checkpointer_are_told_what_to_use(build_of: Callable[[str], Build]) -> None:
    """Neither API can run such a graph, and the error names the checkpointer that can."""
    pytest.importorskip("langgraph.checkpoint.sqlite")
    agent = await build_of("langgraph_sqlite:async_graph")("sqlite")

    with pytest.raises(AgentError, match="AsyncSqliteSaver"):
        await agent.reply(Turn(message="Hello"))
