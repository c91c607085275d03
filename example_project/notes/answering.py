"""An answer: the statements of a note that answer a question, with the lines they stand in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from notes.statements import Statement
from notes.text import stems

SOUND = 0.8
"""Share of the question's words from which an answer needs no second look."""

CERTAIN = 0.9
"""Closeness from which an answer is taken without a look at the next section."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where something stands: note, section and lines; no lines where only the note is known."""

    path: str
    title: str = ""
    first: int = 0
    last: int = 0

    def at(self, first: int, last: int) -> "Source":
        """Give the same section with other lines."""
        return Source(path=self.path, title=self.title, first=first, last=last)

    def __str__(self) -> str:
        if not self.first:
            return f"[{self.path}]"
        return f"[{self.path}:{self.first}]" if self.first == self.last else f"[{self.path}:{self.first}-{self.last}]"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a passage answers: statements, their source, what share of the question they cover, and its type."""

    pieces: tuple[Statement, ...]
    source: Source
    coverage: float
    typed: bool
    listed: bool = False
    lacking: tuple[str, ...] = ()
    """Names and figures of the question that the passage does not have."""
    is_the_list: bool = False
    """Whether it is a list that is called like what is to be listed."""
    called: bool = False
    """Whether the question says the whole name of the note."""
    closeness: float = 0.0
    """How near the question's words are to the statements, from 0 to 1; names and figures count double."""
    named: bool = True
    """Whether all names and figures of the question stand that near, not merely in the same section."""
    identified: bool = False
    """Whether the question has names or figures at all."""
    defining: bool = False
    """Whether a statement begins with a name that the question asks about, or stands under it as a title."""
    focus: tuple[str, ...] = ()
    """The cells of a table row whose columns were asked for."""

    @property
    def anchored(self) -> bool:
        """Whether the passage has all names and figures of the question."""
        return not self.lacking

    @property
    def figures(self) -> str:
        """The text without the columns of a table that were not asked for."""
        return " ".join(self.focus) or self.text

    @property
    def text(self) -> str:
        """The statements as one text."""
        if self.listed:
            return _listed(self.pieces)
        return " ".join(_closed(piece.text, piece.kind) for piece in self.pieces)

    @property
    def good(self) -> bool:
        """Whether it is an answer at all: about what was asked, with its names and figures or from a note it names."""
        return (self.anchored or self.called) and self.coverage >= 0.5

    def says(self, wanted: Collection[str]) -> bool:
        """Whether the statements or their titles have one of these stems."""
        held = set(stems(" ".join(" ".join((one.text, *one.titles, one.intro)) for one in self.pieces)))
        return not held.isdisjoint(wanted)

    @property
    def sound(self) -> bool:
        """Whether reading on can hardly give a better one."""
        return self.good and self.typed and (self.coverage >= SOUND or self.is_the_list)

    @property
    def certain(self) -> bool:
        """Whether no other section can well say it better: all that was asked stands in the statements themselves."""
        said = self.defining or not self.identified
        return (
            self.sound and ((self.closeness >= CERTAIN and said) or self.is_the_list) and self.pieces[0].kind != "code"
        )

    @property
    def score(self) -> float:
        """How well it answers, to compare answers from different passages."""
        quoted = all(one.kind == "code" for one in self.pieces)
        likes = 0.4 * self.typed + 0.5 * self.named + 0.4 * self.is_the_list + 0.2 * self.defining
        likes += 0.3 * (self.defining and bool(self.focus))
        return 0.5 * self.coverage + 1.5 * self.closeness + likes - 0.4 * quoted


def _listed(pieces: Sequence[Statement]) -> str:
    ordered = pieces[0].ordered
    texts = [f"{number}. {one.text}" if ordered else one.text for number, one in enumerate(pieces, 1)]
    return "; ".join(text.rstrip(";,. ") for text in texts) + "."


def _closed(text: str, kind: str) -> str:
    if kind == "code":
        return f"`{text}`" if "\n" not in text else text
    return text if text.rstrip('"”» ').endswith((".", "!", "?", "…", ":", ";")) else f"{text}."
