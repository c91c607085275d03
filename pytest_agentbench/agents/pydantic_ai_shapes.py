"""Messages and results as pydantic-ai shapes them: requests and responses made of parts, told by `part_kind`."""

from pytest_agentbench.agents.content import (
    field,
    result_text,
    text_field,
    unusable,
    user_text,
)
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message


def has_parts(item: object) -> bool:
    """Whether `item` is a pydantic-ai request or response."""
    return text_field(item, "kind") in ("request", "response") and isinstance(field(item, "parts"), list | tuple)


def read_parts(item: object) -> list[Message]:
    """Read a request (prompts, tool results) or a response (one message of text and calls)."""
    parts = field(item, "parts")
    if text_field(item, "kind") == "request":
        return [message for part in parts if (message := _requested(part)) is not None]
    text = "".join(text_field(part, "content") for part in parts if text_field(part, "part_kind") == "text")
    calls = tuple(_call(part) for part in parts if text_field(part, "part_kind") == "tool-call")
    thoughts = "\n".join(text_field(part, "content") for part in parts if text_field(part, "part_kind") == "thinking")
    return [Message(role="assistant", content=text or None, tool_calls=calls, thoughts=thoughts or None)]


def read_result(result: object) -> list[Message] | None:
    """Read the new messages of an `AgentRunResult`, or None where `result` is none.

    A typed output, which pydantic-ai passes through a tool of its own, becomes the text that ends the turn.
    """
    new_messages = getattr(result, "new_messages", None)
    if not callable(new_messages):
        return None
    listed = new_messages()
    if not isinstance(listed, list | tuple) or not all(has_parts(item) for item in listed):
        raise unusable(result, "its new_messages() are no list of requests and responses")
    messages = [message for item in listed for message in read_parts(item)]
    output_tool = text_field(result, "_output_tool_name")
    if not output_tool:
        return messages
    own = {call.id for message in messages for call in message.tool_calls if call.name == output_tool}
    kept = [_without(message, output_tool) for message in messages if message.tool_call_id not in own]
    return [*kept, Message(role="assistant", content=result_text(field(result, "output")))]


def _without(message: Message, tool: str) -> Message:
    calls = tuple(call for call in message.tool_calls if call.name != tool)
    return message.model_copy(update={"tool_calls": calls})


def _requested(part: object) -> Message | None:
    kind = text_field(part, "part_kind")
    content = field(part, "content")
    if kind == "user-prompt":
        return Message(role="user", content=user_text(content))
    if kind == "tool-return" or (kind == "retry-prompt" and text_field(part, "tool_name")):
        failed = kind == "retry-prompt" or text_field(part, "outcome") not in ("", "success")
        answered = text_field(part, "tool_call_id") or None
        return Message(role="tool", content=result_text(content), tool_call_id=answered, error=failed)
    return None  # instructions of the framework to its model


def _call(part: object) -> ToolCall:
    name = text_field(part, "tool_name")
    if not name:
        raise unusable(part, "as a tool call; it names no tool")
    arguments, raw = read_arguments(field(part, "args"))
    return ToolCall(name=name, arguments=arguments, id=text_field(part, "tool_call_id"), raw=raw)
