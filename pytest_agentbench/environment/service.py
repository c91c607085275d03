"""A service that the suite starts, for one run or for all: its process, whether it is up, the last it said, its end."""

import asyncio
import collections
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, EnvironmentFaultError, NeverUpError, SuiteFaultError
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.remote import McpSpec, ServiceSpec, is_fixed_address, is_web_address
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.openapi.transport import Sender

_WATCH = """
import os, shutil, signal, sys, time

held = {}
for line in sys.stdin:
    sign, number, folder = line.rstrip("\\n").split(" ", 2)
    held[int(number)] = folder
    if sign == "-":
        del held[int(number)]
for number in (signal.SIGTERM, signal.SIGKILL) if held else ():
    for group in held:
        try:
            os.killpg(group, number)
        except OSError:
            pass
    time.sleep(1)
for folder in held.values():
    shutil.rmtree(folder, ignore_errors=True)
"""
"""A program that reads which groups begin (`+`) and end (`-`); its input ends with the process that started it."""

_WATCH_GOODBYE = 5.0
"""Seconds that it has to end after its input has."""


class Orphanage:
    """Ends groups of processes, and removes their folders, once this process is no more.

    A process of its own does it, since nothing runs in one that was killed; it is there while there are groups.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._groups: set[int] = set()
        self._watch: subprocess.Popen[bytes] | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def add(self, group: int, folder: Path) -> None:
        """Take in a group that has begun."""
        if not hasattr(os, "killpg"):
            return
        with self._guard, contextlib.suppress(OSError):  # a session does not fail for want of a watch
            self._groups.add(group)
            if self._watch is None:
                self._watch = subprocess.Popen(  # noqa: S603 - nothing in it comes from outside
                    [sys.executable, "-I", "-S", "-c", _WATCH],
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            self._tell(f"+ {group} {folder}")

    def remove(self, group: int, folder: Path) -> None:
        """Let go of a group that was ended."""
        with self._guard:
            if group not in self._groups:
                return
            self._groups.discard(group)
            with contextlib.suppress(OSError):
                self._tell(f"- {group} {folder}")
            if self._watch is None or self._groups:
                return
            watch, self._watch = self._watch, None
        self._close(watch)
        with contextlib.suppress(subprocess.TimeoutExpired):
            watch.wait(_WATCH_GOODBYE)

    def _tell(self, line: str) -> None:
        if self._watch is not None and self._watch.stdin is not None:
            self._watch.stdin.write(os.fsencode(f"{line}\n"))

    def _close(self, watch: "subprocess.Popen[bytes]") -> None:
        if watch.stdin is not None:
            with contextlib.suppress(OSError):
                watch.stdin.close()

    def _forget(self) -> None:
        """Leave the watch to the process that was copied: it would wait for the end of both."""
        self._guard, self._groups = threading.Lock(), set()
        if self._watch is not None:
            self._close(self._watch)
        self._watch = None


ORPHANAGE = Orphanage()
"""That of this process."""


_LINES = 8
"""Last lines of a process that an error quotes."""

_SHOWN = 200
"""Characters of a command that are shown."""

_PAUSE = 0.05
"""Seconds between two looks at whether a service is up."""

_GOODBYE = 2.0
"""Seconds that a process has to end after it was asked to, before it is killed."""

_NOW = "{now}"
"""What stands for the clock of the run in a command and its variables."""

_STARTS = 2
"""Times that a service is started before it counts as one that never comes up: what it needs may not be up yet."""

_TRIES = 100
"""Ports that are tried until one is free for TCP and UDP."""

KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONPATH")
"""Variables that a started process gets of the process environment; keys of other services are not among them."""


E = TypeVar("E", bound=AgentBenchError)


class Service:
    """A running service in a folder of its own; `port` is where it was told to listen, its own as long as it runs."""

    def __init__(self, spec: ServiceSpec, root: Path, claim: socket.socket, folder: Path) -> None:
        self.port = port = int(claim.getsockname()[1])
        self._said: collections.deque[str] = collections.deque(maxlen=_LINES)
        values = placeholders(folder, port)
        self._own = {str(folder): "{run_dir}", str(port): "{port}"}
        self._command = [filled(part, values) for part in spec.command]
        env = {**inherited(), **{name: filled(value, values) for name, value in spec.env.items()}}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the suite says what is started
                self._command,
                cwd=root,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="backslashreplace",
                start_new_session=True,
            )
        except OSError as error:
            claim.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise EnvironmentFaultError(start_text(self._command, error.strerror or str(error))) from error
        listener = threading.Thread(target=self._listen, name="agentbench-service", daemon=True)
        listener.start()
        # also at the exit of the interpreter; before anything that takes time: a signal may end this process there
        self._end = weakref.finalize(self, _ended, self._process, listener, claim, folder)
        ORPHANAGE.add(self._process.pid, folder)

    @property
    def command(self) -> str:
        """The command, as it is called in messages, alike for every start of it."""
        return self._alike(shown(self._command))

    @property
    def last_lines(self) -> str:
        """The last it said, as the end of a message."""
        return quoted_lines([self._alike(line) for line in self._said])

    @property
    def exit_status(self) -> int | None:
        """How it ended, None while it runs."""
        return self._process.poll()

    async def blamed(self, error: E) -> E:
        """Give an error of whoever asked it with how it ended, if it did, and the last that it said."""
        await asyncio.sleep(_PAUSE)  # its last lines are on their way
        if self.exit_status is not None:
            return type(error)(f"{error}; {self.command} ended with status {self.exit_status}{self.last_lines}")
        return type(error)(f"{error}; of {self.command}{self.last_lines}") if any(self._said) else error

    async def aclose(self) -> None:
        """End the process with all that it started, and remove its folder; closing twice is fine."""
        await asyncio.to_thread(self._end)

    async def until_up(self, standing: Callable[[], Awaitable[str]], seconds: float, path: str) -> None:
        """Wait until the service is up: `standing` says why it is not, or "". `path` is the one that is asked.

        Raise `EnvironmentFaultError` where it ends, or is not up within `seconds`.
        """
        last = ""
        try:
            async with asyncio.timeout(seconds):
                while last := await standing():
                    if self.exit_status is not None:
                        await asyncio.sleep(_PAUSE)  # its last lines are on their way
                        raise EnvironmentFaultError(
                            f"{self.command} ended with status {self.exit_status} before it answered{self.last_lines}"
                        )
                    await asyncio.sleep(_PAUSE)
        except TimeoutError:
            where = path if is_web_address(path) else "{port}"
            why = f"was not up at {where} within {seconds:g} s: {_why(last, path)}"
            raise EnvironmentFaultError(f"{self.command} {why}{self.last_lines}") from None

    def _alike(self, text: str) -> str:
        """Put the names of port and folder in the place of what they are in this start."""
        for value, name in self._own.items():
            text = re.sub(rf"(?<![\w.]){re.escape(value)}(?!\w)", name, text)
        return text

    def _listen(self) -> None:
        with contextlib.suppress(ValueError, OSError):  # closed under its hands
            for line in self._process.stdout or ():
                self._said.append(line.rstrip())


def _why(last: str, path: str) -> str:
    """Say what a service that is not up answered last, and what to do."""
    if last.startswith("status"):
        return f"GET {path} answered with {last} (name a path that answers below 400 as `ready`)"
    return f"no answer at {path} (does it listen on {{port}}? `seconds` says how long it may take)"


def start_service(spec: ServiceSpec, root: Path) -> Service:
    """Start a service on a free port; raise `EnvironmentFaultError` where there is no such command."""
    return Service(spec, root, _claimed_port(), Path(tempfile.mkdtemp(prefix="agentbench-")))


def _claimed_port() -> socket.socket:
    """Give what claims a free TCP port: the UDP socket of the same number.

    Until the service listens, the port is as free for the next that asks, in this process or another: then the runs of
    both would meet in one service.
    """
    for _ in range(_TRIES):
        claim = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", 0))
                claim.bind(("127.0.0.1", probe.getsockname()[1]))
            except OSError:
                claim.close()
            else:
                return claim
    raise EnvironmentFaultError("no free port was found at 127.0.0.1; end what listens there")


def placeholders(folder: Path, port: int | None = None) -> dict[str, str]:
    """Give what `{run_dir}`, `{python}` and `{port}` stand for: a fresh folder, this interpreter, a free port."""
    values = {"run_dir": str(folder), "python": sys.executable}
    return values if port is None else {**values, "port": str(port)}


Started = TypeVar("Started", ServiceSpec, McpSpec)


def on_clock(spec: Started, now: str | None) -> Started:
    """Give how a process is started on a clock, for which `{now}` stands; raise `SuiteFaultError` where there is none.

    A process that runs keeps the clock that it was started with.
    """
    texts = (*spec.command, *spec.env.values())
    if not any(_NOW in text for text in texts):
        return spec
    if now is None:
        raise SuiteFaultError(f"`{_NOW}` in {shown(spec.command)} or its `env` is the suite's clock: set `now`")
    env = {name: text.replace(_NOW, now) for name, text in spec.env.items()}
    return spec.model_copy(update={"command": tuple(part.replace(_NOW, now) for part in spec.command), "env": env})


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values into a text, each in the place of its name in braces."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def inherited(names: Sequence[str] = ()) -> dict[str, str]:
    """Give the variables of the process environment that a started process gets, `names` besides.

    Commands that are installed beside this interpreter are found first, also where its folder is not on the PATH.
    """
    beside = str(Path(sys.executable).parent)
    kept = {name: os.environ[name] for name in (*KEPT, *names) if name in os.environ}
    return {**kept, "PATH": os.pathsep.join([beside, kept.get("PATH", os.defpath)])}


def shown(command: Sequence[str]) -> str:
    """Show a command as one would type it: whole words, since half of one may be half of a secret."""
    words = [printable(_quoted(word)) for word in command]
    lengths = list(accumulate(len(word) + 1 for word in words))
    kept = [word for word, length in zip(words, lengths, strict=True) if length <= _SHOWN]
    return f"`{' '.join([*kept, '…'] if len(kept) < len(words) else kept)}`"


def _quoted(word: str) -> str:
    """Put a word in quotation marks where it needs them, with escapes in which a secret is still found."""
    return word if shlex.quote(word) == word else json.dumps(word, ensure_ascii=False)


def start_text(command: Sequence[str], reason: str) -> str:
    """Say that a command cannot be started, and what to do."""
    return (
        f"{shown(command)} cannot be started: {reason} (is it installed, and on the PATH? Commands are run in the "
        "suite's folder)"
    )


def quoted_lines(lines: Sequence[str]) -> str:
    """Quote the last lines that a process said, as the end of a message."""
    last = [shorten(printable(line), 300) for line in lines if line.strip()][-_LINES:]
    return f"; the last it said: {' | '.join(last)}" if last else "; it said nothing"


def _ended(process: "subprocess.Popen[str]", listener: threading.Thread, claim: socket.socket, folder: Path) -> None:
    """End a process and all of its group; whoever holds its output after that is left alone, and waited for no more."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GOODBYE)
        listener.join(_GOODBYE)  # what it started is asked to end as well, and holds its output until then
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # also where it has ended: its group may have not
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GOODBYE)
    ORPHANAGE.remove(process.pid, folder)
    claim.close()
    listener.join(_PAUSE)
    if process.stdout is not None and not listener.is_alive():  # closing what somebody reads waits for who writes
        with contextlib.suppress(OSError):
            process.stdout.close()
    shutil.rmtree(folder, ignore_errors=True)


def _signal(process: "subprocess.Popen[str]", number: int) -> None:
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        elif process.poll() is None:
            process.send_signal(number)


NOT_THERE = (404, 405)
"""Statuses by which a server says that nothing takes a request (RFC 9110 §15.5)."""

_ERROR = 400
_OUT_OF_SERVICE = 502
_ANY_STATUS = 1_000


@dataclass(frozen=True)
class Endpoint:
    """An agent's endpoint as one run reaches it, and the service behind it where the suite started one."""

    spec: HttpAgentSpec
    service: Service | None = None


@dataclass
class _FirstStart:
    """How the first start of a service went: what it gave, for the run that made it, or why nothing will come of it."""

    failed: EnvironmentFaultError | None = None
    service: Service | None = None

    def take(self) -> Service | None:
        """Give what the first start gave, to the first that asks."""
        taken, self.service = self.service, None
        return taken

    async def aclose(self) -> None:
        """End what nobody took."""
        if (left := self.take()) is not None:
            await left.aclose()


async def _refuse_stranger(address: str, seconds: float) -> None:
    """Raise `EnvironmentFaultError` where somebody else answers where the service is to listen."""
    async with Sender(headers={}, seconds=seconds) as sender:
        if await sender.standing(address, below=_ANY_STATUS) == "":
            raise EnvironmentFaultError(
                f"something answers at {address} before the service is started: end it, or another session that has "
                "started it (with `-n` each worker starts one), or write `{port}` into `command`"
            )


async def serve(
    spec: ServiceSpec,
    root: Path,
    gate: IsolationGate,
    stack: AsyncExitStack,
    *,
    at: Keys = (),
    own: dict[str, Service] | None = None,
) -> Service:
    """Give the running service that the suite names at `at`, started if need be; one of a run's own ends with `stack`.

    `own` are those that the run has started, for another part of the suite that is the same service. The first start
    goes alone, and is tried again. Raise `NeverUpError` where it fails, for every run that asks, and
    `EnvironmentFaultError` where a later start does.
    """

    async def start() -> Service:
        if is_fixed_address(spec.ready):
            await _refuse_stranger(str(spec.ready), spec.seconds)
        # in a thread, which no signal breaks off between the start of a process and the note that it is to be ended
        service = await asyncio.to_thread(start_service, spec, root)
        try:
            async with Sender(headers={}, seconds=spec.seconds) as sender:
                path = (spec.ready or "").lstrip("/").replace("{port}", str(service.port))
                address = path if is_web_address(path) else f"http://127.0.0.1:{service.port}/{path}"
                # nobody said that there is anything at `/`: an error of the service itself tells that it is up
                below = _OUT_OF_SERVICE if spec.ready is None else _ERROR
                await service.until_up(lambda: sender.standing(address, below=below), spec.seconds, spec.ready or "/")
        except BaseException:
            await service.aclose()
            raise
        return service

    async def start_first() -> _FirstStart:
        failed = None
        for _ in range(_STARTS):
            try:
                return _FirstStart(service=await start())
            except EnvironmentFaultError as error:
                failed = error
        return _FirstStart(failed=failed)

    name = f"{root} {digest(spec.model_dump(mode='json'))}"
    own = {} if own is None else own
    if name in own:
        return own[name]
    first: _FirstStart = await gate.shared.get(start_first, f"first start {name}")
    if first.failed is not None:
        raise NeverUpError(str(first.failed), at=at)

    async def start_next() -> Service:
        return first.take() or await start()

    if spec.share == "run":
        service = own[name] = await start_next()
        stack.push_async_callback(service.aclose)
        return service
    shared: Service = await gate.shared.get(start_next, f"service {name}", lambda one: one.exit_status is None)
    return shared
