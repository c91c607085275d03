"""A REST service as a source of tools: its document read, the service started or reset, calls made over HTTP."""

import time
from contextlib import AsyncExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import EnvironmentFaultError, NeverUpError, ServiceFaultError
from pytest_agentbench.core.misfit import Keys, dotted
from pytest_agentbench.core.placeholders import fill_text
from pytest_agentbench.core.remote import OpenApiSpec, is_web_address
from pytest_agentbench.core.secret_keys import hide
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolResult, ToolSpec
from pytest_agentbench.environment.http_client import shown_url
from pytest_agentbench.environment.openapi.document import Document, parse_document, read_document
from pytest_agentbench.environment.openapi.operations import Operation, operations_of
from pytest_agentbench.environment.openapi.transport import (
    Answer,
    Authoriser,
    Request,
    Sender,
    UnfitArgumentsError,
    request_of,
)
from pytest_agentbench.environment.remote_tools import Now, Opening, listed_tools, offered, turn_at
from pytest_agentbench.environment.service import NOT_THERE, Service, filled, on_clock, serve

_OUTAGES = {
    429: "is asked too often (a lower --agentbench-concurrency helps)",
    502: "is not reached by its gateway",
    503: "is out of service",
    504: "does not answer its gateway",
}
"""Statuses that tell of the service rather than of the request (RFC 9110 §15.6, RFC 6585 §4)."""

_MOVED = frozenset({301, 302, 307, 308})
"""Statuses of what was not done here (RFC 9110 §15.4); reads within the server were sent on before."""


class RestTools:
    """The operations of a service as tools, for one run (`environment.wrapped_remote.RemoteTools`)."""

    def __init__(
        self,
        operations: tuple[Operation, ...],
        specs: tuple[ToolSpec, ...],
        sender: Sender,
        authoriser: Authoriser,
        stack: AsyncExitStack,
        *,
        service: Service | None = None,
    ) -> None:
        self.specs = specs
        self._operations = {operation.spec.name: operation for operation in operations}
        self._sender = sender
        self._authoriser = authoriser
        self._stack = stack
        self._service = service

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Make a request: its body is the result, an error from status 400 on, and where a write is sent elsewhere.

        Raise `EnvironmentFaultError` where the service cannot be reached, is out of service, or refuses the key; what
        one that the suite started said last is told, too.
        """
        try:
            request = request_of(self._operations[name], arguments)
        except UnfitArgumentsError as error:
            return ToolResult(content=f"Error: {error}", error=True, wrote=False, rejected=True)
        try:
            answer = await self.send(request)
        except EnvironmentFaultError as error:
            if self._service is None:
                raise
            raise await self._service.blamed(error) from error
        text = hide(answer.text, self._authoriser.secrets)
        if answer.status in _MOVED:
            where = printable(hide(answer.location, self._authoriser.secrets)) or "another address"
            return ToolResult(content=f"HTTP {answer.status}: nothing was done here, ask {where}", error=True)
        if answer.status >= 400:
            return ToolResult(content=f"HTTP {answer.status}: {text or answer.reason}", error=True)
        return ToolResult(content=text)

    async def send(self, request: Request) -> Answer:
        """Send an authorised request, once more with a new token where the first was refused."""
        answer = await self._sender.send(await self._authoriser.authorise(request))
        if answer.status == 401 and self._authoriser.renewable:
            self._authoriser.forget()
            answer = await self._sender.send(await self._authoriser.authorise(request))
        place = f"{request.method} {shown_url(self._sender.base_url + request.path)}"
        said = shorten(printable(hide(answer.text, self._authoriser.secrets)), 200)
        if answer.status in (401, 407):
            raise ServiceFaultError(
                f"{place}: HTTP {answer.status}: the service does not accept who asks: {said or answer.reason} "
                "(look at environment.tools.auth: a key may be missing, wrong or expired)"
            )
        if answer.status in _OUTAGES:
            raise ServiceFaultError(f"{place}: HTTP {answer.status}: the service {_OUTAGES[answer.status]}: {said}")
        return answer

    async def aclose(self) -> None:
        """Close the connections, and the service where it is this run's own."""
        await self._stack.aclose()


def read_tools(spec: OpenApiSpec, opening: Opening) -> tuple[ToolSpec, ...]:
    """Give the tools of a document in a file; raise `EnvironmentFaultError` where it is not usable."""
    return _offered(spec, opening, operations_of(read_document(opening.root / spec.document), _fixed(spec)))


async def open_service(spec: OpenApiSpec, opening: Opening, now: Now = time.monotonic) -> RestTools:
    """Open a service for one run: start it, read its document; raise `EnvironmentFaultError` on the way.

    What resets it is noted in the world of the run, which does so once all of it is open.
    """
    async with AsyncExitStack() as stack:
        service = None
        if spec.service:
            started = on_clock(spec.service, opening.now)
            at = (*opening.at, "serve")
            service = await serve(started, opening.root, opening.gate, stack, at=at, own=opening.world.started)
        values = {"port": str(service.port)} if service else {}
        told = {"context": dict(opening.context), "session_id": opening.session_id}
        headers = {name: fill_text(text, told) for name, text in spec.headers.items()}
        sender = await stack.enter_async_context(Sender(headers=headers, seconds=spec.seconds))
        key = f"auth {digest(spec.auth.model_dump(mode='json'))}" if spec.auth else "no auth"
        authoriser = await opening.gate.shared.get(lambda: _authoriser(spec, now), key)
        document = await _document(spec, opening, sender, authoriser, values)
        sender.base_url = filled(spec.base_url, values).rstrip("/") or document.server()
        if not sender.base_url:
            raise EnvironmentFaultError(
                f"{document.place}: names no server; say where the service listens: environment.tools.base_url"
            )
        operations = operations_of(document, _fixed(spec))
        closing = AsyncExitStack()
        tools = RestTools(operations, _offered(spec, opening, operations), sender, authoriser, closing, service=service)
        if spec.takes_turns:
            port = service.port if service else None
            opening.world.turns.add(turn_at(sender.base_url, spec.service, port))
        if spec.reset:
            opening.world.resets.append(partial(_reset, spec, opening, tools, values))
        closing.push_async_exit(stack.pop_all())
    return tools


async def _authoriser(spec: OpenApiSpec, now: Now) -> Authoriser:
    async def post(url: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, str]:
        async with Sender(headers={}, seconds=spec.seconds) as sender:
            return await sender.post_form(url, form, headers)

    return Authoriser(spec.auth, post, now)


async def _reset(spec: OpenApiSpec, opening: Opening, tools: RestTools, values: dict[str, str]) -> None:
    """Make the request that resets the service, and where it is the agent's, as the agent would be asked."""
    method, _, path = spec.reset.partition(" ")
    request = Request(method=method.upper(), path=path.strip())
    if spec.reset_as is None:
        at: Keys = (*opening.at, "reset")
        answer = await tools.send(request)
    else:
        at = ("agent", "http", "reset")
        given = {"context": dict(opening.context), "session_id": opening.session_id, "session": None}
        told = {**given, "now": opening.now}
        headers = {name: fill_text(text, told) for name, text in spec.reset_as.headers.items()}
        async with Sender(headers=headers, seconds=spec.reset_as.seconds) as sender:
            parts = urlsplit(filled(spec.reset_as.address, values))
            sender.base_url = f"{parts.scheme}://{parts.netloc}"
            try:
                answer = await sender.send(request)
            except EnvironmentFaultError as error:
                is_of_service = isinstance(error, ServiceFaultError)
                kind = ServiceFaultError if is_of_service else EnvironmentFaultError
                raise kind(f"{dotted(at)}: {error}") from error
    if answer.status >= 400:
        said = shorten(printable(answer.text), 200)
        if answer.status in NOT_THERE:
            raise NeverUpError(f"{spec.reset} reaches nothing: HTTP {answer.status}: {said}", at=at)
        place = dotted(tuple(step for step in at if isinstance(step, str)))
        kind = ServiceFaultError if answer.status in _OUTAGES else EnvironmentFaultError
        raise kind(f"{place}: {spec.reset}: HTTP {answer.status}: {said}")


async def _document(
    spec: OpenApiSpec, opening: Opening, sender: Sender, authoriser: Authoriser, values: dict[str, str]
) -> Document:
    if not is_web_address(spec.document):
        return read_document(opening.root / spec.document)
    address = filled(spec.document, values)
    parts = urlsplit(address)
    sender.base_url = f"{parts.scheme}://{parts.netloc}"
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    answer = await sender.send(await authoriser.authorise(Request(method="GET", path=path)))
    if answer.status >= 400:
        raise EnvironmentFaultError(f"{address}: HTTP {answer.status}: there is no OpenAPI document to be had")
    return parse_document(answer.text, address, address)


def _fixed(spec: OpenApiSpec) -> frozenset[str]:
    """Give the headers and query parameters that no agent has to fill in, as `place:name`."""
    fixed = {f"header:{name.lower()}" for name in spec.headers}
    if spec.auth is not None and spec.auth.kind == "api_key":
        fixed.add(f"{spec.auth.place}:{spec.auth.name.lower()}")
    return frozenset(fixed)


def _offered(spec: OpenApiSpec, opening: Opening, operations: tuple[Operation, ...]) -> tuple[ToolSpec, ...]:
    specs = [
        opening.settled(operation.spec, operation.spec.kind, "annotation").model_copy(
            update={"requestor": opening.requestor}
        )
        for operation in operations
    ]
    listed = listed_tools(spec.tools, opening) if spec.tools else None
    return offered(specs, spec.only, listed, spec.document)
