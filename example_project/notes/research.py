"""Looking one thing up: search, choose, read, extract; by sections, or by whole notes."""

from collections.abc import Sequence
from dataclasses import replace

from notes.answering import Answer, extract
from notes.bilingual import TRANSLATED
from notes.choosing import ranked, read_place, untried
from notes.drafts import Part
from notes.library import Library, Place, failed, missing, passage, places
from notes.question import Query
from notes.stopwords import STOPWORDS
from notes.text import stem, stems, words
from notes.wording import WEAK, is_french

TOO_LITTLE = 0.7
"""Share of a question's words that must be found where no note at all holds one of them (of three, all)."""


MEASURED = frozenset({"duration", "length", "money", "temperature"})
"""What an answer must have a figure of, unless it has the word that was asked for."""

OF = frozenset({"de", "du", "des", "d", "la", "le", "les", "l"})
"""Words between a French noun and what tells it apart."""


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
        part = self.look_up(query)
        first: dict[tuple[str, str], Place] = {}
        for place in part.candidates:
            first.setdefault((place.path, place.title), place)
        read = [read_place(self._library, place) for place in list(first.values())[:most]]
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


def holds(answer: Answer, part: Part) -> bool:
    """Whether an answer can be believed to be about the question, whose words some may be in no note at all."""
    unknown = [name for name in part.missing if stem(name) in part.query.strong]
    if not answer.good or any(_is_other(name, part.query, answer.text) for name in unknown):
        return False
    if part.query.asked.kind in MEASURED and not answer.typed and not answer.says(part.query.weak):
        return False
    return not unknown or bool(part.query.anchors) or answer.coverage >= TOO_LITTLE


def _is_other(unknown: str, query: Query, said: str) -> bool:
    """Whether an answer is about something else of the kind: of the ovarian model, where the liver model was asked for.

    So it is where a word that no note holds tells a noun from others of its kind (before the noun in English, after it
    in French), and the answer has another word in that place. A name tells nothing apart: it is in the answer or not.
    """
    asked = words(query.text)
    if unknown not in asked or stem(unknown) in query.anchors:
        return False
    noun = _told_apart(asked, asked.index(unknown), french=is_french(query.text, default=False))
    if not noun:
        return False
    names, known = words(said), {stem(name) for name in asked}
    places = [at for at, name in enumerate(names) if stem(name) == stem(noun)]
    french = is_french(said, default=False)
    beside = [_beside(names, at, french=french) for at in places]
    if not places:
        return noun not in WEAK
    return any(other and stem(other) not in known for other in beside)


def _told_apart(asked: Sequence[str], at: int, *, french: bool) -> str:
    """Give the noun that the word at a place tells from others; "" for none."""
    after = asked[at + 1] if at + 1 < len(asked) else ""
    if not french:
        return "" if after in STOPWORDS else after
    before = asked[:at]
    of = len(before) > 1 and before[-1] in OF
    if not of and after:
        return ""
    noun = before[-2] if of else before[-1] if before else ""
    return "" if noun in STOPWORDS else noun


def _beside(names: Sequence[str], at: int, *, french: bool) -> str:
    """Give the word in the place of one that tells a noun apart; "" where there is none, or a figure."""
    near = names[at + 1 : at + 3] if french else names[max(at - 1, 0) : at]
    other = next((name for name in near if name not in OF), "")
    return "" if other in STOPWORDS or other[:1].isdigit() else other
