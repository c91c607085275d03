"""Streamed chat completions: events out of bytes, one completion out of chunks, and chunks out of a completion."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

_DONE = "[DONE]"
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_OVERLAP = 3
"""Bytes at the end of what was searched that may be the beginning of an event's end."""


class Event(NamedTuple):
    """One event of a stream: its bytes as they came, and the JSON object of its data, if it is one."""

    raw: bytes
    data: dict[str, Any] | None = None
    done: bool = False


class Events:
    """Cuts a stream of bytes into events."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0

    def feed(self, part: bytes) -> list[Event]:
        """Give the events that `part` finishes."""
        rest = self._rest
        rest += part
        # nothing is searched or moved twice: a server may send megabytes in events of a few bytes, or in one
        ends = [found.end() for found in _END.finditer(rest, self._searched)]
        blocks = [bytes(rest[start:end]) for start, end in pairwise([0, *ends])]
        if ends:
            del rest[: ends[-1]]
        self._searched = max(len(rest) - _OVERLAP, 0)
        return [_event(block) for block in blocks]

    def rest(self) -> Event:
        """Give what stands behind the last whole event."""
        block = bytes(self._rest)
        self._rest.clear()
        self._searched = 0
        return _event(block)


class _Pieces(list[str]):
    """A text that comes in pieces: joined once, since adding to a long text copies it."""


class Assembly:
    """Puts the chunks of a streamed answer together to the `chat.completion` that they are parts of."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self._broken = False

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Add one chunk."""
        if chunk.get("error"):
            self._broken = True
        for key, value in chunk.items():
            if key not in {"choices", "object"} and value is not None:
                self._head[key] = value
        for part in _dicts(chunk.get("choices")):
            index = part.get("index")
            choice = self._choices.setdefault(index if isinstance(index, int) else 0, {"message": {}, "tools": {}})
            choice.update({key: value for key, value in part.items() if key == "finish_reason" and value})
            if isinstance(delta := part.get("delta"), dict):
                _extend(choice, delta)

    def completion(self) -> dict[str, Any] | None:
        """Give the whole answer, or None where the stream ended before it was whole."""
        whole = all(choice.get("finish_reason") for choice in self._choices.values())
        if self._broken or not self._choices or not whole:
            return None
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [_choice(*one) for one in sorted(self._choices.items())],
        }


def chunks(completion: Mapping[str, Any], *, with_usage: bool) -> Iterator[bytes]:
    """Give a completion as the events of a stream, its usage in a last chunk where it was asked for."""
    head = {key: value for key, value in completion.items() if key not in {"choices", "object", "usage"}}
    head["object"] = "chat.completion.chunk"
    for place, choice in enumerate(_dicts(completion.get("choices"))):
        message = choice.get("message")
        delta = dict(message) if isinstance(message, dict) else {}
        if calls := _dicts(delta.get("tool_calls")):
            delta["tool_calls"] = [{**call, "index": at} for at, call in enumerate(calls)]
        index = choice.get("index", place)
        yield _written({**head, "choices": [{"index": index, "delta": delta, "finish_reason": None}]})
        ended = {"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}
        yield _written({**head, "choices": [ended]})
    if with_usage:
        yield _written({**head, "choices": [], "usage": completion.get("usage")})
    yield f"data: {_DONE}\n\n".encode()


def _written(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def _event(block: bytes) -> Event:
    # split as bytes: text also splits at separators that may stand in JSON
    lines = (line for line in block.splitlines() if line.startswith(b"data:"))
    data = b"\n".join(line[5:].removeprefix(b" ") for line in lines).decode("utf-8", "replace")
    if data == _DONE:
        return Event(block, done=True)
    try:
        value = json.loads(data) if data else None
    except (ValueError, RecursionError):
        value = None
    return Event(block, value if isinstance(value, dict) else None)


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
    for part in _dicts(deltas):
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


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
