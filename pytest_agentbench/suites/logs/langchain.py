"""LangChain messages as OpenAI ones: serialized objects, `messages_to_dict`, dumped models, traced runs."""

from collections.abc import Iterator
from typing import Any

from pytest_agentbench.core.values import JsonValue

_ROLES = {
    "human": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
    "FunctionMessage": "tool",
    "system": "system",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "chat": "user",
}


def langchain_messages(value: JsonValue) -> list[JsonValue] | None:
    """Give the messages of a record as OpenAI ones, or None where it holds none of LangChain's.

    Looked at are a list of messages, `{messages: […]}`, and a traced run's `inputs` and `outputs`.
    """
    if isinstance(value, list):
        return _all(value)
    if not isinstance(value, dict):
        return None
    if isinstance(found := value.get("messages"), list):
        return _all(found)
    parts = [part for key in ("inputs", "outputs") if isinstance(part := value.get(key), dict)]
    messages = [message for part in parts for message in _of_run(part)]
    return messages or None


def _of_run(part: dict[str, JsonValue]) -> Iterator[JsonValue]:
    """Yield the messages of a run's inputs or outputs, where batches and generations hide them."""
    found = part.get("messages", part.get("output", part.get("generations")))
    for entry in _flat(found):
        candidate = entry.get("message", entry) if isinstance(entry, dict) else entry
        if (message := _one(candidate)) is not None:
            yield message


def _flat(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    elif value is not None:
        yield value


def _all(items: list[JsonValue]) -> list[JsonValue] | None:
    messages = [_one(item) for item in items]
    return messages if messages and all(message is not None for message in messages) else None


def _one(item: JsonValue) -> JsonValue | None:
    if not isinstance(item, dict):
        return None
    if item.get("lc") == 1 and isinstance(item.get("id"), list) and item["id"]:
        kind, fields = item["id"][-1], item.get("kwargs")
    elif isinstance(item.get("type"), str) and isinstance(item.get("data"), dict):
        kind, fields = item["type"], item["data"]
    elif isinstance(item.get("type"), str) and "content" in item and "role" not in item:
        kind, fields = item["type"], item
    else:
        return None
    role = _ROLES.get(str(kind))
    return None if role is None or not isinstance(fields, dict) else _openai(role, fields)


def _openai(role: str, fields: dict[str, JsonValue]) -> JsonValue:
    message: dict[str, Any] = {"role": role, "content": _content(fields.get("content"))}
    if role == "tool":
        message["tool_call_id"] = fields.get("tool_call_id")
        if fields.get("status") == "error":
            message["error"] = True
        return message
    calls = [_call(call) for call in fields.get("tool_calls") or () if isinstance(call, dict)]
    calls += [_call(call) for call in fields.get("invalid_tool_calls") or () if isinstance(call, dict)]
    extra = fields.get("additional_kwargs")
    if not calls and isinstance(extra, dict) and isinstance(extra.get("tool_calls"), list):
        calls = list(extra["tool_calls"])
    return {**message, "tool_calls": calls} if calls else message


def _call(call: dict[str, JsonValue]) -> JsonValue:
    return {"id": call.get("id") or "", "name": call.get("name") or "", "arguments": call.get("args")}


def _content(content: JsonValue) -> JsonValue:
    """Give the text of a message, whose blocks may hold tool uses, which stand in `tool_calls` too."""
    if isinstance(content, list):
        texts = [block.get("text") if isinstance(block, dict) else block for block in content]
        return "".join(text for text in texts if isinstance(text, str))
    return content
