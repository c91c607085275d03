"""A call in a copy of this process, which has all imported: a process that starts from nothing takes half a second."""

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pytest

CAN_FORK = "fork" in multiprocessing.get_all_start_methods()
CONTEXT: Any = multiprocessing.get_context("fork" if CAN_FORK else "spawn")
"""What gives processes, pipes and events of them: copies of this process wherever there are any."""


class Worker:
    """A function that runs in a process of its own, and what it gave back."""

    def __init__(self, call: Callable[..., Any], *arguments: object, **named: object) -> None:
        self._receiving, sending = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(target=_answer, args=(sending, call, arguments, named))
        start(self._process)
        sending.close()

    def result(self) -> Any:
        """Wait for the end; give what the function returned, or None where its process died."""
        found = None
        with contextlib.suppress(EOFError), self._receiving:
            found = self._receiving.recv()
        self._process.join(60)
        return found

    @property
    def status(self) -> int | None:
        """The exit status of the process, once it has ended."""
        return self._process.exitcode


class Command:
    """A call that prints, in a copy of this process: its lines can be read as they come, and its end awaited."""

    def __init__(self, call: Callable[..., Any], *arguments: object) -> None:
        reading, writing = os.pipe()
        self.stdout: TextIO = os.fdopen(reading, encoding="utf-8")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        self._process = CONTEXT.Process(target=_print, args=(call, arguments, writing, self._errors.fileno()))
        start(self._process)
        os.close(writing)

    def interrupt(self) -> None:
        """Send what Ctrl-C sends."""
        os.kill(self._process.pid or 0, signal.SIGINT)

    def end(self) -> tuple[int, str, str]:
        """Wait for the end; give the status, what was printed and not read so far, and what stderr got."""
        with self.stdout, self._errors:
            printed = self.stdout.read()
            self._process.join(20)
            self._errors.seek(0)
            errors = self._errors.read().decode()
        is_late = self._process.is_alive()
        self._process.kill()
        assert not is_late, printed + errors
        return self._process.exitcode or 0, printed, errors


def session(folder: Path, *arguments: str) -> int:
    """Run pytest in a folder, with our plugin alone; give the exit status. It is for a `Worker`."""
    os.chdir(folder)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, "")
    return int(pytest.main(["-p", "agentbench", "-p", "no:agentbench-garbage", "--agentbench", *arguments]))


def start(process: Any) -> None:
    """Start a process of the context."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of 3.12 on: threads of this process are not in the copy
        process.start()


def begin() -> None:
    """Do what a copy does first: search for no cycles among what it shares, as that would copy every page of it."""
    gc.freeze()
    warnings.resetwarnings()


def _answer(sending: Any, call: Callable[..., Any], arguments: tuple[object, ...], named: dict[str, object]) -> None:
    begin()
    sending.send(call(*arguments, **named))


def _print(call: Callable[..., Any], arguments: tuple[object, ...], stdout: int, stderr: int) -> None:
    begin()
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    sys.stdout, sys.stderr = (
        os.fdopen(number, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        for number in (1, 2)
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who has Ctrl-C ignored hands that down
    sys.exit(call(*arguments))
