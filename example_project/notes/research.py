"""Looking one thing up: search, choose, read, extract; by sections, or by whole notes."""

from dataclasses import replace

from notes.answering import Answer
from notes.believing import holds
from notes.choosing import ranked, read_place, untried
from notes.drafts import Part
from notes.extracting import extract
from notes.library import Library, Passage, Place, enclosing, failed, missing, passage, places
from notes.querying import Query
from notes.text import fold, stem, stems
from notes.wording import is_french

MARGIN = 0.05
"""What a section that was thought less promising must be better by."""

LIKELY = 0.2
"""What being in the note that was talked about counts for an answer."""

FEW = 5
"""Lines of a search among which the note that was talked about is looked for."""

SHOWN = 6
"""Sections whose shown lines tell the language of what was found."""


class Research:
    """Looks things up with the tools; `sections` False reads every note whole."""

    def __init__(self, library: Library, *, sections: bool) -> None:
        self._library = library
        self._sections = sections

    @property
    def sections(self) -> bool:
        """Whether sections are read rather than notes."""
        return self._sections

    def look_up(self, query: Query, *, favour: tuple[str, ...] = (), ordinal: int = 0) -> Part:
        """Search once and read the most promising place."""
        scope = {"folder": query.scope} if query.scope else {}
        headed = ""
        if self._sections:
            headed = self._library.call("search_in_headers", keyword=query.keyword, **scope)
        found = self._library.call("grep_content", keyword=query.keyword, **scope)
        part = self.translated(self.chosen(query, headed, found, favour=favour), favour=favour)
        return self.read_on(part, ordinal=ordinal)

    def most_promising(self, query: Query, most: int) -> tuple[str, ...]:
        """Search, and give the best sections as the tool gives them, whether they answer or not."""
        read = [read_place(self._library, place) for place in self.look_up(query).candidates[:most]]
        return tuple(str(one) for one in read if one)

    def translated(self, part: Part, *, favour: tuple[str, ...] = ()) -> Part:
        """Search again with words of the other language: for those that no note holds, or all where notes are in it."""
        foreign = _is_foreign(part)
        other = {name: words for name, words in part.query.translated if foreign or name in part.missing}
        if not other:
            return part
        names = [word for name in part.query.keyword.split() for word in other.get(name) or [name]]
        keyword = " ".join(dict.fromkeys(names))
        scope = {"folder": part.query.scope} if part.query.scope else {}
        headed = self._library.call("search_in_headers", keyword=keyword, **scope) if self._sections else ""
        again = self.chosen(
            part.query,
            headed,
            self._library.call("grep_content", keyword=keyword, **scope),
            favour=favour,
            keyword=keyword,
        )
        unknown = set(map(stem, again.missing))
        lacking = tuple(
            name for name in part.missing if name not in other or unknown.issuperset(map(stem, other[name]))
        )
        return replace(again, missing=lacking, foreign=foreign)

    def chosen(self, query: Query, headed: str, found: str, *, favour: tuple[str, ...] = (), keyword: str = "") -> Part:
        """Rank what the two searches showed; `favour` is a note that is searched for itself where they missed it."""
        hits = [] if failed(found) else places(found)
        if favour and hits and not query.scope and all(place.path != favour[0] for place in hits[:FEW]):
            here = self._library.call("grep_content", keyword=keyword or query.keyword, folder=favour[0])
            hits += [place for place in places(here) if place not in hits] if not failed(here) else []
        heads = [] if failed(headed) else places(headed)
        folders = {name for place in (*hits, *heads) for name in map(stem, map(fold, place.path.split("/")[:-1]))}
        query = replace(query, placed=tuple(one for one in query.strong if one in folders))
        candidates = ranked(hits, heads, query, favour=favour)
        about: dict[str, frozenset[str]] = {}
        for place in (*hits, *heads):
            about[place.path] = about.get(place.path, frozenset()).union(stems(f"{place.title} {place.text}"))
        return Part(
            query=query, candidates=tuple(candidates), missing=tuple(missing(found)), about=about, likely=favour
        )

    def read_on(self, part: Part, *, ordinal: int = 0) -> Part:
        """Read the next place that was not tried, and keep the better answer."""
        left = untried(part.candidates, part.tried)
        if not self._sections:
            left = [place for place in left if place.path not in {path for path, _ in part.tried}]
        if not left:
            return part
        place = left[0]
        answer = self._read(place, part, ordinal)
        tried = part.tried | {(place.path, place.title)}
        return replace(part, tried=tried, answer=better(part, answer))

    def _read(self, place: Place, part: Part, ordinal: int) -> Answer | None:
        if self._sections:
            read = read_place(self._library, place)
        else:
            read = passage(self._library.call("read_note", file_path=place.path))
        return self.extracted(read, part, ordinal) if read else None

    def extracted(self, read: Passage, part: Part, ordinal: int) -> Answer | None:
        """Take the answer out of a passage; where it lacks a name that was asked for, see what it stands under."""
        if self._sections and read.title and not set(part.query.anchors) <= _held(read):
            outline = self._library.call("get_document_structure", file_path=read.path)
            read = replace(read, above=enclosing(outline, read.first))
        return extract(read, part.query, ordinal=ordinal, about=part.about.get(read.path, ()))


def _is_foreign(part: Part) -> bool:
    """Whether what a search showed is in the other language than the question."""
    shown = " ".join(place.text for place in part.candidates[:SHOWN])
    french = is_french(part.query.text, default=False)
    return bool(shown) and french and not is_french(shown, default=french)


def _pointed_at(answer: Answer, likely: tuple[str, ...]) -> int:
    """Count what an answer has of the note that was talked about, and of its section."""
    if not likely or answer.source.path != likely[0]:
        return 0
    return 1 + (likely[1:] == (answer.source.title,))


def _held(read: Passage) -> set[str]:
    return set(stems(" ".join((read.path, read.title, *read.lines))))


def better(part: Part, answer: Answer | None) -> Answer | None:
    """Give the better of the answer so far and another, by what the question needs; None where neither is one."""
    if answer is not None and not holds(answer, part):
        answer = None
    if part.answer is None or answer is None:
        return part.answer or answer
    before, now = (one.score + LIKELY * _pointed_at(one, part.likely) for one in (part.answer, answer))
    return answer if now > before + MARGIN else part.answer
