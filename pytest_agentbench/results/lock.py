"""A folder that one session at a time may use."""

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.locks import ProcessLock


class FolderLock:
    """Holds `folder`/lock until released or until the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = ProcessLock(folder / "lock")
        # apart from the lock: a locked file cannot be read on Windows
        self._holder = folder / "lock.pid"

    def acquire(self) -> Self:
        """Take the lock; raise `ResultsError` naming the folder and the holder when somebody else has it."""
        if not self._lock.held:
            if not self._lock.try_acquire():
                raise ResultsError(
                    f"{self._folder} is in use by {self._named()}; wait until it has ended, or start a new run instead"
                )
            write_atomic(self._holder, f"{os.getpid()}\n")
        return self

    def release(self) -> None:
        """Give the lock back; releasing twice is fine."""
        if self._lock.held:
            with contextlib.suppress(OSError):  # it only names the holder
                self._holder.unlink()
        self._lock.release()

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._lock.held

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _named(self) -> str:
        try:
            text = self._holder.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            text = ""
        return f"process {text}" if text.isdigit() else "another process"
