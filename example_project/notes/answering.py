"""From a passage to the statements that answer a question, with the lines they stand in."""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from notes.library import Passage
from notes.question import Query
from notes.statements import Statement, statements
from notes.text import fold, stem, stems, words
from notes.wording import answers

WEAK_WEIGHT, CONTEXT_WEIGHT, TITLE_SHARE = 0.35, 0.5, 0.6
"""What words count for that need not be there, that were said before, and that stand in titles only."""

NAMED_BY_NOTE = 0.4
"""What a word counts for that the note's own name says: it tells one note from another, and no line from the next."""

TYPE_BONUS = 1.5
"""What counts for a statement to have what the question asks for: a figure, a name, a reason."""

LEADS = 0.5
"""What counts for a statement to open the section whose title the question names: it says what the thing is."""

MOST_STATEMENTS = 3

SOUND = 0.8
"""Share of the question's words from which an answer needs no second look."""

MOST_ANNOUNCED = 12
"""Items of a list that follow a sentence ending in a colon."""

SHORT_CODE = 8
"""Lines of code that an answer may well quote."""

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_COPULA = (" is ", " are ", " was ", " means ", " est ", " sont ", " signifie ", " designe ", " refers to ")
_POINTERS = ("see ", "voir ", "cf ")


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
    def score(self) -> float:
        """How well it answers, to compare answers from different passages."""
        return self.coverage + 0.4 * self.typed + 0.3 * self.anchored + 0.4 * self.is_the_list


def extract(
    read: Passage,
    query: Query,
    *,
    most: int = MOST_STATEMENTS,
    ordinal: int = 0,
    about: Collection[str] = (),
) -> Answer | None:
    """Give what a passage says to a question, None where it says nothing; `about`: stems in the rest of its note."""
    said = [one for one in statements(read) if one.text]
    if not said:
        return None
    scorer = _Scorer(read, query, said, about)
    if query.asked.listed or ordinal:
        block = scorer.best_block()
        if block:
            pieces = _nth(block, ordinal)
            return scorer.answer(pieces, listed=len(pieces) > 1)
    pieces = scorer.best(most)
    if not pieces:
        return None
    block = scorer.block_of(pieces[0])
    return scorer.answer(block or pieces, listed=bool(block))


class _Scorer:
    def __init__(self, read: Passage, query: Query, said: Sequence[Statement], about: Collection[str]) -> None:
        self._read, self._query, self._said, self._about = read, query, said, query.heard(about)
        self._at = {id(one): number for number, one in enumerate(said)}
        self._before = {id(one): before.titles for before, one in pairwise(said)} | {id(said[0]): ()}
        self._words = {id(one): query.heard(stems(one.text)) for one in said}
        self._around = {id(one): query.heard(stems(" ".join((*one.titles, one.intro)))) for one in said}
        self._note = query.heard(stems(f"{read.path} {read.title}"))
        held = Counter(word for words in self._words.values() for word in words)
        self._counted = {query.counted for one in said if _counts(one.text, query.counted)} if query.counted else set()
        base = dict.fromkeys(query.context, CONTEXT_WEIGHT) | dict.fromkeys(query.weak, WEAK_WEIGHT)
        base |= dict.fromkeys(query.strong, 1.0)
        self._named = set(stems(read.path.rpartition("/")[2].rpartition(".")[0]))
        self._weights = {
            one: by * math.log(1 + len(said) / (1 + held[one])) * (NAMED_BY_NOTE if one in self._named else 1.0)
            for one, by in base.items()
        }

    def score(self, one: Statement) -> float:
        """Score a statement by the words it shares with the question and by having what is asked for."""
        words, around, weights = self._words[id(one)], self._around[id(one)], self._weights
        score = sum(weight for word, weight in weights.items() if word in words)
        score += TITLE_SHARE * sum(weight for word, weight in weights.items() if word in around - words)
        if not score:
            return 0.0
        kind = self._query.asked.kind
        typical = sum(weights.values()) / max(len(weights), 1)
        if self._answers(one):
            score += TYPE_BONUS * typical
        if self._query.asked.defined:
            score += typical * self._defines(one)
        elif not kind and one.titles and one.titles != self._before[id(one)]:
            score += LEADS * typical * len(set(stems(one.titles[-1])).intersection(weights))
        if one.kind == "code":
            score *= (1.0 if kind == "how" else 0.6) * (1.0 if one.end - one.line <= SHORT_CODE else 0.4)
        opening = fold(one.text)
        if opening.startswith(_POINTERS):
            score *= 0.6
        if kind == "default" and opening.startswith(("default", "par defaut", "valeur par defaut")):
            score += typical
        return score - 0.002 * self._at[id(one)]

    def _answers(self, one: Statement) -> bool:
        """Whether a statement has what is asked for; a figure counts if what is counted stands beside it or nowhere."""
        kind, counted = self._query.asked.kind, self._query.counted
        if not kind or not answers(kind, one.text) or (kind == "default" and one.kind == "code"):
            return False
        if kind in {"number", "version"} and not set(_FIGURE.findall(one.text)) - set(
            _FIGURE.findall(self._query.text)
        ):
            return kind == "number" and not _FIGURE.search(one.text)
        return not counted or kind != "number" or counted not in self._counted or _counts(one.text, counted)

    def _defines(self, one: Statement) -> float:
        folded = f" {fold(one.text)}"
        at = min((folded.find(copula) for copula in _COPULA if copula in folded), default=-1)
        subject = set(stems(folded[:at])) if at > 0 else set()
        return 1.5 if subject.intersection(self._query.strong) else 0.0

    def best(self, most: int) -> list[Statement]:
        """Give the best statement, and those that add what it lacks of the question."""
        scored = [(self.score(one), one) for one in self._said]
        top, first = max(scored, key=lambda item: item[0])
        if top <= 0:
            return []
        chosen = [first]
        kind = self._query.asked.kind
        if kind and not answers(kind, first.text):
            chosen += self._completing(first)
        wanted = set(self._query.strong)
        for score, one in sorted(scored, key=lambda item: -item[0]):
            covered = set().union(*(self._words[id(piece)] for piece in chosen))
            lacking = wanted - covered
            if len(chosen) >= most or score < 0.35 * top:
                break
            if one not in chosen and (lacking & self._words[id(one)] or (not kind and score > 0.9 * top)):
                chosen.append(one)
        chosen += [one for piece in chosen for one in self._announced(piece) if one not in chosen]
        return sorted(chosen, key=lambda one: one.line)

    def _announced(self, one: Statement) -> list[Statement]:
        """Give what a sentence ending in a colon announces: the list or the short code after it."""
        if not one.text.rstrip().endswith(":"):
            return []
        after = [other for other in self._said if other.intro == one.text]
        is_long = any(other.kind == "code" and other.end - other.line > SHORT_CODE for other in after)
        return [] if is_long else after[:MOST_ANNOUNCED]

    def _completing(self, first: Statement) -> list[Statement]:
        """Give the statement next to one that has what is asked for: “It cost 28 euros.”"""
        at = self._at[id(first)]
        near = [self._said[i] for i in (at + 1, at + 2) if i < len(self._said)]
        return [one for one in near if answers(self._query.asked.kind, one.text)][:1]

    def best_block(self) -> list[Statement]:
        """Give the list or table that the question is about: by its titles, what announces it, its own words."""
        groups: dict[int, list[Statement]] = {}
        for one in self._said:
            if one.kind in {"item", "row"}:
                groups.setdefault(one.group, []).append(one)
        best, top = [], 0.0
        for block in groups.values():
            head = self._around[id(block[0])]
            score = sum(weight for word, weight in self._weights.items() if word in head | self._note)
            within = set().union(*(self._words[id(one)] for one in block))
            score += 0.5 * sum(weight for word, weight in self._weights.items() if word in within - head)
            if score > top + 1e-9:
                best, top = block, score
        return best

    def block_of(self, one: Statement) -> list[Statement]:
        """Give the whole list of an item that answers by what announces it rather than by its own words."""
        if one.kind != "item" or self._query.asked.kind or self._words[id(one)].intersection(self._query.strong):
            return []
        return [other for other in self._said if other.group == one.group]

    def answer(self, pieces: Sequence[Statement], *, listed: bool = False) -> Answer:
        """Say how much of the question the pieces cover, their titles and the note's name included."""
        held = self._note
        for one in pieces:
            held |= self._words[id(one)] | self._around[id(one)]
        near = set().union(self._about, *self._words.values())
        strong = self._query.strong
        coverage = sum(1.0 if one in held else 0.6 if one in near else 0.0 for one in strong) / max(len(strong), 1)
        source = Source(
            path=self._read.path,
            title=self._title(pieces),
            first=min(one.line for one in pieces),
            last=max(one.end for one in pieces),
        )
        kind = self._query.asked.kind
        return Answer(
            pieces=tuple(pieces),
            source=source,
            coverage=coverage,
            typed=not kind or any(answers(kind, one.text) for one in pieces),
            listed=listed,
            is_the_list=listed and self._query.listed in stems(" ".join(pieces[0].titles[-1:])),
            focus=tuple(cell for one in pieces if one.kind == "row" for cell in self._focus(one)),
            lacking=tuple(one for one in self._query.anchors if one not in held | near),
            called=bool(self._named) and self._named <= {*strong, *self._query.weak},
        )

    def _focus(self, row: Statement) -> list[str]:
        asked_for = {*self._query.strong, *self._query.weak}
        cells = [cell for cell in row.text.split("; ") if ": " in cell]
        named = [cell for cell in cells if asked_for.intersection(stems(cell.partition(": ")[0]))]
        kind = self._query.asked.kind
        return named or [cell for cell in cells if kind and answers(kind, cell)]

    def _title(self, pieces: Sequence[Statement]) -> str:
        return pieces[0].titles[-1] if pieces[0].titles else self._read.title


def _counts(text: str, noun: str) -> bool:
    """Whether a figure stands at most two words before a noun, or right after it as in a table."""
    names = [stem(name) for name in words(text)]
    places = [at for at, name in enumerate(names) if name == noun]
    near = [other for at in places for other in names[max(at - 3, 0) : at + 2]]
    return any(name[0].isdigit() or answers("number", name) for name in near)


def _nth(block: list[Statement], ordinal: int) -> list[Statement]:
    if not ordinal:
        return block
    at = ordinal - 1 if ordinal > 0 else len(block) + ordinal
    return [block[at]] if 0 <= at < len(block) else block


def _listed(pieces: Sequence[Statement]) -> str:
    ordered = pieces[0].ordered
    texts = [f"{number}. {one.text}" if ordered else one.text for number, one in enumerate(pieces, 1)]
    return "; ".join(text.rstrip(";,. ") for text in texts) + "."


def _closed(text: str, kind: str) -> str:
    if kind == "code":
        return f"`{text}`" if "\n" not in text else text
    return text if text.rstrip('"”» ').endswith((".", "!", "?", "…", ":", ";")) else f"{text}."
