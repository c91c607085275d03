"""A lock beside a file for the moment in which it is read, changed and written."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _wait(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _wait(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Wait for every other holder of `file`'s lock, in whatever process, and hold it; it dies with the process."""
    lock = file.with_name(f".{file.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _wait(descriptor)
            # the holder before may have deleted the file that was waited for
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), lock.stat()):
                    break
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    try:
        yield
    finally:
        # Windows deletes no open file; an unlocked one that stays is harmless
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(descriptor)
