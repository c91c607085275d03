"""Answers a user who doubts the last answer, wants its source, or wants more: by reading and searching again."""

from dataclasses import replace

from notes.answering import Source
from notes.choosing import read_place
from notes.critique import Complaint, Critique
from notes.drafts import Draft, Part
from notes.extracting import extract
from notes.library import Library, Passage, Place, passage, places
from notes.planning.synthesis import word
from notes.reflection.evaluation import Reflected
from notes.reflection.loop import Reflection
from notes.research import Research
from notes.statements import statements
from notes.text import fold, key_words, stem, words
from notes.voice import Voice

BEFORE, AFTER = 1, 4
"""Statements around an answer that are more of the same."""


class Defence:
    """Stands up for an answer as far as the notes do."""

    def __init__(self, library: Library, research: Research, reflection: Reflection) -> None:
        self._library = library
        self._research = research
        self._reflection = reflection

    def answer(self, raised: Critique, draft: Draft, voice: Voice) -> tuple[str, Draft, tuple[Reflected, ...]]:
        """Answer a critique of `draft`; give the text, the draft that holds from now on, and how it was judged."""
        draft = replace(draft, cite_lines=True, french=voice.french)
        if raised.complaint is Complaint.SOURCE:
            return self._source(draft, voice), draft, ()
        if raised.complaint is Complaint.MORE:
            return (*self._more(draft, voice), ())
        return self._doubt(raised, draft, voice)

    def _source(self, draft: Draft, voice: Voice) -> str:
        told = [
            voice.say("source", source=source, title=source.title or source.path, text=self._quoted(part, source))
            for part in draft.found
            for source in part.cited[: None if part.answer is None else 1]
        ]
        return " ".join(told) or voice.say("no_source")

    def _quoted(self, part: Part, source: Source) -> str:
        """Quote an extract as it was said, and the lines themselves where the answer is in other words."""
        lines = self._library.seen(source.path, source.first, source.last) if part.answer is None else ""
        return " ".join(lines.split()) or part.said

    def _more(self, draft: Draft, voice: Voice) -> tuple[str, Draft]:
        longer = draft.with_parts(tuple(self._longer(part) for part in draft.parts))
        if word(longer) == word(draft):
            return voice.say("no_more", text=word(draft)), draft
        return word(longer), longer

    def _longer(self, part: Part) -> Part:
        """Add what stands around the answer in its section."""
        read = self._read(part, again=False)
        answer = part.answer
        if answer is None or read is None:
            return part
        said = [one for one in statements(read) if one.text]
        at = [number for number, one in enumerate(said) if answer.source.first <= one.line <= answer.source.last]
        if not at:
            return part
        pieces = tuple(said[max(at[0] - BEFORE, 0) : at[-1] + 1 + AFTER])
        source = answer.source.at(min(one.line for one in pieces), max(one.end for one in pieces))
        return replace(part, answer=replace(answer, pieces=pieces, source=source))

    def _doubt(self, raised: Critique, draft: Draft, voice: Voice) -> tuple[str, Draft, tuple[Reflected, ...]]:
        """Read the cited lines again, look at the next best section as well, and say what stands."""
        checked = draft.with_parts(tuple(self._checked(part) for part in draft.parts))
        outcome = self._reflection.refine(checked)
        now = outcome.draft
        if not now.found:
            return voice.say("still_nothing"), now, outcome.history
        phrase = "confirmed" if _same(draft, now) else "corrected"
        said = [voice.say(phrase, text=word(now)), *self._on_claim(raised.claim, now, voice)]
        if not outcome.verified:
            said.append(voice.say("unverified", reasons="; ".join(outcome.reasons)))
        return " ".join(said), now, outcome.history

    def _checked(self, part: Part) -> Part:
        if part.seen:
            self._library.forget()
            return self._reflection.looked_up_too(part)
        read = self._read(part, again=True)
        if part.answer is None or read is None:
            return self._research.read_on(part)
        same = all(fold(piece.text) in _plain(read) or _words_in(piece.text, read) for piece in part.answer.pieces)
        return self._research.read_on(part if same else replace(part, answer=extract(read, part.query)))

    def _on_claim(self, claim: str, draft: Draft, voice: Voice) -> list[str]:
        """Say whether the cited notes hold what the user believes; what the answer says itself needs no remark."""
        wanted = _said(claim)
        if not wanted or not draft.sources or any(_says(part.said, wanted) for part in draft.found):
            return []
        for source in draft.sources:
            found = self._library.call("grep_content", keyword=claim, folder=source.path)
            for place in places(found):
                if _says(place.text, wanted):
                    return [
                        voice.say(
                            "claim_present", claim=claim, source=f"[{place.path}:{place.line}] {place.text.rstrip('.')}"
                        )
                    ]
        return [voice.say("claim_absent", claim=claim)]

    def _read(self, part: Part, *, again: bool) -> Passage | None:
        """Read the section of a part's answer, anew if it is in doubt."""
        if part.answer is None:
            return None
        source = part.answer.source
        if not (self._research.sections and source.title):
            call = self._library.reread if again else self._library.call
            return passage(call("read_note", file_path=source.path))
        if again:
            text = self._library.reread("read_section", file_path=source.path, section_title=source.title, max_lines=60)
            read = passage(text)
            if read and read.first <= source.first <= read.last:
                return read
        return read_place(self._library, Place(path=source.path, line=source.first, title=source.title))


def _same(one: Draft, other: Draft) -> bool:
    return [part.said for part in one.found] == [part.said for part in other.found]


def _said(claim: str) -> list[str]:
    """Give what counts of a claim: each figure with the word after it, else its key words."""
    names = [stem(name) for name in words(claim)]
    figures = [at for at, name in enumerate(names) if name[0].isdigit()]
    if figures:
        return names[figures[0] : figures[0] + 2]
    return [stem(name) for name in key_words(claim)]


def _says(text: str, wanted: list[str]) -> bool:
    """Whether a text has the wanted words: side by side where they begin with a figure, else anywhere."""
    names = [stem(name) for name in words(text)]
    if wanted[0][0].isdigit():
        return any(names[at : at + len(wanted)] == wanted for at in range(len(names)))
    return set(wanted) <= set(names)


def _plain(read: Passage) -> str:
    return fold(" ".join(read.lines))


def _words_in(text: str, read: Passage) -> bool:
    return set(words(text)) <= set(words(_plain(read)))
