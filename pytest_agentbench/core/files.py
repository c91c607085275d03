"""Files that are never seen half-written, logs of JSON lines that survive a cut, and locks between processes."""

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.json_values import JsonValue


@contextlib.contextmanager
def _drafted(path: Path) -> Iterator[Path]:
    """Give a draft beside `path`, which is moved there when all is written, and gone when that fails."""
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def write_atomic(path: Path, text: str) -> None:
    """Write `text` as UTF-8 beside `path`, then move it there; parent folders are made."""
    content = text.encode("utf-8")
    with _drafted(path) as draft:
        try:
            draft.write_bytes(content)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)


@contextlib.contextmanager
def writing_atomic(path: Path) -> Iterator[TextIO]:
    """Open a draft beside `path` for what is too large to be one text; it is moved there when all is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _drafted(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        yield file


def copy_atomic(source: Path, path: Path) -> None:
    """Copy a file beside `path`, then move it there; parent folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _drafted(path) as draft:
        shutil.copyfile(source, draft)


class LineLog:
    """An append-only file of JSON lines; every record is on disk (in the page cache) when `append` returns."""

    def __init__(self, path: Path, *, fsync: bool = False) -> None:
        """Open `path` for appending; a record that a killed process left unfinished is closed off first."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fsync = fsync
        self._lock = threading.Lock()
        self._file = path.open("ab", buffering=0)
        if _is_torn(path):
            self._write(b"\n")

    def append(self, record: JsonValue) -> None:
        """Add one record; safe from several threads."""
        line = dumps(record).encode("ascii") + b"\n"
        with self._lock:
            self._write(line)

    @property
    def closed(self) -> bool:
        """Whether nothing can be added any more."""
        return self._file.closed

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        with self._lock:
            self._file.close()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) or 0 :]
        if self._fsync:
            os.fsync(self._file.fileno())


@dataclass(frozen=True)
class LogLine:
    """A line of a log by its number, and the JSON in it; None where it holds none, such as one cut off by a kill."""

    number: int
    record: JsonValue


def numbered_lines(path: Path) -> Iterator[LogLine]:
    """Yield the lines of a log in order, blank ones left out."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            # no proper prefix of a JSON object is JSON, so what parses is whole
            try:
                yield LogLine(number, loads(line.decode("ascii")))
            except (ValueError, RecursionError):
                yield LogLine(number, None)


def read_lines(path: Path) -> Iterator[JsonValue]:
    """Yield the records of a log in order; lines that a killed process left unfinished are passed over."""
    return (line.record for line in numbered_lines(path) if line.record is not None)


def _is_torn(path: Path) -> bool:
    if path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


class ProcessLock:
    """Holds `file` locked against other holders, in this process and in others; any thread may release it.

    A child that the holder forked does not keep it: filelock closes what the child inherited.
    """

    def __init__(self, file: Path) -> None:
        from filelock import FileLock  # noqa: PLC0415 - only sessions that lock something need it

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
        from filelock import Timeout  # noqa: PLC0415 - as in `__init__`

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
