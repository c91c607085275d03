"""OpenTelemetry spans with GenAI attributes, put together to conversations in a file, not in memory.

Attribute names are those of the GenAI semantic conventions (`gen_ai.input.messages`, `gen_ai.output.messages`,
`gen_ai.tool.call.*`, `gen_ai.conversation.id`), read from OTLP's JSON or from spans as SDKs print them.
"""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.values import JsonValue

_INPUT = ("gen_ai.input.messages", "gen_ai.prompt")
_OUTPUT = ("gen_ai.output.messages", "gen_ai.completion")
_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}

Span = dict[str, Any]


def spans_of(value: JsonValue) -> list[Span] | None:
    """Give the spans that a record holds, None where it holds none."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("resourceSpans"), list):
        return [span for one in value["resourceSpans"] for scope in _scopes(one) for span in scope]
    has_ids = "traceId" in value or "trace_id" in value or isinstance(value.get("context"), dict)
    if has_ids and "attributes" in value:
        return [value]
    return None


def _scopes(resource: JsonValue) -> Iterator[list[Span]]:
    if isinstance(resource, dict):
        for scope in resource.get("scopeSpans") or resource.get("instrumentationLibrarySpans") or ():
            if isinstance(scope, dict):
                yield [span for span in scope.get("spans") or () if isinstance(span, dict)]


class SpanStore:
    """Keeps spans by conversation in an SQLite file, and gives the conversations back one by one."""

    def __init__(self, path: Path) -> None:
        self._file = sqlite3.connect(path)
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute("CREATE TABLE span (id INTEGER PRIMARY KEY, talk TEXT, begun TEXT, span TEXT)")

    def add(self, span: Span) -> None:
        """Keep what a span says of its conversation; one that says nothing of any is left out."""
        found = _relevant(span)
        if found:
            attributes = _attributes(span)
            talk = str(attributes.get("gen_ai.conversation.id") or _trace(span))
            self._file.execute(
                "INSERT INTO span (talk, begun, span) VALUES (?, ?, ?)", (talk, _begun(span), dumps(found))
            )

    def conversations(self) -> Iterator[tuple[str, list[JsonValue]]]:
        """Yield each conversation's name and OpenAI messages, in the order in which they began."""
        self._file.execute("CREATE INDEX talks ON span (talk, begun, id)")
        names = self._file.execute("SELECT talk FROM span GROUP BY talk ORDER BY min(begun), min(id)")
        for (name,) in names:
            rows = self._file.execute("SELECT span FROM span WHERE talk = ? ORDER BY begun, id", (name,))
            yield name, _conversation([loads(text) for (text,) in rows])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _relevant(span: Span) -> dict[str, JsonValue]:
    """Give the messages and the tool call of a span."""
    attributes = _attributes(span)
    found: dict[str, JsonValue] = {}
    given = next((attributes[name] for name in _INPUT if name in attributes), None)
    made = next((attributes[name] for name in _OUTPUT if name in attributes), None)
    system = attributes.get("gen_ai.system_instructions")
    events = [event for event in span.get("events") or () if isinstance(event, dict)]
    spoken = [message for event in events if (message := _event(event)) is not None]
    if given is not None or made is not None:
        found = {"in": _messages(given), "out": _messages(made)}
    elif spoken:
        choices = [message for message, is_choice in spoken if is_choice]
        found = {"in": [message for message, is_choice in spoken if not is_choice], "out": choices}
    if system is not None and found:
        found["in"] = [*_messages([{"role": "system", "parts": _parsed(system)}]), *found["in"]]
    if attributes.get("gen_ai.operation.name") == "execute_tool" or "gen_ai.tool.call.arguments" in attributes:
        found["tool"] = {
            "id": str(attributes.get("gen_ai.tool.call.id") or ""),
            "name": str(attributes.get("gen_ai.tool.name") or ""),
            "arguments": _parsed(attributes.get("gen_ai.tool.call.arguments")),
            "result": attributes.get("gen_ai.tool.call.result"),
            "error": "error.type" in attributes,
        }
    return found


def _conversation(spans: list[dict[str, JsonValue]]) -> list[JsonValue]:
    """Put the spans of a conversation together: histories grow, so only what is new in each is added."""
    told: list[JsonValue] = []
    for span in spans:
        if "in" not in span:
            continue
        history = [*span["in"], *span["out"]]
        told += history[_overlap(told, history) :]
    answered = {message.get("tool_call_id") for message in told if message.get("role") == "tool"}
    results = {span["tool"]["id"]: span["tool"] for span in spans if "tool" in span and span["tool"]["id"]}
    whole: list[JsonValue] = []
    for message in told:
        whole.append(message)
        for call in message.get("tool_calls") or ():
            tool = results.get(call.get("id"))
            if tool is not None and tool["result"] is not None and call["id"] not in answered:
                content = tool["result"] if isinstance(tool["result"], str) else dumps(tool["result"])
                answer: dict[str, JsonValue] = {"role": "tool", "tool_call_id": call["id"], "content": content}
                whole.append({**answer, "error": True} if tool["error"] else answer)
    return whole


def _overlap(told: list[JsonValue], history: list[JsonValue]) -> int:
    """Give how many messages of `history` are told already: as its beginning, or as the end of what was told."""
    common = 0
    while common < min(len(told), len(history)) and told[common] == history[common]:
        common += 1
    if common == len(told) or common == len(history):
        return common
    for length in range(min(len(told), len(history)), 0, -1):
        if told[-length:] == history[:length]:
            return length
    return 0


def _event(event: Span) -> tuple[JsonValue, bool] | None:
    """Give the message of an event, and whether it is an answer of the model."""
    name = str(event.get("name") or "")
    role = _EVENT_ROLES.get(name)
    if role is None:
        return None
    attributes = _attributes(event)
    body = event.get("body")
    fields = {**attributes, **(body if isinstance(body, dict) else {})}
    message = fields.get("message")
    fields = {**fields, **(message if isinstance(message, dict) else {})}
    one: dict[str, JsonValue] = {"role": fields.get("role") or role, "content": fields.get("content")}
    if fields.get("tool_calls"):
        one["tool_calls"] = _parsed(fields["tool_calls"])
    if role == "tool":
        one["tool_call_id"] = fields.get("id")
    return one, name == "gen_ai.choice"


def _messages(value: JsonValue) -> list[JsonValue]:
    parsed = _parsed(value)
    items = parsed if isinstance(parsed, list) else [] if parsed is None else [parsed]
    return [one for item in items if isinstance(item, dict) for one in _openai(item)]


def _openai(item: dict[str, JsonValue]) -> Iterator[JsonValue]:
    """Yield the OpenAI messages of one with parts: a message for each answer to a call, then its text and calls."""
    role = str(item.get("role") or "user")
    parts = item.get("parts")
    if not isinstance(parts, list):
        yield {key: item[key] for key in ("role", "content", "tool_calls", "tool_call_id") if key in item}
        return
    texts = [part.get("content") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    calls = [
        {"id": str(part.get("id") or ""), "name": part.get("name") or "", "arguments": part.get("arguments")}
        for part in parts
        if isinstance(part, dict) and part.get("type") == "tool_call"
    ]
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_call_response":
            result = part.get("response", part.get("result"))
            content = result if isinstance(result, str) else dumps(result)
            yield {"role": "tool", "tool_call_id": str(part.get("id") or ""), "content": content}
    text = "".join(text for text in texts if isinstance(text, str))
    if text or calls:
        yield {"role": role, "content": text or None, **({"tool_calls": calls} if calls else {})}


def _attributes(span: Span) -> dict[str, JsonValue]:
    """Give the attributes by name, from a mapping or from OTLP's list of keys and typed values."""
    found = span.get("attributes")
    if isinstance(found, dict):
        return found
    if not isinstance(found, list):
        return {}
    return {str(one.get("key")): _typed(one.get("value")) for one in found if isinstance(one, dict)}


def _typed(value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        return value
    for kind, plain in value.items():
        if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
            return plain
        if kind == "intValue":
            return int(plain)
        if kind == "arrayValue":
            return [_typed(one) for one in (plain or {}).get("values") or ()]
        if kind == "kvlistValue":
            return {str(one.get("key")): _typed(one.get("value")) for one in (plain or {}).get("values") or ()}
    return None


def _parsed(value: JsonValue) -> JsonValue:
    """Give what a JSON text holds; other values and texts that are no JSON stay as they are."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _trace(span: Span) -> str:
    context = span.get("context")
    inner = context.get("trace_id") if isinstance(context, dict) else None
    return str(span.get("traceId") or span.get("trace_id") or inner or "")


def _begun(span: Span) -> str:
    begun = str(span.get("startTimeUnixNano") or span.get("start_time") or span.get("startTime") or "")
    return begun.zfill(24) if begun.isdigit() else begun
