"""The HTTP side of the scripted model: paths, bodies and errors of the API, and responses that go wrong on purpose."""

import asyncio
import json
import socket
import struct
from collections.abc import Iterable

from aiohttp import web

from pytest_agentbench.testing.answers import text
from pytest_agentbench.testing.completion import chunks, completion, identity_of
from pytest_agentbench.testing.fault import Fault, error_body
from pytest_agentbench.testing.request import ModelRequest
from pytest_agentbench.testing.script import Player, ScriptError

_CHAT = "/v1/chat/completions"
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

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            if http.path == _CHAT and http.method == "POST":
                return await self._chat(http)
            if http.path == _MODELS and http.method == "GET":
                return _json(self._models())
            if http.path in {_CHAT, _MODELS}:
                raise ScriptError(f"{http.path} does not take {http.method}", status=405, kind="method_not_allowed")
            known = f"there are POST {_CHAT} and GET {_MODELS}"
            raise ScriptError(f"nothing at {http.method} {http.path}; {known}", status=404, kind="not_found")
        except ScriptError as error:
            self.problems.append(str(error))
            return _json(error_body(error.status, str(error), error.kind), error.status)
        finally:
            self.in_flight -= 1

    async def _chat(self, http: web.BaseRequest) -> web.StreamResponse:
        received = await http.content.read()
        request = self._read(http, received)
        self.requests.append(request)
        answer = await self.player.answer(request)
        latency = self.latency if answer.latency is None else answer.latency
        if latency > 0:
            await asyncio.sleep(latency)
        identity = identity_of(received)
        if isinstance(answer, Fault):
            return await self._fail(http, answer, request, identity)
        if request.stream:
            return await _stream(http, chunks(answer, request, identity))
        return _json(completion(answer, request, identity))

    def _read(self, http: web.BaseRequest, received: bytes) -> ModelRequest:
        try:
            body = json.loads(received)
        except (ValueError, RecursionError) as error:
            raise ScriptError(f"the body is no JSON: {error}", kind="invalid_request_error") from error
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            message = "the body must be a JSON object with a list of messages"
            raise ScriptError(message, kind="invalid_request_error")
        if not all(isinstance(message, dict) for message in body["messages"]):
            raise ScriptError("every message must be a JSON object", kind="invalid_request_error")
        headers = {name.lower(): value for name, value in http.headers.items()}
        return ModelRequest(len(self.requests) + 1, body, headers)

    def _models(self) -> bytes:
        names = self.player.models or [_ANY_MODEL]
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "script"} for name in names]
        return json.dumps({"object": "list", "data": data}).encode()

    async def _fail(
        self, http: web.BaseRequest, fault: Fault, request: ModelRequest, identity: str
    ) -> web.StreamResponse:
        """Send what the fault lets through, then end as it says."""
        body, content_type = _body(fault, request, identity)
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


def _body(fault: Fault, request: ModelRequest, identity: str) -> tuple[bytes, str]:
    if fault.body is not None:
        return fault.body, fault.content_type
    if request.stream:
        return b"".join(chunks(_WHOLE, request, identity)), "text/event-stream"
    return completion(_WHOLE, request, identity), "application/json"


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
