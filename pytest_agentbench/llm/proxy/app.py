"""The proxy's requests: recorded answer, else budget, model server, settlement and recording."""

import asyncio
import contextlib
import io
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from pytest_agentbench.core.errors import AgentBenchError, CassetteMissError, NotRunError, SendError
from pytest_agentbench.core.proxies import Proxies, http_proxy
from pytest_agentbench.core.text import printable
from pytest_agentbench.llm.apis.api import ANTHROPIC, OPENAI, Api
from pytest_agentbench.llm.apis.registry import api_at
from pytest_agentbench.llm.http_errors import refused_field
from pytest_agentbench.llm.ledger import SetAside, Sleep
from pytest_agentbench.llm.prices import worst_case
from pytest_agentbench.llm.protocols import Budget
from pytest_agentbench.llm.proxy.relay import ClientGoneError, Exchange, Line, Stream
from pytest_agentbench.llm.transport import read_bounded
from pytest_agentbench.llm.wire import LONGEST_REPLY, encode, parsed

_LARGEST = 256 * 1024 * 1024
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30.0)
_TOO_LONG = f"answered with more than {LONGEST_REPLY // 1024**2} MB"
_FREE = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_ANTHROPICS = "anthropic-version"
"""The header by which Anthropic's clients say, whatever they ask, whose they are."""

FindLine = Callable[[str | None], Line | None]
"""Gives the line of a run's id (None: the session's), or None where there is none."""


class Endpoint:
    """Answers the requests of all lines; `session` gives the connections of the running loop."""

    def __init__(
        self,
        find_line: FindLine,
        session: Callable[[], Awaitable[aiohttp.ClientSession]],
        budget: Budget | None,
        *,
        now: Callable[[], float],
        sleep: Sleep,
    ) -> None:
        self._find_line = find_line
        self._session = session
        self._proxies = Proxies()
        self._budget = budget
        self._now = now
        self._sleep = sleep

    def application(self) -> web.Application:
        """Give the web application."""
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/v1/{tail:.*}", self._handle)
        app.router.add_route("*", "/run/{run}/v1/{tail:.*}", self._handle)
        return app

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        run = request.match_info.get("run") or request.headers.get(RUN_HEADER)
        line = self._find_line(run)
        if line is None or line.closed:
            return said(CLOSED, f"there is no run {run!r}, or it is over")
        if (task := asyncio.current_task()) is not None:
            line.working.add(task)
        try:
            return await self._answer(line, request)
        except AgentBenchError as error:
            line.note(error)
            kinds = ((NotRunError, BUDGET), (CassetteMissError, MISS))
            return said(next((kind for of, kind in kinds if isinstance(error, of)), FAILED), str(error))
        except Exception as error:  # noqa: BLE001 - what a model server sends may trip anything; the agent is told so
            message = f"the answer of the model server could not be understood: {type(error).__name__}: {error}"
            line.failure = SendError(message)
            return said(FAILED, message)
        finally:
            if task is not None:
                line.working.discard(task)

    async def _answer(self, line: Line, request: web.Request) -> web.StreamResponse:
        # the path as it was sent: decoding it would change what encoded slashes mean. Anthropic's clients append
        # `/v1/messages` to a base URL that ends in `/v1` already
        tail = request.rel_url.raw_path.partition("/v1/")[2].removeprefix("v1/")
        content = await request.read()
        api = api_at(tail.rstrip("/")) if request.method == "POST" else None
        if api is None:
            return await self._other(line, request, tail, content)
        body = _object(content)
        if body is None:
            return said(BAD_REQUEST, f"the body of a request for a {api.noun} must be a JSON object")
        return await self._ask(line, api, request, content, body)

    async def _ask(
        self, line: Line, api: Api, request: web.Request, content: bytes, body: dict[str, Any]
    ) -> web.StreamResponse:
        # streamed or not, the answer is the same: one recording serves both
        asked = {key: value for key, value in body.items() if key not in {"stream", "stream_options"}}
        streamed = body.get("stream") is True
        # where the API does not tell it anyway, nobody could say what a stream cost
        telling = api.with_usage(body) if streamed else None
        if (recorded := line.find(api, asked)) is not None:
            return await _replay(request, api, recorded, streamed=streamed, with_usage=telling is None)
        if (live := api.live(body, line.replayed)) is not None:
            content = encode(live)
        instead = None
        if telling is not None:
            instead, content = content, encode(telling)
        exchange = Exchange(line=line, spec=line.spec(api.home), body=asked, api=api, with_usage=telling is None)
        return await self._forward(exchange, request, api.path, content, instead)

    async def _other(self, line: Line, request: web.Request, tail: str, content: bytes) -> web.StreamResponse:
        line.refuse_unrecorded(f"{request.method} /{tail}")
        spec = line.spec(ANTHROPIC if _ANTHROPICS in request.headers else OPENAI)
        metered = request.method not in _FREE
        exchange = Exchange(line=line, spec=spec, body=_object(content) or {}, api=None, metered=metered)
        return await self._forward(exchange, request, tail, content)

    async def _forward(
        self, exchange: Exchange, request: web.Request, tail: str, content: bytes, instead: bytes | None = None
    ) -> web.StreamResponse:
        """Send `content`, or `instead` of it where the server does not know `stream_options`, which it adds."""
        line = exchange.line
        try:
            exchange.proxy = http_proxy(self._proxies.of(exchange.spec.base_url))
        except ValueError as error:
            return said(FAILED, exchange.failed(f"cannot be asked: {error}"))
        worst = worst_case(exchange.spec, exchange.body, earlier=line.earlier(exchange.body))
        budget = self._budget if exchange.metered else None
        async with SetAside(budget, line.caller, worst, rest=lambda seconds: self._rest(line, seconds)) as money:
            exchange.began = line.asked[id(exchange)] = self._now()
            money.sent = True
            try:
                answer = await self._send(exchange, money, request, tail, content)
                if instead is not None and _unknown_option(answer):
                    answer = await self._send(exchange, money, request, tail, instead)
            except aiohttp.ClientConnectorError as error:
                money.release()
                return said(UNREACHABLE, exchange.failed(f"could not be reached: {type(error).__name__}"))
            except (aiohttp.ClientError, OSError, ValueError) as error:
                return said(UNREACHABLE, exchange.failed(f"could not be asked: {type(error).__name__}"))
            except SendError as error:
                return said(FAILED, exchange.failed(_TOO_LONG, error.status))
            except asyncio.CancelledError:
                if not exchange.accounted:
                    exchange.failed("had not answered when the client gave up")
                raise
            finally:
                line.asked.pop(id(exchange), None)
            if answer.status >= 300:
                money.release()
                exchange.failed(f"answered {answer.status}", answer.status)
            return answer

    async def _rest(self, line: Line, seconds: float) -> None:
        async with line.paused():
            await self._sleep(seconds)

    async def _send(
        self, exchange: Exchange, money: SetAside, request: web.Request, tail: str, content: bytes
    ) -> web.StreamResponse:
        session = await self._session()
        url = address(exchange.spec.base_url, tail, request.rel_url.raw_query_string)
        async with session.request(
            request.method,
            url,
            proxy=exchange.proxy,
            data=_payload(content),
            headers=passed_on(request.headers),
            timeout=_TIMEOUT,
            allow_redirects=False,
        ) as response:
            if response.content_type == "text/event-stream" and response.status == 200:
                return await self._stream(exchange, money, request, response)
            received = await read_bounded(response, exchange.server)
        if response.status < 300:
            exchange.account(money, _object(received), self._now() - exchange.began)
        return web.Response(body=received, status=response.status, headers=passed_on(response.headers))

    async def _stream(
        self, exchange: Exchange, money: SetAside, request: web.Request, response: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        answer = web.StreamResponse(status=200, headers=passed_on(response.headers))
        await answer.prepare(request)
        stream = Stream(exchange, lambda: exchange.account(money, stream.whole, self._now() - exchange.began))
        try:
            await stream.pass_on(response, answer)
        except (ClientGoneError, asyncio.CancelledError) as gone:
            if stream.whole is not None:  # clients may leave before the last word
                exchange.account(money, stream.whole, self._now() - exchange.began)
            raise asyncio.CancelledError from gone
        except SendError as error:
            exchange.failed(_TOO_LONG, error.status)
            return _aborted(request, answer)
        except Exception as error:  # noqa: BLE001 - whatever a server sends, whoever asked must see that it is not whole
            if not exchange.accounted:
                exchange.failed(f"broke its answer off: {type(error).__name__}")
            return _aborted(request, answer)
        with contextlib.suppress(aiohttp.ClientError, OSError):  # who has left needs no last word
            await answer.write_eof()
        return answer


def _aborted(request: web.Request, answer: web.StreamResponse) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return answer


def _unknown_option(answer: web.StreamResponse) -> bool:
    """Whether a refusal may mean the option that the agent did not ask for: it names that field, or none."""
    body = answer.body if isinstance(answer, web.Response) and answer.status in {400, 422} else None
    return isinstance(body, bytes) and refused_field(body) in {"stream_options", ""}


def _payload(content: bytes) -> bytes | io.BytesIO | None:
    # aiohttp warns of longer bytes, since writing them blocks the loop
    return io.BytesIO(content) if len(content) > 2**20 else content or None


async def _replay(
    request: web.Request, api: Api, recorded: dict[str, Any], *, streamed: bool, with_usage: bool
) -> web.StreamResponse:
    if not streamed:
        return web.Response(body=encode(recorded), content_type="application/json")
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await answer.prepare(request)
    await answer.write(b"".join(api.events(recorded, with_usage=with_usage)))
    await answer.write_eof()
    return answer


def _object(content: bytes) -> dict[str, Any] | None:
    value = parsed(content)
    return value if isinstance(value, dict) else None


RUN_HEADER = "X-Agentbench-Run"

MISS = "agentbench_cassette_miss"
BUDGET = "agentbench_budget"
CLOSED = "agentbench_run_over"
UNREACHABLE = "agentbench_upstream_unreachable"
BAD_REQUEST = "agentbench_bad_request"
FAILED = "agentbench_proxy_failed"

# those that clients of OpenAI do not send again
STATUS = {MISS: 422, BUDGET: 402, CLOSED: 403, UNREACHABLE: 502, BAD_REQUEST: 400, FAILED: 500}

# what concerns one connection only, and what the HTTP client sets itself
_DROPPED = {
    "accept-encoding", "connection", "content-encoding", "content-length", "expect", "host", "keep-alive",
    "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    RUN_HEADER.lower(),
}  # fmt: skip


def address(upstream: str, tail: str, query: str) -> URL:
    """Give where a request to `tail` goes on to; a query in `upstream` (`?api-version=…`) is kept before its own."""
    base, _, own = upstream.partition("?")
    joined = "&".join(part for part in (own, query) if part)
    return URL(f"{base.rstrip('/')}/{tail}{'?' if joined else ''}{joined}", encoded=True)


def passed_on(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Give the headers that go on, keys included; nothing else ever sees or keeps them."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _DROPPED)


def said(kind: str, message: str) -> web.Response:
    """Answer with an error of the proxy's own that says not to try again unless it may help.

    Its form is OpenAI's and Anthropic's at once: they share the member `error`, and each has members of its own.
    """
    again = "true" if kind == UNREACHABLE else "false"
    error = {"message": printable(message, newlines=True), "type": kind, "param": None, "code": kind}
    return web.Response(
        body=json.dumps({"type": "error", "error": error}).encode(),
        status=STATUS[kind],
        content_type="application/json",
        headers={"x-should-retry": again},
    )
