"""Looking one thing up: search, choose, read, extract; by sections, or by whole notes."""

from dataclasses import replace

from notes.answering import Answer, extract
from notes.believing import holds
from notes.bilingual import TRANSLATED
from notes.choosing import ranked, read_place, untried
from notes.drafts import Part
from notes.library import Library, Place, failed, missing, passage, places
from notes.question import Query
from notes.text import stem, stems


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
        """Search again with words of the other language in place of those that no note holds; else give the same."""
        other = {name: sorted(TRANSLATED.get(stem(name), ())) for name in part.missing}
        if not any(other.values()):
            return part
        names = [word for name in part.query.keyword.split() for word in other.get(name) or [name]]
        keyword = " ".join(dict.fromkeys(names))
        scope = {"folder": part.query.scope} if part.query.scope else {}
        headed = self._library.call("search_in_headers", keyword=keyword, **scope) if self._sections else ""
        again = self.chosen(
            part.query, headed, self._library.call("grep_content", keyword=keyword, **scope), favour=favour
        )
        unknown = set(map(stem, again.missing))
        lacking = tuple(name for name in part.missing if not other[name] or unknown.issuperset(map(stem, other[name])))
        return replace(again, missing=lacking)

    def chosen(self, query: Query, headed: str, found: str, *, favour: tuple[str, ...] = ()) -> Part:
        """Rank what the two searches showed."""
        hits = [] if failed(found) else places(found)
        heads = [] if failed(headed) else places(headed)
        candidates = ranked(hits, heads, query, favour=favour)
        about: dict[str, frozenset[str]] = {}
        for place in (*hits, *heads):
            about[place.path] = about.get(place.path, frozenset()).union(stems(f"{place.title} {place.text}"))
        return Part(query=query, candidates=tuple(candidates), missing=tuple(missing(found)), about=about)

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
        return extract(read, part.query, ordinal=ordinal, about=part.about.get(read.path, ())) if read else None


def better(part: Part, answer: Answer | None) -> Answer | None:
    """Give the better of the answer so far and another, by what the question needs; None where neither is one."""
    if answer is not None and not holds(answer, part):
        answer = None
    if part.answer is None or answer is None:
        return part.answer or answer
    return answer if answer.score > part.answer.score + 1e-9 else part.answer
