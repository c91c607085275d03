"""The eight tools over a vault of Markdown notes: navigate, search, read no more than is needed.

Each gives text: a header line that ends in a colon and then one item a line, or one line that begins with `Error: `.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

from notes.markdown import BOLD, Note, Section
from notes.search import Hit, in_content, in_headers, in_paths
from notes.vault import Vault, VaultError

Mode = Literal["full", "structure", "summary"]
"""What `read_note` gives of a note."""

_MOST = 10
_WIDTH = 200


def _told(tool: Callable[..., str]) -> Callable[..., str]:
    """Have a tool tell its errors instead of raising them: an agent can act on what it can read."""

    @functools.wraps(tool)
    def telling(*arguments: Any, **named: Any) -> str:
        try:
            return tool(*arguments, **named)
        except VaultError as error:
            return f"Error: {error}"

    return telling


@_told
def list_folder(folder: str = "", *, state: Vault) -> str:
    """List a folder of the vault: its subfolders (ending in a slash) and its notes.

    Args:
        folder: Path of the folder, relative to the vault; empty for the vault itself.
    """
    path = state.folder(folder)
    prefix = f"{path}/" if path else ""
    folders = [name for name in state.folders() if _is_directly_in(name, prefix)]
    notes = [name for name in state.notes(path) if _is_directly_in(name, prefix)]
    header = f"{path or 'vault'}: {_count(len(folders), 'folder')}, {_count(len(notes), 'note')}:"
    return _lines(header, [*(f"{name}/" for name in folders), *notes])


@_told
def search_notes(keyword: str, *, state: Vault) -> str:
    """Find notes by words of their path and name. Their contents are not looked at: use grep_content for that.

    Args:
        keyword: Words, or a part, of the path; case and accents do not matter.
    """
    if not keyword.strip():
        raise VaultError("keyword is empty; give a word of the path, or list the vault with list_folder('')")
    found = in_paths(state, keyword)
    return _lines(f"{_count(len(found), 'note')} with {keyword.strip()!r} in the path:", found)


@_told
def read_note(file_path: str, max_lines: int = 0, mode: Mode = "full", *, state: Vault) -> str:
    """Read a note. Prefer structure or summary, and then read_section, for notes of more than 100 lines.

    Args:
        file_path: Path of the note, relative to the vault.
        max_lines: How many lines at most; 0 for all.
        mode: full is the text as it is, structure its headings with line numbers, summary these with two lines each.
    """
    if mode not in get_args(Mode):
        raise VaultError(f"there is no mode {mode!r}; it is one of {', '.join(get_args(Mode))}")
    if mode != "full":
        return _outline(state, file_path, 2 if mode == "summary" else None)
    path = state.note(file_path)
    note = state.read(path)
    last, total = _cut(1, len(note.lines), max_lines), len(note.lines)
    return _lines(f"{path}, lines 1-{last} of {total}:", note.lines[:last])


@_told
def get_document_structure(file_path: str, *, state: Vault) -> str:
    """Give the outline of a note: its headings down to the third level with the lines that each covers.

    Args:
        file_path: Path of the note, relative to the vault.
    """
    return _outline(state, file_path, None)


@_told
def read_section(file_path: str, section_title: str, max_lines: int = 0, *, state: Vault) -> str:
    """Read one section of a note, with the sections nested in it.

    Args:
        file_path: Path of the note, relative to the vault.
        section_title: Title of the section or a part of it; `Outer > Inner` where several have it.
        max_lines: How many lines at most; 0 for all.
    """
    path = state.note(file_path)
    note = state.read(path)
    found = note.find(section_title)
    if not found:
        titles = ", ".join(repr(section.title) for section in note.outline[:_MOST]) or "none: read_note gives its text"
        raise VaultError(f"{path} has no section {section_title!r}; its sections are {titles}")
    section, *others = found
    end = section.last
    while end > section.first and not note.lines[end - 1].strip():
        end -= 1
    last = _cut(section.first, end, max_lines)
    rest = f" of {section.first}-{end}" if last < end else ""
    also = f" (also at line {', '.join(str(other.first) for other in others)})" if others else ""
    header = f"{path}, lines {section.first}-{last}{rest}, section {section.path!r}{also}:"
    return _lines(header, note.lines[section.first - 1 : last])


@_told
def get_headers_with_preview(file_path: str, preview_lines: int = 2, *, state: Vault) -> str:
    """Give the outline of a note with the first lines of text under each heading.

    Args:
        file_path: Path of the note, relative to the vault.
        preview_lines: How many lines of text for each heading.
    """
    return _outline(state, file_path, max(preview_lines, 0))


@_told
def search_in_headers(keyword: str, folder: str = "", *, state: Vault) -> str:
    """Find headings that hold words of the keyword, best first. A heading means that a whole section is about it.

    Args:
        keyword: Words to look for; case and accents do not matter.
        folder: Path of a folder, or of one note, to look in; empty for the whole vault.
    """
    found = in_headers(state, keyword, folder)
    return _found(found, [f"{one.path}:{one.line}: [{one.section}]" for one in found[:_MOST]], "heading", keyword)


@_told
def grep_content(keyword: str, folder: str = "", max_results: int = _MOST, *, state: Vault) -> str:
    """Find lines that hold words of the keyword, best sections first, each with the title of its section.

    Args:
        keyword: Words to look for; case and accents do not matter.
        folder: Path of a folder, or of one note, to look in; empty for the whole vault.
        max_results: How many lines at most.
    """
    found = in_content(state, keyword, folder)
    most = max(max_results, 1)
    shown = [f"{one.path}:{one.line}: [{one.section}] {_short(one.text)}" for one in found[:most]]
    return _found(found, shown, "line", keyword)


def _outline(state: Vault, file_path: str, preview: int | None) -> str:
    path = state.note(file_path)
    note = state.read(path)
    if not note.outline:
        return f"{path}, {_count(len(note.lines), 'line')}, without headings; read_note gives its text:"
    items = []
    for section in note.outline:
        mark = "**" if section.level == BOLD else "#" * section.level
        items.append(f"{section.first}-{section.last}: {mark} {section.title}")
        items += [f"    {line}" for line in _preview(note, section, preview or 0)]
    what = "outline" if preview is None else "outline with previews"
    return _lines(f"{path}, {_count(len(note.lines), 'line')}, {what}:", items)


def _preview(note: Note, section: Section, count: int) -> list[str]:
    """Give the first lines of a section's own text, before the next section begins."""
    starts = [one.first for one in note.sections if one.first > section.first]
    last = min([*starts, len(note.lines) + 1]) - 1
    texts = (line.strip() for line in note.lines[section.first : last])
    return [_short(text) for text in texts if text.strip("=-")][:count]


def _found(found: Sequence[Hit], shown: Sequence[str], what: str, keyword: str) -> str:
    if not keyword.strip():
        raise VaultError("keyword is empty; give the words to look for")
    more = f" (the best {len(shown)})" if len(shown) < len(found) else ""
    return _lines(f"{_count(len(found), what)} with words of {keyword.strip()!r}{more}:", shown)


def _lines(header: str, items: Iterable[str]) -> str:
    return "\n".join([header, *items])


def _cut(first: int, last: int, max_lines: int) -> int:
    return min(last, first + max_lines - 1) if max_lines > 0 else last


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _is_directly_in(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and "/" not in name[len(prefix) :]
