"""The pages of the documentation and their fenced blocks: which is a file, which a command, which a part."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"\A(?:#|--) (?P<name>[\w./-]+\.\w+)\n")


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block: its language, the other words of its info string, its text and its line in the page."""

    page: Path
    line: int
    language: str
    words: dict[str, str]
    text: str

    @property
    def file(self) -> str | None:
        """The file that the block is, if it is one."""
        if "file" in self.words:
            return self.words["file"]
        named = _NAMED.match(self.text)
        return named["name"] if named else None

    @property
    def packages(self) -> list[str]:
        """The packages without which the block is passed over."""
        return [name for name in self.words.get("needs", "").split(",") if name]

    def __str__(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class Command:
    """One line of a console block, and what must be printed."""

    line: str
    shown: tuple[str, ...]


def pages() -> list[Path]:
    """Every page that this folder checks: the README, and all pages below `docs`."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    """The name of a page: `README`, or its path below `docs` without the suffix."""
    return page.relative_to(DOCS).with_suffix("").as_posix() if page.is_relative_to(DOCS) else page.stem


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        pairs = (word.partition("=") for word in words)
        inner = re.sub(rf"^ {{{len(match['indent'])}}}", "", match["text"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 1
        found.append(
            Block(page=page, line=line, language=language, words={key: value for key, _, value in pairs}, text=inner)
        )
    return found


def commands(block: Block) -> list[Command]:
    """The `$ …` lines of a console block, each with the lines that follow it."""
    found: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line=line[2:], shown=()))
        elif line.strip() and found:
            last = found.pop()
            found.append(Command(line=last.line, shown=(*last.shown, line)))
    return found


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", text)


def codes(text: str) -> set[str]:
    """Everything in a page that is code: inline spans and the words of fenced blocks."""
    inline = re.findall(r"`([^`\n]+)`", prose(text))
    fenced = [match["text"] for match in _FENCE.finditer(text)]
    return {word for part in (*inline, *fenced) for word in re.findall(r"\$?\w+", part)}


def first_cells(text: str, heading: str) -> list[str]:
    """The first cells of the tables below a heading, up to the next one of its kind; `keys` inside lose backticks."""
    section = re.split(rf"^{re.escape(heading)}$", text, maxsplit=1, flags=re.MULTILINE)[1]
    level = heading.partition(" ")[0]
    section = re.split(rf"^{level} ", section, maxsplit=1, flags=re.MULTILINE)[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    return [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
