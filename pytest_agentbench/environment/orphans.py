"""What ends the processes of a session that died without ending them, as when an agent kills its own process."""

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

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

_GOODBYE = 5.0
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
            watch.wait(_GOODBYE)

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
