"""The folder of a recipe: what became of its drafts, the scenario files, the report.

A session that is broken off goes on from its log. `drafts.jsonl` is about the scenario files that stand there: a
session of something else keeps a log of its own until it writes its files. A file that a person wrote, accepted or
rejected is never written over.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.errors import ResultsError, SuiteError
from pytest_agentbench.core.files import LineLog, read_lines, write_atomic
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.scenario import ReviewMode
from pytest_agentbench.generation.assemble import HEAD, yaml_text
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.spec.loading import read_document
from pytest_agentbench.suites.review_form import KEY as REVIEW
from pytest_agentbench.suites.review_form import was_decided

DRAFTS, UNFINISHED, REWORDED = "drafts.jsonl", "unfinished.jsonl", "reworded.jsonl"
"""The log of the files; that of a session beside them, until it writes its own; that of a rewording, until it does."""
SCENARIOS = "scenarios"
REPORT = "report.json"


class Finished(Model):
    """What became of one draft: it as accepted, with its words, or why it was lost; `planned` is its hash before."""

    id: str
    planned: str
    draft: Draft | None = None
    loss: Loss | None = None


class DraftLog:
    """What became of drafts, a line each, below the hash of what they were made from."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def made_from(self) -> str:
        """The hash, "" where there is no log."""
        first = next(iter(read_lines(self.path)), None)
        return str(first.get("made_from", "")) if isinstance(first, dict) else ""

    def read(self) -> dict[str, Finished]:
        """Give what became of each draft last, by its id."""
        try:
            found = [Finished.model_validate(one) for one in list(read_lines(self.path))[1:]]
        except ValueError as error:
            raise ResultsError(f"{self.path} cannot be read: {error}; remove it to have it made anew") from error
        return {one.id: one for one in found}

    def write(self, made_from: str, records: Iterable[Finished] = ()) -> None:
        """Write the log as a whole."""
        lines = [
            dumps({"made_from": made_from}),
            *(dumps(one.model_dump(mode="json", by_alias=True)) for one in records),
        ]
        write_atomic(self.path, "\n".join(lines) + "\n")

    def begin(self, made_from: str) -> None:
        """Begin the log, unless it is one of the same already."""
        if self.made_from != made_from:
            self.write(made_from)

    def open(self) -> LineLog:
        """Open the log to add to."""
        return LineLog(self.path)


class ScenarioFile(Model):
    """The scenarios of one draft: `name` of their file without its ending, forms, and notes for its header.

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
    """Reads and writes the files of one recipe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.drafts, self.unfinished, self.reworded = (DraftLog(path / name) for name in (DRAFTS, UNFINISHED, REWORDED))

    def log_of(self, made_from: str, *, anew: bool = False) -> DraftLog:
        """Give the log that a session adds to: an unfinished one or that of the files, where it is of the same.

        Begin one where there is none; what other drafts the files were made of stays known until `finish`.
        """
        for log in () if anew else (self.unfinished, self.drafts):
            if log.made_from == made_from:
                return log
        log = self.unfinished if self.drafts.path.is_file() else self.drafts
        log.write(made_from)
        return log

    def finish(self, log: DraftLog) -> None:
        """Put the log of a session in the place of that of earlier files."""
        if log is not self.drafts:
            log.path.replace(self.drafts.path)

    def state_of(self, name: str) -> Literal["absent", "foreign", "decided", "open"]:
        """Say whose a scenario file is: not there, somebody else's, a reviewer's, or ours to write over."""
        return _state(self.path / SCENARIOS / f"{name}.yaml")

    def count_open(self) -> int:
        """Count the files that `agentbench generate` wrote, and nobody decided about."""
        return sum(_state(file) == "open" for file in (self.path / SCENARIOS).glob("*.yaml"))

    def save_scenarios(
        self,
        files: Iterable[ScenarioFile],
        *,
        review: ReviewMode = "pending",
        whole: bool = True,
        refused: Iterable[str] = (),
    ) -> Saved:
        """Write a file for each draft (all of its personas), as pending unless `review` is off, and remove others.

        A file that somebody else wrote, and one with a reviewer's decision in it, is left as it is. Where this is not
        the `whole` folder, only the files go that a file written stands for, and those that were `refused`.
        """
        folder = self.path / SCENARIOS
        folder.mkdir(parents=True, exist_ok=True)
        found: dict[str, list[Path]] = {"written": [], "kept": [], "foreign": [], "removed": []}
        gone = set(refused)
        for one in files:
            file = folder / f"{one.name}.yaml"
            state = _state(file)
            if state in ("foreign", "decided"):
                found["foreign" if state == "foreign" else "kept"].append(file)
                continue
            forms = [_pending(form) for form in one.forms] if review == "pending" else one.forms
            _write(file, yaml_text(forms, one.notes))
            found["written"].append(file)
            gone.add(one.replaces)
        for file in sorted(folder.glob("*.yaml")):
            if file in (*found["written"], *found["kept"]) or not (whole or file.stem in gone):
                continue
            if (state := _state(file)) == "decided":
                found["kept"].append(file)
            elif state == "open":
                file.unlink()
                found["removed"].append(file)
        return Saved.model_validate(found)

    def save_report(self, report: Mapping[str, JsonValue]) -> None:
        """Write the report as JSON."""
        write_atomic(self.path / REPORT, dumps(report, indent=1) + "\n")


def hash_of(draft: Draft) -> str:
    """Give the hash of a draft as its source planned it."""
    return digest(draft.model_dump(mode="json"))


def _state(file: Path) -> Literal["absent", "foreign", "decided", "open"]:
    if not file.is_file():
        return "absent"
    if not file.read_text(encoding="utf-8", errors="replace").startswith(HEAD):
        return "foreign"
    try:
        found = read_document(file).value
    except SuiteError:
        return "decided"  # what cannot be read is a person's affair
    forms = found if isinstance(found, list) else [found]
    return "decided" if any(isinstance(form, dict) and was_decided(form) for form in forms) else "open"


def _pending(form: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give a scenario that waits for a reviewer; the key stands behind the id, where people see it."""
    return {"id": form["id"], REVIEW: "pending", **{key: value for key, value in form.items() if key != "id"}}


def _write(path: Path, text: str) -> None:
    """Write a text as UTF-8, lone surrogates escaped; an equal file is left as it is."""
    data = text.encode("utf-8", "backslashreplace")
    if not path.is_file() or path.read_bytes() != data:
        write_atomic(path, data.decode("utf-8"))
