"""One plain HTTP request at a time, without a client's own retries and checks."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

CHAT = "/chat/completions"


@dataclass(frozen=True)
class Response:
    """What came back; header names are in lower case."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode()

    def json(self) -> Any:
        """The body as JSON; raise `ValueError` where it is none."""
        return json.loads(self.content)


def send(
    base_url: str,
    content: str | bytes,
    *,
    path: str = CHAT,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    seconds: float = 10.0,
) -> Response:
    """Send one request; raise `OSError` or `HTTPException` where no whole answer comes within so many `seconds`."""
    parts = urlsplit(base_url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request(method, parts.path + path, content, headers or {})
        answer = connection.getresponse()
        return Response(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def ask(base_url: str, *said: str, headers: dict[str, str] | None = None, **body: Any) -> Response:
    """Ask for a completion of a conversation of user messages."""
    messages = [{"role": "user", "content": one} for one in said]
    return send(base_url, json.dumps({"model": "m", "messages": messages, **body}), headers=headers)
