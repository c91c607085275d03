"""The proxy itself: a loopback port, a base URL for each run, its requests answered, and what each run took."""

import asyncio
import contextlib
import io
import json
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, CassetteMissError, NotRunError, ProviderError, SendError
from pytest_agentbench.core.model import Price, Usage
from pytest_agentbench.core.proxies import Proxies, http_proxy
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.core.text import printable
from pytest_agentbench.llm.apis.api import ANTHROPIC, OPENAI, Api
from pytest_agentbench.llm.apis.registry import api_at
from pytest_agentbench.llm.capabilities import Paused
from pytest_agentbench.llm.http_errors import refused_field
from pytest_agentbench.llm.ledger import SetAside, Sleep
from pytest_agentbench.llm.prices import worst_case
from pytest_agentbench.llm.protocols import Budget, Caller, Recorder
from pytest_agentbench.llm.proxy.relay import ClientGoneError, Exchange, Line, Stream
from pytest_agentbench.llm.transport import Connections, read_bounded
from pytest_agentbench.llm.wire import LONGEST_REPLY, encode, parsed, where

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
            # aiohttp warns of longer bytes, since writing them blocks the loop
            data=io.BytesIO(content) if len(content) > 2**20 else content or None,
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


HOST = "127.0.0.1"

_AGENT = "agent"
_SESSION = ""


class Proxy:
    """A recording, replaying, metering endpoint on loopback, serving on the loop that `start` is awaited on.

    `upstream`, `price`, `recorder` and `replaying` hold for what is registered without its own, and for what no run can
    be told of; where nothing else was named for those, a useless `OPENAI_BASE_URL` only leaves them refused. `environ`
    holds that variable and Anthropic's. With `open_runs` any id in a URL names a run. All but `start` and `stop` may be
    called from any thread.
    """

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        recorder: Recorder | None = None,
        replaying: bool = False,
        upstream: str = "",
        price: Price | None = None,
        port: int = 0,
        open_runs: bool = False,
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._recorder = recorder
        self._replaying = replaying
        self._upstream = upstream
        self._price = price
        self._port = port
        self._open_runs = open_runs
        self._environ = environ
        self._lines: dict[str, Line] = {}
        self._connections = Connections()
        self._now = now
        self._endpoint = Endpoint(self._line_of, self._connections.session, budget, now=now, sleep=sleep)
        self._runner: web.AppRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> int:
        """Serve on the running loop; give the port. Raise `ProviderError` where port or upstream cannot be used."""
        self._loop = asyncio.get_running_loop()
        runner = web.AppRunner(
            self._endpoint.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.0
        )
        await runner.setup()
        site = web.TCPSite(runner, HOST, self._port, backlog=1024)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            raise ProviderError(f"the proxy cannot listen on port {self._port}: {error.strerror or error}") from error
        self._runner = runner
        self._port = int(runner.addresses[0][1])
        try:
            self._lines.setdefault(_SESSION, self._line(Caller(role=_AGENT)))
        except ProviderError:
            if self._upstream or self._open_runs:  # else each run brings its own, and this line is used by mistake only
                await self.stop()
                raise
        return self._port

    def url(
        self,
        caller: Caller,
        upstream: str = "",
        *,
        price: Price | None = None,
        recorder: Recorder | None = None,
        replaying: bool | None = None,
        paused: Paused = nullcontext,
    ) -> str:
        """Register a caller; give the `base_url` under which its requests are known: `…/run/<id>/v1`, or `…/v1`.

        `paused` gives a context manager within which the clock of the run stands still: a call waits in it for a
        budget that only calls in flight hold. Raise `ProviderError` where `upstream` is no URL, or the proxy itself.
        """
        if self._runner is None:
            raise RuntimeError("the proxy is not running: await start() first")
        run = digest(str(caller)) if caller.run else _SESSION
        self._lines[run] = self._line(
            caller, upstream, price=price, recorder=recorder, replaying=replaying, paused=paused
        )
        return f"http://{HOST}:{self._port}/run/{run}/v1" if run else f"http://{HOST}:{self._port}/v1"

    def closed(self, run: RunKey) -> None:
        """End what a run still has in flight and refuse what it sends later; what it took stays known."""
        for line in self._of(run):
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(line.close)

    def usage(self, run: RunKey | None) -> Usage:
        """Give what the calls of a run took so far, or (None) those that no run could be told of."""
        return sum((line.usage for line in self._of(run)), start=Usage())

    def faults(self, run: RunKey | None) -> tuple[AgentBenchError, ...]:
        """Give what decides a run whatever its agent made of it, in order: cassette misses and refused budgets."""
        return tuple(fault for line in self._of(run) for fault in line.faults)

    def failure(self, run: RunKey | None) -> SendError | None:
        """Give why the model server did not answer the last request well, or None: it did."""
        return next((line.failure for line in self._of(run) if line.failure), None)

    def unanswered(self, run: RunKey | None) -> float:
        """Give the seconds for which the oldest request of a run in flight has had no answer; 0 without one."""
        now = self._now()
        return max((now - began for line in self._of(run) for began in tuple(line.asked.values())), default=0.0)

    def unrecorded(self, run: RunKey | None) -> dict[str, int]:
        """Count the requests that are never recorded, by method and path."""
        return dict(sum((line.unrecorded for line in self._of(run)), start=Counter[str]()))

    def callers(self) -> list[Caller]:
        """Give all callers that sent a request, in the order in which they became known."""
        return [line.caller for line in self._lines.values() if line.usage != Usage() or line.faults or line.failure]

    async def stop(self) -> None:
        """Close the port and all connections; stopping twice is fine."""
        runner, self._runner = self._runner, None
        if runner is not None:
            for line in self._lines.values():
                line.close()
            await runner.cleanup()
        await self._connections.close()

    def _line(
        self,
        caller: Caller,
        upstream: str = "",
        *,
        price: Price | None = None,
        recorder: Recorder | None = None,
        replaying: bool | None = None,
        paused: Paused = nullcontext,
    ) -> Line:
        line = Line(
            caller,
            upstream=upstream or self._upstream,
            price=price or self._price,
            recorder=recorder or self._recorder,
            replaying=self._replaying if replaying is None else replaying,
            paused=paused,
            environ=self._environ,
        )
        _url(line.spec(OPENAI).base_url)
        for home in (OPENAI, ANTHROPIC):
            upstream = line.spec(home).base_url
            if self._is_own(upstream):
                raise ProviderError(
                    f"the upstream {where(upstream)} is the proxy itself: name the model server, or unset "
                    f"{home.variable}"
                )
        return line

    def _is_own(self, upstream: str) -> bool:
        try:
            target = URL(upstream)
        except ValueError:
            return False
        return target.host in {HOST, "localhost"} and target.port == self._port

    def _line_of(self, run: str | None) -> Line | None:
        found = self._lines.get(run or _SESSION)
        if found is None and run and self._open_runs:
            found = self._lines[run] = self._line(Caller(role=_AGENT, run=RunKey(suite="", scenario=run)))
        return found

    def _of(self, run: RunKey | None) -> list[Line]:
        return [line for line in tuple(self._lines.values()) if line.caller.run == run]


def _url(upstream: str) -> URL:
    try:
        target = URL(upstream)
    except ValueError:
        target = URL()
    if target.scheme not in {"http", "https"} or not target.host:
        raise ProviderError(f"the upstream {where(upstream)!r} is no URL: it must begin with http:// or https://")
    return target
