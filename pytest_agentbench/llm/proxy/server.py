"""The proxy itself: a loopback port, a base URL for each run, and what each of them took."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext

from aiohttp import web
from yarl import URL

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, ProviderError, SendError
from pytest_agentbench.core.model import Price, Usage
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.apis.api import ANTHROPIC, OPENAI
from pytest_agentbench.llm.capabilities import Paused
from pytest_agentbench.llm.ledger import Sleep
from pytest_agentbench.llm.protocols import Budget, Caller, Recorder
from pytest_agentbench.llm.proxy.app import Endpoint
from pytest_agentbench.llm.proxy.relay import Line
from pytest_agentbench.llm.transport import Connections
from pytest_agentbench.llm.wire import where

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
