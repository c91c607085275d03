"""HTTP requests of one run: authorised, sent once, answers read whole, and whatever goes wrong named."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

import httpx2

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import EnvironmentFaultError, ServiceFaultError
from pytest_agentbench.core.json_values import decoded
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.remote import AuthSpec
from pytest_agentbench.core.secret_keys import hide
from pytest_agentbench.core.text import printable, raised_text, shorten
from pytest_agentbench.environment.http_client import HttpClient, failure_text, http_request, read_body, shown_url
from pytest_agentbench.environment.openapi.operations import Argument, Operation
from pytest_agentbench.environment.remote_tools import Now

_SEPARATORS = {"comma": ",", "space": " ", "pipe": "|"}


class UnfitArgumentsError(Exception):
    """Arguments that no request can be made of; the message tells the caller what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request before it is authorised: `path` is escaped, `body` None where there is none."""

    method: str
    path: str
    query: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


def request_of(operation: Operation, given: Mapping[str, Any]) -> Request:
    """Make the request of a call; raise `UnfitArgumentsError` for an unknown argument or a path without its parts.

    Nothing else is checked: what a service makes of a value that its document does not admit is the service's to say.
    """
    names = [argument.name for argument in operation.arguments]
    for name in given:
        if name not in names:
            hint = suggestion(name, names)
            takes = f"It takes: {', '.join(names) or 'no arguments'}"
            raise UnfitArgumentsError(f"unknown argument {name!r}{f' ({hint})' if hint else ''}. {takes}")
    sent = [(argument, given[argument.name]) for argument in operation.arguments if argument.name in given]
    path = operation.path
    for argument in operation.arguments:
        if argument.place == "path":
            path = _filled(path, argument, given)
    headers = {argument.key: _written(value, argument) for argument, value in sent if argument.place == "header"}
    body = _body(operation, sent)
    if body is not None:
        headers["Content-Type"] = operation.content.replace("multipart/form-data", "application/x-www-form-urlencoded")
    return Request(
        method=operation.method,
        path=path,
        query=[pair for argument, value in sent if argument.place == "query" for pair in _pairs(argument, value)],
        headers=headers,
        cookies={argument.key: _written(value, argument) for argument, value in sent if argument.place == "cookie"},
        body=body,
    )


def _filled(path: str, argument: Argument, given: Mapping[str, Any]) -> str:
    value = given.get(argument.name)
    if value is None or value == "":
        raise UnfitArgumentsError(f"the argument {argument.name!r} is missing: it is a part of the address {path!r}")
    text = quote(_written(value, argument), safe=",")
    if text in (".", ".."):  # would name another resource than the one asked for
        text = text.replace(".", "%2E")
    return path.replace(f"{{{argument.key}}}", text)


def _body(operation: Operation, sent: list[tuple[Argument, Any]]) -> bytes | None:
    whole = [value for argument, value in sent if argument.place == "whole"]
    if whole:
        is_json = "json" in operation.content or not isinstance(whole[0], str)
        return (dumps(whole[0]) if is_json else str(whole[0])).encode()
    form = [pair for argument, value in sent if argument.place == "form" for pair in _pairs(argument, value)]
    if form:
        return urlencode(form).encode()
    keys = {argument.key: value for argument, value in sent if argument.place == "body"}
    takes_json = any(argument.place == "body" for argument in operation.arguments)
    return dumps(keys).encode() if takes_json else None


def _pairs(argument: Argument, value: Any) -> Iterator[tuple[str, str]]:
    """Give the key and text of a query parameter or form field, several where lists and objects are written so."""
    if isinstance(value, list) and argument.many == "repeat":
        for item in value:
            yield argument.key, _scalar(item)
    elif isinstance(value, Mapping) and argument.many == "deep":
        for key, item in value.items():
            yield f"{argument.key}[{key}]", _scalar(item)
    elif isinstance(value, Mapping) and argument.many == "repeat" and argument.place == "query":
        for key, item in value.items():
            yield str(key), _scalar(item)
    elif value is not None:
        yield argument.key, _written(value, argument)


def _written(value: Any, argument: Argument) -> str:
    if argument.many == "json":
        return dumps(value)
    separator = _SEPARATORS.get(argument.many, ",")
    if isinstance(value, list):
        return separator.join(map(_scalar, value))
    if isinstance(value, Mapping) and argument.place != "form":
        return separator.join(f"{key}{separator}{_scalar(item)}" for key, item in value.items())
    return _scalar(value)


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else dumps(value)


_EARLY = 30.0
"""Seconds before its end from which a token is not used any more: it must outlive the request."""

Post = Callable[[str, dict[str, str], dict[str, str]], Awaitable[tuple[int, str]]]
"""Posts a form with headers to an address; gives status and text."""


@dataclass(frozen=True)
class Token:
    """An access token, and the time until which it is used; None where the server sets no end."""

    text: str
    until: float | None


class Authoriser:
    """Authorises the requests of the runs on one event loop; `secrets` are what must not be shown."""

    def __init__(self, spec: AuthSpec | None, post: Post, now: Now) -> None:
        self._spec = spec
        self._post = post
        self._now = now
        self._token: Token | None = None
        self._lock = asyncio.Lock()
        self._seen: list[str] = [spec.value] if spec and spec.value else []

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every key and token used so far."""
        return tuple(self._seen)

    @property
    def renewable(self) -> bool:
        """Whether a token that was refused can be replaced by a new one."""
        return self._spec is not None and self._spec.kind == "client_credentials"

    async def aclose(self) -> None:
        """Forget what was got."""
        self.forget()

    def forget(self) -> None:
        """Use no token got so far any more."""
        self._token = None

    async def authorise(self, request: Request) -> Request:
        """Add what the service asks for; raise `EnvironmentFaultError` where no token is given."""
        spec = self._spec
        if spec is None:
            return request
        if spec.kind == "api_key" and spec.place != "header":
            query = [*request.query, (spec.name, spec.value)] if spec.place == "query" else request.query
            cookies = {**request.cookies, spec.name: spec.value} if spec.place == "cookie" else request.cookies
            return replace(request, query=query, cookies=cookies)
        if spec.kind == "api_key":
            return replace(request, headers={**request.headers, spec.name: spec.value})
        return replace(request, headers={**request.headers, "Authorization": await self._authorization(spec)})

    async def _authorization(self, spec: AuthSpec) -> str:
        if spec.kind == "basic":
            text = base64.b64encode(f"{spec.user}:{spec.value}".encode()).decode()
            self._note(text)
            return f"Basic {text}"
        if spec.kind == "bearer":
            return f"Bearer {spec.value}"
        async with self._lock:
            token = self._token
            if token is None or (token.until is not None and self._now() >= token.until):
                token = self._token = await self._exchange(spec)
        return f"Bearer {token.text}"

    async def _exchange(self, spec: AuthSpec) -> Token:
        """Ask for a token (RFC 6749 §4.4.2); the client names itself in the header (§2.3.1)."""
        client = base64.b64encode(f"{quote(spec.user, safe='')}:{quote(spec.value, safe='')}".encode()).decode()
        self._note(client)
        form = {"grant_type": "client_credentials", **({"scope": spec.scope} if spec.scope else {})}
        status, text = await self._post(spec.token_url, form, {"Authorization": f"Basic {client}"})
        answer = decoded(text)
        given = answer.get("access_token") if isinstance(answer, dict) else None
        if status >= 400 or not isinstance(given, str) or not given:
            said = shorten(printable(hide(text, self.secrets)), 200)
            raise EnvironmentFaultError(
                f"{spec.token_url} gave no token for the client credentials: HTTP {status}: {said} "
                "(look at client_id, client_secret and scope in environment.tools.auth)"
            )
        self._note(given)
        seconds = answer.get("expires_in")
        until = self._now() + float(seconds) - _EARLY if isinstance(seconds, int | float) else None
        return Token(given, until)

    def _note(self, secret: str) -> None:
        if secret not in self._seen:
            self._seen.append(secret)


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
        self._cookies = httpx2.Cookies()
        self._client: HttpClient | None = None

    async def __aenter__(self) -> Self:
        """Open the pool of connections."""
        self._client = HttpClient(keeps_near=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def send(self, request: Request) -> Answer:
        """Send a request; raise `EnvironmentFaultError` where no whole answer comes back."""
        query = f"?{urlencode(request.query)}" if request.query else ""
        url = f"{self.base_url}{request.path}{query}"
        answer = await self._one(request.method, url, request)
        for _ in range(_HOPS):
            moved = _redirect_target(url, answer.location) if request.method in ("GET", "HEAD") else None
            if moved is None:
                break
            url = moved
            answer = await self._one(request.method, url, request)
        return answer

    async def post_form(self, url: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, str]:
        """Post a form to an address; give status and text."""
        sent = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json", **headers}
        request = Request(method="POST", path="", headers=sent, body=urlencode(form).encode())
        answer = await self._one("POST", url, request)
        return answer.status, answer.text

    async def standing(self, url: str, *, below: int) -> str:
        """Say why a server is not up, else "": nothing at an address answers, or not with a status `below` this."""
        try:
            status = (await self._one("GET", url, Request(method="GET", path=""))).status
        except EnvironmentFaultError:
            return "no answer"
        return "" if status < below else f"status {status}"

    async def _one(self, method: str, url: str, request: Request) -> Answer:
        if self._client is None:
            raise EnvironmentFaultError("the environment is closed")
        shown = shown_url(url)
        try:
            sent = http_request(
                method,
                url,
                headers={"Accept": "application/json, */*;q=0.5", **self._headers, **request.headers},
                body=request.body,
                cookies=self._cookies_of(request.cookies),
            )
            async with asyncio.timeout(self._seconds), self._client.send(sent) as response:
                self._cookies.extract_cookies(response)
                return await _read(response)
        except TimeoutError:
            raise ServiceFaultError(
                f"{method} {shown}: no answer within {self._seconds:g} s (environment.tools.seconds bounds it)"
            ) from None
        except httpx2.HTTPError as error:
            raise ServiceFaultError(f"{method} {shown}: {failure_text(error)}") from error
        except (OSError, ValueError) as error:
            raise EnvironmentFaultError(f"{method} {shown}: cannot be asked: {raised_text(error)}") from error

    def _cookies_of(self, cookies: dict[str, str]) -> httpx2.Cookies:
        """Give the cookies that the server set, and those of one request."""
        if not cookies:
            return self._cookies
        together = httpx2.Cookies(self._cookies)
        together.update(cookies)
        return together


def _redirect_target(url: str, location: str) -> str | None:
    """Give where a redirect leads; None where there is none, and where it leads to another server."""
    if not location:
        return None
    try:
        here = httpx2.URL(url)
        there = here.join(location)
    except httpx2.InvalidURL:
        return None
    return str(there) if (there.scheme, there.netloc) == (here.scheme, here.netloc) else None


async def _read(response: httpx2.Response) -> Answer:
    body = b"" if response.request.method == "HEAD" else await read_body(response, LARGEST)
    return Answer(
        status=response.status_code,
        reason=response.reason_phrase,
        text=_text(response, body),
        location=response.headers.get("Location", "") if 300 <= response.status_code < 400 else "",
    )


def _text(response: httpx2.Response, body: bytes) -> str:
    """Give a text answer as it is; any other is described."""
    media = response.headers.get("Content-Type", "application/octet-stream").partition(";")[0].strip().lower()
    if body and not media.startswith("text/") and not any(kind in media for kind in _TEXTS) and b"\0" in body[:1024]:
        return f"[{printable(media)}, {min(len(body), LARGEST)} bytes]"
    text = _decoded(body[:LARGEST], response.charset_encoding or "utf-8")
    return text if len(body) <= LARGEST else f"{text}\n[cut after {LARGEST} bytes]"


def _decoded(body: bytes, charset: str) -> str:
    """Decode by the encoding that an answer states, by UTF-8 where that is none of text."""
    try:
        return body.decode(charset, "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")
