"""Posting to agents: one pool of connections for all runs, cookies for each run apart, and what may go wrong."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx2

from pytest_agentbench.agents.http.app import MAX_BODY, Apps, InProcessApp
from pytest_agentbench.core.errors import AgentError, EnvironmentFaultError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.per_loop import PerLoop
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.core.text import printable, raised_text, shorten
from pytest_agentbench.environment.http_client import (
    HttpClient,
    failure_text,
    http_request,
    is_unconnected,
    read_body,
    shown_url,
)

QUOTED = 300
"""Characters of an answer that an error quotes."""

_KEY_REFUSED = (401, 403, 407)
"""Statuses by which an endpoint says that it does not take the key of who asks (RFC 9110 §15.5)."""


_ADDRESS_REFUSED = (404, 405)
_REQUEST_REFUSED = (400, 415, 422, *_ADDRESS_REFUSED)
"""Statuses by which an endpoint says that a request is not as it must be (RFC 9110 §15.5)."""


class RequestRefusedError(AgentError):
    """An endpoint that has taken no request so far refuses one; `is_of_address` tells that it is not the body's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.is_of_address = status in _ADDRESS_REFUSED


class Sender(Protocol):
    """Sends requests, over a network or to an app in this process."""

    def send(self, request: httpx2.Request) -> AbstractAsyncContextManager[httpx2.Response]:
        """Send a request and give its answer, whose body is still to be read."""


@dataclass
class Known:
    """Which endpoints have been reached, and which have let somebody in, since the process began.

    One that never was reached is not there: nothing says that the agent is to blame. The same holds for a key that no
    request ever passed with, and for a request that was never taken.
    """

    reached: set[str] = field(default_factory=set)
    admitted: set[str] = field(default_factory=set)


class HttpConnections:
    """The connections of a session, shared by all runs of an event loop; they close with it, or with `close`."""

    def __init__(self, apps: Apps | None = None) -> None:
        """Play apps among `apps`, which are closed by whoever made them."""
        self.known = Known()
        self._apps = apps or Apps()
        self._clients = PerLoop(HttpClient.aclose)

    async def route_to(self, spec: HttpAgentSpec, root: Path) -> "HttpConnections | AppSender":
        """Give what an agent is asked through: these connections, or its app, started; raise as `Apps.started`."""
        if not spec.app:
            return self
        return AppSender(await self._apps.started(spec.app, root, factory=spec.factory), self.known)

    async def sender(self) -> Sender:
        """Give the connections of the running loop."""
        return await self._clients.get(_client)

    def shown(self, url: str) -> str:
        """Name an endpoint in messages."""
        return shown_url(url)

    async def close(self) -> None:
        """Close all connections; closing twice is fine."""
        await self._clients.close()


async def _client() -> HttpClient:
    return HttpClient()


class AppSender:
    """Sends requests to an app in this process, without a port."""

    def __init__(self, app: InProcessApp, known: Known) -> None:
        self.known = known
        self._app = app

    async def sender(self) -> Sender:
        """Give itself: an app is asked from any loop."""
        return self

    def shown(self, url: str) -> str:
        """Name the app in messages, and what of it is asked."""
        path = url.partition("://")[2].partition("/")[2].partition("?")[0]
        return f"{self._app.name} at /{shorten(printable(path), 200)}"

    @asynccontextmanager
    async def send(self, request: httpx2.Request) -> AsyncIterator[httpx2.Response]:
        """Have the app answer a request; raise `AgentError` or `ProviderError` for whatever it raises."""
        response = await self._app.request(request)
        is_cut = response.is_stream or len(response.body) > MAX_BODY
        if not response.complete and not is_cut:
            raise httpx2.RemoteProtocolError("the app's call ended before its answer was whole")
        stream = httpx2.ByteStream(bytes(response.body))
        yield httpx2.Response(response.status, headers=response.headers, stream=stream, request=request)


@dataclass(frozen=True)
class Answer:
    """The body of a successful answer, and what the endpoint is called in messages."""

    endpoint: str
    body: bytes
    is_text: bool = False

    def value(self, *, text_too: bool = False) -> JsonValue:
        """Decode the JSON; raise `AgentError` where it is none, unless `text_too` admits any text."""
        text = self.body.decode("utf-8", "backslashreplace") if text_too else None
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            if text is not None:
                return text
            raise AgentError(f"{self.endpoint} answered with something that is no JSON: {quoted(self.body)}") from None
        # plain text may look like a number
        return text if text is not None and self.is_text and not isinstance(value, str) else value


class Poster:
    """Posts the turns of one run to one address; keeps that run's cookies, and never sends anything twice."""

    def __init__(self, route: HttpConnections | AppSender, *, seconds: float) -> None:
        """Post over connections or to an app; `seconds` bounds each request as a whole."""
        self._route = route
        self._seconds = seconds
        self._cookies = httpx2.Cookies()

    async def post(self, url: str, headers: dict[str, str], body: str) -> Answer:
        """Post a JSON text; raise `AgentError` for anything but a whole answer with a status of success.

        Raise `EnvironmentFaultError` where the endpoint has never been reached, or refuses a key that it never took.
        """
        endpoint, known, origin = self._route.shown(url), self._route.known, origin_of(self._route, url)
        sent = {"Content-Type": "application/json", **headers}
        try:
            request = http_request("POST", url, headers=sent, body=body.encode(), cookies=self._cookies)
            sender = await self._route.sender()
            async with asyncio.timeout(self._seconds), sender.send(request) as response:
                known.reached.add(origin)
                if response.status_code in _KEY_REFUSED and origin not in known.admitted:
                    raise EnvironmentFaultError(await _refused(response, endpoint))
                self._cookies.extract_cookies(response)
                if response.status_code in _REQUEST_REFUSED and origin not in known.admitted:
                    said = answered(response, endpoint, await read_body(response, MAX_BODY))
                    raise RequestRefusedError(response.status_code, said)
                answer = await _read(response, endpoint)
                known.admitted.add(origin)
                return answer
        except TimeoutError:
            raise AgentError(f"{endpoint} has not answered within {self._seconds:g} s (`seconds` bounds it)") from None
        except httpx2.HTTPError as error:
            if is_unconnected(error) and origin not in known.reached:
                raise EnvironmentFaultError(f"{endpoint} {failure_text(error)}") from error
            known.reached.add(origin)
            raise AgentError(f"{endpoint} {failure_text(error)}") from error
        except (OSError, ValueError) as error:  # also an address that is none: it may hold a part the endpoint named
            raise AgentError(f"{endpoint} cannot be asked: {raised_text(error)}") from error


def origin_of(route: HttpConnections | AppSender, url: str) -> str:
    """Name the server of an address, or the app, whatever path of it is asked."""
    return route.shown(str(httpx2.URL(url).copy_with(path="/", query=None, fragment=None)))


def answered(response: httpx2.Response, endpoint: str, body: bytes) -> str:
    """Say with what status an endpoint answered, and the beginning of its words."""
    reason = f" {printable(response.reason_phrase)}" if response.reason_phrase else ""
    return f"{endpoint} answered {response.status_code}{reason}: {quoted(body)}"


async def _refused(response: httpx2.Response, endpoint: str) -> str:
    body = quoted(await read_body(response, MAX_BODY))
    return (
        f"{endpoint} answered {response.status_code}: {body}; it has let nobody in so far "
        "(look at agent.http.headers: a key may be missing, wrong or expired)"
    )


async def _read(response: httpx2.Response, endpoint: str) -> Answer:
    media = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if response.is_success and media == "text/event-stream":
        raise AgentError(f"{endpoint} answers with a stream of events; let it answer as one JSON value")
    body = await read_body(response, MAX_BODY)
    if len(body) > MAX_BODY:
        raise AgentError(f"{endpoint} answered with more than {MAX_BODY} bytes: {quoted(body)}")
    if not response.is_success:
        moved = response.headers.get("Location")
        hint = f" (redirects are not followed; it names {shown_url(moved)})" if moved else ""
        raise AgentError(f"{answered(response, endpoint, body)}{hint}")
    return Answer(endpoint, body, is_text=media.startswith("text/"))


def quoted(body: bytes) -> str:
    """Show the beginning of a body, safe to print."""
    text = body[: 4 * QUOTED].decode("utf-8", "backslashreplace").strip()
    return repr(shorten(printable(text), QUOTED)) if text else "(an empty body)"
