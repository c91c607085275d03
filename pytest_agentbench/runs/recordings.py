"""The cassettes of a session: which suite records where, what each process notes, and the merge at the end."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.cassette.file import cassette_path
from pytest_agentbench.llm.cassette.merge import Merged, merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.recorder import CassetteRecorder
from pytest_agentbench.runs.plan import RunPlan

_TARGET = "cassette"


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
        self._recorders: dict[str, CassetteRecorder] = {}
        self._lock = threading.Lock()

    def of(self, suite: str) -> CassetteRecorder | None:
        """Give the recorder of a suite that has begun a run, by its key."""
        return self._recorders.get(suite)

    def begin(self, plan: RunPlan) -> None:
        """Begin a run: its recordings are given from the first again.

        Raise `SuiteError` where the cassette cannot be read, `SuiteFaultError` where a pattern to ignore is none.
        """
        if self.mode is Mode.OFF:
            return
        with self._lock:
            recorder = self._recorders.get(plan.suite_key) or self._open(plan)
        recorder.started(plan.key)

    def finished(self, plan: RunPlan) -> None:
        """Say that a run was played to its end."""
        if recorder := self.of(plan.suite_key):
            recorder.finished(plan.key)

    def close(self) -> None:
        """Close what this process writes; closing twice is fine."""
        with self._lock:
            for recorder in self._recorders.values():
                recorder.close()
            self._recorders.clear()

    def _open(self, plan: RunPlan) -> CassetteRecorder:
        cassette = cassette_path(plan.suite.path, plan.suite.cassette.file)
        shard = None
        if self.mode.writes:
            folder = self._folder() / digest(str(cassette))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / _TARGET).write_text(str(cassette), encoding="utf-8")
            shard = free_name(folder, self._process)
        recorder = CassetteRecorder(
            self.mode, cassette, shard=shard, redact=self._redact, ignore=plan.suite.cassette.ignore
        )
        self._recorders[plan.suite_key] = recorder
        return recorder


def free_name(folder: Path, process: str) -> Path:
    """Give a shard of a process that no earlier session left behind."""
    number = 0
    while (shard := folder / f"{process}-{number}.jsonl").exists():
        number += 1
    return shard


def merge_all(folder: Path) -> Iterable[tuple[Path, Merged]]:
    """Bring what all processes noted into the cassettes, once nobody writes any more; give what became of each."""
    for target in sorted(folder.glob(f"*/{_TARGET}")):
        cassette = Path(target.read_text(encoding="utf-8"))
        yield cassette, merge(cassette, target.parent.glob("*.jsonl"))
