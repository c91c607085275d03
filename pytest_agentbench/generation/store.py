"""The folder of a recipe: staged logs by the hash of what they were made from, what became of drafts, scenario files.

A session that is broken off goes on from the logs. `drafts.jsonl` is about the scenario files that stand there: a
session of something else keeps a log of its own until it writes its files. A file that a person wrote, accepted or
rejected is never written over.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.errors import ResultsError, SuiteError
from pytest_agentbench.core.review import ReviewMode
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.assemble import HEAD, yaml_text
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.results.files import LineLog, read_lines, write_atomic
from pytest_agentbench.suites.files import read_document
from pytest_agentbench.suites.review_form import KEY as REVIEW
from pytest_agentbench.suites.review_form import was_decided

DRAFTS = "drafts.jsonl"
UNFINISHED = "unfinished.jsonl"
"""The log of a session beside the drafts of earlier files, until it writes its own."""
SCENARIOS = "scenarios"
REPORT = "report.json"
M = TypeVar("M", bound=Model)


class Finished(Model):
    """What became of one draft: it as accepted, with its words, or why it was lost; `planned` is its hash before."""

    id: str
    planned: str
    draft: Draft | None = None
    loss: Loss | None = None


class ScenarioFile(Model):
    """The scenarios of one draft, a file: `name` without its ending, forms, and notes for its header.

    `replaces` is the name of the earlier file that it stands for, where it is known.
    """

    name: str
    forms: tuple[dict[str, JsonValue], ...]
    notes: tuple[str, ...] = ()
    replaces: str = ""


class Saved(Model):
    """What became of files: written, kept by a reviewer's decision, left since somebody else wrote them, removed."""

    written: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    foreign: tuple[Path, ...] = ()
    removed: tuple[Path, ...] = ()


class Store:
    """Reads and writes the files of one recipe; every log begins with the hash of what it was made from."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str, kind: type[M], made_from: str) -> list[M] | None:
        """Give the records of a log; None where there is none, or it was made from something else."""
        records = list(read_lines(self.path / name))
        if not records or not isinstance(records[0], dict) or records[0].get("made_from") != made_from:
            return None
        try:
            return [kind.model_validate(one) for one in records[1:]]
        except ValueError as error:
            raise ResultsError(f"{self.path / name} cannot be read: {error}; remove it to have it made anew") from error

    def write(self, name: str, records: Iterable[Model], made_from: str) -> None:
        """Write a log as a whole."""
        lines = [dumps({"made_from": made_from}), *(dumps(one.model_dump(mode="json")) for one in records)]
        write_atomic(self.path / name, "\n".join(lines) + "\n")

    def log_of(self, made_from: str, *, anew: bool = False) -> str:
        """Name the log that a session adds to: an unfinished one or that of the files, where it is of the same.

        Begin one where there is none; what other drafts the files were made of stays known until `finish`.
        """
        for name in () if anew else (UNFINISHED, DRAFTS):
            if self._made_from(name) == made_from:
                return name
        name = UNFINISHED if (self.path / DRAFTS).is_file() else DRAFTS
        self.write(name, (), made_from)
        return name

    def begin(self, name: str, made_from: str) -> None:
        """Begin a log, unless it is one of the same already."""
        if self._made_from(name) != made_from:
            self.write(name, (), made_from)

    def log(self, name: str) -> LineLog:
        """Open a log to add to."""
        return LineLog(self.path / name)

    def remove(self, name: str) -> None:
        """Remove a log."""
        (self.path / name).unlink(missing_ok=True)

    def finish(self, name: str) -> None:
        """Put the log of a session in the place of that of earlier files."""
        if name != DRAFTS:
            (self.path / name).replace(self.path / DRAFTS)

    def finished(self, made_from: str, name: str = DRAFTS) -> dict[str, Finished]:
        """Give what became of drafts already, by their ids."""
        return {one.id: one for one in self.read(name, Finished, made_from) or ()}

    def stored(self) -> tuple[str, tuple[Finished, ...]]:
        """Give what the drafts of the files were made from, and what became of each last, for those who reword them."""
        made_from = self._made_from(DRAFTS)
        found = self.finished(made_from) if made_from else {}
        return made_from, tuple(found.values())

    def accepted(self) -> tuple[Draft, ...]:
        """Give the drafts that were accepted last, whatever they were made from."""
        return tuple(one.draft for one in self.stored()[1] if one.draft is not None)

    def _made_from(self, name: str) -> str:
        first = next(iter(read_lines(self.path / name)), None)
        return str(first.get("made_from", "")) if isinstance(first, dict) else ""

    def file_of(self, name: str) -> Path:
        """Give the file of a draft by the name of its scenarios."""
        return self.path / SCENARIOS / f"{name}.yaml"

    def is_open(self, name: str) -> bool:
        """Whether the file of a draft stands there as `agentbench generate` wrote it, and nobody decided about it."""
        file = self.file_of(name)
        return file.is_file() and _is_ours(file) and not _is_decided(file)

    def save_scenarios(
        self, files: Iterable[ScenarioFile], *, review: ReviewMode = "pending", whole: bool = True
    ) -> Saved:
        """Write a file for each draft (all of its personas), and remove those of earlier times.

        Where it is not the `whole` folder, only the files go that a file written stands for.

        A file that `agentbench generate` did not write, and one with a reviewer's decision in it, is left as it is.
        Scenarios are written as pending unless `review` is off.
        """
        folder = self.path / SCENARIOS
        folder.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        kept: list[Path] = []
        foreign: list[Path] = []
        removed: list[Path] = []
        gone: set[str] = set()
        for one in files:
            file = self.file_of(one.name)
            if file.is_file() and not _is_ours(file):
                foreign.append(file)
                continue
            if file.is_file() and _is_decided(file):
                kept.append(file)
                continue
            forms = [_pending(form) for form in one.forms] if review == "pending" else one.forms
            _write_text(file, yaml_text(forms, one.notes))
            written.append(file)
            gone.add(one.replaces)
        for file in sorted(folder.glob("*.yaml")):
            if file in written or file in kept or not _is_ours(file) or not (whole or file.stem in gone):
                continue
            if _is_decided(file):
                kept.append(file)
            else:
                file.unlink()
                removed.append(file)
        return Saved(written=tuple(written), kept=tuple(kept), foreign=tuple(foreign), removed=tuple(removed))

    def count_open(self) -> int:
        """Count the files that `agentbench generate` wrote, and nobody decided about."""
        return sum(self.is_open(file.stem) for file in (self.path / SCENARIOS).glob("*.yaml"))

    def save_report(self, report: Mapping[str, JsonValue]) -> None:
        """Write the report as JSON."""
        write_atomic(self.path / REPORT, dumps(report, indent=1) + "\n")


def hash_of(draft: Draft) -> str:
    """Give the hash of a draft as its source planned it."""
    return digest(draft.model_dump(mode="json"))


def _is_ours(file: Path) -> bool:
    return file.read_text(encoding="utf-8", errors="replace").startswith(HEAD)


def _is_decided(file: Path) -> bool:
    """Whether a reviewer decided about a scenario of a file; what cannot be read is a person's affair, too."""
    try:
        found = read_document(file).value
    except SuiteError:
        return True
    return any(isinstance(form, dict) and was_decided(form) for form in (found if isinstance(found, list) else [found]))


def _pending(form: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give a scenario that waits for a reviewer; the key stands behind the id, where people see it."""
    return {"id": form["id"], REVIEW: "pending", **{key: value for key, value in form.items() if key != "id"}}


def _write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8, lone surrogates escaped; an equal file is left as it is."""
    data = text.encode("utf-8", "backslashreplace")
    if not path.is_file() or path.read_bytes() != data:
        write_atomic(path, data.decode("utf-8"), encoding="utf-8")
