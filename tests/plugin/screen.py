"""A terminal to run pytest on: a pseudo-terminal, and what its screen shows after every byte."""

import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.forking import CONTEXT, begin, start

_ESCAPE = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\[[\d;?]*[A-Za-z]")


@dataclass
class Screen:
    """As much of a terminal as pytest and its plugins use; rows that scroll out stay."""

    width: int
    rows: list[str] = field(default_factory=lambda: [""])
    row: int = 0
    column: int = 0

    def feed(self, text: str) -> None:
        """Show what is written."""
        position = 0
        while position < len(text):
            if escape := _ESCAPE.match(text, position):
                self._obey(escape[2], int(escape[1] or 1))
                position = escape.end()
            else:
                self._put(text[position])
                position += 1

    @property
    def text(self) -> str:
        """All rows."""
        return "\n".join(row.rstrip() for row in self.rows)

    def _obey(self, letter: str | None, count: int) -> None:
        if letter == "A":
            self.row = max(0, self.row - count)
        elif letter == "C":
            self.column = min(self.width - 1, self.column + count)
        elif letter == "J":
            self.rows[self.row] = self.rows[self.row][: self.column]
            del self.rows[self.row + 1 :]

    def _put(self, char: str) -> None:
        if char == "\r":
            self.column = 0
            return
        if char == "\n" or self.column == self.width:
            self.row += 1
            self.column = 0 if char != "\n" else self.column
            self.rows += [""] * (self.row + 1 - len(self.rows))
        if char != "\n":
            row = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = row[: self.column] + char + row[self.column + 1 :]
            self.column += 1


def run_on_terminal(
    folder: Path,
    *arguments: str,
    width: int = 90,
    environ: Mapping[str, str] | None = None,
    interrupt_after: str = "",
) -> tuple[str, str]:
    """Run pytest on a terminal in `folder`; give all that was written, and the screen in the end.

    Once `interrupt_after` was written, it gets the signal of Ctrl-C.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, width, 0, 0))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CI", "COLUMNS"))}
    environment = {**kept, "TERM": "xterm", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(environ or {})}
    # this process froze its objects: a session leaves them alone then, but counting them takes long
    quick = ["-p", "no:agentbench-garbage", "-p", "no:cacheprovider"]
    command = ["-p", "agentbench", "-p", "xdist", *quick, *arguments]
    process = CONTEXT.Process(target=_session, args=(folder, theirs, environment, command))
    start(process)
    os.close(theirs)
    written = b""
    while part := _read(ours):
        written += part
        if interrupt_after and interrupt_after.encode() in written:
            os.kill(process.pid or 0, signal.SIGINT)
            interrupt_after = ""
    process.join(30)
    os.close(ours)
    screen = Screen(width)
    screen.feed(written.decode())
    return written.decode(), screen.text


def _session(folder: Path, terminal: int, environment: Mapping[str, str], command: Sequence[str]) -> None:
    """Run pytest in a copy of the test's process, on the terminal alone."""
    begin()
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number in range(3):
        os.dup2(terminal, number)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, "w" if number else "r", buffering=1, encoding="utf-8", closefd=False) for number in range(3)
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who has Ctrl-C ignored hands that down
    sys.path.insert(0, "")
    sys.exit(int(pytest.main([*command])))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""
