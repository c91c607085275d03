"""From the title that was asked for to a section of a note."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from notes.markdown import Document, Section
from notes.text import fold, stem, words
from notes.vault import VaultError

_NUMBERED = re.compile(r"^(.*\S)\s*#\s*(\d+)$", re.DOTALL)
_MARK = re.compile(r"^\s*(?:#{1,6}\s+|\*\*\s*|¶\s*)")


def find_section(document: Document, title: str, path: str) -> tuple[Section, tuple[Section, ...]]:
    """Give the section with a title, and all that have it as well; raise `VaultError` where there is none.

    Whole titles are preferred to parts of titles, these to titles that hold all words; headings to bold lines, these
    to blocks. `Parent > Title` looks below a parent, `Title#2` gives the second one.
    """
    if not title.strip():
        raise VaultError(f"section_title is empty; sections of {path}: {_listed(document)}")
    found = _matching(document, title)
    if found:
        return found[0], tuple(found)
    numbered = _NUMBERED.match(title)
    if numbered:
        found = _matching(document, numbered[1])
        number = int(numbered[2])
        if found and 0 < number <= len(found):
            return found[number - 1], tuple(found)
        if found:
            raise VaultError(f"{path} has {len(found)} sections {numbered[1]!r}, there is no number {number}")
    raise VaultError(f"{path} has no section {title!r}{_hint(document, title)}; its sections: {_listed(document)}")


def _matching(document: Document, title: str) -> list[Section]:
    found = _below(document.sections, title)
    if found:
        return found
    *parents, last = (part.strip() for part in title.split(" > "))
    if not parents:
        return []
    wanted = fold(parents[-1])
    inside = [s for s in document.sections if s.path and wanted in fold(s.path[-1])]
    return _below(inside, last)


def _below(sections: Sequence[Section], title: str) -> list[Section]:
    wanted = _bare(title)
    stems = {stem(word) for word in words(wanted)}
    tests: tuple[Callable[[Section], bool], ...] = (
        lambda section: _bare(section.title) == wanted,
        lambda section: bool(wanted) and wanted in _bare(section.title),
        lambda section: bool(stems) and stems <= {stem(word) for word in words(section.title)},
    )
    for test in tests:
        found = sorted(filter(test, sections), key=lambda section: (_rank(section), section.line))
        if found:
            best = _rank(found[0])
            return [section for section in found if _rank(section) == best]
    return []


def _bare(title: str) -> str:
    """Give a title without what outlines put before it, and without the ellipsis of a block's."""
    return fold(_MARK.sub("", title)).strip().removesuffix("…").rstrip(" :")


def _rank(section: Section) -> int:
    return max(section.level, 6)


def _hint(document: Document, title: str) -> str:
    by_fold = {_bare(section.title): section.title for section in document.sections}
    close = get_close_matches(_bare(title), list(by_fold), n=3, cutoff=0.6)
    return f" (did you mean {', '.join(repr(by_fold[name]) for name in close)}?)" if close else ""


def _listed(document: Document, most: int = 12) -> str:
    titles = [section.title for section in document.outline]
    more = f" and {len(titles) - most} more" if len(titles) > most else ""
    return (", ".join(map(repr, _first(titles, most))) or "none") + more


def _first(titles: Iterable[str], most: int) -> list[str]:
    return list(titles)[:most]
