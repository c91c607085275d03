"""What the agent found out in a turn, before it is worded: answers with their sources, and what was looked at."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from notes.answering import Answer, Source
from notes.library import Place
from notes.querying import Query
from notes.question import Kind


@dataclass(frozen=True, kw_only=True)
class Part:
    """One search of a turn: what was asked, the answer if there is one, and the sections that stay to be read."""

    query: Query
    answer: Answer | None = None
    candidates: tuple[Place, ...] = ()
    tried: frozenset[tuple[str, str]] = frozenset()
    missing: tuple[str, ...] = ()
    """Words of the search that no note holds, in either language."""
    foreign: bool = False
    """Whether the notes are in the other language than the question."""
    about: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By note the stems that the searches showed of it."""
    likely: tuple[str, ...] = ()
    """The note that was talked about, and its section if the question points at it."""
    text: str = ""
    """An answer that is no extract: an overview, a list of paths."""
    sources: tuple[Source, ...] = ()
    label: str = ""
    """What a side of a comparison is called."""
    seen: tuple[str, ...] = ()
    """What a model had before it when it wrote `text`: results of tools, and what was said before."""

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return bool(self.text) or (self.answer is not None and self.answer.good)

    @property
    def said(self) -> str:
        """The answer as text."""
        if self.text or self.answer is None:
            return self.text
        return self.answer.text

    @property
    def cited(self) -> tuple[Source, ...]:
        """Where the answer stands."""
        return self.sources or ((self.answer.source,) if self.answer else ())


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The parts of an answer, how they belong together, and whether their lines are cited."""

    kind: Kind
    parts: tuple[Part, ...]
    french: bool
    cite_lines: bool
    notes: tuple[str, ...] = field(default=())
    """Remarks of the critic that go with the answer."""

    @property
    def found(self) -> tuple[Part, ...]:
        """The parts that have an answer; where one could not be told apart from another, once."""
        kept: list[Part] = []
        for part in self.parts:
            if part.found and all(part.said != other.said for other in kept):
                kept.append(part)
        return tuple(kept)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources, each once."""
        return tuple(dict.fromkeys(source for part in self.found for source in part.cited))

    def with_parts(self, parts: tuple[Part, ...]) -> "Draft":
        """Give the same draft with other parts."""
        return replace(self, parts=parts)
