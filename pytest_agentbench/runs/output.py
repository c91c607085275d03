"""What agents and tools print and log, kept per run: conversations overlap, and pytest would give it to any item.

Output is told apart by context, which tasks and the run's own thread inherit. Threads that an agent makes itself do not
inherit it before Python 3.14; what they print goes where pytest puts it. Writes past Python (subprocesses, C code)
cannot be split.
"""

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TextIO
from weakref import WeakSet

_MOST = 200_000
"""Characters kept per run; the rest is counted."""

_BUFFER: ContextVar["RunOutput | None"] = ContextVar("agentbench_output", default=None)


class RunOutput:
    """Collects the output of one run."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._left_out = 0

    def write(self, text: str) -> None:
        """Keep `text`, as far as there is room."""
        room = _MOST - self._size
        self._parts.append(text[:room] if room > 0 else "")
        self._size += len(text)
        self._left_out += max(0, len(text) - max(room, 0))

    @property
    def text(self) -> str:
        """What was printed and logged."""
        rest = f"\n… {self._left_out} more characters" if self._left_out else ""
        return "".join(self._parts) + rest


@contextlib.contextmanager
def kept_apart() -> Iterator[RunOutput]:
    """Give what the code of this context prints and logs, and keep it from everybody else."""
    output = RunOutput()
    token = _BUFFER.set(output)
    try:
        yield output
    finally:
        _BUFFER.reset(token)


class OutputRouter:
    """Sends the output of runs to their own buffers while it is installed; all other output goes its usual way.

    pytest swaps `sys.stdout` and `sys.stderr` between phases, so `watch` is called in each; it is cheap and may be
    repeated.
    """

    def __init__(self) -> None:
        self._streams: WeakSet[TextIO] = WeakSet()
        self._handlers: list[logging.Handler] = []
        self._handler = _BufferHandler()
        self._handler.setFormatter(logging.Formatter("%(levelname)-8s %(name)s: %(message)s"))

    def watch(self) -> None:
        """Route what goes through the current streams and log handlers."""
        for stream in (sys.stdout, sys.stderr):
            if stream not in self._streams and hasattr(stream, "__dict__"):
                self._streams.add(stream)
                stream.write = _routed(stream.write)  # type: ignore[method-assign]
                stream.close = _kept_open(stream.close)  # type: ignore[method-assign]
        root = logging.getLogger()
        if self._handler not in root.handlers:
            root.addHandler(self._handler)
        for handler in root.handlers:
            if handler is not self._handler and handler not in self._handlers:
                self._handlers.append(handler)
                handler.addFilter(_is_no_run)

    def stop(self) -> None:
        """Leave streams and handlers as they were."""
        for stream in list(self._streams):
            with contextlib.suppress(AttributeError):
                del stream.write, stream.close
        self._streams.clear()
        for handler in self._handlers:
            handler.removeFilter(_is_no_run)
        self._handlers.clear()
        logging.getLogger().removeHandler(self._handler)


def _routed(write: Callable[[str], int]) -> Callable[[str], int]:
    def routed(text: str) -> int:
        output = _BUFFER.get()
        if output is None:
            return write(text)
        output.write(text)
        return len(text)

    return routed


def _kept_open(close: Callable[[], None]) -> Callable[[], None]:
    """Let only what is no run's close a stream that all runs print to."""
    return lambda: close() if _BUFFER.get() is None else None


class _BufferHandler(logging.Handler):
    """Formats the records of a run into its buffer."""

    def emit(self, record: logging.LogRecord) -> None:
        output = _BUFFER.get()
        if output is None:
            return
        try:
            output.write(self.format(record) + "\n")
        except Exception:  # noqa: BLE001 - logging never raises into the code that logs
            self.handleError(record)


def _is_no_run(_: logging.LogRecord) -> bool:
    """Let a handler have only what no run has logged."""
    return _BUFFER.get() is None
