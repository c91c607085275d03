"""How far a command is, on stderr: one line that changes on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable
from typing import Self

from pytest_agentbench.core.names import count
from pytest_agentbench.core.text import printable, shorten

PAUSE = 10.0
"""Seconds before the first line, and between two, where there is no terminal: short work says nothing there."""

_BLINK = 0.1
"""Seconds between two lines on a terminal; work of a thousand steps a second is not slowed by telling of it."""

_WIDTH = 100
_CLEAR = "\r\x1b[K"


class Progress:
    """Tells how far a command is, and takes the line off the terminal at the end; `clock` gives seconds."""

    def __init__(self, command: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._command = command
        self._clock = clock
        self._stream = sys.stderr
        self._on_terminal = self._stream.isatty()
        self._next = clock() + (0 if self._on_terminal else PAUSE)
        self._is_shown = False

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line off the terminal, so that what follows does not stand behind it."""
        if self._is_shown:
            print(_CLEAR, end="", file=self._stream, flush=True)

    def line(self, text: str) -> None:
        """Show a line, unless the last one is too young."""
        now = self._clock()
        if now < self._next:
            return
        shown = shorten(printable(text), _WIDTH)
        self._next = now + (_BLINK if self._on_terminal else PAUSE)
        if self._on_terminal:
            self._is_shown = True
            print(f"{_CLEAR}{shown}", end="", file=self._stream, flush=True)
        else:
            print(f"agentbench {self._command}: {shown}", file=self._stream, flush=True)

    def counted(self, thing: str) -> Callable[[int, int], None]:
        """Give what is called with how many things are done, and of how many."""
        return lambda done, total: self.line(f"{done} of {count(total, thing)}")
