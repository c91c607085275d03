"""Judge a draft, and search and read again as long as it is not good enough."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from notes.answering import Source
from notes.drafts import Draft, Part
from notes.library import Library, failed, passage
from notes.planning.synthesis import word
from notes.reflection.critic import judge
from notes.reflection.evaluation import Evaluation, Reflected
from notes.research import Research
from notes.settings import Settings
from notes.text import stem

FEW_LINES = 60
"""Lines from which a source is a whole note rather than a place in it."""

RIVALS = 2
"""Sections of a search of our own that a model's answer is held against."""

Judge = Callable[[Draft, str], Evaluation]
Rewrite = Callable[[Draft, Evaluation, str], Draft]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The best draft, how it was judged, and whether it may be believed."""

    draft: Draft
    history: tuple[Reflected, ...]
    verified: bool

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it may not be believed."""
        return () if self.verified else self.history[-1].evaluation.issues or ("the score is low",)


class Reflection:
    """The loop of paper §5.2: judge, accept from a threshold, else refine, a bounded number of rounds."""

    def __init__(
        self,
        library: Library,
        research: Research,
        settings: Settings,
        judge_by: Judge = judge,
        rewrite: Rewrite | None = None,
    ) -> None:
        """`rewrite` words an answer anew after each search; without it the answer is what was found."""
        self._library = library
        self._research = research
        self._settings = settings
        self._judge = judge_by
        self._rewrite = rewrite

    def refine(self, draft: Draft) -> Outcome:
        """Give the best of the draft and what further searching makes of it."""
        if self._rewrite:
            draft = draft.with_parts(tuple(part if part.cited else self.looked_up_too(part) for part in draft.parts))
        best, marked = draft, self._judge(draft, self.read_again(draft))
        history = [self._entry(1, draft, marked)]
        current = draft
        while not history[-1].accepted and len(history) < self._settings.rounds:
            again = self._again(current, history[-1].evaluation, len(history))
            if again == current:
                break  # nothing more is found: another look would see the same
            current = again
            evaluation = self._judge(current, self.read_again(current))
            history.append(self._entry(len(history) + 1, current, evaluation))
            if evaluation.score > marked.score:
                best, marked = current, evaluation
        verified = marked.score >= self._settings.threshold
        return Outcome(draft=best, history=tuple(history), verified=verified or not best.found)

    def read_again(self, draft: Draft) -> str:
        """Give the cited lines, as they were read or by reading them; sources without lines are left out."""
        texts = []
        for part in draft.found:
            for source in part.cited:
                seen = self._library.seen(source.path, source.first, source.last) if source.first else ""
                if seen:
                    texts.append(seen)
                    continue
                if part.answer is None or not source.first:
                    texts.append(self._lines(source) or part.said)
                    continue
                if self._research.sections and source.title:
                    lines = max(source.last - source.first + 60, 60)
                    text = self._library.call(
                        "read_section", file_path=source.path, section_title=source.title, max_lines=lines
                    )
                    read = None if failed(text) else passage(text)
                    if read is None or not read.first <= source.first <= read.last:
                        texts.append(" ".join(piece.text for piece in part.answer.pieces))
                        continue
                else:
                    text = self._library.call("read_note", file_path=source.path)
                texts.append(text)
        return "\n".join(texts)

    def _lines(self, source: Source) -> str:
        """Read the few lines that a source names; nothing for a whole note."""
        if not 0 < source.first <= source.last <= source.first + FEW_LINES:
            return ""
        text = self._library.call("read_note", file_path=source.path, max_lines=source.last)
        read = None if failed(text) else passage(text)
        return "\n".join(read.lines[source.first - 1 :]) if read else ""

    def _again(self, draft: Draft, evaluation: Evaluation, rounds: int) -> Draft:
        """Cite lines, and look every weak part up anew: other words the first time, further sections after that."""
        if self._rewrite:
            return self._rewrite(draft, evaluation, self._found_anew(draft, rounds))
        parts = tuple(part if _is_sound(part) else self._searched(part, rounds) for part in draft.parts)
        return replace(draft, parts=parts, cite_lines=True)

    def looked_up_too(self, part: Part) -> Part:
        """Add the best sections of a search of our own to what a model saw, for whoever judges its answer.

        “The notes do not say” is right of whatever was searched badly; against this search it has to hold as well.
        """
        seen = dict.fromkeys((*part.seen, *self._research.most_promising(part.query, RIVALS)))
        return replace(part, seen=tuple(seen))

    def _found_anew(self, draft: Draft, rounds: int) -> str:
        """Read what is cited, and the section that ranks next for each part, for a model to word."""
        read = [self.read_again(draft)]
        for part in draft.parts:
            looked = self._research.look_up(part.query)
            for _ in range(rounds - 1):
                looked = self._research.read_on(looked)
            if looked.answer:
                read.append(f"{looked.answer.source}\n{looked.answer.text}")
        return "\n".join(read)

    def _searched(self, part: Part, rounds: int) -> Part:
        if rounds == 1:
            part = self._with_other_words(part)
        return self._research.read_on(part)

    def _with_other_words(self, part: Part) -> Part:
        """Search without the words that no note holds, and without those that only help."""
        lacking = {stem(name) for name in part.missing}
        kept = [name for name in part.query.keyword.split() if stem(name) not in lacking]
        strong = [name for name in kept if stem(name) in {*part.query.strong, *part.query.context}]
        keyword = " ".join(strong or kept)
        if not keyword or keyword == part.query.keyword:
            return part
        wider = replace(part.query, keyword=keyword)
        where = {"folder": wider.scope} if wider.scope and "from_task" not in wider.scope else {}
        headed = self._library.call("search_in_headers", keyword=keyword, **where) if self._research.sections else ""
        again = self._research.chosen(wider, headed, self._library.call("grep_content", keyword=keyword, **where))
        candidates = tuple(dict.fromkeys((*part.candidates, *again.candidates)))
        return replace(part, candidates=candidates)

    def _entry(self, number: int, draft: Draft, evaluation: Evaluation) -> Reflected:
        accepted = evaluation.score >= self._settings.threshold and draft.cite_lines
        return Reflected(round=number, answer=word(draft), evaluation=evaluation, accepted=accepted)


def _is_sound(part: Part) -> bool:
    """Whether more searching can hardly help a part."""
    return part.found and (part.answer is None or part.answer.sound)
