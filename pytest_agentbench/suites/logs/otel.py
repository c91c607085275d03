"""OpenTelemetry spans with GenAI attributes, put together to conversations in a file, not in memory.

Attribute names are those of the GenAI semantic conventions (`gen_ai.input.messages`, `gen_ai.output.messages`,
`gen_ai.tool.call.*`, `gen_ai.conversation.id`), read from OTLP's JSON or from spans as SDKs print them.
"""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.json_values import JsonValue, decoded
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import result_text
from pytest_agentbench.suites.message_log import merged, tells_error
from pytest_agentbench.suites.record import read_foreign

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


@dataclass(frozen=True, kw_only=True)
class Told:
    """One conversation: what its spans say, and where the first of them stands."""

    name: str
    file: Path
    line: int
    spans: list[dict[str, JsonValue]]

    def messages(self) -> list[Message]:
        """Give the messages; raise `MalformedError` for a part that cannot be read."""
        return _conversation(self.spans)


class SpanStore:
    """Keeps spans by conversation in an SQLite file, and gives the conversations back one by one.

    `seen` counts all spans, `kept` those that say something of a conversation; `seen_in` is the last file with any.
    """

    def __init__(self, path: Path) -> None:
        self.seen = self.kept = 0
        self.seen_in = path
        self._file = sqlite3.connect(path)
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute(
            "CREATE TABLE span (id INTEGER PRIMARY KEY, talk TEXT, begun TEXT, span TEXT, file TEXT, line INTEGER)"
        )

    def taker(self, path: Path) -> Callable[[JsonValue, int], bool]:
        """Give what takes the spans of a file."""

        def take(value: JsonValue, line: int) -> bool:
            found = spans_of(value)
            for span in found or ():
                self.seen_in = path
                self._add(span, path, line)
            return found is not None

        return take

    def _add(self, span: Span, path: Path, line: int) -> None:
        """Keep what a span says of its conversation; one that says nothing of any is left out."""
        self.seen += 1
        found = _relevant(span)
        if found:
            self.kept += 1
            attributes = _attributes(span)
            talk = str(attributes.get("gen_ai.conversation.id") or _trace(span))
            row = (talk, _begun(span), dumps(found), str(path), line)
            self._file.execute("INSERT INTO span (talk, begun, span, file, line) VALUES (?, ?, ?, ?, ?)", row)

    def conversations(self) -> Iterator[Told]:
        """Yield the conversations in the order in which they began."""
        self._file.execute("CREATE INDEX talks ON span (talk, begun, id)")
        names = self._file.execute("SELECT talk FROM span GROUP BY talk ORDER BY min(begun), min(id)")
        for (name,) in names:
            rows = self._file.execute(
                "SELECT span, file, line FROM span WHERE talk = ? ORDER BY begun, id", (name,)
            ).fetchall()
            spans = [loads(text) for text, _, _ in rows]
            yield Told(name=name, file=Path(rows[0][1]), line=rows[0][2], spans=spans)

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
        told = _parsed(system)
        parts = {"parts" if isinstance(told, list) else "content": told}
        found["in"] = [{"role": "system", **parts}, *found["in"]]
    if attributes.get("gen_ai.operation.name") == "execute_tool" or "gen_ai.tool.call.arguments" in attributes:
        found["tool"] = {
            "id": str(attributes.get("gen_ai.tool.call.id") or ""),
            "name": str(attributes.get("gen_ai.tool.name") or ""),
            "arguments": _parsed(attributes.get("gen_ai.tool.call.arguments")),
            "result": attributes.get("gen_ai.tool.call.result"),
            "error": "error.type" in attributes,
        }
    return found


def _conversation(spans: list[dict[str, JsonValue]]) -> list[Message]:
    """Put the spans of a conversation together: histories grow, so only what is new in each is added."""
    told = merged(read_foreign([*span["in"], *span["out"]], tells_error=tells_error) for span in spans if "in" in span)
    answered = {message.tool_call_id for message in told if message.role == "tool"}
    results = {span["tool"]["id"]: span["tool"] for span in spans if "tool" in span and span["tool"]["id"]}
    whole: list[Message] = []
    for message in told:
        whole.append(message)
        for call in message.tool_calls:
            tool = results.get(call.id)
            if tool is not None and tool["result"] is not None and call.id not in answered:
                text = result_text(tool["result"])
                failed = tool["error"] or tells_error(text)
                whole.append(Message(role="tool", content=text, tool_call_id=call.id, error=failed))
    return whole


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
    """Give the messages of an attribute, which may be JSON; one that is no list is one message."""
    parsed = _parsed(value)
    items = parsed if isinstance(parsed, list) else [] if parsed is None else [parsed]
    return [{"role": "user", **item} if isinstance(item, dict) else item for item in items]


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
    return decoded(value) if isinstance(value, str) else value


def _trace(span: Span) -> str:
    context = span.get("context")
    inner = context.get("trace_id") if isinstance(context, dict) else None
    return str(span.get("traceId") or span.get("trace_id") or inner or "")


def _begun(span: Span) -> str:
    begun = str(span.get("startTimeUnixNano") or span.get("start_time") or span.get("startTime") or "")
    return begun.zfill(24) if begun.isdigit() else begun
