"""A run directory that another host does not see, kept in step: what was added since is sent along with each report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest, dumps, loads
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.text import ascii_slug

_FILES = "agentbench_files"
_PLAN = "plan.json"

_ALLOWED = re.compile(
    r"(?:shards|journal|transcripts)/(?!\.)[\w.-]+\.jsonl?|cassettes/(?!\.)[\w-]+/(?!\.)[\w.-]+|plan\.json"
)
"""What a worker may write in the controller's run directory."""


class Parcel(Model):
    """Lines to append to logs, and whole files, by their path in the run directory."""

    lines: dict[str, str] = {}
    files: dict[str, str] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return not self.lines and not self.files


class Mirror:
    """The worker's side: gives what this process added to its run directory since it was last asked.

    `here` and `there` are the rootdirs of worker and controller: cassettes are named by where they lie.
    """

    def __init__(self, directory: Path, *, process: str, here: Path, there: str) -> None:
        """Begin with what is there already, which earlier sessions sent."""
        self._directory = directory
        self._process = ascii_slug(process)
        self._here = here
        self._there = there
        self._sent = {path: path.stat().st_size for path in self._logs()}
        self._targets: set[Path] = set()
        self._planned = (directory / _PLAN).exists()

    def parcel(self) -> Parcel:
        """Give whole lines only: the rest of one that is being written comes next time."""
        lines: dict[str, str] = {}
        files: dict[str, str] = {}
        for path in self._logs():
            added = self._added(path)
            if not added:
                continue
            lines[self._name(path)] = added
            if path.parent.name == "shards":
                files |= self._transcripts(added)
            if path.parent.parent.name == "cassettes" and path.parent not in self._targets:
                self._targets.add(path.parent)
                files[f"cassettes/{digest(self._target(path.parent))}/cassette"] = self._target(path.parent)
        plan = self._directory / _PLAN
        if not self._planned and plan.exists():
            self._planned = True
            files[_PLAN] = plan.read_text(encoding="ascii")
        return Parcel(lines=lines, files=files)

    def _logs(self) -> Iterator[Path]:
        for folder in ("shards", "journal"):
            path = self._directory / folder / f"{self._process}.jsonl"
            if path.exists():
                yield path
        yield from sorted(self._directory.glob(f"cassettes/*/{self._process}-*.jsonl"))

    def _added(self, path: Path) -> str:
        begin = self._sent.get(path, 0)
        with path.open("rb") as file:
            file.seek(begin)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._sent[path] = begin + len(whole)
        return whole.decode("utf-8", "backslashreplace")

    def _transcripts(self, lines: str) -> dict[str, str]:
        names = (loads(line)["result"].get("transcript") for line in lines.splitlines())
        paths = {name: self._directory / name for name in names if name}
        return {name: path.read_text(encoding="ascii") for name, path in paths.items() if path.exists()}

    def _target(self, folder: Path) -> str:
        cassette = (folder / "cassette").read_text(encoding="utf-8")
        return os.path.normpath(Path(self._there) / os.path.relpath(cassette, self._here))

    def _name(self, path: Path) -> str:
        if path.parent.parent.name == "cassettes":
            return f"cassettes/{digest(self._target(path.parent))}/{path.name}"
        return path.relative_to(self._directory).as_posix()


def attach_parcel(holder: dict[str, Any], parcel: Parcel) -> None:
    """Put a parcel on a report, or on what a worker says last."""
    if not parcel.is_empty:
        holder[_FILES] = dumps(parcel)


def unpack(holder: dict[str, Any], directory: Path) -> None:
    """Take a parcel off a report, and write what it holds; a path that is no part of a run directory is left out."""
    text = holder.pop(_FILES, None)
    if not text:
        return
    parcel = Parcel.model_validate(loads(text))
    for name, added in parcel.lines.items():
        if _ALLOWED.fullmatch(name):
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", newline="") as file:
                file.write(added)
    for name, whole in parcel.files.items():
        if _ALLOWED.fullmatch(name):
            write_atomic(directory / name, whole, encoding="utf-8")
