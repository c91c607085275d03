"""Messages as OpenAI, LangChain and τ²-bench shape them, mappings or objects, told by their fields alone."""

from pytest_agentbench.agents.content import (
    field,
    result_text,
    shown,
    text_field,
    text_of,
    thoughts_of,
    unusable,
    user_text,
)
from pytest_agentbench.core.tool import Requestor, ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message, Role

_ROLES: dict[str, Role] = {
    "assistant": "assistant",
    "ai": "assistant",
    "user": "user",
    "human": "user",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_CHUNKS: dict[str, Role] = {"AIMessageChunk": "assistant", "HumanMessageChunk": "user", "ToolMessageChunk": "tool"}


def read_message(item: object) -> Message:
    """Read one message; raise `AgentError` where it is none.

    A tool message is an error where LangChain's `status` or τ²'s `error` says so. Calls whose arguments LangChain
    could not parse (`invalid_tool_calls`) are kept as calls.
    """
    role = _role(item)
    content = field(item, "content")
    if role == "tool":
        failed = field(item, "error") is True or text_field(item, "status") == "error"
        answered = text_field(item, "tool_call_id") or text_field(item, "id") or None
        requestor: Requestor = "user" if text_field(item, "requestor") == "user" else "assistant"
        return Message(
            role=role, content=result_text(content), tool_call_id=answered, error=failed, requestor=requestor
        )
    if role != "assistant":
        return Message(role=role, content=user_text(content))
    text = text_of(content)
    said = text or text_field(item, "refusal") or text
    by = text_field(item, "name") or None
    calls = tuple(call.model_copy(update={"by": by}) for call in _calls(item))
    return Message(role=role, content=said, tool_calls=calls, thoughts=thoughts_of(item), by=by)


def _role(item: object) -> Role:
    for name in (text_field(item, "role"), text_field(item, "type")):
        role = _ROLES.get(name) or _CHUNKS.get(name)
        if role:
            return role
        if name:
            raise unusable(item, f"its role {shown(name)} is none of {', '.join(_ROLES)}")
    if any(field(item, name) is not None for name in ("content", "tool_calls", "function_call", "refusal")):
        return "assistant"
    raise unusable(item)


def _calls(item: object) -> tuple[ToolCall, ...]:
    found: list[object] = []
    for name in ("tool_calls", "invalid_tool_calls"):
        calls = field(item, name)
        if calls is None:
            continue
        if not isinstance(calls, list | tuple):
            raise unusable(item, f"its {name} are {shown(calls)}, not a list")
        found.extend(calls)
    single = field(item, "function_call")
    if single is not None:
        found.append(single)
    return tuple(_call(call) for call in found)


def _call(call: object) -> ToolCall:
    if isinstance(call, ToolCall):
        return call.model_copy(update={"requestor": "assistant"})
    # OpenAI nests `function` or `custom`; LangChain and τ² are flat
    inner = field(call, "function") or field(call, "custom") or call
    name = text_field(inner, "name")
    if not name:
        raise unusable(call, "as a tool call; it names no tool")
    keys = ("arguments", "args", "input")
    given = next((value for key in keys if (value := field(inner, key)) is not None), None)
    arguments, raw = read_arguments(given)
    return ToolCall(name=name, arguments=arguments, id=text_field(call, "id"), raw=raw)
