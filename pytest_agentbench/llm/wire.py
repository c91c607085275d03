"""What goes over the wire, ASCII JSON out and a bounded JSON object in, and the name of the server at its end."""

import json
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.text import printable, shorten

LONGEST_REPLY = 32 * 1024 * 1024
"""Bytes of a reply that are read; a longer one is refused."""


_PLAIN = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def where(base_url: str) -> str:
    """Name a server without what its URL may hide: user, password and query."""
    address = base_url.partition("?")[0]
    scheme, slashes, rest = address.rpartition("://")
    host, slash, path = rest.partition("/")
    return shorten(printable(f"{scheme}{slashes}{host.rpartition('@')[2]}{slash}{path}"), 200)


def encode(body: dict[str, Any]) -> bytes:
    """Write `body` as ASCII JSON, lone surrogates escaped."""
    try:
        # plain JSON is the hot path: the codec's two passes over long conversations cost more than the rest of a call
        return _PLAIN.encode(body).encode("ascii")
    except (TypeError, ValueError):
        return dumps(body).encode("ascii")


def parsed(content: bytes | str) -> JsonValue:
    """Give the JSON value that something holds, None where it holds none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def decode(content: bytes, where: str) -> dict[str, Any]:
    """Read a JSON object; raise `SendError` (sending again may help) that quotes what came instead."""
    if len(content) > LONGEST_REPLY:
        raise too_long(where)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SendError(
            f"{where} answered with something that is not JSON: {excerpt(content)}", status=200, again=True, billed=True
        ) from error
    if not isinstance(value, dict):
        raise SendError(
            f"{where} answered with a JSON {_kind(value)} instead of an object: {excerpt(content)}",
            status=200,
            again=True,
            billed=True,
        )
    return value


def too_long(where: str) -> SendError:
    """Say that a reply is longer than what is read."""
    return SendError(f"{where} answered with more than {LONGEST_REPLY // 1024**2} MB", status=200, billed=True)


def excerpt(content: bytes | str, width: int = 200) -> str:
    """Quote the beginning of what a server said, safe to print."""
    start = content[: 8 * width]
    text = start.decode("utf-8", "replace") if isinstance(start, bytes) else start
    return repr(shorten(printable(text.strip()), width)) if text.strip() else "nothing"


def _kind(value: object) -> str:
    names = {list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
