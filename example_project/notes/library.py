"""The agent's hands: it calls the tools by name, keeps what they gave, and reads it back as places and passages."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Tool = Callable[..., Any]

_HIT = re.compile(r"^(?P<path>.+?\.(?:md|markdown)):(?P<line>\d+): (?P<rest>.*)$", re.IGNORECASE)
_SECTIONED = re.compile(r"^\[(?P<title>.*?)\] (?P<text>.*)$|^\[(?P<only>.*)\]$")
_READ = re.compile(
    r"^(?P<path>.+?), lines (?P<first>\d+)-(?P<last>\d+)(?: of (?:\d+-)?(?P<total>\d+))?"
    r"(?:, section (?P<quoted>.+?)(?: \(also at line (?P<also>[\d, ]+)\))?)?:$"
)
_OUTLINED = re.compile(r"^(?P<path>.+\.(?:md|markdown)), (?P<lines>\d+) lines, outline\b", re.IGNORECASE)
_PATH = re.compile(r".+\.(?:md|markdown)", re.IGNORECASE)
_MISSING = re.compile(r"no note holds (.*?)(?:; |:$)")
RAISED = "Error: the tool failed with "
"""How the text of a tool that raised begins: unlike an error that a tool tells of, this may pass."""

_HEADING = re.compile(r"^(?P<first>\d+)-(?P<last>\d+): #{1,6} (?P<title>.+)$")
_MARK = re.compile(r"^(?:#{1,6}|\*\*|¶) ")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A line of a note and the title of its section, as a search gave it."""

    path: str
    line: int
    title: str
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """Lines of a note as they were read: a section, or the whole note where `title` is empty."""

    path: str
    first: int
    title: str
    lines: tuple[str, ...]
    also: tuple[int, ...] = ()
    """First lines of other sections with this title."""
    above: tuple[tuple[int, str], ...] = ()
    """Lines and titles of what the section stands under, outermost first, where the note's outline was looked at."""

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.first + max(len(self.lines), 1) - 1

    def __str__(self) -> str:
        """Give the lines below a header line like that of the tools."""
        section = f", section {self.title!r}" if self.title else ""
        return f"{self.path}, lines {self.first}-{self.last}{section}:\n" + "\n".join(self.lines)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Lines of a note that a text showed, or spoke of."""

    path: str
    first: int
    last: int


@dataclass
class Library:
    """The tools, a log of the calls made, and what they gave; `remember` keeps that from one turn to the next."""

    tools: dict[str, Tool]
    remember: bool
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _given: dict[str, str] = field(default_factory=dict)
    _shown: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, tools: Sequence[Tool], *, remember: bool) -> "Library":
        """Take the tools of a run."""
        return cls(tools={tool.__name__: tool for tool in tools}, remember=remember)

    def begin_turn(self) -> None:
        """Forget what was read, unless there is a memory."""
        self._shown.clear()
        if not self.remember:
            self.forget()

    def forget(self) -> None:
        """Forget what the tools gave, so that they are called again."""
        self._given.clear()

    def shown(self) -> list[str]:
        """Give what the tools gave in this turn: what a model would have had to read."""
        return list(self._shown)

    def seen(self, path: str, first: int, last: int) -> str:
        """Give these lines of a note if some tool gave all of them before; else nothing."""
        for text in self._given.values():
            read = passage(text)
            if read and read.path == path and read.first <= first and last <= read.last:
                return "\n".join(read.lines[first - read.first : last - read.first + 1])
        return ""

    def call(self, name: str, **arguments: Any) -> str:
        """Call a tool, or give what the same call gave before; what it raises becomes a text like its other errors."""
        key = json.dumps([name, arguments], sort_keys=True, default=str)
        if key not in self._given:
            self.calls.append((name, arguments))
            self._given[key] = self._called(name, arguments)
            self._shown.append(self._given[key])
        return self._given[key]

    def reread(self, name: str, **arguments: Any) -> str:
        """Call a tool whatever it gave before."""
        self._given.pop(json.dumps([name, arguments], sort_keys=True, default=str), None)
        return self.call(name, **arguments)

    def _called(self, name: str, arguments: dict[str, Any]) -> str:
        tool = self.tools.get(name)
        if tool is None:
            return f"Error: there is no tool {name!r}; the tools are {', '.join(sorted(self.tools))}"
        try:
            return str(tool(**arguments))
        except Exception as error:  # noqa: BLE001 - an agent goes on when a tool fails, whatever it raises
            return f"{RAISED}{type(error).__name__}: {error}"


def failed(text: str) -> bool:
    """Whether a tool's text is an error."""
    return text.startswith("Error: ")


def places(text: str) -> list[Place]:
    """Read the hits of a search."""
    found = []
    for line in text.split("\n")[1:]:
        hit = _HIT.match(line)
        if hit is None:
            continue
        sectioned = _SECTIONED.match(hit["rest"])
        if sectioned:
            title, rest = sectioned["title"] or sectioned["only"] or "", sectioned["text"] or ""
        else:
            title, rest = _MARK.sub("", hit["rest"]), ""
        found.append(Place(path=hit["path"], line=int(hit["line"]), title=title, text=rest))
    return found


def missing(text: str) -> list[str]:
    """Read which words no note holds, as the header line of `grep_content` says."""
    found = _MISSING.search(text.partition("\n")[0])
    return re.findall(r"'([^']*)'", found[1]) if found else []


def passage(text: str) -> Passage | None:
    """Read what `read_note` or `read_section` gave; None for an error and for outlines."""
    header, _, body = text.partition("\n")
    head = _READ.match(header)
    if head is None:
        return None
    also = tuple(int(number) for number in (head["also"] or "").split(",") if number.strip())
    title = (head["quoted"] or "")[1:-1]
    return Passage(path=head["path"], first=int(head["first"]), title=title, lines=tuple(body.split("\n")), also=also)


def shown_lines(text: str) -> list[Shown]:
    """Give which lines of which notes a tool's text showed: those it read, found, or named in an outline."""
    read = passage(text)
    if read:
        return [Shown(path=read.path, first=read.first, last=read.last)]
    header, _, rest = text.partition("\n")
    outline = _OUTLINED.match(header)
    if outline:
        return [Shown(path=outline["path"], first=1, last=int(outline["lines"]))]
    found = [Shown(path=place.path, first=place.line, last=place.line) for place in places(text)]
    return found or [Shown(path=line, first=0, last=0) for line in rest.split("\n") if _PATH.fullmatch(line)]


def enclosing(text: str, line: int) -> tuple[tuple[int, str], ...]:
    """Give lines and titles of the headings of an outline whose sections hold a line, outermost first."""
    found = [outlined for outlined in map(_HEADING.match, text.split("\n")[1:]) if outlined]
    return tuple((int(one["first"]), one["title"]) for one in found if int(one["first"]) < line <= int(one["last"]))


def items(text: str) -> list[str]:
    """Give the lines below the header line."""
    return [line for line in text.split("\n")[1:] if line.strip()]
