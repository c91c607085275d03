"""The live line below pytest's own output on a terminal; gone before anything else is printed."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from math import ceil

import pytest

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.text import shorten
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.tally import Tally

_PRECISION = 3


class Progress(Model):
    """Where a session stands after `seconds`.

    `in_flight` None is not known. `unpriced` of the `calls` to models that were answered live have no known price.
    """

    done: int
    total: int
    in_flight: int | None = None
    calls: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    seconds: float


def progress_line(progress: Progress, width: int, *, dot: str = "·") -> str:
    """Put it in one line of `width` characters at most: parts that do not fit are left out from the end."""
    parts = [f"done {progress.done}/{progress.total}"]
    if progress.in_flight is not None:
        parts.append(f"{progress.in_flight} in flight")
    if progress.calls and progress.seconds > 0:
        parts.append(f"{_rate(progress.calls / progress.seconds)} calls/s")
        parts.append(_cost(progress))
    if (left := seconds_left(progress)) is not None:
        parts.append(f"ETA {_clock(left)}")
    between = f" {dot} "
    while len(parts) > 1 and len(between.join(parts)) > width:
        parts.pop()
    return shorten(between.join(parts), width)


def seconds_left(progress: Progress) -> float | None:
    """Give the seconds that the rest takes at the pace so far, or None before anything is done."""
    if not progress.done:
        return None
    return progress.seconds / progress.done * max(0, progress.total - progress.done)


def _rate(per_second: float) -> str:
    return f"{per_second:.0f}" if per_second >= 10 else f"{per_second:.1f}"


def _cost(progress: Progress) -> str:
    """Say what is known of the cost; an unknown price is never 0."""
    if progress.unpriced == progress.calls:
        return "cost unknown"
    more = " + unknown" if progress.unpriced else ""
    return f"{progress.cost_usd:.{_PRECISION}f} USD{more}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


_EVERY = 0.25
"""Seconds between two looks at the figures."""

_GOODBYE = 1.0
"""Seconds that the thread has to end."""

_ERASE = "\x1b[J"
"""Erases from the cursor to the end of the screen: pytest's own line ends at the cursor."""


class LiveLine:
    """Hooks that draw the line in the row below the cursor and take it away around whatever pytest prints.

    A thread draws while the session waits. It writes to a descriptor of its own, since pytest's points to a capture
    file while a test runs. `in_flight` gives the runs in flight, None where that is not known.
    """

    def __init__(
        self,
        config: pytest.Config,
        tally: Tally,
        *,
        in_flight: Callable[[], int | None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._tally = tally
        self._in_flight = in_flight
        self._now = now
        self._dot = "·" if compat.shows_unicode(config) else "-"
        self._screen = threading.RLock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._terminal = os.dup(sys.stdout.fileno())
        self._began = now()
        self._column = 0
        self._is_drawn = False
        self._shown: Progress | None = None
        self._shown_at = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None]:
        """Begin with the first test; give way to what is printed when one starts."""
        if self._thread is None and not self._ended.is_set():
            self._began = self._now()
            self._thread = threading.Thread(target=self._tick, name="agentbench-progress", daemon=True)
            self._thread.start()
        with self._given_way():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None]:
        """Give way to what is printed of a report."""
        with self._given_way():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self) -> Generator[None]:
        """Give way to what is printed when a test has ended."""
        with self._given_way():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Whatever ends the loop, the line is gone before anything else is printed.

        This is the innermost wrapper, since pytest prints "[100%]" in one of its own.
        """
        try:
            return (yield)
        finally:
            self._end()

    def pytest_unconfigure(self) -> None:
        """Give the terminal back, also where no test ran."""
        self._end()
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1

    @contextlib.contextmanager
    def _given_way(self) -> Generator[None]:
        with self._screen:
            self._erase()
            yield
            writer = self._config.get_terminal_writer()
            writer.flush()
            self._column = writer.width_of_current_line
            self._draw()

    def _tick(self) -> None:
        while not self._ended.wait(_EVERY):
            with self._screen:
                self._draw()

    def _end(self) -> None:
        self._ended.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_GOODBYE)
        with self._screen:
            self._erase()

    def _draw(self) -> None:
        if self._ended.is_set() or self._thread is None:
            return
        try:
            width = os.get_terminal_size(self._terminal).columns
        except OSError:  # the terminal is gone; so is the need
            return
        line = progress_line(self._current(), max(1, width - 1), dot=self._dot)
        back = f"\x1b[{self._column}C" if self._column else ""
        self._is_drawn = True  # before it is: Ctrl-C may come in between, and the line would stay
        self._write(f"{_ERASE}\n\r{line}\x1b[A\r{back}")

    def _erase(self) -> None:
        if self._is_drawn:
            self._write(_ERASE)
            self._is_drawn = False

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # a terminal that was closed is no reason to lose a session
            os.write(self._terminal, text.encode("utf-8" if self._dot == "·" else "ascii", "replace"))

    def _current(self) -> Progress:
        """Look at the figures anew only where the last look is old: a report comes more often than a change shows."""
        now = self._now()
        if self._shown is None or now - self._shown_at >= _EVERY:
            self._shown, self._shown_at = self._progress(now), now
        return self._shown

    def _progress(self, now: float) -> Progress:
        results = self._tally.results
        # counted anew each time: results are replaced by later attempts, and taken away from runs that are left out
        played = [*list(results.values()), *list(self._tally.retried)]
        taken = [usage for result in played for usage in result.usage.values()]
        return Progress(
            done=len(results.keys() | self._tally.left_out | self._tally.broken.keys()),
            total=len(self._tally.metas),
            in_flight=self._in_flight(),
            calls=sum(usage.calls for usage in taken),
            cost_usd=sum(usage.cost_usd for usage in taken),
            unpriced=sum(usage.unpriced for usage in taken),
            seconds=now - self._began,
        )


class Watching:
    """Sets the live line up where somebody watches, which only a session that has begun can tell."""

    def __init__(self, config: pytest.Config, tally: Tally, *, in_flight: Callable[[], int | None]) -> None:
        self._config = config
        self._tally = tally
        self._in_flight = in_flight

    def pytest_sessionstart(self) -> None:
        """Register the line."""
        if is_wanted(self._config, os.environ):
            line = LiveLine(self._config, self._tally, in_flight=self._in_flight)
            self._config.pluginmanager.register(line, "agentbench-progress")


def is_wanted(config: pytest.Config, environ: Mapping[str, str]) -> bool:
    """Whether somebody watches: a terminal that understands escapes, and nothing else that writes to it meanwhile."""
    watched = sys.stdout.isatty() and environ.get("TERM", "dumb") != "dumb"
    automatic = bool(environ.get("CI") or environ.get("BUILD_NUMBER"))
    written_to = (
        config.getoption("capture", "fd") in {"no", "tee-sys"}
        or config.get_verbosity() not in {0, -1}
        or any(config.getoption(name, False) for name in ("usepdb", "trace", "collectonly", "setupshow"))
        or logs_live(config)
    )
    return watched and not automatic and not written_to and config.pluginmanager.has_plugin("terminalreporter")


def logs_live(config: pytest.Config) -> bool:
    """Whether pytest prints log records as they come."""
    if config.getoption("log_cli_level", None) is not None:
        return True
    try:
        return bool(config.getini("log_cli"))
    except ValueError:  # the logging plugin is off
        return False
