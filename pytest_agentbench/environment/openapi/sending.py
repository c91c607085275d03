"""HTTP requests of one run: sent once, answers read whole, and whatever keeps a service from answering named."""

from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

import aiohttp
import yarl

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.text import printable, raised_text, shorten
from pytest_agentbench.environment.openapi.request import Request

LARGEST = 8 * 2**20
"""Bytes of an answer that are read; a larger one is cut, which its text says."""

_HOPS = 5
"""Redirects that are followed, within one server."""

_TEXTS = ("json", "xml", "yaml", "javascript", "x-www-form-urlencoded")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a service answered; `reason` is the words of the status."""

    status: int
    reason: str
    text: str
    location: str = ""


class Sender:
    """Sends requests to the server at `base_url`; keeps cookies for itself, and sends nothing twice."""

    def __init__(self, *, headers: dict[str, str], seconds: float) -> None:
        self.base_url = ""
        self._headers = headers
        self._seconds = seconds
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the pool of connections."""
        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.CookieJar(unsafe=True),  # unsafe: addresses without a name have cookies too
            timeout=aiohttp.ClientTimeout(total=self._seconds),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        if self._session is not None:
            await self._session.close()

    async def send(self, request: Request) -> Answer:
        """Send a request; raise `EnvironmentFaultError` where no whole answer comes back."""
        query = f"?{urlencode(request.query)}" if request.query else ""
        url = f"{self.base_url}{request.path}{query}"
        answer = await self._one(request.method, url, request)
        for _ in range(_HOPS):
            moved = yarl.URL(url).join(yarl.URL(answer.location)) if answer.location else None
            if moved is None or request.method not in ("GET", "HEAD") or moved.origin() != yarl.URL(url).origin():
                break
            url = str(moved)
            answer = await self._one(request.method, url, request)
        return answer

    async def post_form(self, url: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, str]:
        """Post a form to an address; give status and text."""
        sent = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json", **headers}
        request = Request(method="POST", path="", headers=sent, body=urlencode(form).encode())
        answer = await self._one("POST", url, request)
        return answer.status, answer.text

    async def is_up(self, url: str) -> bool:
        """Whether a server answers at an address, whatever it answers short of being out of service."""
        try:
            return (await self._one("GET", url, Request(method="GET", path=""))).status < 502
        except EnvironmentFaultError:
            return False

    async def _one(self, method: str, url: str, request: Request) -> Answer:
        if self._session is None:
            raise EnvironmentFaultError("the environment is closed")
        shown = printable(url.partition("?")[0])  # the query may hold a key
        try:
            async with self._session.request(
                method,
                yarl.URL(url, encoded=True),
                headers={"Accept": "application/json, */*;q=0.5", **self._headers, **request.headers},
                cookies=request.cookies,
                data=request.body,
                allow_redirects=False,
            ) as response:
                return await _read(response)
        except TimeoutError:
            raise EnvironmentFaultError(
                f"{method} {shown}: no answer within {self._seconds:g} s (environment.tools.seconds bounds it)"
            ) from None
        except aiohttp.ClientConnectorError as error:
            reason = shorten(printable(error.os_error.strerror or str(error.os_error)), 200)
            raise EnvironmentFaultError(
                f"{method} {shown}: cannot be reached: {reason} (is the service up?)"
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise EnvironmentFaultError(f"{method} {shown}: gave no whole answer: {raised_text(error)}") from error


async def _read(response: aiohttp.ClientResponse) -> Answer:
    body = await response.content.read(LARGEST + 1) if response.method != "HEAD" else b""
    while len(body) <= LARGEST and not response.content.at_eof():
        more = await response.content.read(LARGEST + 1 - len(body))
        if not more:
            break
        body += more
    return Answer(
        status=response.status,
        reason=response.reason or "",
        text=_text(response, body),
        location=response.headers.get("Location", "") if 300 <= response.status < 400 else "",
    )


def _text(response: aiohttp.ClientResponse, body: bytes) -> str:
    """Give a text answer as it is; any other is described."""
    media = response.content_type.lower()
    if body and not media.startswith("text/") and not any(kind in media for kind in _TEXTS) and b"\0" in body[:1024]:
        return f"[{media}, {len(body)} bytes]"
    text = body[:LARGEST].decode(response.charset or "utf-8", "replace")
    return text if len(body) <= LARGEST else f"{text}\n[cut after {LARGEST} bytes]"
