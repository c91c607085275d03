"""The folder of notes: what is in it, and how a file of it is read. No path leads out of it."""

import hashlib
import os
import unicodedata
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from notes.markdown import Note, fold

SUFFIXES = (".md", ".markdown")
"""What makes a file a note."""

MAX_BYTES = 1_000_000
"""The largest file that is read."""

_PROJECT = Path(__file__).resolve().parents[1]


class VaultError(Exception):
    """Something asked of the vault cannot be given; the message says what was found and what can be done."""


class Vault:
    """The notes below `root`, read-only.

    A path that was asked for is only ever compared with the names that folders hold: whatever it looks like, it cannot
    name a file outside. Hidden entries, links, and what is no regular file are not listed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not self.root.is_dir():
            raise VaultError(f"the vault {str(root)!r} is not a folder")

    def notes(self, folder: str = "") -> list[str]:
        """Give the paths of the notes in a folder and below, sorted; raise `VaultError` for an unknown folder."""
        path = self.folder(folder)
        return sorted(note for note in self._walked()[1] if not path or note.startswith(f"{path}/"))

    def folders(self) -> list[str]:
        """Give the paths of all folders, sorted."""
        return sorted(self._walked()[0])

    def within(self, place: str) -> list[str]:
        """Give the notes to search: those of a folder, or the one note that `place` names; else raise `VaultError`."""
        return [self.note(place)] if place.strip().lower().endswith(SUFFIXES) else self.notes(place)

    def folder(self, asked: str) -> str:
        """Give the listed path of a folder, "" for the vault itself; raise `VaultError` where there is none."""
        wanted = _plain(asked)
        if wanted in {"", "."}:
            return ""
        known = self.folders()
        found = _meant(wanted, known)
        if not found:
            raise VaultError(f"there is no folder {asked!r}{_hint(wanted, known)}; list_folder('') shows the folders")
        return found[0]

    def note(self, asked: str) -> str:
        """Give the listed path of a note, its suffix or its folders left out or not; else raise `VaultError`."""
        wanted = _plain(asked)
        known = self.notes()
        by_path = next((found for end in ("", *SUFFIXES) if (found := _meant(wanted + end, known))), [])
        names = {fold(wanted + end) for end in ("", *SUFFIXES)}
        found = by_path or [path for path in known if fold(path.rpartition("/")[2]) in names]
        if len(found) == 1:
            return found[0]
        if found:
            raise VaultError(f"several notes are named {asked!r}: {', '.join(found)}; give one of these paths")
        if _meant(wanted, self.folders()):
            raise VaultError(f"{asked!r} is a folder; list_folder({asked!r}) shows its notes")
        raise VaultError(f"there is no note {asked!r}{_hint(wanted, known)}; search_notes finds notes by their path")

    def read(self, path: str) -> Note:
        """Read a listed note; raise `VaultError` where it is gone, binary, too large or not UTF-8."""
        file = self.root / path
        try:
            stat = file.lstat()
        except OSError as error:
            raise VaultError(f"{path} cannot be read: {error.strerror}") from error
        found = _load(str(file), path, stat.st_mtime_ns, stat.st_size)
        if isinstance(found, str):
            raise VaultError(found)
        return found

    def _walked(self) -> tuple[list[str], list[str]]:
        """Give the folders and the notes of the vault, with the paths that listings show."""
        folders: list[str] = []
        notes: list[str] = []
        for place, below, files in os.walk(self.root):
            at = Path(place)
            below[:] = [name for name in below if _is_listed(at / name)]
            folders += [(at / name).relative_to(self.root).as_posix() for name in below]
            wanted = (at / name for name in files if name.lower().endswith(SUFFIXES))
            notes += [file.relative_to(self.root).as_posix() for file in wanted if _is_listed(file) and file.is_file()]
        return folders, notes


class VaultState:
    """The state of a suite: the vault as the tools get it, and a digest of each note as its snapshot."""

    isolation: Literal["per_run"] = "per_run"

    def __init__(self, folder: str) -> None:
        """`folder` is relative to the project, the folder that holds this package."""
        self._root = _PROJECT / folder

    def open(self, initial: dict[str, Any], run: str) -> Vault:
        """Open the vault; raise `ValueError` for a scenario's own state, which a read-only vault cannot take."""
        if initial:
            raise ValueError(f"the vault is read-only and takes no state, found {', '.join(map(repr, initial))}")
        return Vault(self._root)

    def snapshot(self, handle: Vault) -> dict[str, dict[str, str]]:
        """Give {"notes": {path: digest}}."""
        digests = {path: hashlib.sha256((handle.root / path).read_bytes()).hexdigest() for path in handle.notes()}
        return {"notes": {path: digest[:16] for path, digest in digests.items()}}

    def close(self, handle: Vault) -> None:
        """Nothing is held."""


def _is_listed(entry: Path) -> bool:
    """Whether an entry is shown: not hidden, no link, and with a name that fits on a line of text."""
    return entry.name[0] != "." and entry.name.isprintable() and not entry.is_symlink()


def _plain(asked: str) -> str:
    """Give a path as listings write it; what has no such form (`..`, absolute) stays and will match nothing."""
    return unicodedata.normalize("NFC", asked.strip().replace("\\", "/")).removeprefix("./").removesuffix("/")


def _meant(wanted: str, known: list[str]) -> list[str]:
    """Give the path that is meant: the one written so, or else those that differ in case or accents alone."""
    return [wanted] if wanted in known else [path for path in known if fold(path) == fold(wanted)]


def _hint(wanted: str, known: list[str]) -> str:
    folded = {fold(path): path for path in known}
    close = get_close_matches(fold(wanted), list(folded), n=3, cutoff=0.6)
    return f" (did you mean {', '.join(repr(folded[name]) for name in close)}?)" if close else ""


@lru_cache(maxsize=4_096)
def _load(file: str, path: str, _changed: int, size: int) -> Note | str:
    """Read a file, once as long as it does not change; give the reason where it is no readable note."""
    if size > MAX_BYTES:
        return f"{path} is too large: {size:,} bytes, notes of up to {MAX_BYTES:,} are read; split it"
    try:
        raw = Path(file).read_bytes()
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    if b"\0" in raw:
        return f"{path} is a binary file in spite of its suffix"
    try:
        return Note(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return f"{path} is not UTF-8 text (line {line}); convert it"
