"""What frameworks tell beside texts and calls: guardrails, filters, handoffs, who made a call, typed answers."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_agentbench.agents.factory import agent_of
from pytest_agentbench.core.approvals import Decision as Decided
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import AgentError
from pytest_agentbench.core.protocols import Agent
from pytest_agentbench.core.transcript import Message, Transcript, awaiting
from pytest_agentbench.testing import Answer, Fault, ModelRequest, ModelServer, call, calls, fault, text
from tests.agents.threads import run_thread

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]

FILTERED = Answer(content=None, finish_reason="content_filter")
AZURE = fault.raw(
    json.dumps({"error": {"message": "filtered", "type": None, "param": "prompt", "code": "content_filter"}}),
    status=400,
)


class Decision(BaseModel):
    """A typed answer."""

    decision: str
    risk: int


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Serve a model that says what a test plays."""
    with ModelServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        patch.setenv("LANGSMITH_TRACING", "false")
        yield server


def refund(order_id: str) -> str:
    """Refund an order.

    Args:
        order_id: The order.
    """
    return f"refunded {order_id}"


CLIENTS: list[Any] = []

RUNNER = asyncio.Runner()
"""One loop for all tests, as all runs of a session have: frameworks keep clients that are bound to it."""


@pytest.fixture(scope="module", autouse=True)
def loop() -> Iterator[None]:
    """Close the loop at the end, and the clients before it."""
    yield
    for client in CLIENTS:
        closing = client.close()
        if asyncio.iscoroutine(closing):
            RUNNER.run(closing)
    RUNNER.close()


def kept(client: Any) -> Any:
    """Give a client that is closed at the end."""
    CLIENTS.append(client)
    return client


async def held(made: Any, *lines: str) -> Transcript:
    """Hold a conversation with what a framework made; each line approves what waits for the user."""
    messages: list[Message] = []
    with run_thread() as run_sync:
        agent: Agent = await agent_of(made, session_id=lines[0], run_sync=run_sync, root=Path.cwd())
        for line in lines:
            waiting = [one.model_dump(include={"id", "tool", "arguments"}) for one in awaiting(messages)]
            decisions = tuple(Decided(kind="approve", text=line, **one) for one in waiting)
            messages.append(Message(role="user", content=line))
            messages += (await agent.reply(Turn(message=line, messages=tuple(messages), decisions=decisions))).messages
    return Transcript(messages=tuple(messages))


def converse(made: Any, *lines: str) -> Transcript:
    """Hold one conversation."""
    return RUNNER.run(held(made, *lines))


def shows_all_calls(made: Any, server: ModelServer) -> bool:
    """Let an agent ask the one behind its tool `ask`; tell whether all calls are said to be visible then."""
    server.play([call("ask", input="2+2"), text("4"), text("It is 4")])

    async def visible() -> bool:
        with run_thread() as run_sync:
            agent: Any = await agent_of(made, session_id="1", run_sync=run_sync, root=Path.cwd())
            before = agent.calls_visible
            await agent.reply(Turn(message="2+2?"))
            return bool(before and agent.calls_visible)

    return RUNNER.run(visible())


def told(transcript: Transcript) -> list[str]:
    """Give the conversation as lines: who said, called and handed over what."""
    lines: list[str] = []
    for message in transcript.messages:
        lines += [f"[{event}]" for event in message.events]
        by = message.by or message.role
        lines += [f"{one.by or 'assistant'} calls {one.name}({one.arguments})" for one in message.tool_calls]
        if message.role == "tool":
            lines.append(f"{'error' if message.error else 'result'}: {message.text}")
        elif message.text:
            lines.append(f"{by}: {message.text}")
    return lines


class TestOpenAIAgents:
    """The OpenAI Agents SDK: its guardrails, handoffs, agents as tools, `output_type`, and filters of its model."""

    @pytest.fixture(autouse=True)
    def sdk(self) -> Any:
        """Give the SDK."""
        return pytest.importorskip("agents")

    def made(self, name: str = "desk", **more: Any) -> Any:
        """Make an agent on the loopback model."""
        from agents import Agent, OpenAIChatCompletionsModel
        from openai import AsyncOpenAI

        model = OpenAIChatCompletionsModel(model="loopback", openai_client=kept(AsyncOpenAI(max_retries=0)))
        return Agent(name=name, instructions=name, model=model, **more)

    def test_an_input_guardrail_that_trips_refuses_and_the_conversation_goes_on(
        self, sdk: Any, server: ModelServer
    ) -> None:
        """The next line is answered, by a model that is told of the refusal."""

        @sdk.input_guardrail(name="off topic")
        async def guard(_context: Any, _agent: Any, items: list[Any]) -> Any:
            return sdk.GuardrailFunctionOutput(output_info=None, tripwire_triggered="poem" in items[-1]["content"])

        server.play(lambda request: text(f"I was told {len(request.messages)}"))
        found = told(converse(self.made(input_guardrails=[guard]), "Write a poem", "Hello"))
        assert found == [
            "user: Write a poem",
            "[guardrail (off topic)]",
            "desk: Refused by the guardrail off topic.",
            "user: Hello",
            "desk: I was told 4",
        ]

    def test_an_agent_that_was_handed_the_conversation_asks(self, sdk: Any, server: ModelServer) -> None:
        """The handoff stands before the question, and the call is made once, by the agent that asked."""
        pay = sdk.function_tool(refund, needs_approval=True)
        refunds = self.made("refunds", tools=[pay])
        server.play([call("transfer_to_refunds"), call("refund", order_id="W1"), text("Done"), text("Bye")])
        assert told(converse(self.made("triage", handoffs=[refunds]), "Refund W1", "Yes", "Thanks")) == [
            "user: Refund W1",
            "[a handoff from triage to refunds]",
            'refunds: Do you approve refund(order_id="W1")?',
            "user: Yes",
            "refunds calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "refunds: Done",
            "user: Thanks",
            "refunds: Bye",
        ]

    def test_a_filter_that_strikes_after_an_approval_leaves_what_was_done(self, sdk: Any, server: ModelServer) -> None:
        """The call that was approved stands, and the conversation goes on from it."""
        answers = iter([call("refund", order_id="W1"), FILTERED])
        server.play(lambda request: next(answers, None) or text(f"I was told {len(request.messages)}"))
        desk = self.made(tools=[sdk.function_tool(refund, needs_approval=True)])
        assert told(converse(desk, "Refund W1", "Yes", "Hello")) == [
            "user: Refund W1",
            'desk: Do you approve refund(order_id="W1")?',
            "user: Yes",
            "desk calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "[refused by provider (content_filter)]",
            "desk: The provider of the model refused to answer this.",
            "user: Hello",
            "desk: I was told 6",
        ]

    def test_an_output_guardrail_that_trips_withholds_the_answer_and_keeps_the_calls(
        self, sdk: Any, server: ModelServer
    ) -> None:
        """What was called stands; what was stopped was never said."""

        @sdk.output_guardrail(name="no secrets")
        async def guard(_context: Any, _agent: Any, output: str) -> Any:
            return sdk.GuardrailFunctionOutput(output_info=None, tripwire_triggered="secret" in output)

        server.play([call("refund", order_id="W1"), text("The secret is 7"), text("Hello")])
        agent = self.made(tools=[sdk.function_tool(refund)], output_guardrails=[guard])
        assert told(converse(agent, "Refund W1", "Hi")) == [
            "user: Refund W1",
            "desk calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "[guardrail (no secrets)]",
            "desk: Refused by the guardrail no secrets.",
            "user: Hi",
            "desk: Hello",
        ]

    @pytest.mark.parametrize("behaviour", ["reject_content", "raise_exception"])
    def test_a_guardrail_of_a_tool_refuses_its_call(self, sdk: Any, server: ModelServer, behaviour: str) -> None:
        """A call that was rejected has failed: nothing was done."""

        @sdk.tool_input_guardrail(name="W2 is locked")
        def guard(data: Any) -> Any:
            if "W2" not in data.context.tool_arguments:
                return sdk.ToolGuardrailFunctionOutput.allow()
            if behaviour == "raise_exception":
                return sdk.ToolGuardrailFunctionOutput.raise_exception()
            return sdk.ToolGuardrailFunctionOutput.reject_content("This order is locked.")

        tool = sdk.function_tool(refund, tool_input_guardrails=[guard])
        server.play([call("refund", order_id="W2"), text("It is locked."), text("Bye")])
        found = told(converse(self.made(tools=[tool]), "Refund W2", "Bye"))
        if behaviour == "reject_content":
            assert found == [
                "user: Refund W2",
                "[guardrail (W2 is locked)]",
                "desk calls refund({'order_id': 'W2'})",
                "error: This order is locked.",
                "desk: It is locked.",
                "user: Bye",
                "desk: Bye",
            ]
        else:
            assert found[:3] == [
                "user: Refund W2",
                "[guardrail (W2 is locked)]",
                "desk: Refused by the guardrail W2 is locked.",
            ]
            assert found[3:] == ["user: Bye", "desk: It is locked."]

    def test_a_rejection_without_words_fails_no_other_tool(self, sdk: Any, server: ModelServer) -> None:
        """A tool without that guardrail may give an empty result and has not failed."""

        @sdk.tool_input_guardrail(name="locked")
        def guard(_data: Any) -> Any:
            return sdk.ToolGuardrailFunctionOutput.reject_content("")

        def note(order_id: str) -> str:
            """Note an order."""
            return ""

        tools = [sdk.function_tool(refund, tool_input_guardrails=[guard]), sdk.function_tool(note)]
        server.play([call("refund", order_id="W1"), call("note", order_id="W1"), text("Noted")])
        found = converse(self.made(tools=tools), "Refund W1")
        assert [message.error for message in found.messages if message.role == "tool"] == [True, False]

    @pytest.mark.parametrize("answer", [FILTERED, AZURE])
    def test_a_filter_of_the_model_is_a_refusal_of_the_provider(
        self, server: ModelServer, answer: Answer | Fault
    ) -> None:
        """It is nobody's crash, and the next line is answered."""
        server.play([answer, text("Hello")])
        transcript = converse(self.made(), "Something foul", "Hi")
        assert [str(event) for _, event in transcript.events] == ["refused by provider (content_filter)"]
        assert [said for _, said in transcript.texts("assistant")][1:] == ["Hello"]

    def test_a_handoff_is_an_event_and_each_call_says_who_made_it(self, sdk: Any, server: ModelServer) -> None:
        """The handoff is no call; the next turn belongs to whom it went to."""
        refunds = self.made("refunds", tools=[sdk.function_tool(refund)])
        triage = self.made("triage", handoffs=[refunds])
        server.play([call("transfer_to_refunds"), call("refund", order_id="W1"), text("Done"), text("Bye")])
        assert told(converse(triage, "Refund W1", "Thanks")) == [
            "user: Refund W1",
            "[a handoff from triage to refunds]",
            "refunds calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "refunds: Done",
            "user: Thanks",
            "refunds: Bye",
        ]

    def test_an_agent_behind_a_tool_is_an_event_and_no_call(self, sdk: Any, server: ModelServer) -> None:
        """`as_tool` gives a task away and takes its answer."""
        helper = self.made("helper").as_tool("ask_helper", "Asks.")
        server.play([call("ask_helper", input="2+2"), text("4"), text("It is 4")])
        assert told(converse(self.made("boss", tools=[helper]), "2+2?")) == [
            "user: 2+2?",
            "[a handoff from boss to helper]",
            "boss: It is 4",
        ]

    def test_calls_of_an_agent_behind_a_tool_are_not_told(self, sdk: Any, server: ModelServer) -> None:
        """An agent behind a tool that has tools itself may have called any, so that not all calls are visible."""
        assert shows_all_calls(self.made("boss", tools=[self.made("helper").as_tool("ask", "Asks.")]), server)
        helper = self.made("helper", tools=[sdk.function_tool(refund)])
        assert not shows_all_calls(self.made("boss", tools=[helper.as_tool("ask", "Asks.")]), server)

    def test_a_typed_answer_is_kept(self, server: ModelServer) -> None:
        """`output_type` gives the answer beside its text."""
        server.play([text('{"decision": "block", "risk": 3}')])
        transcript = converse(self.made(output_type=Decision), "Lost my card")
        assert transcript.output == {"decision": "block", "risk": 3}


class TestPydanticAI:
    """pydantic-ai: filters of its model, and typed answers."""

    def made(self, **more: Any) -> Any:
        """Make an agent on the loopback model."""
        pydantic_ai = pytest.importorskip("pydantic_ai")
        from pydantic_ai.models.openai import OpenAIChatModel

        agent = pydantic_ai.Agent(OpenAIChatModel("loopback"), tools=[refund], **more)
        kept(agent.model.client)
        return agent

    @pytest.mark.parametrize("answer", [FILTERED, AZURE])
    def test_a_filter_of_the_model_is_a_refusal_of_the_provider(
        self, server: ModelServer, answer: Answer | Fault
    ) -> None:
        """Calls that were made before stand, and the next line is answered."""
        server.play([call("refund", order_id="W1"), answer, text("Hello")])
        assert told(converse(self.made(), "Refund W1", "Hi")) == [
            "user: Refund W1",
            "assistant calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "[refused by provider (content_filter)]",
            "assistant: The provider of the model refused to answer this.",
            "user: Hi",
            "assistant: Hello",
        ]

    def test_a_typed_answer_is_kept(self, server: ModelServer) -> None:
        """It comes through a tool of the framework's own, which is no call."""
        server.play([call("final_result", decision="block", risk=3)])
        transcript = converse(self.made(output_type=Decision), "Lost my card")
        assert transcript.output == {"decision": "block", "risk": 3}
        assert transcript.trajectory == ()


class TestLangGraph:
    """LangGraph: middleware that stops an agent, filters, several agents, `response_format`."""

    def made(self, **more: Any) -> Any:
        """Make an agent on the loopback model."""
        return pytest.importorskip("langchain.agents").create_agent(self.model(), **more)

    def model(self) -> Any:
        """Give the loopback model."""
        model = pytest.importorskip("langchain_openai").ChatOpenAI(model="loopback", max_retries=0)
        kept(model.root_async_client)
        return model

    def test_middleware_that_blocks_is_a_guardrail(self, server: ModelServer) -> None:
        """An e-mail address is not let through."""
        middleware = pytest.importorskip("langchain.agents.middleware").PIIMiddleware("email", strategy="block")
        server.play([text("Hello")])
        assert told(converse(self.made(middleware=[middleware]), "I am a@example.com", "Hi")) == [
            "user: I am a@example.com",
            "[guardrail (PIIDetectionError (email))]",
            "assistant: Refused by the guardrail PIIDetectionError (email).",
            "user: Hi",
            "assistant: Hello",
        ]

    @pytest.mark.parametrize("answer", [Answer(content="", finish_reason="content_filter"), AZURE])
    def test_a_filter_of_the_model_is_a_refusal_of_the_provider(
        self, server: ModelServer, answer: Answer | Fault
    ) -> None:
        """It is nobody's crash, and the next line is answered."""
        server.play([answer, text("Hello")])
        assert told(converse(self.made(), "Something foul", "Hi")) == [
            "user: Something foul",
            "[refused by provider (content_filter)]",
            "assistant: The provider of the model refused to answer this.",
            "user: Hi",
            "assistant: Hello",
        ]

    def test_a_refusal_of_anthropic_s_model_is_one_of_the_provider(self) -> None:
        """`stop_reason` says so, as langchain-anthropic hands it on."""
        messages = pytest.importorskip("langchain_core.messages")
        graph = pytest.importorskip("langgraph.graph")
        refused = messages.AIMessage("", response_metadata={"stop_reason": "refusal"})
        builder = graph.StateGraph(graph.MessagesState)
        builder.add_node("model", lambda _state: {"messages": [refused]})
        builder.set_entry_point("model")
        assert told(converse(builder.compile(), "Something foul"))[1] == "[refused by provider (refusal)]"

    def test_a_supervisor_s_handoffs_are_events(self, server: ModelServer) -> None:
        """There, with a call by the one who made it, and back."""
        supervisor = pytest.importorskip("langgraph_supervisor")
        refunds = self.made(name="refunds", tools=[refund])
        built = supervisor.create_supervisor([refunds], model=self.model(), output_mode="full_history")
        graph = built.compile()
        server.play([call("transfer_to_refunds"), call("refund", order_id="W1"), text("Done"), text("All done")])
        assert told(converse(graph, "Refund W1")) == [
            "user: Refund W1",
            "[a handoff from supervisor to refunds]",
            "refunds calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "refunds: Done",
            "[a handoff from refunds to supervisor]",
            "supervisor: All done",
        ]

    def test_a_swarm_s_handoffs_are_events(self, server: ModelServer) -> None:
        """The tool that hands over is no call."""
        swarm = pytest.importorskip("langgraph_swarm")
        to_refunds = swarm.create_handoff_tool(agent_name="refunds")
        agents = [self.made(name="triage", tools=[to_refunds]), self.made(name="refunds", tools=[refund])]
        graph = swarm.create_swarm(agents, default_active_agent="triage").compile()
        server.play([call("transfer_to_refunds"), call("refund", order_id="W1"), text("Done")])
        assert told(converse(graph, "Refund W1")) == [
            "user: Refund W1",
            "[a handoff from triage to refunds]",
            "refunds calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "refunds: Done",
        ]

    def test_an_agent_that_was_handed_the_conversation_asks(self, server: ModelServer) -> None:
        """The handoff stands before the question, which says whose it is."""
        swarm = pytest.importorskip("langgraph_swarm")
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.types import interrupt

        def pay(order_id: str) -> str:
            """Refund an order."""
            return refund(order_id) if interrupt(f"May I refund {order_id}?") else "no"

        to_refunds = swarm.create_handoff_tool(agent_name="refunds")
        agents = [self.made(name="triage", tools=[to_refunds]), self.made(name="refunds", tools=[pay])]
        graph = swarm.create_swarm(agents, default_active_agent="triage").compile(checkpointer=InMemorySaver())
        server.play([call("transfer_to_refunds"), call("pay", order_id="W1"), text("Done")])
        assert told(converse(graph, "Refund W1", "Yes")) == [
            "user: Refund W1",
            "[a handoff from triage to refunds]",
            "refunds: May I refund W1?",
            "user: Yes",
            "refunds calls pay({'order_id': 'W1'})",
            "result: refunded W1",
            "refunds: Done",
        ]

    def test_a_typed_answer_is_kept(self, server: ModelServer) -> None:
        """`response_format` puts it into the state."""
        pytest.importorskip("langchain.agents")
        from langchain.agents.structured_output import ToolStrategy

        server.play([call("Decision", decision="block", risk=3)])
        transcript = converse(self.made(response_format=ToolStrategy(Decision)), "Lost my card")
        assert transcript.output == {"decision": "block", "risk": 3}

    def test_a_call_beside_a_typed_answer_stands(self, server: ModelServer) -> None:
        """What ran in the same message as the answer's own tool is a call; an answer that did not fit is none."""
        pytest.importorskip("langchain.agents")
        from langchain.agents.structured_output import ToolStrategy

        fit = call("Decision", decision="block", risk=3)
        server.play([call("Decision", decision="no"), calls(call("refund", order_id="W1"), fit)])
        transcript = converse(self.made(tools=[refund], response_format=ToolStrategy(Decision)), "Lost my card")
        assert told(transcript) == [
            "user: Lost my card",
            "assistant calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            'assistant: {"decision":"block","risk":3}',
        ]
        assert transcript.output == {"decision": "block", "risk": 3}

    def test_a_typed_answer_of_an_earlier_turn_is_not_that_of_this_one(self) -> None:
        """A graph that keeps its state has it still; the turn's own calls stand."""
        pytest.importorskip("langgraph")
        from langchain_core.messages import AIMessage, ToolMessage
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.graph import START, MessagesState, StateGraph

        class State(MessagesState):
            structured_response: Any

        def node(state: State) -> Any:
            lines = [one.content for one in state["messages"] if one.type == "human"]
            if len(lines) == 1:
                return {"messages": [AIMessage("Shall I?")], "structured_response": {"order_id": "W1"}}
            asked = AIMessage("", tool_calls=[{"name": "refund", "args": {"order_id": "W1"}, "id": "r1"}])
            end = [AIMessage("Done")] if len(lines) == 2 else []
            return {"messages": [asked, ToolMessage("refunded W1", tool_call_id="r1"), *end]}

        built = StateGraph(State).add_node("node", node).add_edge(START, "node")
        graph = built.compile(checkpointer=InMemorySaver())
        transcript = converse(graph, "Refund W1", "Yes")
        assert told(transcript)[2:] == [
            "user: Yes",
            "assistant calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "assistant: Done",
        ]
        assert transcript.messages[-1].output is None
        with pytest.raises(AgentError, match="ended without an answer"):
            converse(graph, "Refund W2", "Yes", "And again")


class TestSmolagents:
    """smolagents: managed agents, and answers that are no text."""

    def made(self, tools: Sequence[Any] = (), *, code: bool = False, **more: Any) -> Any:
        """Make an agent on the loopback model."""
        smolagents = pytest.importorskip("smolagents")
        model = smolagents.OpenAIServerModel("loopback", client_kwargs={"max_retries": 0})
        kept(model.client)
        kind = smolagents.CodeAgent if code else smolagents.ToolCallingAgent
        return kind(list(tools), model, verbosity_level=0, **more)

    @pytest.mark.parametrize("code", [False, True])
    def test_a_managed_agent_is_a_handoff_and_its_calls_are_shown(self, server: ModelServer, code: bool) -> None:
        """The managed agent's calls say that they are its own, whoever called it."""
        smolagents = pytest.importorskip("smolagents")
        tool = smolagents.tool(refund)
        managed = self.made([tool], name="refunds", description="Refunds orders.")
        boss = self.made(code=code, managed_agents=[managed], name="boss", description="Leads.")
        asked: Answer = call("refunds", task="Refund W1")
        final: Answer = call("final_answer", answer="All done")
        if code:
            asked = text('<code>\nrefunds(task="Refund W1")\n</code>')
            final = text('<code>\nfinal_answer("All done")\n</code>')
        server.play([asked, call("refund", order_id="W1"), call("final_answer", answer="Done"), final])
        assert told(converse(boss, "Refund W1")) == [
            "user: Refund W1",
            "[a handoff from boss to refunds]",
            "refunds calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "boss: All done",
        ]

    def test_a_typed_answer_is_kept(self, server: ModelServer) -> None:
        """Code may answer with a mapping."""
        server.play([text('<code>\nfinal_answer({"decision": "block"})\n</code>')])
        assert converse(self.made(code=True), "Lost my card").output == {"decision": "block"}


class TestAdk:
    """Google ADK: finish reasons, transfers, agents behind tools, workflows, `output_schema`."""

    @pytest.fixture
    def play(self) -> Any:
        """Give a function that makes an agent whose model says one thing after the other."""
        pytest.importorskip("google.adk")
        from google.adk.agents import Agent as LlmAgent
        from google.adk.models import BaseLlm, LlmResponse
        from google.genai import types

        left: list[Any] = []

        class Scripted(BaseLlm):
            async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
                yield left.pop(0)

        def said(*parts: Any) -> Any:
            made = [
                types.Part(text=one)
                if isinstance(one, str)
                else types.Part.from_function_call(name=one[0], args=one[1])
                for one in parts
            ]
            return LlmResponse(content=types.Content(role="model", parts=made))

        def made(name: str = "desk", **more: Any) -> Any:
            return LlmAgent(name=name, model=Scripted(model="scripted"), **more)

        made.left, made.said, made.types, made.answer = left, said, types, LlmResponse
        return made

    def test_an_answer_that_google_filtered_is_a_refusal_of_the_provider(self, play: Any) -> None:
        """The finish reason says so, and the next line is answered."""
        play.left += [play.answer(error_code=play.types.FinishReason.SAFETY), play.said("Hello")]
        assert told(converse(play(), "Something foul", "Hi")) == [
            "user: Something foul",
            "[refused by provider (SAFETY)]",
            "desk: The provider of the model refused to answer this.",
            "user: Hi",
            "desk: Hello",
        ]

    def test_a_callback_s_own_answer_is_what_the_agent_says(self, play: Any) -> None:
        """ADK does not tell that the model was never asked."""

        def guard(callback_context: Any, llm_request: Any) -> Any:
            return play.said("I do not write poems.")

        assert told(converse(play(before_model_callback=guard), "A poem")) == [
            "user: A poem",
            "desk: I do not write poems.",
        ]

    def test_calls_of_an_answer_that_google_filtered_stand(self, play: Any) -> None:
        """ADK executes them, and the run goes on."""
        called = play.said(("refund", {"order_id": "W1"}))
        called.finish_reason = play.types.FinishReason.SAFETY
        play.left += [called, play.said("Done")]
        assert told(converse(play(tools=[refund]), "Refund W1")) == [
            "user: Refund W1",
            "desk calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "desk: Done",
        ]

    def test_a_transfer_is_a_handoff(self, play: Any) -> None:
        """It is no call, and the next calls are those of the other agent."""
        refunds = play("refunds", description="Refunds", tools=[refund])
        triage = play("triage", sub_agents=[refunds])
        play.left += [
            play.said(("transfer_to_agent", {"agent_name": "refunds"})),
            play.said(("refund", {"order_id": "W1"})),
            play.said("Done"),
        ]
        assert told(converse(triage, "Refund W1")) == [
            "user: Refund W1",
            "[a handoff from triage to refunds]",
            "refunds calls refund({'order_id': 'W1'})",
            "result: refunded W1",
            "refunds: Done",
        ]

    def test_an_agent_behind_a_tool_is_a_handoff(self, play: Any) -> None:
        """What it is asked is no call of a tool."""
        from google.adk.tools.agent_tool import AgentTool

        boss = play("boss", tools=[AgentTool(play("helper", description="Adds"))])
        play.left += [play.said(("helper", {"request": "2+2"})), play.said("4"), play.said("It is 4")]
        assert told(converse(boss, "2+2?")) == ["user: 2+2?", "[a handoff from boss to helper]", "boss: It is 4"]

    def test_calls_of_an_agent_behind_a_tool_are_not_told(self, play: Any, server: ModelServer) -> None:
        """An agent behind a tool that has tools itself may have called any, so that not all calls are visible."""
        from google.adk.tools.agent_tool import AgentTool

        for tools in ([], [refund]):
            boss = play("boss", tools=[AgentTool(play("ask", description="Adds", tools=tools))])
            play.left += [play.said(("ask", {"request": "2+2"})), play.said("4"), play.said("It is 4")]
            assert shows_all_calls(boss, server) == (not tools)

    @pytest.mark.parametrize("name", ["refunds", "transfer_to_agent", "set_model_response"])
    def test_a_tool_named_like_something_of_adk_is_a_call(self, play: Any, name: str) -> None:
        """A function of the agent that calls it, whatever other agents and ADK have by that name."""

        def tool(order_id: str) -> str:
            return refund(order_id)

        tool.__name__ = name
        desk = play("desk", tools=[tool])
        flow = play("boss", sub_agents=[desk, play("other", sub_agents=[play("refunds", description="Refunds")])])
        play.left += [
            play.said(("transfer_to_agent", {"agent_name": "desk"})),
            play.said((name, {"order_id": "W1"})),
            play.said("Done"),
        ]
        assert told(converse(flow, "Refund W1")) == [
            "user: Refund W1",
            "[a handoff from boss to desk]",
            f"desk calls {name}({{'order_id': 'W1'}})",
            "result: refunded W1",
            "desk: Done",
        ]

    def test_the_steps_of_a_workflow_hand_over(self, play: Any) -> None:
        """The second step is another agent."""
        from google.adk.agents import SequentialAgent

        flow = SequentialAgent(name="flow", sub_agents=[play("first"), play("second")])
        play.left += [play.said("Looked"), play.said("Done")]
        assert told(converse(flow, "Go")) == [
            "user: Go",
            "first: Looked",
            "[a handoff from first to second]",
            "second: Done",
        ]

    @pytest.mark.parametrize("with_tools", [False, True])
    def test_a_typed_answer_is_kept(self, play: Any, with_tools: bool) -> None:
        """It comes as JSON, or through a tool of ADK's own, which is no call."""
        agent = play(output_schema=Decision, **({"tools": [refund]} if with_tools else {}))
        play.left.append(
            play.said(("set_model_response", {"decision": "block", "risk": 3}))
            if with_tools
            else play.said('{"decision": "block", "risk": 3}')
        )
        transcript = converse(agent, "Lost my card")
        assert transcript.output == {"decision": "block", "risk": 3}
        assert transcript.trajectory == ()


class TestOwnAgents:
    """Functions that call a provider's client themselves."""

    @pytest.mark.parametrize("answer", [FILTERED, AZURE])
    def test_a_filter_of_the_model_is_a_refusal_of_the_provider(
        self, server: ModelServer, answer: Answer | Fault
    ) -> None:
        """Whether the client raises, or gives an answer that was emptied."""
        openai = pytest.importorskip("openai")
        client = kept(openai.OpenAI(max_retries=0))

        def reply(messages: list[dict[str, Any]]) -> Any:
            return client.chat.completions.create(model="loopback", messages=messages)

        server.play([answer, text("Hello")])
        assert told(converse(reply, "Something foul", "Hi")) == [
            "user: Something foul",
            "[refused by provider (content_filter)]",
            "assistant: The provider of the model refused to answer this.",
            "user: Hi",
            "assistant: Hello",
        ]


def test_other_refused_requests_stay_the_agent_s_own(server: ModelServer) -> None:
    """A 400 about anything else is no filter."""
    openai = pytest.importorskip("openai")
    client = kept(openai.OpenAI(max_retries=0))
    server.play([fault.refused("temperature")])
    with pytest.raises(AgentError, match="temperature"):
        converse(lambda messages: client.chat.completions.create(model="x", messages=messages), "Hi")


def test_interleaved_conversations_keep_their_agents_apart(server: ModelServer) -> None:
    """Two runs of one agent that hands over: the one that stays is not moved by the other."""
    pytest.importorskip("agents")
    made = TestOpenAIAgents().made
    triage = made("triage", handoffs=[made("refunds")])

    def answer(request: ModelRequest) -> Answer:
        first = next(one["content"] for one in request.messages if one["role"] == "user")
        if first == "Refund" and request.system == "triage":
            return call("transfer_to_refunds")
        return text(f"{request.system} heard {first}")

    server.play(answer)

    async def both() -> list[Transcript]:
        return list(await asyncio.gather(held(triage, "Refund", "Thanks"), held(triage, "Hi", "Thanks")))

    found = [told(one) for one in RUNNER.run(both())]
    assert found[0][-1] == "refunds: refunds heard Refund"
    assert found[1][-1] == "triage: triage heard Hi"


DESK = """
import os

import agents
from openai import AsyncOpenAI

client = AsyncOpenAI(max_retries=0)
model = agents.OpenAIChatCompletionsModel(model="loopback", openai_client=client)


def build(tools):
    @agents.input_guardrail(name="off topic")
    async def guard(_context, _agent, items):
        return agents.GuardrailFunctionOutput(None, "poem" in items[-1]["content"])

    made = [agents.function_tool(tool) for tool in tools]
    refunds = agents.Agent(name="refunds", instructions="refunds", model=model, tools=made)
    return agents.Agent(
        name="triage", instructions="triage", model=model, tools=made, handoffs=[refunds], input_guardrails=[guard]
    )
"""

DESK_TOOLS = """
def refund(state: dict, order_id: str) -> str:
    '''Refund an order.'''
    state["refunded"].append(order_id)
    return f"refunded {order_id}"
"""

DESK_SUITE = r"""
agent: desk_agent:build
environment: {tools: desk_tools, state: {json: state.json}}
gates: ["agent.refunds >= 0.9", "success >= 0.9"]
scenarios:
  - id: refund
    says: ["Refund W1"]
    expect: [{handoff: {from: triage, to: refunds}}, {refund: {order_id: W1}, by: refunds}]
    never: [{handoff: legal}]
    match: {order: exact}
    replies: [{contains: done, max_words: 3}]
  - id: poem
    says: ["Write a poem", "Refund W2, then"]
    expect: [{refund: {order_id: W2}, by: refunds}]
    replies: [{contains: off topic, turn: 1}]
"""


BEHIND = """
import agents
from openai import AsyncOpenAI

model = agents.OpenAIChatCompletionsModel(model="loopback", openai_client=AsyncOpenAI(max_retries=0))


def refund(order_id: str) -> str:
    '''Refund an order.'''
    return f"refunded {order_id}"


def made(tool):
    helper = agents.Agent(name="helper", instructions="helper", model=model, tools=[agents.function_tool(refund)])
    if tool is not None:
        helper.tools = [agents.function_tool(tool)]
    return agents.Agent(
        name="boss",
        instructions="boss",
        model=model,
        tools=[helper.as_tool("ask", "Asks."), agents.function_tool(look, name_override="look")],
    )


def look(order_id: str) -> str:
    '''Look at an order.'''
    return order_id


def own():
    return made(None)


def wrapped(tools):
    return made(tools[0])
"""

BEHIND_SUITE = r"""
agent: behind:{factory}
environment: {{tools: desk_tools, state: {{json: state.json}}}}
scenarios:
  - id: a
    says: ["Refund W1"]
    never: [refund]
"""


@pytest.mark.parametrize(("factory", "passed"), [("own", None), ("wrapped", False)])
def test_a_forbidden_call_behind_a_tool_does_not_pass(
    tmp_path: Path, server: ModelServer, factory: str, passed: bool | None
) -> None:
    """An agent behind a tool refunds: wrapped tools show it, and where nothing does, `never` is not measured.

    The calls that the agent before it makes do not show the others.
    """
    pytest.importorskip("agents")
    (tmp_path / "behind.py").write_text(BEHIND)
    (tmp_path / "desk_tools.py").write_text(DESK_TOOLS)
    (tmp_path / "state.json").write_text('{"refunded": []}')
    (tmp_path / "agentbench.yaml").write_text(BEHIND_SUITE.format(factory=factory))
    server.play(
        [
            call("look", order_id="W1"),
            call("ask", input="Refund W1"),
            call("refund", order_id="W1"),
            text("Done"),
            text("All done"),
        ]
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--agentbench",
        "--agentbench-json",
        "out.json",
        "-p",
        "no:cacheprovider",
    ]
    played = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    (result,) = json.loads((tmp_path / "out.json").read_text())["results"]
    assert result["termination"] == "FINISHED", played.stdout
    assert [one["passed"] for one in result["findings"] if one["check"] == "never"] == [passed]


@pytest.mark.parametrize("hasty", [False, True])
def test_a_suite_of_agents_that_hand_over_gets_the_right_verdict(
    tmp_path: Path, server: ModelServer, hasty: bool
) -> None:
    """Triage must not refund itself: the state is right then, and the run is not. Each agent has its row and gate."""
    pytest.importorskip("agents")
    (tmp_path / "desk_agent.py").write_text(DESK)
    (tmp_path / "desk_tools.py").write_text(DESK_TOOLS)
    (tmp_path / "state.json").write_text('{"refunded": []}')
    (tmp_path / "agentbench.yaml").write_text(DESK_SUITE)

    def answer(request: ModelRequest) -> Answer:
        if request.messages[-1]["role"] == "tool" and "refunded" in request.last:
            return text("All done")
        if request.system == "triage" and not hasty:
            return call("transfer_to_refunds")
        order = next(word.strip(",") for word in str(request.messages).split("'") if word.startswith("Refund W"))
        return call("refund", order_id=order.split()[1].strip(","))

    server.play(answer)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--agentbench",
        "--agentbench-json",
        "out.json",
        "-p",
        "no:cacheprovider",
    ]
    played = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    document = json.loads((tmp_path / "out.json").read_text())
    found = {one["key"]["scenario"]: one for one in document["results"]}
    gate = next(one for one in document["gates"] if one["gate"].startswith("agent.refunds"))
    assert {one["termination"] for one in found.values()} == {"FINISHED"}, played.stdout
    if not hasty:
        assert played.returncode == 0, played.stdout
        assert found["refund"]["agents"] == ["triage", "refunds"]
        assert found["refund"]["metrics"]["strict_recall"] == 1.0
        assert (gate["n"], gate["value"], gate["passed"]) == (2, 1.0, True)
    else:
        assert played.returncode == 1
        assert {one["blame"] for one in found.values()} == {"agent"}
        assert "was made by triage, expected refunds" in played.stdout
        assert (gate["passed"], gate["reason"]) == (False, "not exercised")
