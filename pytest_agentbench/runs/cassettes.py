"""The cassettes of a session: which suite records where, what each process notes, and the merge at the end."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, NotRunError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.protocols import Caller, Recorded
from pytest_agentbench.runs.plan import RunPlan

if TYPE_CHECKING:  # few sessions record or replay
    from pytest_agentbench.llm.cassette.merge import Merged
    from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder

_TARGET = "cassette"


def new_session_id() -> str:
    """Give an id that no run has had and nobody can foresee: whatever outlives a session remembers by it."""
    return uuid4().hex


class SessionName:
    """The ids of a run's sessions in what is recorded: there each is `known_as` a name that is the same every time.

    An agent may tell its model which session it is in, and the model may answer with it.
    """

    def __init__(self, session_id: str, *, known_as: str) -> None:
        self._names = [(session_id, known_as)]

    def add(self, session_id: str) -> None:
        """Name the next session of the run."""
        self._names.insert(0, (session_id, f"{self._names[-1][1]}-session{len(self._names) + 1}"))

    def recorded(self, value: dict[str, Any]) -> dict[str, Any]:
        """Give a request or an answer as it is recorded and compared."""
        for session_id, name in self._names:
            value = _replaced(value, session_id, name)
        return value

    def played(self, value: dict[str, Any]) -> dict[str, Any]:
        """Give a recorded answer as the session of now would have been answered."""
        for session_id, name in self._names:  # the first name is a part of the later ones, and stands last
            value = _replaced(value, name, session_id)
        return value


def _replaced(value: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Replace a text wherever it stands, keys included; give the very `value` where it stands nowhere."""

    def changed(part: Any) -> Any:
        if isinstance(part, str):
            return part.replace(old, new)
        if isinstance(part, dict):
            return {changed(key): changed(item) for key, item in part.items()}
        if isinstance(part, list | tuple):
            return [changed(item) for item in part]
        return part

    return changed(value) if old and old in repr(value) else value


class Recordings:
    """The recorders of one process, one per suite; safe from several threads.

    `folder` is where processes note what they record, in the run directory.
    """

    def __init__(
        self, mode: Mode, *, folder: Callable[[], Path], process: str, redact: Callable[[JsonValue], JsonValue]
    ) -> None:
        self.mode = mode
        self._folder = folder
        self._process = process
        self._redact = redact
        self._recorders: dict[tuple[Path, tuple[str, ...]], CassetteRecorder] = {}
        self._runs: dict[RunKey, RunRecorder] = {}
        self._lock = threading.Lock()

    def of(self, caller: Caller) -> "RunRecorder | None":
        """Give what a caller's answers are kept by; None for what belongs to no run that has begun."""
        return self._runs.get(caller.run) if caller.run else None

    def begin(self, plan: RunPlan, session: SessionName | None = None) -> None:
        """Begin a run: its recordings are given from the first again, whatever its session is called this time.

        Raise `SuiteError` where the cassette cannot be read, `SuiteFaultError` where a pattern to ignore is none,
        `NotRunError` where nothing can be written.
        """
        if self.mode is Mode.OFF:
            return
        from pytest_agentbench.llm.cassette.file import cassette_path  # noqa: PLC0415 - few sessions record or replay

        with self._lock, unwritable_is_not_run():
            cassette = cassette_path(plan.suite.path, plan.suite.cassette.file)
            key = (cassette, plan.suite.cassette.ignore)
            recorder = self._recorders.get(key)
            if recorder is None:
                recorder = self._recorders[key] = self._open(cassette, plan.suite.cassette.ignore)
            self._runs[plan.key] = run = RunRecorder(recorder, recorded_name(plan), session)
        run.started()

    def finished(self, plan: RunPlan) -> None:
        """Say that a run was played to its end."""
        if run := self._runs.get(plan.key):
            run.finished()

    def close(self) -> None:
        """Close what this process writes; closing twice is fine."""
        with self._lock:
            for recorder in self._recorders.values():
                recorder.close()
            self._recorders.clear()
            self._runs.clear()

    def _open(self, cassette: Path, ignore: tuple[str, ...]) -> "CassetteRecorder":
        from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder  # noqa: PLC0415 - as above

        shard = None
        if self.mode.writes:
            folder = self._folder() / digest(str(cassette))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / _TARGET).write_text(str(cassette), encoding="utf-8")
            names = (folder / f"{self._process}-{number}.jsonl" for number in count())
            shard = next(name for name in names if not name.exists())  # one that no earlier session left behind
        return CassetteRecorder(self.mode, cassette, shard=shard, redact=self._redact, ignore=ignore)


class RunRecorder:
    """The `Recorder` of one run, under the name by which its cassette knows it."""

    def __init__(self, recorder: "CassetteRecorder", name: RunKey, session: SessionName | None = None) -> None:
        self._recorder = recorder
        self._name = name
        self._session = session or SessionName("", known_as="")

    def started(self) -> None:
        """Begin the run's recordings from the first."""
        self._recorder.started(self._name)

    def finished(self) -> None:
        """Say that the run was played to its end; raise `NotRunError` where that cannot be noted."""
        with unwritable_is_not_run():
            self._recorder.finished(self._name)

    def find(self, caller: Caller, body: dict[str, Any], api: str = "chat") -> Recorded | None:
        """Give the recorded answer; see `Recorder`."""
        found = self._recorder.find(self._known(caller), self._session.recorded(body), api)
        return found and found.model_copy(update={"response": self._session.played(found.response)})

    def keep(self, caller: Caller, body: dict[str, Any], response: dict[str, Any], api: str = "chat") -> None:
        """Keep an answer; raise `NotRunError` where it cannot be written."""
        with unwritable_is_not_run():
            known, session = self._known(caller), self._session
            self._recorder.keep(known, session.recorded(body), session.recorded(response), api)

    def note(self, model: str, facts: Sequence[str]) -> None:
        """Note what was learnt of a model's server; raise `NotRunError` where it cannot be written."""
        with unwritable_is_not_run():
            self._recorder.note(model, facts)

    def _known(self, caller: Caller) -> Caller:
        return caller.model_copy(update={"run": self._name})


@contextlib.contextmanager
def unwritable_is_not_run() -> Iterator[None]:
    """Turn what the disk refuses into a run that could not take place: nobody in it is to blame."""
    try:
        yield
    except OSError as error:
        raise NotRunError(f"a recording cannot be written: {error}") from error


def recorded_name(plan: RunPlan) -> RunKey:
    """Give the name under which a cassette knows a run: tests that simulate are told apart by their files."""
    if PurePosixPath(plan.suite_key).name == plan.suite.path.name:
        return plan.key
    return plan.key.model_copy(update={"scenario": f"{plan.suite_key}::{plan.key.scenario}"})


def merge_all(folder: Path) -> "Iterator[tuple[Path, Merged | str]]":
    """Bring what all processes noted into the cassettes, once nobody writes any more.

    Yield each cassette with what became of it, or with why it could not be written.
    """
    for target in sorted(folder.glob(f"*/{_TARGET}")):
        from pytest_agentbench.llm.cassette.merge import merge  # noqa: PLC0415 - few sessions record

        cassette = target
        try:
            cassette = Path(target.read_text(encoding="utf-8"))
            yield cassette, merge(cassette, target.parent.glob("*.jsonl"))
        except (AgentBenchError, OSError, ValueError) as error:
            yield cassette, str(error)
