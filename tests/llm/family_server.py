"""A server on loopback that behaves as one family of model servers does: what it refuses, ignores and answers."""

import json
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.llm.family_model import THOUGHT, Asked, Said, answer, text_of

KEY = "key-of-the-family"

LATENCY = 0.01
"""Seconds after which an answer comes: long enough for runs side by side to ask before any of them has learnt."""

RIGHTLY = {"s1": "passed", "s2": "passed", "s3": "failed broke polite"}
"""What comes of the runs where everybody plays: over the third order the agent is rude."""

UNREAD = {"s1": "passed", "s2": "passed", "s3": "passed"}
"""What comes of the runs where no judge could read them, and somebody says so."""

Dressing = Callable[[dict[str, Any], Asked, Said], None]
"""Turns a plain completion into the one that a family gives, in place."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An error, for the requests that `when` holds of; `body` is the JSON or the text, or gives it for a request."""

    when: Callable[[Asked], bool]
    body: Any
    status: int = 400
    content_type: str = "application/json"
    once: bool = False


@dataclass(frozen=True, kw_only=True)
class Family:
    """One kind of model server, and what a suite over it must come to.

    A session may waste one request for each refusal that it meets, one where the form of answers is ignored, and
    `spare` more. Where `line` is empty, every
    run must end with the right verdict. Else it may also end with one line of the report that holds these words, and
    with the keys of `cure` in `llm` it must end rightly.
    """

    name: str
    source: str
    base: str = "/v1"
    target: str = "/v1/chat/completions"
    header: str = "authorization"
    scheme: str = "Bearer "
    denial: Any = field(default_factory=lambda: error("Incorrect API key provided.", code="invalid_api_key"))
    refusals: tuple[Refusal, ...] = ()
    ignored: frozenset[str] = frozenset()
    dressings: tuple[Dressing, ...] = ()
    padding: str = ""
    spare: int = 0
    llm: dict[str, Any] = field(default_factory=dict)
    line: tuple[str, ...] = ()
    cure: dict[str, Any] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=RIGHTLY.copy)


class FamilyServer:
    """Serves a family while its `with` block runs, and keeps what it was asked."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.requests: list[Asked] = []
        self._used: set[int] = set()
        self._stopped = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        """What a suite names as its `base_url`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}{self.family.base}"

    @property
    def facts(self) -> int:
        """How many requests were bound to be wasted: on what nobody can know of a server before it is asked."""
        return len(self._used) + ("response_format" in self.family.ignored) + self.family.spare

    @property
    def overheard(self) -> list[str]:
        """The thoughts that a client sent back as words of somebody."""
        said = [text_of(message) for asked in self.requests for message in asked.messages]
        return [words for words in said if THOUGHT in words]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def respond(self, asked: Asked) -> tuple[int, str, bytes]:
        """Give status, content type and body of the answer to a request."""
        self.requests.append(asked)
        for refusal in (*_gate(self.family), *self.family.refusals):
            if refusal.when(asked) and not (refusal.once and id(refusal) in self._used):
                self._used.add(id(refusal))
                body = refusal.body(asked) if callable(refusal.body) else refusal.body
                written = body if isinstance(body, str) else json.dumps(body)
                return refusal.status, refusal.content_type, written.encode()
        made = json.dumps(_completion(self.family, asked))
        return 200, "application/json", (self.family.padding + made).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, content_type, answered = server.respond(Asked(self.path, headers, body))
                server._stopped.wait(LATENCY)
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(answered)))
                self.end_headers()
                self.wfile.write(answered)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives
                """Print nothing."""

        return Handler


def error(
    message: str, *, param: str | None = None, code: str | int | None = None, kind: str = "invalid_request_error"
) -> dict[str, Any]:
    """Give an error body in OpenAI's format."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def flat(message: str, **fields: Any) -> dict[str, Any]:
    """Give an error body whose fields stand at the top."""
    return {"object": "error", **error(message, **fields)["error"]}


def _gate(family: Family) -> tuple[Refusal, ...]:
    """Refuse who knocks at another path, or without the key."""
    nowhere = Refusal(
        when=lambda asked: asked.target != family.target,
        status=404,
        body={"error": {"code": "404", "message": "Resource not found"}},
    )
    if not family.header:
        return (nowhere,)
    stranger = Refusal(
        when=lambda asked: asked.headers.get(family.header) != family.scheme + KEY, status=401, body=family.denial
    )
    return (nowhere, stranger)


def _completion(family: Family, asked: Asked) -> dict[str, Any]:
    said = answer(asked, family.ignored)
    message: dict[str, Any] = {"role": "assistant", "content": said.content}
    if said.call is not None:
        name, arguments = said.call
        function = {"name": name, "arguments": json.dumps(arguments)}
        message["tool_calls"] = [{"id": call_id(asked), "type": "function", "function": function}]
    finish = "tool_calls" if said.call else "stop"
    made = {
        "id": f"chatcmpl-{_number(asked)}",
        "object": "chat.completion",
        "created": 0,
        "model": asked.body.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150},
    }
    for dressing in family.dressings:
        dressing(made, asked, said)
    return made


def call_id(asked: Asked) -> str:
    """Give a call's id: nine letters and digits, which every family takes."""
    return f"c{_number(asked) % 10**8:08d}"


def _number(asked: Asked) -> int:
    return zlib.crc32(json.dumps(asked.body, sort_keys=True).encode())
