"""The folder of notes: what is in it, and how a file of it is read. No path leads out of it."""

import hashlib
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from notes.markdown import Document, parse

SUFFIXES = (".md", ".markdown")
"""What makes a file a note."""

MAX_BYTES = 1_000_000
"""Largest file that is read; the longest notes of 1,000 lines have a tenth of it."""

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_PROJECT = Path(__file__).resolve().parents[1]


class VaultError(Exception):
    """Something asked of the vault cannot be given; the message says what was found and what can be done."""


class Vault:
    """The notes below `root`, read-only.

    A path that was asked for is only ever compared with the names that folders hold, and never opened: whatever it
    looks like, it cannot name a file outside. Hidden entries, links and what is no regular file are not listed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not self.root.is_dir():
            raise VaultError(f"the vault {str(root)!r} is not a folder")

    def notes(self, folder: str = "") -> list[str]:
        """Give the paths of the notes in a folder and below, sorted; raise `VaultError` for an unknown one."""
        return sorted(_paths(self.root, self.folder(folder)))

    def within(self, place: str) -> list[str]:
        """Give the notes to search: those of a folder, or the one note that `place` names; else raise `VaultError`."""
        try:
            return self.notes(place)
        except VaultError:
            if not _plain(place).lower().endswith(SUFFIXES):
                raise
        return [self.note(place)]

    def folders(self) -> list[str]:
        """Give the paths of all folders, sorted, empty ones included."""
        return sorted(_folders(self.root))

    def folder(self, asked: str) -> str:
        """Give the listed path of the folder that was asked for, "" for the vault itself; else raise `VaultError`."""
        wanted = _plain(asked)
        if wanted in {"", "."}:
            return ""
        if _leads_to(self.root, wanted, folder=True):
            return wanted
        known = self.folders()
        found = _match(wanted, known)
        if found is None:
            raise VaultError(f"there is no folder {asked!r}{_hint(wanted, known)}; list_folder('') shows the folders")
        return found

    def note(self, asked: str) -> str:
        """Give the listed path of the note that was asked for; raise `VaultError` where none or several fit."""
        wanted = _plain(asked)
        if _leads_to(self.root, wanted, folder=False):
            return wanted
        known = list(_paths(self.root))
        for name in (wanted, *(wanted + suffix for suffix in SUFFIXES)):
            found = _match(name, known)
            if found is not None:
                return found
        by_name = _by_file_name(wanted, known)
        if len(by_name) == 1:
            return by_name[0]
        if by_name:
            raise VaultError(
                f"several notes are named {asked!r}: {', '.join(sorted(by_name))}; give one of these paths"
            )
        raise VaultError(self._no_note(asked, wanted, known))

    def read(self, path: str) -> Document:
        """Read a listed note; raise `VaultError` where it is gone, binary, too large or not UTF-8."""
        file = self.root / path
        try:
            stat = file.lstat()
        except OSError as error:
            raise VaultError(f"{path} cannot be read: {error.strerror}") from error
        return _read(str(file), path, stat.st_mtime_ns, stat.st_size)

    def readable(self, paths: list[str]) -> Iterator[tuple[str, Document | None]]:
        """Read one note after the other, None for those that cannot be read."""
        for path in paths:
            try:
                yield path, self.read(path)
            except VaultError:
                yield path, None

    def _no_note(self, asked: str, wanted: str, known: list[str]) -> str:
        if _match(wanted, self.folders()) is not None:
            return f"{asked!r} is a folder; list_folder({asked!r}) shows its notes"
        others = [name for name in _paths(self.root, notes_only=False) if name == wanted]
        if others:
            return f"{asked!r} is no Markdown note; notes end in {' or '.join(SUFFIXES)}"
        return f"there is no note {asked!r}{_hint(wanted, known)}; search_notes finds notes by words of their path"


class VaultState:
    """The state of a suite: the vault as the tools get it, and a digest of each note as its snapshot."""

    isolation: Literal["per_run"] = "per_run"

    def __init__(self, folder: str) -> None:
        """`folder` is relative to the project, the folder that holds this package."""
        self._root = _PROJECT / folder

    def open(self, initial: dict[str, Any], run: str) -> Vault:
        """Open the vault; raise `ValueError` for a scenario's own state, which a read-only vault cannot take."""
        if initial:
            raise ValueError(
                f"the vault is read-only and takes no initial state, found {', '.join(map(repr, initial))}"
            )
        return Vault(self._root)

    def snapshot(self, handle: Vault) -> dict[str, dict[str, str]]:
        """Give {"notes": {path: digest}}."""
        return {"notes": {path: _digest(handle.root / path) for path in handle.notes()}}

    def version(self, handle: Vault) -> str:
        """Give a constant: no tool writes."""
        return "read-only"

    def close(self, handle: Vault) -> None:
        """Nothing is held."""


def _walk(root: Path, *, inside: str = "") -> Iterator[os.DirEntry[str]]:
    """Give every listed entry below a listed folder: no hidden one, no link, nothing but folders and regular files."""
    with os.scandir(root / inside) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not _is_listed(entry.name) or entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                yield entry
                yield from _walk(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield entry


def _paths(root: Path, inside: str = "", *, notes_only: bool = True) -> Iterator[str]:
    start = len(str(root)) + 1
    for entry in _walk(root, inside=inside):
        if not entry.is_dir() and (not notes_only or entry.name.lower().endswith(SUFFIXES)):
            yield Path(entry.path[start:]).as_posix()


def _folders(root: Path) -> Iterator[str]:
    start = len(str(root)) + 1
    yield from (Path(entry.path[start:]).as_posix() for entry in _walk(root) if entry.is_dir())


def _is_listed(name: str) -> bool:
    """Whether an entry is shown: not hidden, and with a name that fits on a line of text."""
    return name[0] != "." and name.isprintable()


def _leads_to(root: Path, wanted: str, *, folder: bool) -> bool:
    """Whether a path is listed as it is written: each part stands in the listing of the folder before it."""
    at, is_dir = root, True
    for name in wanted.split("/"):
        entry = _entry(at, name) if is_dir and name and _is_listed(name) else None
        if entry is None:
            return False
        at, is_dir = Path(entry.path), entry.is_dir(follow_symlinks=False)
    return is_dir if folder else at.name.lower().endswith(SUFFIXES) and not is_dir and at.is_file()


def _entry(folder: Path, name: str) -> "os.DirEntry[str] | None":
    with os.scandir(folder) as entries:
        return next((entry for entry in entries if entry.name == name and not entry.is_symlink()), None)


def _plain(asked: str) -> str:
    """Give a path as listings write it; what has no such form (`..`, absolute) stays and will match nothing."""
    return unicodedata.normalize("NFC", asked.strip().replace("\\", "/")).removeprefix("./").removesuffix("/")


def _match(wanted: str, known: list[str]) -> str | None:
    """Find the one path that is meant: as written, else the only one that differs in case or composition."""
    if wanted in known:
        return wanted
    found = [path for path in known if _caseless(path) == _caseless(wanted)]
    return found[0] if len(found) == 1 else None


def _by_file_name(wanted: str, known: list[str]) -> list[str]:
    names = {_caseless(wanted), *(_caseless(wanted + suffix) for suffix in SUFFIXES)}
    return [path for path in known if _caseless(path.rpartition("/")[2]) in names]


def _caseless(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _hint(wanted: str, known: list[str]) -> str:
    by_caseless = {_caseless(path): path for path in known}
    close = get_close_matches(_caseless(wanted), list(by_caseless), n=3, cutoff=0.6)
    return f" (did you mean {', '.join(repr(by_caseless[name]) for name in close)}?)" if close else ""


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


@dataclass(frozen=True)
class _Refused:
    """Why a file is no readable note; kept like a document, so that searches do not read it again."""

    reason: str


def _read(file: str, path: str, changed: int, size: int) -> Document:
    found = _load(file, path, changed, size)
    if isinstance(found, _Refused):
        raise VaultError(found.reason)
    return found


@lru_cache(maxsize=4_096)
def _load(file: str, path: str, _changed: int, size: int) -> Document | _Refused:
    """Read and decode a file, once as long as it does not change."""
    if size > MAX_BYTES:
        return _Refused(f"{path} is too large: {size:,} bytes, notes of up to {MAX_BYTES:,} are read; split it")
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return _Refused(f"{path} cannot be read: {error.strerror}")
    if raw.startswith(_UTF_16):
        encoding = "utf-16"
    elif b"\0" in raw:
        return _Refused(f"{path} is a binary file in spite of its suffix (a NUL byte at offset {raw.index(0)})")
    else:
        encoding = "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        name = encoding.removesuffix("-sig").upper()
        return _Refused(f"{path} is not {name} text (offset {error.start}, line {line}); convert it to UTF-8")
    return parse(text)
