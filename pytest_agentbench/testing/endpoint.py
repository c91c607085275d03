"""The HTTP side of the scripted model: paths, bodies and errors of its APIs, and responses that go wrong on purpose."""

import asyncio
import json
import socket
import struct
from collections.abc import Iterable

from aiohttp import web

from pytest_agentbench.testing.answers import text
from pytest_agentbench.testing.api import Api
from pytest_agentbench.testing.chat_completions import ChatApi
from pytest_agentbench.testing.fault import Fault
from pytest_agentbench.testing.gemini import GeminiApi
from pytest_agentbench.testing.messages import MessagesApi
from pytest_agentbench.testing.responses import ResponsesApi
from pytest_agentbench.testing.script import ModelRequest, Player, ScriptError

_MODELS = "/v1/models"
_ANY_MODEL = "scripted"
_WHOLE = text("This is a whole answer, of which a fault sends a part.")


class Endpoint:
    """Answers HTTP requests from a script, and keeps what was asked."""

    def __init__(self, player: Player, latency: float) -> None:
        self.player = player
        self.latency = latency
        self.requests: list[ModelRequest] = []
        self.problems: list[str] = []
        self.in_flight = 0
        self.peak_in_flight = 0
        self._openai = ChatApi()
        self._anthropic = MessagesApi()
        self._apis: tuple[Api, ...] = (self._openai, ResponsesApi(), self._anthropic, GeminiApi())

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
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
        answer = await self.player.answer(request)
        latency = self.latency if answer.latency is None else answer.latency
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
        names = self.player.models or [_ANY_MODEL]
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
