"""What agents of one's own tell beside text and calls: names of several agents, typed answers, filters."""

import asyncio
from typing import Any

import pytest

from pytest_agentbench.agents.callables import adapt
from pytest_agentbench.agents.frameworks.langgraph_agents import marked
from pytest_agentbench.agents.http.answer import read_answer
from pytest_agentbench.agents.replies import to_reply
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.simulation.recording import Recording


async def _inline(work: Any) -> Any:
    return work()


def reply(returned: object) -> Reply:
    """Let a function answer once."""

    def answer(message: str) -> object:
        if isinstance(returned, Exception):
            raise returned
        return returned

    return asyncio.run(adapt(answer, run_sync=_inline).reply(Turn(message="Hi")))


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ({"content": "Blocked.", "output": {"decision": "block"}}, "Blocked."),
        ({"output": {"decision": "block"}}, '{"decision": "block"}'),
        ({"messages": [{"role": "assistant", "content": "Blocked."}], "output": {"decision": "block"}}, "Blocked."),
        (Reply(messages=(Message(role="assistant", content="ok"),), output={"decision": "block"}), "ok"),
    ],
)
def test_the_key_output_is_a_typed_answer(returned: object, text: str) -> None:
    """The last message holds it, and says what stands beside it, else the answer itself."""
    (message,) = reply(returned).messages
    assert (message.text.replace('":"', '": "'), message.output) == (text, {"decision": "block"})


def test_names_of_messages_tell_agents_and_handoffs() -> None:
    """Another name in the same turn is a handoff; the message before the first one has none."""
    said = [{"role": "assistant", "name": name, "content": name} for name in ("triage", "triage", "refunds")]
    messages = reply(said).messages
    assert [message.by for message in messages] == ["triage", "triage", "refunds"]
    assert [str(event) for message in messages for event in message.events] == ["a handoff from triage to refunds"]


def test_a_filtered_completion_is_a_refusal_of_the_provider() -> None:
    """An answer that was emptied, and a request that was refused for its content."""
    filtered = {"choices": [{"message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}]}
    refused = Exception("400")
    refused.status_code, refused.code = 400, "content_filter"  # type: ignore[attr-defined]
    for returned in (filtered, refused):
        (message,) = reply(returned).messages
        assert [event.kind for event in message.events] == ["refused_by_provider"]
        assert message.text


@pytest.mark.parametrize("calls", [[], [{"name": "refund", "args": {"id": 1}, "id": "r"}]])
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
    assert [message.text for message in recording.unobserved(told)] == ["Done"]
    transcript = recording.close()
    assert [(index, str(one)) for index, one in transcript.events] == [(1, "a handoff from triage to refunds")]
    assert [record.call.by for record in transcript.trajectory] == ["refunds"]


def test_an_endpoint_s_answer_may_hold_a_typed_one() -> None:
    """Where the suite says it stands; one that is not there this time is none."""
    spec = HttpAgentSpec(url="http://localhost", output="result.typed")
    assert read_answer({"reply": "ok", "result": {"typed": {"decision": "block"}}}, spec).output == {
        "decision": "block"
    }
    assert read_answer({"reply": "ok"}, spec).output is None
