"""What agents of one's own tell beside text and calls: names of several agents, typed answers, filters."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_agentbench.agents.callables import adapt
from pytest_agentbench.agents.frameworks.langgraph import LangGraphSession, marked
from pytest_agentbench.agents.http.answers import AnswerReader
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import AgentError, ProviderError
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.simulation.transcript_builder import Recording
from tests.agents.replying import to_reply
from tests.tables import each


async def _inline(work: Any) -> Any:
    return work()


def reply(returned: object) -> Reply:
    """Let a function answer once."""

    def answer(message: str) -> object:
        if isinstance(returned, Exception):
            raise returned
        return returned

    return asyncio.run(adapt(answer, run_sync=_inline).reply(Turn(message="Hi")))


@each(
    ("returned", "text"),
    [
        ({"content": "Blocked.", "output": {"decision": "block"}}, "Blocked."),
        ({"output": {"decision": "block"}}, '{"decision": "block"}'),
        ({"messages": [{"role": "assistant", "content": "Blocked."}], "output": {"decision": "block"}}, "Blocked."),
        (Reply(messages=(Message(role="assistant", content="ok"),), output={"decision": "block"}), "ok"),
        ({"content": [{"type": "text", "text": "hi"}], "output": {"decision": "block"}}, "hi"),
        ({"parts": [{"text": "hi"}], "output": {"decision": "block"}}, "hi"),
        ({"role": "assistant", "content": None, "output": {"decision": "block"}}, '{"decision": "block"}'),
    ],
)
def test_the_key_output_is_a_typed_answer(returned: object, text: str) -> None:
    """The last message holds it, and says what stands beside it, else the answer itself."""
    (message,) = reply(returned).messages
    assert (message.text.replace('":"', '": "'), message.output) == (text, {"decision": "block"})


def test_calls_beside_a_typed_answer_are_made() -> None:
    """They are no text of the agent, and nothing is said in their place."""
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
    for fields in ({"tool_calls": [call]}, {"function_call": call["function"]}):
        (message,) = reply({**fields, "output": {"decision": "block"}}).messages
        assert [one.name for one in message.tool_calls] == ["refund"]
        assert (message.text, message.output) == ("", {"decision": "block"})


def test_a_typed_answer_without_a_form_in_json_is_told_by_its_type() -> None:
    """An address in memory is different in each run."""
    (message,) = reply({"content": "Hi", "output": {"decision": object()}}).messages
    assert message.output == {"decision": "<object object>"}


def test_names_of_messages_tell_agents_and_handoffs() -> None:
    """Another name in the same turn is a handoff; the message before the first one has none."""
    said = [{"role": "assistant", "name": name, "content": name} for name in ("triage", "triage", "refunds")]
    messages = reply(said).messages
    assert [message.by for message in messages] == ["triage", "triage", "refunds"]
    assert [str(event) for message in messages for event in message.events] == ["a handoff from triage to refunds"]


def test_another_agent_that_opens_a_turn_is_a_handoff() -> None:
    """Of functions and of graphs; a neighbour without a name leaves it unknown."""
    names = iter(["triage", "refunds", "", "triage"])
    agent = adapt(lambda _: {"role": "assistant", "name": next(names), "content": "Hi"}, run_sync=_inline)
    told = [asyncio.run(agent.reply(Turn(message="Hi"))).messages for _ in range(4)]
    assert [str(event) for messages in told for one in messages for event in one.events] == [
        "a handoff from triage to refunds"
    ]


def test_another_agent_of_a_graph_that_opens_a_turn_is_a_handoff() -> None:
    """The graph keeps no conversation: what was said is handed back to it."""
    names = iter(["triage", "refunds", "refunds"])

    async def ainvoke(given: dict[str, Any], config: object) -> dict[str, Any]:
        said = len(given["messages"])
        return {"messages": [*given["messages"], SimpleNamespace(type="ai", id=said, name=next(names), content="Hi")]}

    session = LangGraphSession(SimpleNamespace(channels=("messages",), ainvoke=ainvoke, nodes={}), "s")
    told = [asyncio.run(session.answer("Hi")).messages for _ in range(3)]
    assert [[str(event) for one in messages for event in one.events] for messages in told] == [
        [],
        ["a handoff from triage to refunds"],
        [],
    ]


def test_a_filtered_completion_is_a_refusal_of_the_provider() -> None:
    """An answer that was emptied, and a request that was refused for its content."""
    filtered = {"choices": [{"message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}]}
    refused = Exception("400")
    refused.status_code, refused.code = 400, "content_filter"
    for returned in (filtered, refused):
        (message,) = reply(returned).messages
        assert [event.kind for event in message.events] == ["refused_by_provider"]
        assert message.text


FILTERED: dict[str, tuple[dict[str, Any], str]] = {
    "Chat": (
        {"choices": [{"message": {"content": [{"type": "text", "text": "I"}]}, "finish_reason": "content_filter"}]},
        "I",
    ),
    "Anthropic": ({"type": "message", "role": "assistant", "content": [], "stop_reason": "refusal"}, ""),
    "Anthropic, begun": (
        {"role": "assistant", "content": [{"type": "text", "text": "I"}], "stop_reason": "refusal"},
        "I",
    ),
    "Responses": (
        {"output": [], "status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
        "",
    ),
    "Gemini": ({"candidates": [{"finishReason": "SAFETY"}]}, ""),
    "Gemini, begun": ({"candidates": [{"content": {"parts": [{"text": "I"}]}, "finishReason": "SAFETY"}]}, "I"),
    "Gemini, the prompt": ({"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}, ""),
    "Gemini, the prompt, no candidates": ({"promptFeedback": {"blockReason": "OTHER"}}, ""),
}


@each("form", FILTERED)
def test_each_api_s_filter_is_a_refusal_with_what_was_said_before(form: str) -> None:
    """The agent is not to blame, and the conversation goes on."""
    returned, text = FILTERED[form]
    (message,) = reply(returned).messages
    assert [event.kind for event in message.events] == ["refused_by_provider"]
    assert message.text == (text or "The provider of the model refused to answer this.")


def test_calls_of_a_filtered_answer_are_made() -> None:
    """The filter struck behind them."""
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
    chat = {"choices": [{"message": {"tool_calls": [call], "content": None}, "finish_reason": "content_filter"}]}
    used = {"type": "tool_use", "id": "c1", "name": "refund", "input": {}}
    for returned in (chat, {"role": "assistant", "content": [used], "stop_reason": "refusal"}):
        (message,) = reply(returned).messages
        assert ([one.name for one in message.tool_calls], message.events) == (["refund"], ())


def test_a_failed_response_is_the_server_s_or_the_agent_s() -> None:
    """Its code tells."""
    for code, raised in (("server_error", ProviderError), ("invalid_prompt", AgentError)):
        with pytest.raises(raised, match=f"the response failed, .*{code}"):
            reply({"status": "failed", "error": {"code": code, "message": "m"}, "output": []})


@each("calls", [[], [{"name": "refund", "args": {"id": 1}, "id": "r"}]])
def test_calls_of_an_answer_that_a_filter_ended_stand(calls: list[Any]) -> None:
    """LangGraph executes them; a refusal is an answer without calls."""
    ended = {"type": "ai", "content": "", "tool_calls": calls, "response_metadata": {"finish_reason": "content_filter"}}
    (message,) = marked([ended], {})
    assert [call.name for call in message.tool_calls] == [call["name"] for call in calls]
    assert [event.kind for event in message.events] == ([] if calls else ["refused_by_provider"])


def test_calls_in_parallel_keep_what_happened_before_them() -> None:
    """Messages of calls that are joined hold the events of each."""
    event = Event(kind="guardrail", name="g")
    first = Message(role="assistant", tool_calls=(ToolCall(name="a", id="1"),))
    second = Message(role="assistant", tool_calls=(ToolCall(name="b", id="2"),), events=(event,))
    results = [Message(role="tool", content="ok", tool_call_id=one) for one in ("1", "2")]
    found = to_reply([first, second, *results, Message(role="assistant", content="done")])
    assert [message.events for message in found.messages if message.tool_calls] == [(event,)]


def test_a_call_that_was_observed_is_told_its_agent_and_what_came_before() -> None:
    """A wrapped tool knows neither; the framework's messages do, and the handoff stands before the call."""
    recording = Recording()
    recording.add(Message(role="user", content="Refund W1"))
    recording.observe(ToolCall(name="refund", arguments={"id": 1}), ToolResult(content="ok"))
    event = Event.model_validate({"kind": "handoff", "from": "triage", "to": "refunds"})
    call = ToolCall(name="refund", arguments={"id": 1}, id="x", by="refunds")
    told = (
        Message(role="assistant", tool_calls=(call,), by="refunds", events=(event,)),
        Message(role="tool", content="ok", tool_call_id="x"),
        Message(role="assistant", content="Done", by="refunds"),
    )
    assert [message.text for message in recording.report(told)] == ["Done"]
    transcript = recording.close()
    assert [(index, str(one)) for index, one in transcript.events] == [(1, "a handoff from triage to refunds")]
    assert [record.call.by for record in transcript.trajectory] == ["refunds"]


def test_an_endpoint_s_answer_may_hold_a_typed_one() -> None:
    """Where the suite says it stands; one that is not there this time is none."""
    spec = HttpAgentSpec(url="http://localhost", output="result.typed")
    reader = AnswerReader(spec)
    assert reader.read({"reply": "ok", "result": {"typed": {"decision": "block"}}}).output == {"decision": "block"}
    assert reader.read({"reply": "ok"}).output is None
