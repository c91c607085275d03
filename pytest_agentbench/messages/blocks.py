"""Parts of content that say their type: OpenAI's chat, Anthropic's, LangChain's, OpenTelemetry's."""

from collections.abc import Callable, Collection

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.messages.assembly import Assembly
from pytest_agentbench.messages.calls import read_call, read_result
from pytest_agentbench.messages.content import (
    TEXTS,
    UnreadableError,
    field,
    found,
    text_field,
    text_part,
    thought_text,
)
from pytest_agentbench.messages.gemini import read_gemini_part
from pytest_agentbench.messages.responses import is_responses_item, read_responses_item

_THOUGHT_KINDS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content", "thought"})
_CALLS = frozenset(
    {
        "tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "server_tool_call",
        "invalid_tool_call", "tool_call_chunk", "server_tool_call_chunk", "function_call", "custom_tool_call",
        "function",
    }
)  # fmt: skip
_RESULTS = frozenset({"tool_result", "tool-result", "tool_call_response", "server_tool_result"})

_DEPTH = 20
"""Steps of a place that are told."""

READABLE = _THOUGHT_KINDS | _CALLS | _RESULTS | {"text", "refusal", "image", "audio", "video", "file", "document"}


def read_part(part: object, at: Keys, into: Assembly, *, skip: Callable[[ToolCall], bool] = lambda _: False) -> None:
    """Read one part of a message's content; calls that `skip` knows stand elsewhere in the message.

    Raise `UnreadableError` for a part of a type that nobody knows.
    """
    while (kind := text_field(part, "type")) == "non_standard":
        part, at = field(part, "value"), (*at, "value") if len(at) < _DEPTH else at
    if field(part, "thought") is True and not kind:
        into.think(text_field(part, "text"))
    elif (text := text_part(part)) is not None:
        into.say(text)
    elif kind in TEXTS and field(part, "text", "content") is None:
        into.say("")
    elif not kind:
        read_gemini_part(part, at, into)
    elif kind == "refusal":
        into.say(text_field(part, "refusal", "text"))
    elif kind in _THOUGHT_KINDS:
        into.think(thought_text(part))
    elif kind in _CALLS:
        call = read_call(part, at)
        if not skip(call):
            into.call(call)
    elif kind in _RESULTS or kind.endswith("_tool_result"):
        read_result(part, into)
    elif is_responses_item(kind):
        read_responses_item(part, kind, into)
    else:
        raise UnreadableError(f"{found(part)}, a part of type {kind!r}, which nobody is known to send", at)


def is_part(kind: str) -> bool:
    """Whether a type is one of a part, which may stand in a list of messages by itself."""
    return kind in READABLE or kind.endswith("_tool_result") or kind in ("output_text", "input_text")


def is_call(kind: str) -> bool:
    """Whether a type is that of a call."""
    return kind in _CALLS


def is_thought(kind: str) -> bool:
    """Whether a type is that of a thought."""
    return kind in _THOUGHT_KINDS


def known_calls(calls: Collection[ToolCall]) -> Callable[[ToolCall], bool]:
    """Give what tells that a call stands among `calls`: by its id, else by its name and arguments."""
    ids = {call.id for call in calls if call.id}

    def is_known(call: ToolCall) -> bool:
        if call.id in ids:
            return True
        same = (one for one in calls if one.name == call.name and one.arguments == call.arguments)
        return any(not one.id or not call.id for one in same)

    return is_known
