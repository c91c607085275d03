"""A lock on a folder that dies with the process that holds it."""

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from pytest_agentbench.core.errors import ResultsError

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        # a record lock, not flock: a child forked by an agent would keep a flock alive after its parent was killed
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
        except OSError:
            return False
        return True


class FolderLock:
    """Holds `folder`/lock until released or until the process ends, however it ends.

    A second lock taken by the same process is not refused (record locks belong to processes), so one object per
    process and folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lock"
        self._descriptor: int | None = None

    def acquire(self) -> Self:
        """Take the lock; raise `ResultsError` naming the folder and the holder when another process has it."""
        if self._descriptor is not None:
            return self
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        if not _try_lock(descriptor):
            holder = _holder(descriptor)
            os.close(descriptor)
            raise ResultsError(
                f"{self.path.parent} is in use by {holder}; wait until it has ended, or start a new run instead"
            )
        # the process id goes behind the locked byte, which others cannot read on Windows
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f" {os.getpid()}\n".encode())
        self._descriptor = descriptor
        return self

    def release(self) -> None:
        """Give the lock back; releasing twice is fine."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _holder(descriptor: int) -> str:
    with contextlib.suppress(OSError):
        os.lseek(descriptor, 1, os.SEEK_SET)
        text = os.read(descriptor, 32).decode("ascii", "replace").strip()
        if text.isdigit():
            return f"process {text}"
    return "another process"
