"""Posting to agents: one pool of connections for all runs, cookies for each run apart, and what may go wrong."""

import json
from dataclasses import dataclass

import aiohttp
import yarl

from pytest_agentbench.core.errors import AgentError
from pytest_agentbench.core.text import printable, raised_text, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.per_loop import PerLoop

MAX_BODY = 8 * 2**20
"""Bytes of an answer that are read."""

QUOTED = 300
"""Characters of an answer that an error quotes."""

_KEPT = 1.0
"""Seconds for which an idle connection is kept: less than servers keep theirs, which would look like their failure."""


class HttpConnections:
    """The connections of a session, shared by all runs of an event loop; they close with it, or with `close`."""

    def __init__(self) -> None:
        self._connectors = PerLoop(_connector, _shut)

    async def session(self, cookies: aiohttp.CookieJar) -> aiohttp.ClientSession:
        """Give a session with cookies of its own; closing it leaves the connections open."""
        connector = await self._connectors.get()
        return aiohttp.ClientSession(connector=connector, connector_owner=False, cookie_jar=cookies)

    async def close(self) -> None:
        """Close all connections; closing twice is fine."""
        await self._connectors.close()


def _connector() -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT)


async def _shut(connector: aiohttp.TCPConnector) -> None:
    await connector.close()


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

    def __init__(self, connections: HttpConnections | None, *, seconds: float) -> None:
        """Without `connections`, each request opens and closes its own."""
        self._connections = connections
        self._seconds = seconds
        self._cookies: aiohttp.CookieJar | None = None

    async def post(self, url: str, headers: dict[str, str], body: str) -> Answer:
        """Post a JSON text; raise `AgentError` for anything but a whole answer with a status of success."""
        endpoint = shown_url(url)
        try:
            async with (
                await self._session() as session,
                session.post(
                    url,
                    data=body.encode(),
                    headers={"Content-Type": "application/json", **headers},
                    timeout=aiohttp.ClientTimeout(total=self._seconds),
                    allow_redirects=False,
                ) as response,
            ):
                return await self._read(response, endpoint)
        except TimeoutError:
            raise AgentError(f"{endpoint} has not answered within {self._seconds:g} s (`seconds` bounds it)") from None
        except aiohttp.ClientSSLError as error:
            raise AgentError(f"{endpoint} cannot be trusted: {raised_text(error)}") from error
        except aiohttp.ClientConnectorError as error:
            reason = printable(error.os_error.strerror or str(error.os_error))
            raise AgentError(f"{endpoint} cannot be reached: {shorten(reason, QUOTED)} (is it running?)") from error
        except ValueError as error:  # also an address that is none: it may hold a part that the endpoint named
            raise AgentError(f"{endpoint} cannot be asked: {raised_text(error)}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise AgentError(f"{endpoint} gave no whole answer: {raised_text(error)}") from error

    async def _session(self) -> aiohttp.ClientSession:
        if self._cookies is None:
            self._cookies = aiohttp.CookieJar(unsafe=True)  # unsafe: addresses without a name have cookies too
        if self._connections is not None:
            return await self._connections.session(self._cookies)
        return aiohttp.ClientSession(cookie_jar=self._cookies)

    async def _read(self, response: aiohttp.ClientResponse, endpoint: str) -> Answer:
        succeeded = 200 <= response.status < 300
        if succeeded and response.content_type == "text/event-stream":
            raise AgentError(f"{endpoint} answers with a stream of events; let it answer as one JSON value")
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > MAX_BODY:
                raise AgentError(f"{endpoint} answered with more than {MAX_BODY} bytes: {quoted(bytes(body[:9999]))}")
        if not succeeded:
            reason = f" {printable(response.reason)}" if response.reason else ""
            moved = response.headers.get("Location")
            hint = f" (redirects are not followed; it names {shown_url(moved)})" if moved else ""
            raise AgentError(f"{endpoint} answered {response.status}{reason}: {quoted(bytes(body))}{hint}")
        return Answer(endpoint, bytes(body), is_text=response.content_type.startswith("text/"))


def is_address(url: str) -> bool:
    """Whether something can be posted to `url`."""
    try:
        address = yarl.URL(url)
        return address.scheme in {"http", "https"} and bool(address.host) and address.port is not None
    except ValueError:
        return False


def quoted(body: bytes) -> str:
    """Show the beginning of a body, safe to print."""
    text = body[: 4 * QUOTED].decode("utf-8", "backslashreplace").strip()
    return repr(shorten(printable(text), QUOTED)) if text else "(an empty body)"


def shown_url(url: str) -> str:
    """Show an address without user, password and query, which may hold secrets."""
    try:
        bare = yarl.URL(url).with_user(None).with_query(None).with_fragment(None)
    except ValueError:
        return "the endpoint"
    return shorten(printable(str(bare)), 200)
