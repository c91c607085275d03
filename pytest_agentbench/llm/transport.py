"""Sending a model's request over aiohttp or through the `openai` client, and what it means where no answer comes."""

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from pytest_agentbench.core.errors import SendError, causes
from pytest_agentbench.core.per_loop import PerLoop
from pytest_agentbench.core.proxies import http_proxy, is_loopback, proxy_for
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.http_errors import LISTING, hidden, listed, understood
from pytest_agentbench.llm.wire import LONGEST_REPLY, encode, too_long, where

if TYPE_CHECKING:
    from openai import AsyncOpenAI


# the names of the classes of httpx and httpx2, of which either may be what the openai client rides on
_UNREACHED = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
_TIMED_OUT = frozenset({"APITimeoutError", "TimeoutException"})
_BROKEN = frozenset({"APIConnectionError", "TransportError", "StreamError"})


def connection_error(error: BaseException, *, where: str, seconds: float) -> SendError:
    """Turn what a client raised, or what caused that, into a `SendError`; an error of another kind is not sent again.

    The innermost cause that is known decides: clients on top of aiohttp name lost connections timeouts.
    """
    found = None
    for cause in causes(error):
        found = _read(cause, where, seconds) or found
    return found or SendError(f"{where} cannot be asked: {_told(error)}")


def _read(error: BaseException, where: str, seconds: float) -> SendError | None:
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) or names & _UNREACHED:
        return SendError(f"{where} cannot be reached: {_told(error)}", again=True)
    if isinstance(error, TimeoutError) or names & _TIMED_OUT:
        return SendError(f"{where} did not answer within {seconds:g} s", again=True, billed=True)
    if isinstance(error, aiohttp.ClientPayloadError):
        return SendError(f"{where} broke the connection off in the middle of its answer", again=True, billed=True)
    if isinstance(error, aiohttp.ClientConnectionError) or names & _BROKEN:
        return SendError(f"{where} broke the connection off: {_told(error)}", again=True, billed=True)
    return None


def _told(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):  # its own text is about the client's settings
        error = getattr(error, "os_error", error)
    return shorten(printable(str(error) or type(error).__name__), 200)


_KEPT_ALIVE = 4.0
"""Seconds that an idle connection is kept: less than the 5 s after which common servers close theirs."""

_CONNECTING = 20.0
"""Seconds within which a server must accept a connection."""


class Connections(PerLoop[aiohttp.ClientSession]):
    """Connections to all servers, pooled; one pool for each event loop."""

    def __init__(self) -> None:
        super().__init__(aiohttp.ClientSession.close)

    async def session(self) -> aiohttp.ClientSession:
        """Give the pool of the running loop."""
        return await self.get(_open)


class _HttpTransport:
    """What both ways to post a chat completion share; `wall` gives Unix time.

    The key goes into `key_header`, as a bearer's into `Authorization`; an empty one is not sent. `headers` win over
    what is sent by default. Raise `SendError` for what is no URL, and for a header that HTTP cannot hold.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        seconds: float,
        key_header: str = "Authorization",
        headers: Mapping[str, str] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._url = endpoint(base_url)
        self._where = where(base_url)
        self._headers = CIMultiDict({"Content-Type": "application/json"})
        if key:
            self._headers[key_header] = f"Bearer {key}" if key_header == "Authorization" else key
        self._headers.update(headers or {})
        for name, value in self._headers.items():
            if not (name + value).isprintable() or not (name + value).isascii():
                what = f"header {name!r} holds a line break, or what is not ASCII"
                raise SendError(f"{self._where} cannot be asked: {what}")
        self._secrets = (key, *(headers or {}).values())
        self._seconds = seconds
        self._wall = wall

    def _failed(self, error: Exception) -> SendError:
        return hidden(connection_error(error, where=self._where, seconds=self._seconds), self._secrets)

    def _understood(self, status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
        known = {name.lower(): value for name, value in headers.items()}
        secrets = self._secrets
        return understood(status, known, content, where=self._where, wall=self._wall(), secrets=secrets)


class DirectTransport(_HttpTransport):
    """Posts to `{base_url}/chat/completions` over `shared` connections; None means its own."""

    def __init__(self, base_url: str, key: str, *, shared: Connections | None = None, **how: Any) -> None:
        super().__init__(base_url, key, **how)
        self._listing = endpoint(base_url, "models")
        for name, value in (("Accept", "application/json"), ("User-Agent", "pytest-agentbench")):
            self._headers.setdefault(name, value)
        self._timeout = aiohttp.ClientTimeout(total=self._seconds, sock_connect=min(self._seconds, _CONNECTING))
        self._owns = shared is None
        self._connections = shared or Connections()
        try:
            self._proxy = http_proxy(proxy_for(str(self._url)))
        except ValueError as error:
            raise SendError(f"{self._where} cannot be asked: {error}") from error

    async def send(self, body: dict[str, Any]) -> dict[str, Any]:
        """Post once and give the decoded JSON object; raise `SendError` for anything else."""
        session = await self._connections.session()
        try:
            async with session.post(
                self._url,
                data=encode(body),
                headers=self._headers,
                timeout=self._timeout,
                proxy=self._proxy,
                allow_redirects=False,  # the key is for this server alone
            ) as response:
                content = await read_bounded(response, self._where)
                status, headers = response.status, response.headers
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: a header that HTTP cannot hold
            raise self._failed(error) from error
        return self._understood(status, headers, content)

    async def models(self) -> tuple[str, ...]:
        """Give the names of the models that the server lists; () where it lists none."""
        session = await self._connections.session()
        timeout = aiohttp.ClientTimeout(total=min(self._seconds, LISTING))
        try:
            async with session.get(
                self._listing, headers=self._headers, timeout=timeout, proxy=self._proxy, allow_redirects=False
            ) as response:
                content = await read_bounded(response, self._where)
        except (aiohttp.ClientError, OSError, ValueError, SendError):
            return ()
        return listed(content, self._secrets) if response.status == 200 else ()

    async def close(self) -> None:
        """Close its own connections; closing twice is fine."""
        if self._owns:
            await self._connections.close()


def endpoint(base_url: str, path: str = "chat/completions") -> URL:
    """Give the URL of an API's path; a query in `base_url` (`?api-version=…`) is kept. Raise `SendError` for no URL."""
    try:
        base = URL(base_url)
        if base.scheme not in {"http", "https"} or not base.host:
            raise ValueError("it must begin with http:// or https:// and name a host")
        whole = f"{base.raw_path.rstrip('/')}/{path}"
        return base.with_path(whole, encoded=True).with_query(base.query)
    except (ValueError, TypeError) as error:
        raise SendError(f"base_url {where(base_url)} is no URL: {printable(str(error))}") from error


async def _open() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        # how many calls are in flight is the limiter's affair
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_ALIVE),
        # answers of one run must not mark the requests of another
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def read_bounded(response: aiohttp.ClientResponse, place: str) -> bytes:
    """Read an answer; raise `SendError` naming `place` for one of more than 32 MB."""
    if (response.content_length or 0) > LONGEST_REPLY:
        raise too_long(place)
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > LONGEST_REPLY:
            raise too_long(place)
        parts.append(part)
    return b"".join(parts)


class OpenAITransport(_HttpTransport):
    """Posts through `openai.AsyncOpenAI`, one client for each event loop, its own retries off.

    Proxies and certificates are taken from the environment as the client does, for a loopback address none at all. The
    size of a reply is checked once it is read.
    """

    def __init__(self, base_url: str, key: str, **how: Any) -> None:
        super().__init__(base_url, key, **how)
        self._base_url = base_url
        self._clients: PerLoop[AsyncOpenAI] = PerLoop(lambda client: client.close())

    async def send(self, body: dict[str, Any]) -> dict[str, Any]:
        """Post once and give the decoded JSON object; raise `SendError` for anything else."""
        import openai  # noqa: PLC0415 - it takes 0.6 s, and few need it

        try:
            proxy_for(self._base_url)  # its client raises what it likes where the environment names no proxy's address
            client = await self._clients.get(self._open)
        except (ImportError, ValueError) as error:  # it speaks SOCKS with a package that may be missing
            raise SendError(f"{self._where} cannot be asked: {printable(str(error))}") from error
        try:
            async with asyncio.timeout(self._seconds):  # the client's own bounds each read, not the whole
                content = await self._post(client, encode(body))
        except openai.APIStatusError as error:
            response = error.response
            return self._understood(response.status_code, response.headers, response.content)
        except (openai.OpenAIError, OSError, ValueError) as error:  # what a transport raises is not always wrapped
            raise self._failed(error) from error
        return self._understood(200, {}, content)

    async def models(self) -> tuple[str, ...]:
        """Give the names of the models that the server lists; () where it lists none."""
        import openai  # noqa: PLC0415 - as above

        client = await self._clients.get(self._open)
        try:
            async with asyncio.timeout(min(self._seconds, LISTING)):
                content: bytes = await client.get("/models", cast_to=bytes, options={"headers": self._sent_headers()})
        except (openai.OpenAIError, OSError, ValueError):
            return ()
        return listed(content, self._secrets)

    async def close(self) -> None:
        """Close connections; closing twice is fine."""
        await self._clients.close()

    async def _open(self) -> "AsyncOpenAI":
        import openai  # noqa: PLC0415 - it takes 0.6 s, and few need it

        return openai.AsyncOpenAI(
            api_key="none",  # the key is sent as a header of ours
            base_url=self._base_url,
            max_retries=0,
            timeout=self._seconds,
            http_client=_http_client(trust_env=not is_loopback(self._url.host or "")),
        )

    async def _post(self, client: "AsyncOpenAI", content: bytes) -> bytes:
        # bytes of our own: the client's JSON is UTF-8, which cannot hold lone surrogates; older ones take them as body
        given = "content" if "content" in inspect.signature(client.post).parameters else "body"
        sent: dict[str, Any] = {given: content}
        options: Any = {"headers": self._sent_headers()}
        received: bytes = await client.post("/chat/completions", cast_to=bytes, options=options, **sent)
        return received

    def _sent_headers(self) -> dict[str, Any]:
        from openai import Omit  # noqa: PLC0415 - as above

        return {**({} if "Authorization" in self._headers else {"Authorization": Omit()}), **self._headers}


def _http_client(*, trust_env: bool) -> Any:
    """Give the client's own aiohttp transport, or its default one where openai 2 lacks its extra `aiohttp`.

    What a call takes over either is in docs/research/performance.md. Neither follows a redirect: the key is for this
    server alone, and one in a header of its own would go along.
    """
    from openai import DefaultAioHttpClient, DefaultAsyncHttpxClient  # noqa: PLC0415 - as above

    try:
        return DefaultAioHttpClient(trust_env=trust_env, follow_redirects=False)
    except RuntimeError:
        return DefaultAsyncHttpxClient(trust_env=trust_env, follow_redirects=False)
