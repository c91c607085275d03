"""The eight tools over a vault of Markdown notes: navigate, search, read no more than is needed.

Each gives text: a header line that ends in a colon and then one item a line, or one line that begins with `Error: `,
since an agent can act on what it can read.
"""

from collections.abc import Callable, Iterable
from typing import Literal, get_args

from notes.markdown import Document, Section
from notes.searching import Found, in_content, in_headers
from notes.sectioning import find_section
from notes.text import fold, stem, words
from notes.vault import Vault, VaultError

Mode = Literal["full", "structure", "summary"]
"""What `read_note` gives of a note."""

_MOST = 20
_WIDTH = 200


def list_folder(folder: str = "", *, state: Vault) -> str:
    """List a folder of the vault: its subfolders (ending in a slash) and its notes.

    Args:
        folder: Path of the folder, relative to the vault; empty for the vault itself.
    """
    return _answered(lambda: _list(state, folder))


def search_notes(keyword: str, *, state: Vault) -> str:
    """Find notes by words of their path and name. Their contents are not looked at: use grep_content for that.

    Args:
        keyword: Words, or a part, of the path; case and accents do not matter.
    """
    return _answered(lambda: _search_paths(state, keyword))


def read_note(file_path: str, max_lines: int = 0, mode: Mode = "full", *, state: Vault) -> str:
    """Read a note. Prefer structure or summary, and then read_section, for notes of more than 100 lines.

    Args:
        file_path: Path of the note, relative to the vault.
        max_lines: How many lines at most; 0 for all.
        mode: full is the text as it is, structure its headings with line numbers, summary these with two lines each.
    """
    if mode not in get_args(Mode):
        return f"Error: there is no mode {mode!r}; it is one of {', '.join(get_args(Mode))}"
    if mode == "structure":
        return get_document_structure(file_path, state=state)
    if mode == "summary":
        return get_headers_with_preview(file_path, 2, state=state)
    return _answered(lambda: _read(state, file_path, max_lines))


def get_document_structure(file_path: str, *, state: Vault) -> str:
    """Give the outline of a note: its headings down to the third level with the lines that each covers.

    Args:
        file_path: Path of the note, relative to the vault.
    """
    return _answered(lambda: _outline(state, file_path, None))


def read_section(file_path: str, section_title: str, max_lines: int = 0, *, state: Vault) -> str:
    """Read one section of a note, with the sections nested in it.

    Args:
        file_path: Path of the note, relative to the vault.
        section_title: Title of the section or a part of it; `Parent > Title` or `Title#2` where several have it.
        max_lines: How many lines at most; 0 for all.
    """
    return _answered(lambda: _section(state, file_path, section_title, max_lines))


def get_headers_with_preview(file_path: str, preview_lines: int = 2, *, state: Vault) -> str:
    """Give the outline of a note with the first lines of text under each heading.

    Args:
        file_path: Path of the note, relative to the vault.
        preview_lines: How many lines of text for each heading.
    """
    return _answered(lambda: _outline(state, file_path, max(preview_lines, 0)))


def search_in_headers(keyword: str, folder: str = "", *, state: Vault) -> str:
    """Find headings that hold words of the keyword, best first. A heading means that a whole section is about it.

    Args:
        keyword: Words to look for; case, accents and inflection do not matter.
        folder: Path of a folder, or of one note, to look in; empty for the whole vault.
    """
    return _answered(lambda: _search_headers(state, keyword, folder))


def grep_content(keyword: str, folder: str = "", max_results: int = _MOST, *, state: Vault) -> str:
    """Find lines that hold words of the keyword, best sections first, each with the title of its section.

    Args:
        keyword: Words to look for; case, accents and inflection do not matter.
        folder: Path of a folder, or of one note, to look in; empty for the whole vault.
        max_results: How many lines at most.
    """
    return _answered(lambda: _grep(state, keyword, folder, max_results))


def _answered(work: Callable[[], str]) -> str:
    try:
        return work()
    except VaultError as error:
        return f"Error: {error}"


def _list(state: Vault, folder: str) -> str:
    path = state.folder(folder)
    prefix = f"{path}/" if path else ""
    folders = [name for name in state.folders() if _is_directly_in(name, prefix)]
    notes = [name for name in state.notes(path) if _is_directly_in(name, prefix)]
    header = f"{path or 'vault'}: {_count(len(folders), 'folder')}, {_count(len(notes), 'note')}:"
    return _lines(header, [*(f"{name}/" for name in folders), *notes])


def _search_paths(state: Vault, keyword: str) -> str:
    wanted = fold(keyword).strip()
    if not wanted:
        raise VaultError("keyword is empty; give a word of the path, or list the vault with list_folder('')")
    stems = {stem(word) for word in words(keyword)}
    whole = [path for path in state.notes() if wanted in fold(path)]
    found = whole or [path for path in state.notes() if stems and stems <= {stem(word) for word in words(path)}]
    return _lines(f"{_count(len(found), 'note')} with {keyword.strip()!r} in {_its(found)} path:", found)


def _read(state: Vault, file_path: str, max_lines: int) -> str:
    path = state.note(file_path)
    document = state.read(path)
    last, total = _cut(1, len(document.lines), max_lines), len(document.lines)
    return _lines(f"{path}, lines 1-{last} of {total}:", [document.body(1, last)])


def _outline(state: Vault, file_path: str, preview: int | None) -> str:
    path = state.note(file_path)
    document = state.read(path)
    items = []
    for section in document.outline:
        items.append(f"{section.line}-{section.end}: {section.label}")
        items += [f"    {line}" for line in _preview(document, section, preview or 0)]
    what = "outline" if preview is None else "outline with previews"
    return _lines(f"{path}, {_count(len(document.lines), 'line')}, {what}:", items)


def _preview(document: Document, section: Section, count: int) -> list[str]:
    """Give the first lines of a section's own text, before the next section begins."""
    leaf = next((leaf for leaf in document.leaves if leaf.line == section.line), section)
    first = leaf.line if section.kind == "block" else leaf.line + 1
    texts = (document.lines[line - 1].strip() for line in range(first, leaf.end + 1))
    return [_short(text) for text in texts if text.strip("=- ")][:count]


def _section(state: Vault, file_path: str, title: str, max_lines: int) -> str:
    path = state.note(file_path)
    document = state.read(path)
    section, alike = find_section(document, title, path)
    end = section.end
    while end > section.line and not document.lines[end - 1].strip():
        end -= 1
    last = _cut(section.line, end, max_lines)
    rest = f" of {section.line}-{end}" if last < end else ""
    others = [str(other.line) for other in alike if other != section]
    also = f" (also at line {', '.join(others)})" if others else ""
    header = f"{path}, lines {section.line}-{last}{rest}, section {section.title!r}{also}:"
    return _lines(header, [document.body(section.line, last)])


def _search_headers(state: Vault, keyword: str, folder: str) -> str:
    _require(keyword)
    found = in_headers(state, keyword, folder)
    shown = [f"{hit.path}:{hit.line}: {_short(hit.text)}" for hit in found.hits[:_MOST]]
    return _lines(_header(found, len(shown), "heading", keyword), shown)


def _grep(state: Vault, keyword: str, folder: str, max_results: int) -> str:
    _require(keyword)
    found = in_content(state, keyword, folder)
    shown = [
        f"{hit.path}:{hit.line}: [{hit.section.title}] {_short(hit.text)}" for hit in found.hits[: max(max_results, 1)]
    ]
    return _lines(_header(found, len(shown), "line", keyword), shown)


def _require(keyword: str) -> None:
    if not keyword.strip():
        raise VaultError("keyword is empty; give the words to look for")


def _header(found: Found, shown: int, what: str, keyword: str) -> str:
    total = len(found.hits)
    more = f" (the best {shown})" if shown < total else ""
    missing = f"; no note holds {', '.join(map(repr, found.missing))}" if found.missing else ""
    unread = f"; {_count(found.unread, 'note')} could not be read" if found.unread else ""
    return f"{_count(total, what)} with {keyword.strip()!r}{more}{missing}{unread}:"


def _lines(header: str, items: Iterable[str]) -> str:
    return "\n".join([header, *items])


def _cut(first: int, last: int, max_lines: int) -> int:
    return min(last, first + max_lines - 1) if max_lines > 0 else last


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _its(found: list[str]) -> str:
    return "its" if len(found) == 1 else "their"


def _is_directly_in(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and "/" not in name[len(prefix) :]
