"""Where the transcripts of results lie on disk, once a session is over."""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Self

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.store import read_transcript

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
