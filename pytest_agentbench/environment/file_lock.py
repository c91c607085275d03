"""A lock between processes: a locked file, which the system unlocks when its holder dies."""

import os
import sys
from pathlib import Path

from pytest_agentbench.core.errors import EnvironmentFaultError

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class FileLock:
    """Holds `file` locked; taking it never waits."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Lock the file if nobody holds it; raise `EnvironmentFaultError` where it cannot be opened at all."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise EnvironmentFaultError(f"{self._file}: cannot be opened as a lock: {error.strerror}") from error
        try:
            _lock(descriptor)
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            raise EnvironmentFaultError(f"{self._file}: cannot be locked: {error.strerror}") from error
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Unlock the file; the file itself stays, since another process may hold it open."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            _unlock(descriptor)
        finally:
            os.close(descriptor)
