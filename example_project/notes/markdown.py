"""A note as the tools see it: its lines and the sections that its headings open.

Line numbers count from 1 in the file as it is. A line that is bold as a whole opens a section, too: many notes have
no other headings.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

OUTLINE = 3
"""The deepest heading that outlines show (paper, table 1)."""

BOLD = 7
"""The level of a bold line: below every heading."""

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{3,})[ \t]*$")
_BOLD_LINE = re.compile(r"^(\*\*|__)(?=\S)(.+?)(?<=\S)\1:?[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]|]+)\]\]|\[([^\]]+)\]\([^)]*\)")
_NO_TEXT = ("#", "|", ">", "- ", "* ")


@dataclass(frozen=True, kw_only=True)
class Section:
    """Consecutive lines under a title; `path` is the title behind the titles around it, outermost first."""

    title: str
    level: int
    first: int
    last: int
    path: str


class Note:
    """The text of a note, taken apart."""

    def __init__(self, text: str) -> None:
        self.lines = tuple(text.splitlines())

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The sections in order; each ends where the next of its level or a higher one begins."""
        found = []
        open_ones: list[tuple[int, str]] = []
        for number, (line, level, title) in enumerate(self._titles):
            open_ones = [one for one in open_ones if one[0] < level]
            # the note's own title stands first and would repeat in every path
            around = [name for place, (outer, name) in enumerate(open_ones) if place or outer > 1]
            later = (start for start, other, _ in self._titles[number + 1 :] if other <= level)
            last = next(later, len(self.lines) + 1) - 1
            path = " > ".join([*around, title])
            found.append(Section(title=title, level=level, first=line, last=last, path=path))
            open_ones.append((level, title))
        return tuple(found)

    @property
    def outline(self) -> list[Section]:
        """Headings down to the third level, and bold lines."""
        return [section for section in self.sections if section.level <= OUTLINE or section.level == BOLD]

    def section_at(self, line: int) -> Section | None:
        """Give the innermost section that holds a line."""
        return next((one for one in reversed(self.sections) if one.first <= line <= one.last), None)

    def find(self, wanted: str) -> list[Section]:
        """Give the sections with a title: whole titles first, then parts; `Outer > Inner` says which one is meant."""
        *outer, asked = (fold(part).strip(" #*") for part in wanted.split(">"))
        name = fold(self.sections[0].title) if self.sections else ""
        placed = [one for one in self.sections if all(part in f"{name} > {fold(one.path)}" for part in outer)]
        whole = [one for one in placed if fold(one.title) == asked]
        return whole or [one for one in placed if asked and asked in fold(one.title)]

    @cached_property
    def _titles(self) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []
        fence = ""
        start = self._front_matter()
        for number, line in enumerate(self.lines[start:], start + 1):
            mark = _FENCE.match(line)
            if fence or mark:
                fence = "" if fence and line.strip().startswith(fence) else fence or (mark[1] if mark else "")
                continue
            above = self.lines[number - 2] if number > start + 1 else ""
            if heading := _HEADING.match(line):
                found.append((number, len(heading[1]), plain(heading[2])))
            elif bold := _BOLD_LINE.match(line):
                found.append((number, BOLD, plain(bold[2]).rstrip(":")))
            elif (rule := _UNDERLINE.match(line)) and above.strip() and not above.startswith(_NO_TEXT):
                found.append((number - 1, 1 if rule[1][0] == "=" else 2, plain(above.strip())))
        return found

    def _front_matter(self) -> int:
        """Give the number of lines of the front matter, 0 without any."""
        if not self.lines or self.lines[0].strip() != "---":
            return 0
        return next((number for number, line in enumerate(self.lines[1:], 2) if line.strip() == "---"), 0)


def plain(title: str) -> str:
    """Give a title without marks, a link as its text."""
    return _LINK.sub(lambda link: link[1] or link[2], title).replace("*", "").replace("`", "").strip()


def fold(text: str) -> str:
    """Give a text without case, accents and typographic quotes, to compare it."""
    spelt = text.casefold().replace("œ", "oe").replace("’", "'")
    return "".join(one for one in unicodedata.normalize("NFKD", spelt) if not unicodedata.combining(one))
