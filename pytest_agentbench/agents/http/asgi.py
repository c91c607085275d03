"""One request to an ASGI app in this process: what it is told, and what it answers (asgi.readthedocs.io, HTTP 2.3)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

VERSION = {"version": "3.0", "spec_version": "2.3"}

_AFTERWARDS = 1.0
"""Seconds for which work that an app goes on with after its answer, such as background tasks, is waited for."""


@dataclass(frozen=True, kw_only=True)
class AppRequest:
    """A request, as an app is told it; at most `max_body` bytes of its answer are kept."""

    method: str
    scheme: str
    host: str
    port: int
    raw_path: bytes
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    max_body: int

    def scope(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Give the connection scope; `state` is what the lifespan left."""
        return {
            "type": "http",
            "asgi": VERSION,
            "http_version": "1.1",
            "method": self.method,
            "scheme": self.scheme,
            "path": self.path,
            "raw_path": self.raw_path,
            "query_string": self.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in self.headers],
            "client": ("127.0.0.1", 0),
            "server": (self.host, self.port),
            "state": dict(state),
        }


@dataclass
class AppResponse:
    """What an app answered; `complete` is whether it said that nothing follows, `raised` what it raised beside it."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False
    raised: BaseException | None = None

    @property
    def is_stream(self) -> bool:
        """Whether it answers with a stream of events, which may never end."""
        found = (bytes(value) for name, value in self.headers if bytes(name).lower() == b"content-type")
        return next(found, b"").partition(b";")[0].strip().lower() == b"text/event-stream"


async def call_app(app: App, request: AppRequest, state: Mapping[str, Any]) -> AppResponse:
    """Give an app's answer once its call has ended, so that what it does in the background is done as well.

    A stream of events, and what is larger than is kept, ends the call early. Whatever the app raises, exits included,
    is kept in the answer. Being cancelled cancels the app.
    """
    exchange = _Exchange(request)
    running = asyncio.ensure_future(_guarded(app, request.scope(state), exchange))
    try:
        either: set[asyncio.Future[Any]] = {running, exchange.closed}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if exchange.response.complete and not running.done():
            await asyncio.wait({running}, timeout=_AFTERWARDS)
    except BaseException:
        running.cancel()
        raise
    if not running.done():
        _background.add(running)
        running.add_done_callback(_background.discard)
        if not exchange.response.complete:
            running.cancel()
    return exchange.finished(running)


_background: "set[asyncio.Future[BaseException | None]]" = set()
"""Calls of apps that go on after their answers: a loop by itself holds its tasks weakly."""


class _Exchange:
    def __init__(self, request: AppRequest) -> None:
        self.response = AppResponse()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request
        self._body_sent = False

    async def receive(self) -> Message:
        if not self._body_sent:
            self._body_sent = True
            return {"type": "http.request", "body": self._request.body, "more_body": False}
        await asyncio.shield(self.closed)  # an app may cancel its wait for the client to go
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        response = self.response
        if message["type"] == "http.response.start":
            response.status, response.headers = message["status"], list(message.get("headers", ()))
            if response.is_stream:
                self._end()
        elif message["type"] == "http.response.body" and not self.closed.done():
            response.body += message.get("body", b"")
            if len(response.body) > self._request.max_body:
                self._end()
            elif not message.get("more_body", False):
                response.complete = True
                self._end()

    def finished(self, running: "asyncio.Future[BaseException | None]") -> AppResponse:
        """Give what was answered; what the app raised after it was told to end is not held against it."""
        if running.done() and (self.response.complete or not self.closed.done()):
            self.response.raised = asyncio.CancelledError() if running.cancelled() else running.result()
        return self.response

    def _end(self) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


async def _guarded(app: App, scope: dict[str, Any], exchange: _Exchange) -> BaseException | None:
    """Give what an app raises as a value: an exit would end the loop that all its requests share."""
    try:
        await app(scope, exchange.receive, exchange.send)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is this request's
        return error
    return None
