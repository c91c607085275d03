"""The folder of a recipe: logs of stories and refusals that a broken-off session goes on from, and scenario files."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import ResultsError, SuiteError
from pytest_agentbench.core.review import ReviewMode
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.recruiting.pool import Pool, pool_of
from pytest_agentbench.generation.tools.stories.assembly import HEAD, yaml_text
from pytest_agentbench.generation.tools.values import PoolEntry, Rejection, Story, Walk
from pytest_agentbench.results.files import LineLog, read_lines, write_atomic
from pytest_agentbench.suites.files import read_document
from pytest_agentbench.suites.review_form import KEY as REVIEW
from pytest_agentbench.suites.review_form import was_decided

POOL = "pool.jsonl"
WALKS = "walks.jsonl"
STORIES = "stories.jsonl"
SCENARIOS = "scenarios"
REPORT = "report.json"


class Finished(Model):
    """What became of one walk: the story with its scenario forms, or why there is none."""

    walk: Walk
    story: Story | None = None
    forms: tuple[dict[str, JsonValue], ...] = ()
    rejection: Rejection | None = None


class Saved(Model):
    """The files that were written, and how many scenarios were kept as reviewers left them."""

    files: tuple[Path, ...] = ()
    accepted: int = 0
    rejected: int = 0

    @property
    def lines(self) -> list[str]:
        """Say what was kept, nothing where nothing was."""
        if not self.accepted + self.rejected:
            return []
        return [f"kept as reviewers left them: {self.accepted} accepted, {self.rejected} rejected"]


class Folder:
    """Reads and writes the files of one recipe; every log begins with the hash of what it was made from."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pool(self, made_from: str) -> tuple[Pool, dict[str, str]] | None:
        """Give the saved pool, and why tools have no calls in it; None where it was made from something else."""
        records = self._read(POOL, made_from)
        if records is None:
            return None
        why = {str(tool): str(reason) for tool, reason in (records[0].get("why") or {}).items()}
        try:
            return pool_of(records[1:]), why
        except ValueError as error:
            raise self._unreadable(POOL, error) from error

    def save_pool(self, pool: Pool, why: Mapping[str, str], made_from: str) -> None:
        """Write the pool."""
        entries: list[PoolEntry] = list(pool.entries)
        self._write(POOL, made_from, [entry.model_dump(mode="json") for entry in entries], why=dict(why))

    def save_walks(self, walks: Sequence[Walk], made_from: str) -> None:
        """Write the walks."""
        self._write(WALKS, made_from, [walk.model_dump(mode="json") for walk in walks])

    def finished(self, made_from: str) -> dict[str, Finished]:
        """Give what became of walks already, by their ids."""
        try:
            records = [Finished.model_validate(one) for one in (self._read(STORIES, made_from) or [])[1:]]
        except ValueError as error:
            raise self._unreadable(STORIES, error) from error
        return {one.walk.id: one for one in records}

    def log(self, made_from: str, *, anew: bool) -> LineLog:
        """Open the log of stories: begun again where it was made from something else."""
        path = self.path / STORIES
        if anew or self._read(STORIES, made_from) is None:
            write_atomic(path, dumps({"made_from": made_from}) + "\n")
        return LineLog(path)

    def save_scenarios(
        self, scenarios: Iterable[Sequence[Mapping[str, JsonValue]]], *, review: ReviewMode = "pending"
    ) -> Saved:
        """Write a file for each scenario (all of its personas), and remove files of earlier times.

        A file that `agentbench generate` did not write is left alone, and so is one of which a reviewer accepted or
        rejected something, whatever became of it since. Scenarios are written as pending unless `review` is off.
        """
        folder = self.path / SCENARIOS
        folder.mkdir(parents=True, exist_ok=True)
        reviewed = {file: held for file in sorted(folder.glob("*.yaml")) if (held := _reviewed(file)) is not None}
        taken = {str(form.get("id")) for held in reviewed.values() for form in held}
        written: list[Path] = []
        for forms in scenarios:
            file = folder / f"{forms[0]['id']}.yaml"
            if file in reviewed or any(str(form["id"]) in taken for form in forms):
                continue
            _write_text(file, yaml_text([_pending(form) for form in forms] if review == "pending" else forms))
            written.append(file)
        for file in sorted(folder.glob("*.yaml")):
            if file in written or file in reviewed:
                continue
            if file.read_text(encoding="utf-8", errors="replace").startswith(HEAD):
                file.unlink()
        states = Counter("rejected" if "rejected" in form[REVIEW] else "accepted" for form in _decided(reviewed))
        return Saved(files=tuple(written), accepted=states["accepted"], rejected=states["rejected"])

    def save_report(self, report: Mapping[str, JsonValue]) -> None:
        """Write the report as JSON."""
        write_atomic(self.path / REPORT, dumps(report, indent=1) + "\n")

    def _read(self, name: str, made_from: str) -> list[dict[str, JsonValue]] | None:
        records = list(read_lines(self.path / name))
        if not records or not isinstance(records[0], dict) or records[0].get("made_from") != made_from:
            return None
        return records

    def _write(self, name: str, made_from: str, records: Sequence[JsonValue], **head: JsonValue) -> None:
        lines = [dumps({"made_from": made_from, **head}), *(dumps(record) for record in records)]
        write_atomic(self.path / name, "\n".join(lines) + "\n")

    def _unreadable(self, name: str, error: Exception) -> ResultsError:
        return ResultsError(f"{self.path / name} cannot be read: {error}; remove it to have it made anew")


def _reviewed(file: Path) -> list[dict[str, JsonValue]] | None:
    """Give what a file holds where a reviewer decided about some of it, or nobody can tell; else None."""
    try:
        value = read_document(file).value
    except SuiteError:
        return []  # it was edited into what is no YAML, and is not ours to remove
    forms = [form for form in (value if isinstance(value, list) else [value]) if isinstance(form, dict)]
    return forms if any(was_decided(form) for form in forms) else None


def _decided(reviewed: Mapping[Path, Sequence[dict[str, JsonValue]]]) -> Iterator[dict[str, JsonValue]]:
    yield from (form for forms in reviewed.values() for form in forms if was_decided(form))


def _pending(form: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give a scenario that waits for a reviewer; the key stands behind the id, where people see it."""
    return {"id": form["id"], REVIEW: "pending", **{key: value for key, value in form.items() if key != "id"}}


def _write_text(path: Path, text: str) -> None:
    """Write UTF-8 beside `path`, then move it there; an equal file is left as it is."""
    data = text.encode("utf-8", "backslashreplace")
    if path.is_file() and path.read_bytes() == data:
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
