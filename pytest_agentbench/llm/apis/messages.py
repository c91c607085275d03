"""Anthropic's Messages: blocks in, blocks out, and a stream in which each block grows."""

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import JsonValue, decoded, to_json
from pytest_agentbench.llm.apis.api import (
    ANTHROPIC,
    Api,
    Home,
    Ids,
    Redact,
    bare,
    decided,
    dicts,
    formal,
    kept,
    written,
)

_IRRELEVANT = frozenset({"stream", "metadata", "service_tier", "cache_control"})
_VOLATILE = frozenset({"id", "type", "role", "container"})
_UNSAID = ("cache_control", "signature", "citations")
"""Members of a block of a request that decide how it is billed, prove where it comes from, or repeat other blocks."""

_WORDS = frozenset(
    {
        "text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use",
        "user", "assistant", "system", "end_turn", "max_tokens", "stop_sequence", "pause_turn", "refusal",
    }
)  # fmt: skip
_GROWING = {
    "text_delta": ("text", "text"),
    "input_json_delta": ("partial_json", "input"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}
"""What a delta brings, and the member of its block that this lengthens."""


class MessagesApi(Api):
    """Implements `Api` for `POST …/v1/messages`."""

    name = "messages"
    path = "messages"
    noun = "message"
    items = "messages"
    known = frozenset(
        {
            "model", "messages", "system", "tools", "tool_choice", "temperature", "max_tokens", "thinking",
            "stop_sequences",
        }
    )  # fmt: skip
    home: Home = ANTHROPIC

    def deciding(self, body: Mapping[str, Any], ids: Ids) -> dict[str, JsonValue]:
        """Give what decides a message: nothing about caches, no signatures, calls by position."""
        request = decided(body, _IRRELEVANT)
        for name in ("system", "tools"):
            if isinstance(listed := request.get(name), list):
                request[name] = [_uncached(one) for one in listed]
        if isinstance(messages := request.get("messages"), list):
            names: dict[str, str] = {}
            request["messages"] = [_told(message, names) for message in messages]
        return request

    def item(self, item: JsonValue, redact: Redact) -> JsonValue:
        """Give a message without secrets; its role and the types of its blocks stay."""
        return formal(item, redact, _WORDS, {"content": lambda block: _redacted(block, redact)})

    def reduced(self, answer: Mapping[str, Any], redact: Redact) -> dict[str, JsonValue]:
        """Give a redacted message without its id. The ids of calls stay, since an agent repeats them."""
        given: dict[str, JsonValue] = to_json(answer)
        fields = {name: value for name, value in given.items() if name not in _VOLATILE and value is not None}

        def content(blocks: JsonValue) -> JsonValue:
            listed = blocks if isinstance(blocks, list) else None
            return listed and [_redacted(bare(one) if isinstance(one, dict) else one, redact) for one in listed]

        def reason(value: JsonValue) -> JsonValue:
            return value if isinstance(value, str) and value in _WORDS else None

        return kept(fields, redact, {"content": content, "stop_reason": reason})

    def restored(self, stored: Mapping[str, JsonValue], key: str) -> dict[str, JsonValue]:
        """Give the `message` of what `reduced` gave."""
        form: dict[str, JsonValue] = {"id": f"msg_{key}", "type": "message", "role": "assistant", "stop_sequence": None}
        return {**form, **stored}

    def is_whole(self, answer: Mapping[str, Any]) -> bool:
        """Whether there is a content, which may be empty, and a reason for its end."""
        return isinstance(answer.get("content"), list) and isinstance(answer.get("stop_reason"), str)

    def assembly(self) -> "MessageAssembly":
        """Begin to put a streamed message together."""
        return MessageAssembly()

    def is_last(self, event: Mapping[str, Any]) -> bool:
        """Whether the message stops."""
        return event.get("type") == "message_stop"

    def events(self, answer: Mapping[str, Any], *, with_usage: bool) -> Iterator[bytes]:
        """Give a message as its events: it begins, each block grows and stops, the reason and the usage come last."""
        given = answer.get("usage")
        usage = {"input_tokens": 0, "output_tokens": 0, **(given if isinstance(given, dict) else {})}
        begun = {**answer, "content": [], "stop_reason": None, "stop_sequence": None}
        yield written({"type": "message_start", "message": {**begun, "usage": {**usage, "output_tokens": 0}}})
        for index, block in enumerate(dicts(answer.get("content"))):
            empty, deltas = _grown(block)
            yield written({"type": "content_block_start", "index": index, "content_block": empty})
            for delta in deltas:
                yield written({"type": "content_block_delta", "index": index, "delta": delta})
            yield written({"type": "content_block_stop", "index": index})
        ended = {name: answer.get(name) for name in ("stop_reason", "stop_sequence", "stop_details")}
        yield written({"type": "message_delta", "delta": bare(ended), "usage": usage})
        yield written({"type": "message_stop"})


class MessageAssembly:
    """Puts the events of a streamed message together."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._written: dict[int, dict[str, list[str]]] = {}
        self._cited: dict[int, list[Any]] = {}
        self._usage: dict[str, Any] = {}
        self._stopped = False
        self._broken = False

    def add(self, event: Mapping[str, Any], /) -> None:
        """Add one event."""
        kind = event.get("type")
        index = event.get("index")
        at = index if isinstance(index, int) else 0
        message, block, delta = (event.get(name) for name in ("message", "content_block", "delta"))
        if kind == "error" or event.get("error"):
            self._broken = True
        elif kind == "message_stop":
            self._stopped = True
        elif kind == "message_start" and isinstance(message, dict):
            self._message = message
            self._used(message)
        elif kind == "content_block_start" and isinstance(block, dict):
            self._blocks[at] = dict(block)
        elif kind == "content_block_delta" and isinstance(delta, dict):
            self._extend(at, delta)
        elif kind == "message_delta":
            self._used(event)
            if self._message is not None and isinstance(delta, dict):
                self._message = {**self._message, **delta}

    def whole(self) -> dict[str, Any] | None:
        """Give the message, or None where it did not come to its end."""
        if self._broken or self._message is None or not self._stopped:
            return None
        content = [self._block(at, block) for at, block in sorted(self._blocks.items())]
        return {**self._message, "content": content, **({"usage": self._usage} if self._usage else {})}

    def _used(self, event: Mapping[str, Any]) -> None:
        """Take counts over: they are sums of what came so far, and those that are left out stay."""
        if isinstance(usage := event.get("usage"), dict):
            self._usage.update({name: count for name, count in usage.items() if count is not None})

    def _extend(self, at: int, delta: Mapping[str, Any]) -> None:
        kind = delta.get("type")
        source, target = _GROWING.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
        if target and isinstance(piece := delta.get(source), str):
            self._written.setdefault(at, {}).setdefault(target, []).append(piece)
        elif "citation" in delta:
            self._blocks.setdefault(at, {})
            self._cited.setdefault(at, []).append(delta["citation"])

    def _block(self, at: int, block: dict[str, Any]) -> dict[str, Any]:
        grown: dict[str, Any] = {}
        for name, pieces in self._written.get(at, {}).items():
            written, begun = "".join(pieces), block.get(name)
            grown[name] = _parsed(written, begun) if name == "input" else f"{begun or ''}{written}"
        if at in self._cited:
            before = block.get("citations")
            grown["citations"] = [*(before if isinstance(before, list) else []), *self._cited[at]]
        return {**block, **grown}


def _parsed(arguments: str, otherwise: object) -> object:
    """Give what a call's arguments say; as they are where they were cut off."""
    return decoded(arguments) if arguments else otherwise


def _uncached(block: JsonValue) -> JsonValue:
    return bare(block, ("cache_control",)) if isinstance(block, dict) else block


def _told(message: JsonValue, names: dict[str, str]) -> JsonValue:
    """Give a message of a request without what decides nothing; `names` are the calls so far, by their ids."""
    if not isinstance(message, dict) or not isinstance(content := message.get("content"), list):
        return message
    return {**message, "content": [_told_block(block, names) for block in content]}


def _told_block(block: JsonValue, names: dict[str, str]) -> JsonValue:
    if not isinstance(block, dict):
        return block
    kind = block.get("type")
    told = bare(block, (*_UNSAID, "data") if kind == "redacted_thinking" else _UNSAID)
    if str(kind).endswith("tool_use") and isinstance(key := told.get("id"), str):
        told["id"] = names.setdefault(key, f"call-{len(names) + 1}")
    if isinstance(key := told.get("tool_use_id"), str):
        told["tool_use_id"] = names.get(key, "call-unknown")
    if isinstance(inner := told.get("content"), list):
        told["content"] = [_uncached(one) for one in inner]
    return told


def _redacted(block: JsonValue, redact: Redact) -> JsonValue:
    redacted = formal(block, redact, _WORDS, {"content": lambda inner: formal(inner, redact, _WORDS, {})})
    if isinstance(block, dict) and isinstance(block.get("input"), dict) and isinstance(redacted, dict):
        redacted["input"] = _played(block["input"], redact)
    return redacted


def _played(arguments: dict[str, JsonValue], redact: Redact) -> JsonValue:
    """Redact the arguments of a call as those are that come as text: an agent must be able to go on with them."""
    shown = redact({"arguments": dumps(arguments)})
    text = shown.get("arguments") if isinstance(shown, dict) else None
    return _parsed(text, {}) if isinstance(text, str) else redact(arguments)


def _grown(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Give a block as it begins, and the deltas that make it what it is."""
    empty = dict(block)
    deltas: list[dict[str, Any]] = []
    for kind, (source, target) in _GROWING.items():
        value = block.get(target)
        if target == "input" and target in block and str(block.get("type")).endswith("tool_use"):
            empty["input"] = {}
            deltas.append({"type": kind, source: value if isinstance(value, str) else dumps(value)})
        elif target != "input" and isinstance(value, str):
            empty[target] = ""
            deltas.append({"type": kind, source: value})
    if isinstance(citations := empty.pop("citations", None), list):
        deltas += [{"type": "citations_delta", "citation": one} for one in citations]
    return empty, deltas
