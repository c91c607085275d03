"""The scripted model server: three makers' APIs on loopback, on an event loop in a thread of its own."""

import asyncio
import threading
from types import TracebackType
from typing import Self

from aiohttp import web

from pytest_agentbench.testing.endpoint import Endpoint
from pytest_agentbench.testing.script import ModelRequest, Player, Script

_PATIENCE = 5.0
"""Seconds within which the server's thread must start, and end."""

_GRACE = 0.05
"""Seconds that a connection has to end by itself; 0 would mean no limit to aiohttp."""

_HOST = "127.0.0.1"


class ModelServer:
    """A scripted model on loopback, served while its `with` block runs.

    It speaks OpenAI's chat completions and Responses, Anthropic's Messages and Google's generateContent; one script
    answers all of them.
    `script` is a list of answers played in order, a function from the request to an answer, or a mapping from model
    names to either. Every answer comes `latency` seconds after its request. Port 0 takes a free one.
    """

    def __init__(self, script: Script = (), *, latency: float = 0.0, port: int = 0) -> None:
        self._endpoint = Endpoint(Player(script), latency)
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None

    @property
    def base_url(self) -> str:
        """What a client takes as its `base_url`, whoever's it is: `http://127.0.0.1:PORT/v1`."""
        if self._thread is None:
            raise RuntimeError("the server is not running: use it in a `with` block, or call start()")
        return f"http://{_HOST}:{self._port}/v1"

    @property
    def requests(self) -> list[ModelRequest]:
        """Every answer asked for so far, in order of arrival."""
        return self._endpoint.requests

    @property
    def problems(self) -> list[str]:
        """What was asked that the script or the API has no answer to, as the client was told."""
        return self._endpoint.problems

    @property
    def in_flight(self) -> int:
        """How many requests are waiting for their answer."""
        return self._endpoint.in_flight

    @property
    def peak_in_flight(self) -> int:
        """The most requests that ever waited at the same time."""
        return self._endpoint.peak_in_flight

    @property
    def left(self) -> int:
        """How many answers of the scripted lists were not asked for yet."""
        return self._endpoint.player.left

    def play(self, script: Script) -> None:
        """Answer what comes from now on by another script."""
        self._endpoint.player = Player(script)

    def start(self) -> Self:
        """Serve; give the server itself. Raise `OSError` where the port is taken."""
        if self._thread is not None:
            raise RuntimeError("the server is running already")
        self._started.clear()
        self._failure = None
        self._thread = threading.Thread(target=self._run, name="agentbench-model-server", daemon=True)
        self._thread.start()
        if not self._started.wait(_PATIENCE):
            raise RuntimeError(f"the server did not start within {_PATIENCE:g} s")
        self._raise_failure()
        return self

    def stop(self) -> None:
        """Close all connections, also those that wait for an answer; stopping twice is fine."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        thread.join(_PATIENCE)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            self._thread = None
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - whoever starts the server is told, whatever it was
            self._failure = error
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        answering = web.Server(self._endpoint.handle, handler_cancellation=True, access_log=None)
        listening = await self._loop.create_server(answering, _HOST, self._port, backlog=1024)
        self._port = listening.sockets[0].getsockname()[1]
        self._started.set()
        try:
            await self._stopping.wait()
        finally:
            listening.close()
            await answering.shutdown(_GRACE)
