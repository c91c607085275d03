"""Messages made, and dumped, by the real packages: read as objects and as logs, nothing lost."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.messages.reader import read
from pytest_agentbench.suites.transcripts import read_recordings
from tests.agents.replying import to_reply

pytestmark = pytest.mark.real

SAID = ["Where is W1?", "Let me see", "It is shipped", "And W2?", "No such order"]
CALLS = [("look", {"order_id": "W1"}, "shipped"), ("look", {"order_id": "W2"}, "no order W2")]

Made = tuple[Sequence[object], object]
"""The messages of one conversation as objects, and as the package itself writes them."""


def openai_chat() -> Made:
    """Requests are plain mappings there, answers objects."""
    chat = pytest.importorskip("openai.types.chat")

    def answer(text: str | None, *calls: tuple[str, dict[str, str]]) -> Any:
        made = [
            {"id": one_id, "type": "function", "function": {"name": "look", "arguments": json.dumps(arguments)}}
            for one_id, arguments in calls
        ]
        return chat.ChatCompletionMessage.model_validate(
            {"role": "assistant", "content": text, "tool_calls": made or None}
        )

    talk = [
        {"role": "user", "content": SAID[0]},
        answer(SAID[1], ("c1", CALLS[0][1])),
        {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
        answer(SAID[2]),
        {"role": "user", "content": [{"type": "text", "text": SAID[3]}]},
        answer(None, ("c2", CALLS[1][1])),
        {"role": "tool", "tool_call_id": "c2", "content": "no order W2"},
        answer(SAID[4]),
    ]
    return talk, {"messages": [one if isinstance(one, dict) else one.model_dump(mode="json") for one in talk]}


def openai_responses() -> Made:
    """Items of input are mappings, those of output objects."""
    types = pytest.importorskip("openai.types.responses")

    def said(text: str) -> Any:
        part = {"type": "output_text", "text": text, "annotations": []}
        fields = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        return types.ResponseOutputMessage.model_validate(fields)

    def called(number: int) -> Any:
        fields = {"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "name": "look"}
        return types.ResponseFunctionToolCall.model_validate({**fields, "arguments": json.dumps(CALLS[number - 1][1])})

    thought = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}
    talk = [
        {"role": "user", "content": SAID[0]},
        types.ResponseReasoningItem.model_validate(thought),
        said(SAID[1]),
        called(1),
        {"type": "function_call_output", "call_id": "c1", "output": "shipped"},
        said(SAID[2]),
        {"role": "user", "content": [{"type": "input_text", "text": SAID[3]}]},
        called(2),
        {"type": "function_call_output", "call_id": "c2", "output": "no order W2"},
        said(SAID[4]),
    ]
    return talk, {"items": [one if isinstance(one, dict) else one.model_dump(mode="json") for one in talk]}


def anthropic() -> Made:
    """Answers are objects with blocks."""
    types = pytest.importorskip("anthropic.types")

    def answer(*blocks: dict[str, Any]) -> Any:
        fields = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": None}
        usage = {"input_tokens": 1, "output_tokens": 1}
        return types.Message.model_validate({**fields, "stop_sequence": None, "usage": usage, "content": blocks})

    def text(said: str) -> dict[str, Any]:
        return {"type": "text", "text": said}

    def used(number: int) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"c{number}", "name": "look", "input": CALLS[number - 1][1]}

    def result(number: int, content: object) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": f"c{number}", "content": content, "is_error": number == 2}
        return {"role": "user", "content": [block]}

    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    talk = [
        {"role": "user", "content": SAID[0]},
        answer(thought, text(SAID[1]), used(1)),
        result(1, "shipped"),
        answer(text(SAID[2])),
        {"role": "user", "content": [text(SAID[3])]},
        answer({"type": "redacted_thinking", "data": "x"}, used(2)),
        result(2, [text("no order W2")]),
        answer(text(SAID[4])),
    ]
    return talk, {"messages": [one if isinstance(one, dict) else one.model_dump(mode="json") for one in talk]}


def gemini() -> Made:
    """Contents with parts, all of them objects; dumped under the names of the API."""
    types = pytest.importorskip("google.genai.types")

    def content(role: str, *parts: dict[str, Any]) -> Any:
        return types.Content(role=role, parts=[types.Part(**part) for part in parts])

    def called(number: int) -> dict[str, Any]:
        return {"function_call": types.FunctionCall(name="look", args=CALLS[number - 1][1])}

    def result(number: int) -> Any:
        given = {"result" if number == 1 else "error": CALLS[number - 1][2]}
        return content("user", {"function_response": types.FunctionResponse(name="look", response=given)})

    talk = [
        content("user", {"text": SAID[0]}),
        content("model", {"text": "hm", "thought": True}, {"text": SAID[1]}, called(1)),
        result(1),
        content("model", {"text": SAID[2]}),
        content("user", {"text": SAID[3]}),
        content("model", called(2)),
        result(2),
        content("model", {"text": SAID[4]}),
    ]
    return talk, {"contents": [json.loads(one.model_dump_json(by_alias=True, exclude_none=True)) for one in talk]}


def langchain() -> list[Made]:
    """Objects with plain content and with blocks; dumped in three ways."""
    messages = pytest.importorskip("langchain_core.messages")
    load = pytest.importorskip("langchain_core.load")
    calls = [{"type": "tool_call", "id": f"c{n}", "name": "look", "args": CALLS[n - 1][1]} for n in (1, 2)]
    blocks: list[Any] = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": SAID[1]}, calls[0]]
    used = [
        {"type": "text", "text": SAID[1]},
        {"type": "tool_use", "id": "c1", "name": "look", "input": CALLS[0][1]},
    ]
    made = []
    for first in (
        messages.AIMessage(SAID[1], tool_calls=[calls[0]]),
        messages.AIMessage(content_blocks=blocks),
        messages.AIMessage(content=used, tool_calls=[calls[0]]),
        messages.AIMessageChunk(content=SAID[1], tool_calls=[calls[0]]),
    ):
        talk = [
            messages.SystemMessage("Be kind"),
            messages.HumanMessage(SAID[0]),
            first,
            messages.ToolMessage("shipped", tool_call_id="c1"),
            messages.AIMessage(SAID[2]),
            messages.HumanMessage([{"type": "text", "text": SAID[3]}]),
            messages.AIMessage("", tool_calls=[calls[1]]),
            messages.ToolMessage("no order W2", tool_call_id="c2", status="error"),
            messages.AIMessage(SAID[4]),
        ]
        made += [
            (talk, messages.messages_to_dict(talk)),
            (talk, {"messages": [load.dumpd(one) for one in talk]}),
            (talk, [one.model_dump(mode="json") for one in talk]),
        ]
    return made


def pydantic_ai() -> Made:
    """Requests and responses, dumped by their own adapter."""
    parts = pytest.importorskip("pydantic_ai.messages")

    def failed() -> Any:
        return parts.ToolReturnPart("look", "no order W2", "c2", outcome="failed")

    talk = [
        parts.ModelRequest([parts.SystemPromptPart("Be kind"), parts.UserPromptPart(SAID[0])]),
        parts.ModelResponse(
            [parts.ThinkingPart("hm"), parts.TextPart(SAID[1]), parts.ToolCallPart("look", CALLS[0][1], "c1")]
        ),
        parts.ModelRequest([parts.ToolReturnPart("look", "shipped", "c1")]),
        parts.ModelResponse([parts.TextPart(SAID[2])]),
        parts.ModelRequest([parts.UserPromptPart([SAID[3]])]),
        parts.ModelResponse([parts.ToolCallPart("look", json.dumps(CALLS[1][1]), "c2")]),
        parts.ModelRequest([failed()]),
        parts.ModelResponse([parts.TextPart(SAID[4])]),
    ]
    return talk, json.loads(parts.ModelMessagesTypeAdapter.dump_json(talk))


def smolagents() -> Made:
    """Steps of a memory, dumped by themselves."""
    memory = pytest.importorskip("smolagents.memory")
    errors = pytest.importorskip("smolagents.utils")
    timing = pytest.importorskip("smolagents.monitoring").Timing(0.0, 1.0)
    logger = pytest.importorskip("smolagents.monitoring").AgentLogger(level=-1)

    def step(number: int, **fields: Any) -> Any:
        return memory.ActionStep(step_number=number, timing=timing, **fields)

    def final(text: str) -> dict[str, Any]:
        call = memory.ToolCall("final_answer", {"answer": text}, "f")
        return {"tool_calls": [call], "action_output": text, "is_final_answer": True, "observations": text}

    failed = errors.AgentError("no order W2", logger)
    kept = memory.AgentMemory("Be kind")
    kept.steps = [
        memory.TaskStep(SAID[0]),
        step(1, model_output=SAID[1], tool_calls=[memory.ToolCall("look", CALLS[0][1], "c1")], observations="shipped"),
        step(2, **final(SAID[2])),
        memory.TaskStep(SAID[3]),
        step(1, tool_calls=[memory.ToolCall("look", CALLS[1][1], "c2")], error=failed),
        step(2, **final(SAID[4])),
    ]
    return [kept.system_prompt, *kept.steps], {"steps": kept.get_full_steps()}


PACKAGES: dict[str, Callable[[], Made | list[Made]]] = {
    "openai chat": openai_chat,
    "openai responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
    "smolagents": smolagents,
}
IS_ERROR_TOLD = set(PACKAGES) - {"openai chat", "openai responses"}
"""Where a result says that its call failed."""


def conversations(package: str) -> list[Made]:
    """Give what a package made."""
    made = PACKAGES[package]()
    return made if isinstance(made, list) else [made]


def check(package: str, transcript: Transcript) -> None:
    """Hold a transcript against what was said and called; smolagents' words beside a call are thoughts."""
    spoken = SAID if package != "smolagents" else [text for text in SAID if text != SAID[1]]
    texts = [text for role in ("user", "assistant") for _, text in transcript.texts(role)]
    calls = transcript.trajectory
    assert sorted(texts) == sorted(spoken)
    assert [(one.call.name, one.call.arguments, one.result and one.result.content) for one in calls] == CALLS
    assert [one.failed for one in calls] == [False, package in IS_ERROR_TOLD]


@pytest.mark.parametrize("package", PACKAGES)
def test_objects_are_read(package: str) -> None:
    """Every text, call and result."""
    for talk, _ in conversations(package):
        messages = tuple(message for message in read(talk) if message.role != "system")
        check(package, Transcript(messages=messages))


@pytest.mark.parametrize("package", PACKAGES)
def test_an_agent_may_return_them(package: str) -> None:
    """A whole conversation, of which the last turn is new."""
    for talk, _ in conversations(package):
        reply = to_reply(list(talk), Turn(message=SAID[3]))

        assert [call.arguments for message in reply.messages for call in message.tool_calls] == [CALLS[1][1]]
        assert reply.messages[-1].text == SAID[4]


@pytest.mark.parametrize("package", PACKAGES)
def test_logs_are_imported_whole(package: str, tmp_path: Path) -> None:
    """As many conversations out as in, each with all that was said and called, through the import and back."""
    dumped = [log for _, log in conversations(package)]
    path = tmp_path / "logs.jsonl"
    path.write_text("".join(f"{json.dumps(log)}\n" for log in dumped))

    status = main(["import", str(path), "--into", str(tmp_path / "out"), "--keep-personal"])

    recordings = list(read_recordings(tmp_path / "out" / "recordings.jsonl"))
    assert status == 0
    assert len(recordings) == len(dumped)
    for recording in recordings:
        check(package, recording.transcript)


@pytest.mark.parametrize("package", PACKAGES)
def test_logs_are_recordings_as_they_are(package: str, tmp_path: Path) -> None:
    """Without an import."""
    dumped = [log for _, log in conversations(package)]
    path = tmp_path / "logs.json"
    path.write_text(json.dumps(dumped))

    recordings = list(read_recordings(path))

    assert len(recordings) == len(dumped)
    for recording in recordings:
        check(package, recording.transcript)


def test_an_answer_of_a_client_is_a_reply() -> None:
    """Anthropic's message, OpenAI's response and Gemini's answer, as an agent has them in its hand."""
    genai = pytest.importorskip("google.genai.types")
    responses = pytest.importorskip("openai.types.responses")
    message = next(one for one in anthropic()[0] if not isinstance(one, dict))
    content = genai.Content(role="model", parts=[genai.Part(text="Hi")])
    answer = genai.GenerateContentResponse(candidates=[genai.Candidate(content=content)])
    items = [one for one in openai_responses()[0] if not isinstance(one, dict)]
    response = responses.Response.model_construct(output=items[-1:], object="response")

    assert to_reply(message).messages[0].tool_calls[0].name == "look"
    assert to_reply(answer).messages[0].text == "Hi"
    assert to_reply(response).messages[0].text == SAID[4]
