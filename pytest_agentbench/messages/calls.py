"""Calls and results, by whichever names their fields go."""

from collections.abc import Mapping

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.tool import Requestor, ToolCall, read_arguments
from pytest_agentbench.messages.assembly import Assembly
from pytest_agentbench.messages.content import UnreadableError, field, found, result_text, text_field

_CALL_IDS = ("call_id", "tool_call_id", "toolCallId", "id")
_RESULT_IDS = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "id")
_ARGUMENTS = ("arguments", "args", "input")
_CONTENTS = ("content", "output", "response", "result", "outputs", "results", "tools")


def read_call(call: object, at: Keys) -> ToolCall:
    """Read a call: OpenAI nests its `function` or `custom`, all others are flat."""
    if isinstance(call, ToolCall):
        return call
    nested = next((name for name in ("function", "custom") if text_field(field(call, name), "name")), None)
    inner = field(call, nested) if nested else call
    name = text_field(inner, "name", "tool_name", "toolName")
    if not name:
        raise UnreadableError(f"{found(call)} as a tool call; it names no tool", at)
    requestor: Requestor = "user" if text_field(call, "requestor") == "user" else "assistant"
    arguments, raw = read_arguments(field(inner, *_ARGUMENTS))
    return ToolCall(name=name, arguments=arguments, raw=raw, id=text_field(call, *_CALL_IDS), requestor=requestor)


def made_call(name: str, arguments: object, call_id: str) -> ToolCall:
    """Make the call of a tool that its server or a framework ran under a type of its own."""
    read, raw = read_arguments(arguments)
    return ToolCall(name=name, arguments=read, raw=raw, id=call_id)


def read_result(result: object, into: Assembly) -> None:
    """Read the result of a call: what it says, whose it is, and whether the call failed, where that is said."""
    content = field(result, *_CONTENTS)
    into.answer(
        result_text(content),
        call_id=text_field(result, *_RESULT_IDS),
        failed=said_failed(result, content),
        name=text_field(result, "name", "tool_name", "toolName"),
        requestor="user" if text_field(result, "requestor") == "user" else None,
    )


def said_failed(result: object, content: object) -> bool | None:
    """Whether a result says that its call failed: by a flag, a status, or content that is an error by its type."""
    flag = field(result, "error", "is_error", "isError")
    if isinstance(flag, bool):
        return flag
    if isinstance(flag, str | Mapping) and flag:
        return True
    if text_field(result, "status") in ("error", "failed") or text_field(content, "type").endswith("_error"):
        return True
    return None
