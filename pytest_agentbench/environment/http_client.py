"""Requests over httpx2 that are not on the hot path: to agents behind HTTP, and to services whose operations are tools.

Transports are used without the client above them: that one writes whole addresses, queries with keys included, into
logs, and mixes the cookies of runs that share its connections.
"""

import base64
import os
import re
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache

import httpx2

from pytest_agentbench.core.proxies import Proxies
from pytest_agentbench.core.text import printable, raised_text, shorten

_USER_AGENT = "pytest-agentbench"

_KEPT = 1.0
"""Seconds for which an idle connection is kept: less than servers keep theirs, which would look like their failure."""

_DIRECT: str | None = None

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""What the name of a header is made of (RFC 9110 §5.6.2)."""

_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEPT)

_HERE = ("127.0.0.1", "::1", "localhost")
"""Hosts to which a connection takes no time."""


class HttpClient:
    """Keeps connections to any server, directly or through the environment's proxy; belongs to one event loop.

    It follows no redirect, sends nothing twice and bounds no time: `asyncio.timeout` around a request does.
    `keeps_near` False opens one for each request to this machine: servers that write head and body apart, as the
    standard library's does, answer on a kept one only once the system acknowledges the head, 40 ms later.
    """

    def __init__(self, *, keeps_near: bool = True) -> None:
        self._keeps_near = keeps_near
        # the first one imports what it rides on, which no request's time should be spent on
        self._transports = {("http", _DIRECT, True): _open_transport("http", _DIRECT, keeps=True)}
        self._proxies = Proxies()

    @asynccontextmanager
    async def send(self, request: httpx2.Request) -> AsyncIterator[httpx2.Response]:
        """Send a request and give its answer, whose body is still to be read.

        Raise `httpx2.HTTPError` where none comes, `ValueError` for an address or a proxy that is none.
        """
        response = await self._transport(request.url).handle_async_request(request)
        response.request = request
        try:
            yield response
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close all connections; closing twice is fine."""
        transports, self._transports = list(self._transports.values()), {}
        for transport in transports:
            await transport.aclose()

    def _transport(self, url: httpx2.URL) -> httpx2.AsyncHTTPTransport:
        proxy = self._proxies.of(f"{url.scheme}://{url.netloc.decode('ascii')}")
        kind = url.scheme, proxy, self._keeps_near or url.host not in _HERE
        found = self._transports.get(kind)
        if found is None:
            found = self._transports[kind] = _open_transport(url.scheme, proxy, keeps=kind[2])
        return found


def _open_transport(scheme: str, proxy: str | None, *, keeps: bool) -> httpx2.AsyncHTTPTransport:
    # HTTPS servers are trusted by what these variables name, else by the system's authorities
    trusted = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    context = _authorities(*trusted) if scheme == "https" else _plain_context()
    try:
        limits = _LIMITS if keeps else httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        return httpx2.AsyncHTTPTransport(verify=context, proxy=proxy, limits=limits)
    except ImportError as error:  # httpx2 speaks SOCKS with an extra of its own
        raise ValueError(f"the environment's proxy cannot be used: {error}") from error


def http_request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    cookies: httpx2.Cookies | None = None,
) -> httpx2.Request:
    """Give a request; user and password of its address become basic authorization, `headers` win over all defaults.

    Raise `ValueError` for an address that is none and for a header that HTTP cannot hold; the message shows no value.
    """
    address = _address(url)
    request = httpx2.Request(method, address, headers=_encoded(headers), content=body)
    if cookies and "Cookie" not in request.headers:
        cookies.set_cookie_header(request)
    if address.userinfo:
        token = base64.b64encode(f"{address.username}:{address.password}".encode()).decode()
        request.headers.setdefault("Authorization", f"Basic {token}")
    request.headers.setdefault("Accept", "*/*")
    request.headers.setdefault("Accept-Encoding", "gzip, deflate")
    request.headers.setdefault("User-Agent", _USER_AGENT)
    return request


@lru_cache(maxsize=256)  # most requests of a session go to few addresses
def _address(url: str) -> httpx2.URL:
    try:
        address = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise ValueError(f"the address is none: {printable(str(error))}") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise ValueError("the address must begin with http:// or https:// and name a host")
    return address


def is_address(url: str) -> bool:
    """Whether something can be sent to `url`."""
    try:
        return bool(_address(url))
    except ValueError:
        return False


async def read_body(response: httpx2.Response, most: int) -> bytes:
    """Read a body, and no further than the first bytes beyond `most`."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            break
    return bytes(body)


def failure_text(error: httpx2.HTTPError) -> str:
    """Say why a request got no whole answer, to be read after the name of whom it went to."""
    if (why := _tls_failure(error)) is not None:
        return f"cannot be trusted: {why}"
    if (why := _connect_failure(error)) is not None:
        return f"cannot be reached: {why} (is it running?)"
    return f"gave no whole answer: {raised_text(error)}"


def is_unconnected(error: httpx2.HTTPError) -> bool:
    """Whether no connection came about."""
    return _tls_failure(error) is not None or _connect_failure(error) is not None


def _connect_failure(error: httpx2.HTTPError) -> str | None:
    """Say why no connection came about; None where one did."""
    if isinstance(error, httpx2.ProxyError):
        return f"the proxy of the environment says {shorten(printable(str(error)), 200)}"
    if not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return None
    reasons = [cause.strerror or str(cause) for cause in _causes(error) if isinstance(cause, OSError)]
    return shorten(printable(reasons[-1] if reasons else str(error)), 200)


def _tls_failure(error: httpx2.HTTPError) -> str | None:
    """Say why a server is not trusted: it has no certificate that a known authority signed, or speaks no TLS."""
    if not isinstance(error, httpx2.ConnectError):
        return None
    found = next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLError)), None)
    return shorten(printable(f"{type(found).__name__}: {found}"), 200) if found is not None else None


@lru_cache(maxsize=256)  # nearly every answer comes from the same few
def shown_url(url: str) -> str:
    """Show an address without user, password and query, which may hold secrets."""
    try:
        bare = httpx2.URL(url).copy_with(userinfo=b"", query=None, fragment=None)
    except httpx2.InvalidURL:
        return "the address"
    return shorten(printable(str(bare)), 200)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Give an exception and what it came of, outermost first: httpcore2 keeps what it met as its argument."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        if isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
            continue
        held = found.args[0] if found.args and isinstance(found.args[0], BaseException) else None
        found = held or found.__cause__ or found.__context__


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Give headers as they are sent; of two that differ in case alone the last one wins."""
    sent: dict[str, tuple[bytes, bytes]] = {}
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not fits_header(value):
            raise ValueError(f"the header {printable(name)!r} holds a character that no header may hold")
        sent[name.lower()] = (name.encode("ascii"), value.strip().encode())
    return list(sent.values())


def fits_header(text: str) -> bool:
    """Whether a header may hold a text."""
    return not any((char < " " and char != "\t") or char == "\x7f" or "\ud800" <= char <= "\udfff" for char in text)


@lru_cache(maxsize=4)
def _authorities(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    return httpx2.create_ssl_context()  # reads both from the environment, and takes 20 ms of CPU


@lru_cache(maxsize=1)
def _plain_context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
