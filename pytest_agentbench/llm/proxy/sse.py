"""Server-sent events, cut out of the bytes of a stream."""

import json
import re
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
