"""Looking one thing up: search, choose, read, extract; by sections, or by whole notes."""

from dataclasses import replace

from notes.answering import Answer, extract
from notes.choosing import ranked, read_place, untried
from notes.drafts import Part
from notes.library import Library, Place, failed, missing, passage, places
from notes.question import Query
from notes.text import stem

TOO_LITTLE = 0.7
"""Share of a question's words that must be found where no note at all holds one of them (of three, all)."""


class Research:
    """Looks things up with the tools; `sections` False reads every note whole."""

    def __init__(self, library: Library, *, sections: bool) -> None:
        self._library = library
        self._sections = sections

    @property
    def sections(self) -> bool:
        """Whether sections are read rather than notes."""
        return self._sections

    def look_up(self, query: Query, *, favour: str = "", ordinal: int = 0) -> Part:
        """Search once and read the most promising place."""
        scope = {"folder": query.scope} if query.scope else {}
        headed = ""
        if self._sections:
            headed = self._library.call("search_in_headers", keyword=query.keyword, **scope)
        found = self._library.call("grep_content", keyword=query.keyword, **scope)
        part = self.chosen(query, headed, found, favour=favour)
        return self.read_on(part, ordinal=ordinal)

    def chosen(self, query: Query, headed: str, found: str, *, favour: str = "") -> Part:
        """Rank what the two searches showed."""
        hits = [] if failed(found) else places(found)
        heads = [] if failed(headed) else places(headed)
        candidates = ranked(hits, heads, query, favour=favour)
        return Part(query=query, candidates=tuple(candidates), missing=tuple(missing(found)))

    def read_on(self, part: Part, *, ordinal: int = 0) -> Part:
        """Read the next place that was not tried, and keep the better answer."""
        left = untried(part.candidates, part.tried)
        if not self._sections:
            left = [place for place in left if place.path not in {path for path, _ in part.tried}]
        if not left:
            return part
        place = left[0]
        answer = self._read(place, part.query, ordinal)
        tried = part.tried | {(place.path, place.title)}
        return replace(part, tried=tried, answer=better(part, answer))

    def _read(self, place: Place, query: Query, ordinal: int) -> Answer | None:
        if self._sections:
            read = read_place(self._library, place)
        else:
            read = passage(self._library.call("read_note", file_path=place.path))
        return extract(read, query, ordinal=ordinal) if read else None


def better(part: Part, answer: Answer | None) -> Answer | None:
    """Give the better of the answer so far and another, by what the question needs; None where neither is one."""
    if answer is not None and not holds(answer, part):
        answer = None
    if part.answer is None or answer is None:
        return part.answer or answer
    return answer if answer.score > part.answer.score + 1e-9 else part.answer


def holds(answer: Answer, part: Part) -> bool:
    """Whether an answer can be believed to be about the question, whose words some may be in no note at all."""
    unknown = [name for name in part.missing if stem(name) in part.query.strong]
    return answer.good and (not unknown or bool(part.query.anchors) or answer.coverage >= TOO_LITTLE)
