"""The run directory, which one session at a time may use: what it keeps while it runs, and a later one continues.

<base>/.gitignore            `*`
<base>/runs/<run id>/
    meta.json                what the session was; `session` counts how often it was continued, `ended` says whether
                             it came to its end
    lock                     held by the one session that writes here
    shards/<process>.jsonl   finished results, one line each
    journal/<process>.jsonl  starts and ends of runs
    transcripts/<slug>.json  one conversation per attempt
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePath
from types import TracebackType
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, ValidationError

from pytest_agentbench.core.base import GivenFields, Model, lean
from pytest_agentbench.core.codec import digest, dumps, loads
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.files import LineLog, ProcessLock, numbered_lines, write_atomic
from pytest_agentbench.core.json_values import JsonValue, is_count
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.redact import Redactor


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


ENDED = "ended"
"""Under which `meta.json` says whether the session came to its end: a process that is killed cannot say it then."""

TRANSCRIPT_SCHEMA = "agentbench-transcript/1"


def new_run_id(now: datetime, token: str) -> str:
    """Name a run directory so that names sort by time; `token` tells apart what starts in the same microsecond."""
    return f"{now:%Y%m%dT%H%M%S.%f}-{ascii_slug(token)[:12]}"


def without_attempt(key: RunKey) -> RunKey:
    """Give the key that all attempts of a run share: that of the first."""
    return key if key.attempt == 1 else key.model_copy(update={"attempt": 1})


class _Line(Model):
    """A line of a log, and the session that wrote it."""

    session: Annotated[int, Field(ge=0, strict=True)]


class _Stored(_Line):
    """A line of a shard."""

    result: Result


class _Event(_Line):
    """A line of a journal."""

    event: Literal["started", "ended"]
    key: RunKey


_L = TypeVar("_L", bound=_Line)


class RunDirectory:
    """One run directory. The controller makes or continues it and holds `lock`; every process has a `writer`."""

    def __init__(self, path: Path, meta: dict[str, JsonValue]) -> None:
        self.path = path
        self.meta = meta
        self.lock = FolderLock(path)
        self.left_out: dict[str, str] = {}
        """What could not be read, by file and line, and why: runs of such lines are played again."""

    @classmethod
    def create(cls, base: Path, run_id: str, meta: Mapping[str, JsonValue]) -> Self:
        """Make `base`/runs/`run_id`, hide `base` from git and take the lock; raise `ResultsError` if it exists."""
        if ascii_slug(run_id) != run_id:
            raise ResultsError(f"run id {run_id!r} must hold only letters, digits, `_`, `.` and `-`")
        path = base / "runs" / run_id
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            raise ResultsError(f"{path} exists already; continue it, or choose another run id") from None
        ignore = base / ".gitignore"
        if not ignore.exists():
            write_atomic(ignore, "*\n")
        directory = cls(path, {**meta, "run": run_id, "session": 0, ENDED: False})
        directory.lock.acquire()
        directory._write_meta()
        return directory

    @classmethod
    def mirror(cls, base: Path, run_id: str, *, session: int) -> Self:
        """Open or make a run directory on a host that does not see the session's own, under the same name.

        It is not locked: all workers of that host write there, each under its own name.
        """
        path = base / "runs" / run_id
        path.mkdir(parents=True, exist_ok=True)
        ignore = base / ".gitignore"
        if not ignore.exists():
            write_atomic(ignore, "*\n")
        directory = cls(path, {"run": run_id, "session": session, "mirror": True})
        directory._write_meta()
        return directory

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run directory to read it or to add to it; raise `ResultsError` if it is none."""
        file = path / "meta.json"
        try:
            meta = loads(file.read_text(encoding="ascii"))
        except FileNotFoundError:
            raise ResultsError(f"{path} is not a run directory: it has no meta.json") from None
        except (OSError, ValueError) as error:
            raise ResultsError(f"{file} cannot be read: {error}") from error
        if not isinstance(meta, dict) or not is_count(meta.get("session")):
            raise ResultsError(f"{file} is not the meta.json of a run directory: `session` is missing")
        return cls(path, meta)

    @classmethod
    def recovered(cls, path: Path, why: str) -> Self:
        """Open a run directory whose meta.json is damaged: the logs tell how often it was continued."""
        directory = cls(path, {"run": path.name, "session": sys.maxsize})
        seen = [event.session for name in directory._processes("journal") for event in directory._events(name)]
        stored = [session for session, _ in directory._stored()]
        directory.meta["session"] = max([0, *seen, *stored])
        directory.left_out["meta.json"] = why
        return directory

    @classmethod
    def latest(cls, base: Path) -> Self | None:
        """Open the newest run directory under `base`, or give None when there is none.

        One that holds results is opened though its meta.json is damaged; `left_out` says so.
        """
        for path in reversed(_run_folders(base)):
            try:
                return cls.open(path)
            except ResultsError as error:
                if any((path / folder).is_dir() for folder in ("shards", "journal")):
                    return cls.recovered(path, str(error))
        return None

    @property
    def session(self) -> int:
        """How often the run was continued; 0 while the session that made it writes."""
        return int(self.meta["session"])

    def resume(self) -> None:
        """Take the lock and begin the next session, before any worker opens the directory."""
        self.lock.acquire()
        self.meta |= {"session": self.session + 1, ENDED: False}
        self._write_meta()

    def end(self) -> None:
        """Note that the session came to its end, with everything written."""
        self.meta[ENDED] = True
        self._write_meta()

    @property
    def was_cut_off(self) -> bool:
        """Whether the session that wrote here was left before its end; not one that still runs."""
        if self.meta.get(ENDED) is not False:  # no session of an older version says so, nor does a mirror
            return False
        try:
            self.lock.acquire()
        except (ResultsError, OSError):
            return False
        self.lock.release()
        return True

    def writer(self, process: str, redactor: Redactor | None = None, *, fsync: bool = False) -> "RunWriter":
        """Open what `process` (`main`, `gw0`, …) writes; no other process writes under that name meanwhile."""
        return RunWriter(self.path, process, self.session, redactor or Redactor(), fsync=fsync)

    def results(self) -> dict[RunKey, Result]:
        """Merge all shards: the last session's last attempt of each run, sorted by key, keyed without the attempt."""
        return {key: attempts[-1] for key, attempts in self.attempts().items()}

    def attempts(self) -> dict[RunKey, tuple[Result, ...]]:
        """Give every stored attempt of each run, the deciding one last; sorted by key, keyed without the attempt."""
        ranked: dict[RunKey, list[tuple[tuple[int, int, bool, int], Result]]] = {}
        for position, (session, result) in enumerate(self._stored()):
            rank = (session, result.key.attempt, result.not_run is None, position)
            ranked.setdefault(without_attempt(result.key), []).append((rank, result))
        return {
            key: tuple(result for _, result in sorted(ranked[key], key=lambda pair: pair[0]))
            for key in sorted(ranked, key=lambda key: key.without_attempt)
        }

    def in_flight(self, process: str | None = None) -> tuple[RunKey, ...]:
        """Give the runs that started and never ended, in the order started: of one process, or of all.

        A run that another process, or a later session, took to its end is not in flight.
        """
        done: dict[RunKey, int] = {}
        for session, result in self._stored():
            done[result.key] = max(session, done.get(result.key, -1))
        open_runs: dict[str, dict[RunKey, int]] = {}
        for name in self._processes("journal"):
            runs = open_runs.setdefault(name, {})
            for event in self._events(name):
                runs.pop(event.key, None)
                if event.event == "started":
                    runs[event.key] = event.session
                else:
                    done[event.key] = max(event.session, done.get(event.key, -1))
        names = list(open_runs) if process is None else [process]
        return tuple(
            key for name in names for key, session in open_runs.get(name, {}).items() if done.get(key, -1) < session
        )

    def prune(self, keep: int = 20, *, before: datetime | None = None) -> list[Path]:
        """Delete all but the `keep` newest run directories beside this one, or those made `before` a time.

        Give what was deleted. This directory, and those that a live session holds, stay.
        """
        doomed = [path for path in _run_folders(self.path.parents[1]) if path.name != self.path.name]
        if before is None:
            doomed = doomed[: max(len(doomed) + 1 - max(keep, 1), 0)]
        else:
            doomed = [path for path in doomed if path.name < new_run_id(before, "0")]  # names sort by time
        deleted = []
        for path in doomed:
            lock = FolderLock(path)
            try:
                lock.acquire()
            except (ResultsError, OSError):
                continue
            # Windows cannot delete a file that is open
            lock.release()
            shutil.rmtree(path, ignore_errors=True)
            deleted.append(path)
        return deleted

    def close(self) -> None:
        """Release the lock."""
        self.lock.release()

    def _stored(self) -> Iterator[tuple[int, Result]]:
        for name in self._processes("shards"):
            for stored in self._read(f"shards/{name}.jsonl", _Stored):
                yield stored.session, stored.result

    def _events(self, process: str) -> Iterator["_Event"]:
        return self._read(f"journal/{process}.jsonl", _Event)

    def _read(self, name: str, kind: type[_L]) -> Iterator[_L]:
        """Yield the lines of a log that are of a kind; note the others, and those of a session that never was."""
        for line in numbered_lines(self.path / name):
            try:
                read = kind.model_validate(line.record)
            except (ValidationError, RecursionError):
                cut = (
                    "it is incomplete, or pytest-agentbench did not write it"
                    if line.record is None
                    else "another version wrote it"
                )
                self.left_out[f"{name}:{line.number}"] = cut
                continue
            if read.session > self.session:
                self.left_out[f"{name}:{line.number}"] = f"it is of session {read.session}, this is {self.session}"
                continue
            yield read

    def _processes(self, folder: str) -> list[str]:
        return sorted(path.stem for path in (self.path / folder).glob("*.jsonl"))

    def _write_meta(self) -> None:
        write_atomic(self.path / "meta.json", dumps(self.meta, indent=2) + "\n")


class RunWriter:
    """What one process writes: results, transcripts and its journal; safe from several threads."""

    def __init__(self, path: Path, process: str, session: int, redactor: Redactor, *, fsync: bool = False) -> None:
        """Open the logs of `process` in the run directory `path`; see `RunDirectory.writer`."""
        name = ascii_slug(process)
        self._path = path
        self._session = session
        self._redactor = redactor
        self._shared: GivenFields = {}
        self._shard = LineLog(path / "shards" / f"{name}.jsonl", fsync=fsync)
        self._journal = LineLog(path / "journal" / f"{name}.jsonl", fsync=fsync)

    def started(self, key: RunKey) -> None:
        """Note that a run begins."""
        self._note("started", key)

    def ended(self, key: RunKey) -> None:
        """Note that a run is over without a result of its own (cancelled)."""
        self._note("ended", key)

    def append(self, result: Result, transcript: Transcript | None = None) -> Result:
        """Store a finished attempt and its transcript, and note its end; give the result as stored.

        The stored result is redacted and names its transcript file; hand it on instead of the one given.
        """
        stored = self._redactor.result(result)
        if transcript is not None:
            stored = stored.model_copy(update={"transcript": f"transcripts/{transcript_name(result.key)}"})
            write_transcript(self._path, stored, self._redactor.transcript(transcript))
        self._shard.append({"session": self._session, "result": stored.model_dump()})
        self._note("ended", result.key)
        return lean(stored, self._shared)

    def close(self) -> None:
        """Close the logs; closing twice is fine."""
        self._shard.close()
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _note(self, event: str, key: RunKey) -> None:
        self._journal.append({"event": event, "key": key.model_dump(), "session": self._session})


_OTHERS = frozenset({Blame.USER, Blame.PROVIDER, Blame.ENVIRONMENT})


def write_transcript(folder: Path, result: Result, transcript: Transcript) -> None:
    """Write a conversation, redacted already, to the file that its result names in the run directory `folder`."""
    document = {
        "schema": TRANSCRIPT_SCHEMA,
        "key": result.key.model_dump(),
        "session_id": result.session_id,
        "scenario": result.title or result.key.scenario,
        "termination": result.termination,
        "stop_reason": result.stop_reason,
    }
    broke_off = result.termination != Termination.FINISHED and result.blame is Blame.SCENARIO
    if result.verdict is Verdict.ERROR and (result.blame in _OTHERS or broke_off):
        document["blame"] = result.blame  # whoever judges it again does not see who spoilt it
    # one message a line: the encoder that indents takes ten times as long, in every run
    lines = ",\n".join(dumps(message.model_dump(exclude_defaults=True)) for message in transcript.messages)
    write_atomic(folder / result.transcript, f'{dumps(document)[:-1]},"messages":[\n{lines}\n]}}\n')


def transcript_name(key: RunKey) -> str:
    """Name the transcript file of an attempt: readable, and unique also where file names ignore case."""
    slug = ascii_slug("-".join(part for part in (key.scenario, key.label) if part))[:80]
    return f"{slug}-t{key.trial}a{key.attempt}-{digest(key)[:8]}.json"


def read_transcript(path: Path) -> Transcript:
    """Read a transcript file of a run directory; raise `ResultsError` if it is none."""
    try:
        document = loads(path.read_text(encoding="ascii"))
        return Transcript(messages=document["messages"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{path} is not a transcript: {error}") from error


def _run_folders(base: Path) -> list[Path]:
    """Give the run directories under `base`, oldest first: run ids sort by time."""
    folder = base / "runs"
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


DEFAULT_FOLDER = ".agentbench"
"""Where sessions keep their run directories unless told otherwise."""

LAST_SESSION = Path(DEFAULT_FOLDER, "results.json")
"""The results of the session that ended last, as seen from where it was started."""


class Transcripts:
    """Finds the transcript of a result; one that is not there, or not readable, is None and no error.

    `folders` are run directories in which to look, the likeliest first, per run.
    """

    def __init__(self, folders: Iterable[tuple[RunKey, Sequence[Path]]] = (), *, default: Sequence[Path] = ()) -> None:
        """Look in `folders` for the runs named there, and in `default` for all others."""
        self._folders = dict(folders)
        self._default = default

    @classmethod
    def beside(cls, documents: Iterable[tuple[Path, Document]]) -> Self:
        """Look where each results file lies: in its run directory, in `.agentbench`, or where it says that it ran."""
        return cls(
            (result.key, folders)
            for path, document in documents
            for folders in [_run_directories(path, document)]
            for result in (*document.results, *document.retried)
        )

    def file(self, result: Result) -> Path | None:
        """Give the transcript file of `result`, or None when there is none here."""
        name = PurePath(result.transcript)
        # a results file may come from anywhere, and must not make us read elsewhere
        if not result.transcript or name.is_absolute() or ".." in name.parts:
            return None
        folders = self._folders.get(result.key, self._default)
        return next((file for folder in folders if (file := folder / name).is_file()), None)

    def read(self, result: Result) -> Transcript | None:
        """Give the conversation of `result`, or None when it cannot be had."""
        file = self.file(result)
        try:
            return read_transcript(file) if file is not None else None
        except ResultsError:
            return None


def _run_directories(path: Path, document: Document) -> list[Path]:
    folders = [path.parent]
    if document.run and PurePath(document.run).name == document.run:
        folders.append(path.parent / "runs" / document.run)
        folders.append(path.parent / DEFAULT_FOLDER / "runs" / document.run)
        if document.root:
            folders.append(Path(document.root) / DEFAULT_FOLDER / "runs" / document.run)
    return folders
