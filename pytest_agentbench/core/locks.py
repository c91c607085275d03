"""One lock between processes: a locked file, which the system frees when its holder dies, however it dies."""

import contextlib
from pathlib import Path
from types import TracebackType
from typing import Self


class ProcessLock:
    """Holds `file` locked against other holders, in this process and in others; any thread may release it.

    A child that the holder forked does not keep it: filelock closes what the child inherited.
    """

    def __init__(self, file: Path) -> None:
        # only sessions that lock something need it
        from filelock import FileLock  # noqa: PLC0415

        self.file = file
        self._lock = FileLock(file, thread_local=False, fallback_to_soft=False)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._lock.is_locked

    def try_acquire(self) -> bool:
        """Take the lock if nobody holds it, without waiting; raise `OSError` where the file cannot be a lock."""
        return self._acquire(wait=False)

    def release(self) -> None:
        """Give the lock back; releasing twice is fine. The file stays, since others may wait for it."""
        self._lock.release(force=True)

    def forget(self) -> None:
        """Give the lock back and delete the file; whoever waited for it locks the one that comes after."""
        with contextlib.suppress(OSError):  # Windows deletes no file that is open
            self.file.unlink()
        self.release()

    def _acquire(self, *, wait: bool) -> bool:
        from filelock import Timeout  # noqa: PLC0415

        if self.held:
            return True
        self.file.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(blocking=wait)
        except Timeout:
            return False
        return True

    def __enter__(self) -> Self:
        """Wait until nobody holds the lock, and take it."""
        self._acquire(wait=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
