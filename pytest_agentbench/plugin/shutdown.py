"""The end of the process after a session: what agents left running is named, and does not keep it from ending."""

from __future__ import annotations

import concurrent.futures.thread
import contextlib
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.plugin import compat

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

PATIENCE = 10.0
"""Seconds for which Python may wait for threads and processes that agents left; then the process ends without them."""

_HANDLERS = 60.0
"""Seconds that anything else may take, such as a handler of `atexit`."""

_FIRST = 1.0
"""Seconds after which it is said what is waited for: what ends by itself is not worth a line."""

_SHOWN = 8

_LIBRARY = sysconfig.get_paths()["stdlib"]


class Ending:
    """Ends the process within `PATIENCE` seconds of the session's end, by the session's exit status.

    Results and summary are out by then. Only where the process is pytest's own: whoever calls `pytest.main` goes on
    afterwards, and xdist ends its workers itself.
    """

    def __init__(self, config: pytest.Config, changed: Callable[[], list[str]]) -> None:
        """Ask `changed` what of the process agents had changed."""
        self._changed = changed
        self._owns_process = compat.owns_process(config)
        self._threads = set(threading.enumerate())
        self._children = {pid for pid, _ in _children()}
        self._session: pytest.Session | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Remember the session, whose exit status others may still change; pytest prints no summary of a broken one."""
        self._session = session
        if session.exitstatus == pytest.ExitCode.INTERNAL_ERROR:
            told = "\n".join(self.told())
            _tell(f"agentbench: an error inside pytest ended the session; what had finished is in its results\n{told}")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Begin to wait for the process to end."""
        if self._owns_process and self._session is not None:
            threading.Thread(
                target=self._see_to_it, args=(self._session,), name="agentbench-ending", daemon=True
            ).start()

    def told(self) -> Iterator[str]:
        """Say what agents had changed in the process, and what they left running."""
        if changed := self._changed():
            more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            yield (
                f"changed for the whole process, and put back after the runs: {', '.join(changed[:_SHOWN])}{more}. "
                "Runs at the same time may have failed because of it; `-n 1` protects pytest itself"
            )
        if left := [*self._awaited(), *self._others()]:
            yield f"left running: {'; '.join(left)}"

    def _see_to_it(self, session: pytest.Session) -> None:
        begun = time.monotonic()
        time.sleep(_FIRST)
        if awaited := list(self._awaited()):
            _tell(f"agentbench: waiting for {'; '.join(awaited)}; pytest ends in {PATIENCE - _FIRST:g} s in any case")
        while (waited := time.monotonic() - begun) < _HANDLERS and not (waited >= PATIENCE and list(self._awaited())):
            time.sleep(_FIRST / 4)
        left = list(self._awaited()) or ["a handler of `atexit`"]
        _tell(f"agentbench: ended without {'; '.join(left)}: an agent or a tool has started it and never ended it")
        for process in _multiprocessing_children():
            process.kill()
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(int(session.exitstatus))

    def _awaited(self) -> Iterator[str]:
        """Name the threads and processes of this session that Python waits for at its end."""
        pools = getattr(concurrent.futures.thread, "_threads_queues", {})
        for thread in threading.enumerate():
            ours = thread in self._threads or thread is threading.main_thread()
            if not ours and (not thread.daemon or thread in pools) and thread is not threading.current_thread():
                yield f"thread {thread.name!r}{_place(thread)}"
        for process in _multiprocessing_children():
            if not process.daemon and process.pid not in self._children:
                yield f"process {process.pid} ({process.name})"

    def _others(self) -> Iterator[str]:
        named = {process.pid for process in _multiprocessing_children()}
        for pid, command in _children():
            if pid not in self._children and pid not in named and "from multiprocessing." not in command:
                yield f"process {pid} ({shorten(printable(command), 60)})"


def _multiprocessing_children() -> list[BaseProcess]:
    """Give the processes that were started by `multiprocessing`, which few agents load."""
    loaded = sys.modules.get("multiprocessing")
    return loaded.active_children() if loaded else []


def _tell(text: str) -> None:
    with contextlib.suppress(Exception):  # an agent may have closed it
        os.write(2, f"{printable(text, newlines=True)}\n".encode(errors="backslashreplace"))


def _place(thread: threading.Thread) -> str:
    """Say where a thread is: in the innermost line that is not the standard library's."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code.co_filename.startswith((_LIBRARY, "<frozen")):
        frame = frame.f_back
    return f" ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})" if frame is not None else ""


def _children() -> Iterator[tuple[int, str]]:
    """Give the processes that this one started and that run, each with its command, where the system tells.

    Of the program only its name is given: its folder may be longer than what there is room for.
    """
    own = os.getpid()
    with contextlib.suppress(OSError):
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                state, parent = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if int(parent) == own and state != b"Z":
                    words = Path(entry.path, "cmdline").read_bytes().split(b"\0")
                    program, *rest = (os.fsdecode(word) for word in words)
                    yield int(entry.name), " ".join([Path(program).name, *rest]).strip()
