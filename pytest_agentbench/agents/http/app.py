"""An ASGI app in this process: its own event loop in its own daemon thread, lifespan and all requests on that loop.

Code that blocks the loop keeps the runs of this app waiting and nobody else.
"""

import asyncio
import concurrent.futures
import contextlib
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pytest_agentbench.agents.callables import is_required, parameters
from pytest_agentbench.agents.failure import failure
from pytest_agentbench.core.errors import AgentBenchError, AgentError, SuiteFaultError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.state_access import Raised, caught_async
from pytest_agentbench.messages.content import shown

if TYPE_CHECKING:  # httpx2 takes a fifth of a second to import, and few suites need it
    import httpx2

Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

VERSION = {"version": "3.0", "spec_version": "2.3"}

MAX_BODY = 8 * 2**20
"""Bytes of an answer that are read."""

_AFTERWARDS = 1.0
"""Seconds for which work that an app goes on with after its answer, such as background tasks, is waited for."""


@dataclass
class AppResponse:
    """What an app answered; `complete` is whether it said that nothing follows, `raised` what it raised beside it."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False
    raised: BaseException | None = None

    @property
    def is_stream(self) -> bool:
        """Whether it answers with a stream of events, which may never end."""
        found = (bytes(value) for name, value in self.headers if bytes(name).lower() == b"content-type")
        return next(found, b"").partition(b";")[0].strip().lower() == b"text/event-stream"


async def call_app(app: App, request: "httpx2.Request", state: Mapping[str, Any]) -> AppResponse:
    """Give an app's answer once its call has ended, so that what it does in the background is done as well.

    A stream of events, and what is larger than is kept, ends the call early. Whatever the app raises, exits included,
    is kept in the answer. Being cancelled cancels the app.
    """
    exchange = _Exchange(request)
    running = asyncio.ensure_future(caught_async(_called(app, _scope(request, state), exchange.receive, exchange.send)))
    try:
        either: set[asyncio.Future[Any]] = {running, exchange.closed}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if exchange.response.complete and not running.done():
            await asyncio.wait({running}, timeout=_AFTERWARDS)
    except BaseException:
        running.cancel()
        raise
    if not running.done():
        _background.add(running)
        running.add_done_callback(_background.discard)
        if not exchange.response.complete:
            running.cancel()
    return exchange.finished(running)


def _scope(request: "httpx2.Request", state: Mapping[str, Any]) -> dict[str, Any]:
    """Give the connection scope; `state` is what the lifespan left."""
    url = request.url
    raw_path, _, query = url.raw_path.partition(b"?")
    return {
        "type": "http",
        "asgi": VERSION,
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": ("127.0.0.1", 0),
        "server": (url.host, url.port or (443 if url.scheme == "https" else 80)),
        "state": dict(state),
    }


_background: "set[asyncio.Future[Raised | None]]" = set()
"""Calls of apps that go on after their answers: a loop by itself holds its tasks weakly."""


class _Exchange:
    def __init__(self, request: "httpx2.Request") -> None:
        self.response = AppResponse()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request
        self._body_sent = False

    async def receive(self) -> Message:
        if not self._body_sent:
            self._body_sent = True
            return {"type": "http.request", "body": self._request.content, "more_body": False}
        await asyncio.shield(self.closed)  # an app may cancel its wait for the client to go
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        response = self.response
        if message["type"] == "http.response.start":
            response.status, response.headers = message["status"], list(message.get("headers", ()))
            if response.is_stream:
                self._end()
        elif message["type"] == "http.response.body" and not self.closed.done():
            response.body += message.get("body", b"")
            if len(response.body) > MAX_BODY:
                self._end()
            elif not message.get("more_body", False):
                response.complete = True
                self._end()

    def finished(self, running: "asyncio.Future[Raised | None]") -> AppResponse:
        """Give what was answered; what the app raised after it was told to end is not held against it."""
        if running.done() and (self.response.complete or not self.closed.done()):
            raised = Raised(asyncio.CancelledError()) if running.cancelled() else running.result()
            self.response.raised = raised.error if raised else None
        return self.response

    def _end(self) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


async def _called(app: App, *given: Any) -> None:
    await app(*given)


T = TypeVar("T")

_BEAT = 0.25
"""Seconds within which a loop that nothing blocks comes round."""

_GOODBYE = 5.0
"""Seconds that the shutdown of an app may take at the end of a session."""


class Apps:
    """The apps of a process: one for each suite's folder and import path, shared by all runs, on whatever loop."""

    def __init__(self) -> None:
        self._apps: dict[tuple[Path, str, bool], InProcessApp] = {}
        self._lock = threading.Lock()

    async def started(self, target: str, root: Path, *, factory: bool) -> "InProcessApp":
        """Give the app at an import path; the first who asks starts it, and all wait until it has started.

        Raise `ImportPathError` where the path leads nowhere, `SuiteFaultError` where no ASGI app is there, `AgentError`
        where its start fails, each time alike.
        """
        key = (root.resolve(), target, factory)
        with self._lock:
            if key not in self._apps:
                self._apps[key] = InProcessApp(target, root, factory=factory)
            app = self._apps[key]
        await app.started()
        return app

    def close(self) -> None:
        """Shut all apps down, each within five seconds; one whose loop is blocked is left behind at once."""
        with self._lock:
            apps, self._apps = list(self._apps.values()), {}
        closing = [threading.Thread(target=app.close, daemon=True) for app in apps]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join(_GOODBYE + 2 * _BEAT)


class InProcessApp:
    """An app that is played without a port."""

    def __init__(self, target: str, root: Path, *, factory: bool) -> None:
        self.name = target
        self._root = root
        self._factory = factory
        self._loop = _LoopOfApp(target)
        self._lifespan = _Lifespan()
        self._app: App | None = None
        self._starting = self._loop.submit(self._start())

    async def started(self) -> None:
        """Wait for the start; raise why it failed."""
        failed = await asyncio.shield(asyncio.wrap_future(self._starting))
        if failed is not None:
            raise failed.with_traceback(None)

    async def request(self, request: "httpx2.Request") -> AppResponse:
        """Give an app's answer; raise `AgentError`, or `ProviderError`, for whatever it raises.

        The app sees the context variables of whoever asks. Being cancelled does not wait for the app.
        """
        response = await asyncio.wrap_future(self._loop.submit(self._respond(request)))
        if response.raised is not None:
            raise failure(response.raised, who=f"the app {self.name}", root=self._root) from response.raised
        return response

    def close(self) -> None:
        """Run the shutdown and end the loop, five seconds at most; closing twice is fine."""
        if self._loop.is_responsive():
            concurrent.futures.wait([self._loop.submit(self._lifespan.shut_down())], timeout=_GOODBYE)
        self._loop.end()

    async def _respond(self, request: "httpx2.Request") -> AppResponse:
        if self._app is None:
            raise AgentError(f"the app {self.name} is not running")
        return await call_app(self._app, request, self._lifespan.state)

    async def _start(self) -> AgentBenchError | None:
        """Import the app and run its startup; give why it failed."""
        who = f"the app {self.name}, as it starts,"
        try:
            app = await self._load()
            raised = await self._lifespan.start_up(app)
        except AgentBenchError as error:
            return error
        except BaseException as error:  # noqa: BLE001 - an exit must end the runs of this app, never its loop
            return failure(error, who=who, root=self._root)
        if raised is not None:
            return failure(raised, who=who, root=self._root)
        if self._lifespan.failed is not None:
            reason = shorten(printable(self._lifespan.failed), 500)
            return AgentError(f"{who} says that it failed: {reason or '(it gives no reason)'}")
        self._app = app
        return None

    async def _load(self) -> App:
        found: Any = check_app(self.name, self._root, factory=self._factory)
        if not self._factory:
            return cast("App", found)
        app = found()
        app = await app if inspect.isawaitable(app) else app
        if not _takes_scope(app):
            raise SuiteFaultError(f"the factory {self.name!r} gave {type(app).__name__} {shown(app)}, {_NO_APP}")
        return cast("App", app)


_NO_APP = "which is no ASGI app: it must be callable as app(scope, receive, send)"


def check_app(target: str, root: Path, *, factory: bool) -> object:
    """Import an app, or its factory, and call nothing of it.

    Raise `ImportPathError` where the path leads nowhere, `SuiteFaultError` where what it leads to can be neither.
    """
    found = load_object(target, root)
    if factory:
        if not callable(found) or any(is_required(one) for one in parameters(found) or ()):
            hint = "; it is an app itself: leave `factory` out" if _takes_scope(found) else ""
            told = "which is no factory of an app: it must be callable without arguments"
            raise SuiteFaultError(f"{target!r} is {type(found).__name__} {shown(found)}, {told}{hint}")
        return found
    if not _takes_scope(found):
        hint = ""
        if callable(found) and not any(is_required(one) for one in parameters(found) or ()):
            hint = "; if it gives one, write `factory: true`"
        elif callable(found) and len([one for one in parameters(found) or () if is_required(one)]) == 2:
            hint = "; if it is a WSGI app (Flask, Django), wrap it: `asgiref.wsgi.WsgiToAsgi(app)`"
        raise SuiteFaultError(f"{target!r} is {type(found).__name__} {shown(found)}, {_NO_APP}{hint}")
    return found


def is_app(found: object) -> bool:
    """Whether something shows by its parameters that it is an ASGI app."""
    required = [one.name for one in parameters(found) or () if is_required(one)] if callable(found) else []
    return required == ["scope", "receive", "send"]


def _takes_scope(found: object) -> bool:
    """Whether something can be called with scope, receive and send; where Python cannot tell, it is taken to be."""
    if not callable(found):
        return False
    try:
        inspect.signature(found).bind(None, None, None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


class _Lifespan:
    """The startup and shutdown of an app, in one task; an app that raises at once has neither (as uvicorn sees it)."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.failed: str | None = None
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._responded = asyncio.Event()
        self._is_supported = False
        self._task: asyncio.Task[Raised | None] | None = None

    async def start_up(self, app: App) -> BaseException | None:
        """Run the startup; give what it raised where it failed."""
        self._inbox.put_nowait({"type": "lifespan.startup"})
        self._task = asyncio.create_task(self._run(app))
        await self._responded.wait()
        if self.failed is None:
            return None
        await asyncio.wait({self._task}, timeout=_BEAT)  # frameworks raise the reason as well
        raised = self._task.result() if self._task.done() and not self._task.cancelled() else None
        return raised.error if raised else None

    async def shut_down(self) -> None:
        """Run the shutdown; whatever it raises is lost."""
        if self._is_supported and self._task is not None:
            self._inbox.put_nowait({"type": "lifespan.shutdown"})
            await asyncio.wait({self._task})

    async def _run(self, app: App) -> Raised | None:
        scope = {"type": "lifespan", "asgi": VERSION, "state": self.state}
        try:
            return await caught_async(_called(app, scope, self._inbox.get, self._send))
        finally:
            self._responded.set()

    async def _send(self, message: Message) -> None:
        if message["type"] == "lifespan.startup.failed":
            self.failed = str(message.get("message", ""))
        elif message["type"] == "lifespan.startup.complete":
            self._is_supported = True
        self._responded.set()


class _LoopOfApp:
    """An event loop in a daemon thread, which survives exits that are raised in its tasks."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        # thread pools of frameworks live as long as the task that a loop was started with
        self._root = self._loop.create_task(self._until_its_end())
        self._thread = threading.Thread(target=self._work, name=f"agentbench-app-{name}", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the loop, in a copy of the caller's context."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def is_responsive(self) -> bool:
        """Whether the loop runs and nothing blocks it."""
        seen = threading.Event()
        self._call(seen.set)
        return seen.wait(_BEAT)

    def end(self) -> None:
        """Cancel what still runs and let the thread end, as soon as the loop comes round."""
        self._call(self._ending.set)
        self._thread.join(_BEAT)

    def _call(self, function: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function)

    async def _until_its_end(self) -> None:
        await self._ending.wait()
        others = asyncio.all_tasks() - {self._root}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=_BEAT / 2)
        await self._loop.shutdown_asyncgens()

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._root.done() and not self._loop.is_closed():
            with contextlib.suppress(BaseException):
                self._loop.run_until_complete(self._root)
        if left := asyncio.all_tasks(self._loop):
            threading.Event().wait()  # what swallows its cancellation stays in memory: thrown away it would go on here
            left.clear()
        self._loop.close()
