"""The scripted model server: three makers' APIs on loopback, on an event loop in a thread of its own."""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from aiohttp import web

from pytest_agentbench.testing.answers import text
from pytest_agentbench.testing.api import Api
from pytest_agentbench.testing.chat_completions import ChatApi
from pytest_agentbench.testing.fault import Fault
from pytest_agentbench.testing.gemini import GeminiApi
from pytest_agentbench.testing.messages import MessagesApi
from pytest_agentbench.testing.responses import ResponsesApi
from pytest_agentbench.testing.script import ModelRequest, Player, Script, ScriptError

_MODELS = "/v1/models"
_ANY_MODEL = "scripted"
_WHOLE = text("This is a whole answer, of which a fault sends a part.")


def _body(fault: Fault, api: Api, request: ModelRequest, identity: str) -> tuple[bytes, str]:
    """Give the whole body of a response that a fault may cut off, and its type."""
    if fault.body is not None:
        return fault.body, fault.content_type
    if fault.error is not None:
        return api.error(fault.status, fault.error), fault.content_type
    if request.stream:
        return b"".join(api.events(_WHOLE, request, identity)), "text/event-stream"
    return api.whole(_WHOLE, request, identity), "application/json"


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


async def _stream(http: web.BaseRequest, events: Iterable[bytes]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(http)
    for event in events:
        await response.write(event)
    await response.write_eof()
    return response


def _reset(http: web.BaseRequest) -> None:
    """Close the connection so that the client meets a reset, not an orderly end."""
    if http.transport is None:
        return
    connection = http.transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    http.transport.abort()


_PATIENCE = 5.0
"""Seconds within which the server's thread must start, and end."""

_GRACE = 0.05
"""Seconds that a connection has to end by itself; 0 would mean no limit to aiohttp."""

_HOST = "127.0.0.1"


class ModelServer:
    """A scripted model on loopback, served while its `with` block runs.

    It speaks OpenAI's chat completions and Responses, Anthropic's Messages and Google's generateContent; one script
    answers all of them.
    `script` is a list of answers played in order, a function from the request to an answer, or a mapping from model
    names to either. Every answer comes `latency` seconds after its request. Port 0 takes a free one.

    `requests` is every answer asked for so far, in order of arrival, `problems` what was asked that the script or the
    API has no answer to, as the client was told. `in_flight` counts the requests that wait for their answer,
    `peak_in_flight` the most that ever waited at the same time.
    """

    def __init__(self, script: Script = (), *, latency: float = 0.0, port: int = 0) -> None:
        self.requests: list[ModelRequest] = []
        self.problems: list[str] = []
        self.in_flight = self.peak_in_flight = 0
        self._player = Player(script)
        self._latency = latency
        self._openai = ChatApi()
        self._anthropic = MessagesApi()
        self._apis: tuple[Api, ...] = (self._openai, ResponsesApi(), self._anthropic, GeminiApi())
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None

    @property
    def base_url(self) -> str:
        """What a client takes as its `base_url`, whoever's it is: `http://127.0.0.1:PORT/v1`."""
        if self._thread is None:
            raise RuntimeError("the server is not running: use it in a `with` block, or call start()")
        return f"http://{_HOST}:{self._port}/v1"

    @property
    def left(self) -> int:
        """How many answers of the scripted lists were not asked for yet."""
        return self._player.left

    def play(self, script: Script) -> None:
        """Answer what comes from now on by another script."""
        self._player = Player(script)

    def start(self) -> Self:
        """Serve; give the server itself. Raise `OSError` where the port is taken."""
        if self._thread is not None:
            raise RuntimeError("the server is running already")
        self._started.clear()
        self._failure = None
        self._thread = threading.Thread(target=self._run, name="agentbench-model-server", daemon=True)
        self._thread.start()
        if not self._started.wait(_PATIENCE):
            raise RuntimeError(f"the server did not start within {_PATIENCE:g} s")
        self._raise_failure()
        return self

    def stop(self) -> None:
        """Close all connections, also those that wait for an answer; stopping twice is fine."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        thread.join(_PATIENCE)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _handle(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request, and keep what was asked."""
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        # others than OpenAI's clients append the version to their base URL, which may end in `/v1` as OpenAI's does
        path = http.path.removeprefix("/v1") if http.path.startswith("/v1/v1") else http.path
        api = next((api for api in self._apis if api.takes(path)), None)
        try:
            if api is not None and http.method == "POST":
                return await self._answer(http, api, path)
            if path == _MODELS and http.method == "GET":
                return _json(self._models())
            if api is not None or path == _MODELS:
                raise ScriptError(f"{path} does not take {http.method}", status=405, kind="method_not_allowed")
            known = f"there are POST {', '.join(api.path for api in self._apis)} and GET {_MODELS}"
            raise ScriptError(f"nothing at {http.method} {path}; {known}", status=404, kind="not_found")
        except ScriptError as error:
            self.problems.append(str(error))
            asked = api or (self._anthropic if "anthropic-version" in http.headers else self._openai)
            return _json(asked.error(error.status, error.error), error.status)
        finally:
            self.in_flight -= 1

    async def _answer(self, http: web.BaseRequest, api: Api, path: str) -> web.StreamResponse:
        received = await http.content.read()
        request = self._read(http, received, api, path)
        self.requests.append(request)
        answer = await self._player.answer(request)
        latency = self._latency if answer.latency is None else answer.latency
        if latency > 0:
            await asyncio.sleep(latency)
        identity = api.identity(received)
        if isinstance(answer, Fault):
            return await self._fail(http, answer, _body(answer, api, request, identity), request)
        if request.stream:
            return await _stream(http, api.events(answer, request, identity))
        return _json(api.whole(answer, request, identity))

    def _read(self, http: web.BaseRequest, received: bytes, api: Api, path: str) -> ModelRequest:
        try:
            body = json.loads(received)
        except (ValueError, RecursionError) as error:
            raise ScriptError(f"the body is no JSON: {error}", kind="invalid_request_error") from error
        if not isinstance(body, dict):
            raise ScriptError("the body must be a JSON object", kind="invalid_request_error")
        form = api.read(body, path)
        headers = {name.lower(): value for name, value in http.headers.items()}
        return ModelRequest(len(self.requests) + 1, body, headers, api.name, None if form is body else form)

    def _models(self) -> bytes:
        names = self._player.models or [_ANY_MODEL]
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "script"} for name in names]
        return json.dumps({"object": "list", "data": data}).encode()

    async def _fail(
        self, http: web.BaseRequest, fault: Fault, content: tuple[bytes, str], request: ModelRequest
    ) -> web.StreamResponse:
        """Send what the fault lets through, then end as it says."""
        body, content_type = content
        whole = len(body)
        body = body[: int(whole * fault.sent)]
        if fault.ending == "done":
            body += b"\n\n" if request.stream and len(body) < whole else b""  # else no reader looks at the broken event
            return web.Response(status=fault.status, headers=fault.headers, body=body, content_type=content_type)
        response = web.StreamResponse(status=fault.status, headers=fault.headers)
        if body:
            response.content_type = content_type
            response.content_length = whole
            await response.prepare(http)
            await response.write(body)
        if fault.ending == "hang":
            await asyncio.Event().wait()
        _reset(http)
        return response

    def _raise_failure(self) -> None:
        if self._failure is not None:
            self._thread = None
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - whoever starts the server is told, whatever it was
            self._failure = error
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        answering = web.Server(self._handle, handler_cancellation=True, access_log=None)
        listening = await self._loop.create_server(answering, _HOST, self._port, backlog=1024)
        self._port = listening.sockets[0].getsockname()[1]
        self._started.set()
        try:
            await self._stopping.wait()
        finally:
            listening.close()
            await answering.shutdown(_GRACE)
