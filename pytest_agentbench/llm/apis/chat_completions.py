"""OpenAI's chat completions, which many other servers speak: requests, answers, and the chunks of a stream."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.llm.apis.api import (
    OPENAI,
    Api,
    Home,
    Ids,
    Redact,
    bare,
    by_name,
    decided,
    dicts,
    kept,
    written,
)

IRRELEVANT = frozenset(
    {"stream", "stream_options", "user", "metadata", "store", "service_tier", "prompt_cache_key", "safety_identifier"}
)
"""Fields of OpenAI's APIs that decide how an answer is sent, billed or filed, not what it says."""

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_VOLATILE = frozenset({"id", "created", "system_fingerprint", "service_tier", "object", "timings"})
# a tuple: what a server sends may be anything, also a list, which no set can be asked for
_REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")


class ChatApi(Api):
    """Implements `Api` for `POST …/v1/chat/completions`."""

    name = "chat"
    path = "chat/completions"
    noun = "chat completion"
    items = "messages"
    known = frozenset(
        {"model", "messages", "tools", "tool_choice", "response_format", "temperature", "seed", "max_tokens"}
    )
    home: Home = OPENAI

    def deciding(self, body: Mapping[str, Any], ids: Ids) -> dict[str, JsonValue]:
        """Give what decides a completion; calls of tools are named by their positions."""
        request = decided(body, IRRELEVANT)
        if isinstance(messages := request.get("messages"), list):
            told = [bare(message) if isinstance(message, dict) else message for message in messages]
            request["messages"] = _renamed(told)
        return request

    def item(self, item: JsonValue, redact: Redact) -> JsonValue:
        """Give a message without secrets; its role stays, since a secret may be an ordinary word."""
        redacted = redact(item)
        if isinstance(item, dict) and item.get("role") in _ROLES:
            return {"role": item["role"], **{name: value for name, value in redacted.items() if name != "role"}}
        return redacted

    def reduced(self, answer: Mapping[str, Any], redact: Redact) -> dict[str, JsonValue]:
        """Give a redacted completion without ids and times. The ids of tool calls stay: an agent may repeat them."""
        given: dict[str, JsonValue] = to_json(answer)
        fields = {name: value for name, value in given.items() if name not in _VOLATILE and value is not None}

        def choices(listed: JsonValue) -> JsonValue:
            return [_reduced_choice(choice, redact) for choice in listed] if isinstance(listed, list) else None

        return kept(fields, redact, {"choices": choices})

    def restored(self, stored: Mapping[str, JsonValue], key: str) -> dict[str, JsonValue]:
        """Give the `chat.completion` of what `reduced` gave."""
        answer: dict[str, JsonValue] = {"id": f"chatcmpl-{key}", "object": "chat.completion", "created": 0, **stored}
        if isinstance(choices := stored.get("choices"), list):
            answer["choices"] = [
                {"index": index, **choice} if isinstance(choice, dict) else choice
                for index, choice in enumerate(choices)
            ]
        return answer

    def is_whole(self, answer: Mapping[str, Any]) -> bool:
        """Whether there are choices."""
        return isinstance(answer.get("choices"), list) and bool(answer["choices"])

    def with_usage(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Give the request with `stream_options` that ask for the usage, unless it asks for it itself."""
        options = body.get("stream_options")
        options = options if isinstance(options, dict) else {}
        if options.get("include_usage"):
            return None
        return {**body, "stream_options": {**options, "include_usage": True}}

    def assembly(self) -> "ChatAssembly":
        """Begin to put a streamed completion together."""
        return ChatAssembly()

    def events(self, answer: Mapping[str, Any], *, with_usage: bool) -> Iterator[bytes]:
        """Give a completion as chunks, its usage in a last chunk where it was asked for."""
        head = {key: value for key, value in answer.items() if key not in {"choices", "object", "usage"}}
        head["object"] = "chat.completion.chunk"
        for place, choice in enumerate(dicts(answer.get("choices"))):
            message = choice.get("message")
            delta = dict(message) if isinstance(message, dict) else {}
            if calls := dicts(delta.get("tool_calls")):
                delta["tool_calls"] = [{**call, "index": at} for at, call in enumerate(calls)]
            index = choice.get("index", place)
            begun = {"index": index, "delta": delta, "finish_reason": None}
            yield written({**head, "choices": [begun]}, named=False)
            ended = {"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}
            yield written({**head, "choices": [ended]}, named=False)
        if with_usage:
            yield written({**head, "choices": [], "usage": answer.get("usage")}, named=False)
        yield b"data: [DONE]\n\n"


class _Pieces(list[str]):
    """A text that comes in pieces: joined once, since adding to a long text copies it."""


class ChatAssembly:
    """Puts the chunks of a streamed answer together to the `chat.completion` that they are parts of."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self._broken = False

    def add(self, event: Mapping[str, Any], /) -> None:
        """Add one chunk."""
        if event.get("error"):
            self._broken = True
        for key, value in event.items():
            if key not in {"choices", "object"} and value is not None:
                self._head[key] = value
        for part in dicts(event.get("choices")):
            index = part.get("index")
            choice = self._choices.setdefault(index if isinstance(index, int) else 0, {"message": {}, "tools": {}})
            choice.update({key: value for key, value in part.items() if key == "finish_reason" and value})
            if isinstance(delta := part.get("delta"), dict):
                _extend(choice, delta)

    def whole(self) -> dict[str, Any] | None:
        """Give the whole completion, or None where the stream ended before it was whole."""
        is_whole = all(choice.get("finish_reason") for choice in self._choices.values())
        if self._broken or not self._choices or not is_whole:
            return None
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [_choice(*one) for one in sorted(self._choices.items())],
        }


def _renamed(messages: list[JsonValue]) -> list[JsonValue]:
    """Name each tool call by its position; a tool message answers the first unanswered call of its id."""
    names: dict[str, deque[str]] = {}
    count = 0
    renamed = []
    for message in messages:
        if not isinstance(message, dict):
            renamed.append(message)
            continue
        changed = dict(message)
        if isinstance(calls := message.get("tool_calls"), list):
            changed["tool_calls"] = []
            for call in calls:
                if isinstance(call, dict) and isinstance(call.get("id"), str):
                    count += 1
                    names.setdefault(call["id"], deque()).append(f"call-{count}")
                    changed["tool_calls"].append({**call, "id": f"call-{count}"})
                else:
                    changed["tool_calls"].append(call)
        if isinstance(answered := message.get("tool_call_id"), str):
            waiting = names.get(answered)
            changed["tool_call_id"] = waiting.popleft() if waiting else "call-unknown"
        renamed.append(changed)
    return renamed


def _reduced_choice(choice: JsonValue, redact: Redact) -> JsonValue:
    if not isinstance(choice, dict):
        return redact(choice)
    kept = redact(
        {name: item for name, item in choice.items() if name not in {"index", "message"} and item is not None}
    )
    if choice.get("finish_reason") in _REASONS:
        kept["finish_reason"] = choice["finish_reason"]
    if isinstance(message := choice.get("message"), dict):
        kept["message"] = _reduced_message(message, redact)
    elif message is not None:
        kept["message"] = redact(message)
    return by_name(kept)


def _reduced_message(message: dict[str, JsonValue], redact: Redact) -> JsonValue:
    told = {name: item for name, item in message.items() if name == "content" or (item is not None and item != [])}
    kept = redact({name: item for name, item in told.items() if name != "role"})
    return {"role": "assistant", **kept} if message.get("role") == "assistant" else redact(told)


def _extend(choice: dict[str, Any], delta: Mapping[str, Any]) -> None:
    message = choice["message"]
    for key, value in delta.items():
        if key == "tool_calls":
            _extend_calls(choice["tools"], value)
        elif isinstance(value, str) and key != "role":
            _lengthen(message, key, value)
        elif value is not None:
            message[key] = value


def _extend_calls(calls: dict[int, dict[str, Any]], deltas: object) -> None:
    for part in dicts(deltas):
        index = part.get("index")
        call = calls.setdefault(index if isinstance(index, int) else len(calls), {})
        call.update({key: value for key, value in part.items() if key not in {"index", "function"} and value})
        function = call.setdefault("function", {"name": _Pieces(), "arguments": _Pieces()})
        given = part.get("function")
        for key, value in given.items() if isinstance(given, dict) else ():
            if isinstance(value, str):
                _lengthen(function, key, value)


def _lengthen(texts: dict[str, Any], key: str, piece: str) -> None:
    if not isinstance(texts.get(key), _Pieces):
        texts[key] = _Pieces()
    texts[key].append(piece)


def _joined(texts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: "".join(value) if isinstance(value, _Pieces) else value for key, value in texts.items()}


def _choice(index: int, choice: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, **_joined(choice["message"])}
    if choice["tools"]:
        message["tool_calls"] = [
            {"type": "function", **call, "function": _joined(call["function"])}
            for _, call in sorted(choice["tools"].items())
        ]
    return {"index": index, "message": message, "finish_reason": choice["finish_reason"]}
