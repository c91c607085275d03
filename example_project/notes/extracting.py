"""From a passage to the statements that answer a question: what each of them shares with it, and how nearly."""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise

from notes.answering import Answer, Source
from notes.library import Passage
from notes.querying import Query
from notes.statements import Statement, statements
from notes.text import fold, named_by, stem, stems, words
from notes.wording import answers, names_said

WEAK_WEIGHT, CONTEXT_WEIGHT, TITLE_SHARE = 0.35, 0.5, 0.6
"""What words count for that need not be there, that were said before, and that stand in titles only."""

NAMED_BY_NOTE = 0.4
"""What a word counts for that the note's own name says: it tells one note from another, and no line from the next."""

TYPE_BONUS = 1.5
"""What counts for a statement to have what the question asks for: a figure, a name, a reason."""

SAYS_NOTHING = 0.2
"""What counts of a statement without a word that the question does not have itself."""

COUNTED = 2.0
"""How much more a statement with a figure counts where the question names what is counted."""

SHORT_TITLE = 3
"""Words of a title that names one thing."""

LEADS = 0.5
"""What counts for a statement to open the section whose title the question names: it says what the thing is."""

MOST_STATEMENTS = 3

BESIDE = {"own": 1.0, "above": 1.0, "note": 0.9, "beside": 0.7, "near": 0.3, "about": 0.15}
"""What a word counts for closeness: in the statements, in titles above them, in the note's name, in sentences beside
them, elsewhere in the section, elsewhere in the note."""

MOST_ANNOUNCED = 12
"""Items of a list that follow a sentence ending in a colon."""

SHORT_CODE = 8
"""Lines of code that an answer may well quote."""

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d{2}\b")
_COPULA = (" is ", " are ", " was ", " means ", " est ", " sont ", " signifie ", " designe ", " refers to ")
_POINTERS = ("see ", "voir ", "cf ")


def extract(
    read: Passage,
    query: Query,
    *,
    most: int = MOST_STATEMENTS,
    ordinal: int = 0,
    about: Collection[str] = (),
) -> Answer | None:
    """Give what a passage says to a question, None where it says nothing; `about`: stems in the rest of its note."""
    told = [one for one in statements(read, headings=True) if one.text]
    said = [one for one in told if one.kind != "title"]
    if not said:
        return None
    scorer = _Scorer(read, query, said, about)
    heads = [one for one in told if one.kind == "title"]
    if query.asked.listed or ordinal:
        block = scorer.best_block()
        named = [] if ordinal else scorer.named_in(block)
        if named:
            return scorer.answer(named)
        if block:
            pieces = _nth(block, ordinal) if ordinal else block
            return scorer.answer(pieces, listed=len(pieces) > 1)
    pieces = scorer.best(most)
    if not pieces:
        return None
    block = scorer.block_of(pieces[0])
    return scorer.answer(block or [*scorer.answering_title(pieces, heads), *pieces], listed=bool(block))


class _Scorer:
    def __init__(self, read: Passage, query: Query, said: Sequence[Statement], about: Collection[str]) -> None:
        self._read, self._query, self._said, self._about = read, query, said, query.heard(about)
        self._at = {id(one): number for number, one in enumerate(said)}
        self._before = {id(one): before.titles for before, one in pairwise(said)} | {id(said[0]): ()}
        self._words = {id(one): query.heard(stems(one.text)) for one in said}
        self._around = {id(one): query.heard(stems(" ".join((*one.titles, one.intro)))) for one in said}
        self._note = query.heard(stems(f"{read.path} {read.title}"))
        self._above = query.heard(stems(" ".join(title for _, title in read.above)))
        held = Counter(word for words in self._words.values() for word in words)
        self._counted = {query.counted for one in said if _counts(one.text, query.counted)} if query.counted else set()
        base = dict.fromkeys(query.context, CONTEXT_WEIGHT) | dict.fromkeys(query.weak, WEAK_WEIGHT)
        base |= dict.fromkeys(query.strong, 1.0)
        self._asked = {*query.strong, *query.weak, *query.context}
        self._named = set(stems(read.path.rpartition("/")[2].rpartition(".")[0]))
        self._weights = {
            one: by * math.log(1 + len(said) / (1 + held[one])) * (NAMED_BY_NOTE if one in self._named else 1.0)
            for one, by in base.items()
        }

    def score(self, one: Statement) -> float:
        """Score a statement by the words it shares with the question and by having what is asked for."""
        words, around, weights = self._words[id(one)], self._around[id(one)], self._weights
        score = sum(weight for word, weight in weights.items() if word in words)
        score += TITLE_SHARE * sum(weight for word, weight in weights.items() if word in (around | self._above) - words)
        if not score:
            return 0.0
        kind = self._query.asked.kind
        typical = sum(weights.values()) / max(len(weights), 1)
        if self._answers(one):
            score += TYPE_BONUS * typical * (COUNTED if self._counted else 1.0)
        if self._query.asked.defined:
            score += typical * self._defines(one)
        elif not kind and one.titles and one.titles != self._before[id(one)]:
            score += LEADS * typical * len(set(stems(one.titles[-1])).intersection(weights))
        if self._is_named(one):
            score += typical
        score += typical * len(self._literally(one.text))
        if self._says_nothing(one):
            score *= SAYS_NOTHING
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
        if kind == "reason" and one.titles and answers(kind, one.titles[-1]):
            return True
        if not kind or not answers(kind, one.text) or (kind == "default" and one.kind == "code"):
            return False
        if kind in {"person", "place"} and set(names_said(one.text)) <= {*words(self._query.text)}:
            return False
        if kind in {"number", "version"} and not set(_FIGURE.findall(one.text)) - set(
            _FIGURE.findall(self._query.text)
        ):
            return kind == "number" and not _FIGURE.search(one.text)
        if kind not in {"number", "duration"} or not self._counted:
            return True
        return _counts(one.text, counted)

    def _defines(self, one: Statement) -> float:
        folded = f" {fold(one.text)}"
        at = min((folded.find(copula) for copula in _COPULA if copula in folded), default=-1)
        subject = set(stems(folded[:at])) if at > 0 else set()
        return 1.5 if subject.intersection(self._query.strong) else 0.0

    def best(self, most: int) -> list[Statement]:
        """Give the best statement, and those that add what it lacks of the question."""
        scored = [(self.score(one), one) for one in self._said]
        top, first = max(scored, key=lambda item: item[0])
        if top <= 0 or self._says_nothing(first):
            return []
        chosen = [first]
        kind = self._query.asked.kind
        if kind and not answers(kind, first.text):
            chosen += self._completing(first)
        wanted = set(self._query.strong)
        for score, one in sorted(scored, key=lambda item: -item[0]):
            covered = set().union(*(self._words[id(piece)] | self._around[id(piece)] for piece in chosen))
            lacking = wanted - covered - self._named
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
        after = [other for other in self._said if other.intro == one.text] or self._nested(one)
        is_long = any(other.kind == "code" and other.end - other.line > SHORT_CODE for other in after)
        return [] if is_long else after[:MOST_ANNOUNCED]

    def _nested(self, one: Statement) -> list[Statement]:
        """Give the items below an item."""
        found = []
        for other in self._said[self._at[id(one)] + 1 :] if one.kind == "item" else ():
            if other.group != one.group or other.indent <= one.indent:
                break
            found.append(other)
        return found

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

    def answering_title(self, pieces: Sequence[Statement], heads: Sequence[Statement]) -> list[Statement]:
        """Give the heading above the statements where it has what was asked for, a date say, and they have not."""
        kind = self._query.asked.kind
        if not kind or any(self._answers(one) and (kind != "time" or _YEAR.search(one.text)) for one in pieces):
            return []
        under = pieces[0].titles
        above = [
            Statement(text=title, line=line, end=line, kind="title", group=-1, titles=(title,))
            for line, title in self._read.above
        ]
        above += [one for one in heads if one.titles == under[: len(one.titles)] and one.line < pieces[0].line]
        return [one for one in above if self._is_named(one) and answers(kind, one.text)][-1:]

    def named_in(self, block: Sequence[Statement]) -> list[Statement]:
        """Give the items of a list that begin with the names that were asked about; none where no name was."""
        wanted = set(self._query.anchors)
        named = [one for one in block if wanted and self._is_named(one)]
        return named if len(named) < len(block) else []

    def block_of(self, one: Statement) -> list[Statement]:
        """Give the whole list of an item that answers by what announces it rather than by its own words."""
        if one.kind != "item" or self._query.asked.kind or self._words[id(one)].intersection(self._query.strong):
            return []
        return [other for other in self._said if other.group == one.group]

    def answer(self, pieces: Sequence[Statement], *, listed: bool = False) -> Answer:
        """Say how much of the question the pieces cover, their titles and the note's name included."""
        places = self._places(pieces)
        held = places["own"] | places["above"] | places["note"]
        near = held.union(self._about, places["near"])
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
            closeness=self._closeness(places),
            named=held.union(places["beside"]).issuperset(self._query.anchors),
            identified=bool(self._query.anchors),
            defining=any(self._is_named(one) for one in pieces),
            typed=not kind or any(self._answers(one) for one in pieces),
            listed=listed,
            is_the_list=listed and self._query.listed in stems(" ".join(pieces[0].titles[-1:])),
            focus=tuple(cell for one in pieces if one.kind == "row" for cell in self._focus(one)),
            lacking=tuple(one for one in self._query.anchors if one not in near),
            called=bool(self._named) and self._named <= {*strong, *self._query.weak},
        )

    def _places(self, pieces: Sequence[Statement]) -> dict[str, frozenset[str]]:
        """Give the words of the question by how near to the statements they stand."""
        pieces = [one for one in pieces if id(one) in self._at]
        at = {self._at[id(one)] for one in pieces}
        groups = {one.group for one in pieces if one.kind == "sentence"}
        beside = [one for number, one in enumerate(self._said) if one.group in groups and number not in at]
        none: frozenset[str] = frozenset()
        own = self._literally(" ".join(one.text for one in pieces))
        above = self._literally(
            " ".join((*(title for _, title in self._read.above), *(" ".join(one.titles) for one in pieces)))
        )
        return {
            "own": own.union(*(self._words[id(one)] for one in pieces)),
            "above": above.union(self._above, *(self._around[id(one)] for one in pieces)),
            "note": self._note,
            "beside": none.union(*(self._words[id(one)] for one in beside)),
            "near": none.union(*self._words.values()),
            "about": self._about,
        }

    def _closeness(self, places: dict[str, frozenset[str]]) -> float:
        weights = dict.fromkeys(self._query.weak, WEAK_WEIGHT) | dict.fromkeys(self._query.context, CONTEXT_WEIGHT)
        telling = {*self._query.anchors, *self._query.placed}
        weights |= {one: 2.0 if one in telling else 1.0 for one in self._query.strong}
        weights |= dict.fromkeys(self._query.literals, 1.0)
        score = sum(
            weight * next((BESIDE[name] for name, held in places.items() if one in held), 0.0)
            for one, weight in weights.items()
        )
        return score / max(sum(weights.values()), 1.0)

    def _literally(self, text: str) -> frozenset[str]:
        """Give the names of code of the question that a text has as they are written."""
        folded = fold(text)
        return frozenset(name for name in self._query.literals if name in folded)

    def _is_named(self, one: Statement) -> bool:
        """Whether a statement begins with a name that was asked about, or has it as its title."""
        wanted = {*(self._query.anchors or self._query.strong)}
        title = set(stems(fold(named_by(" ".join(one.titles[-1:])))))
        is_told = title & wanted and not title <= self._named
        if is_told and len(title) <= SHORT_TITLE and 2 * len(title & self._asked) > len(title):
            return True
        if one.kind == "row":
            return bool(wanted.intersection(stems(one.text.partition(";")[0].partition(": ")[2])))
        return one.kind == "item" and bool(wanted.intersection(stems(one.text.partition(" ")[0])))

    def _says_nothing(self, one: Statement) -> bool:
        """Whether an item or code has no word that the question does not have itself; a sentence may open an answer."""
        return one.kind != "sentence" and self._query.heard(stems(fold(one.text))) <= self._asked

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
    if any(name[0].isdigit() or answers("number", name) for name in near):
        return True
    return any(
        names[max(at - 2, 0) : at] and {"numb", "amount", "count", "nombr", "quantit"} & {*names[max(at - 2, 0) : at]}
        for at in places
    )


def _nth(block: list[Statement], ordinal: int) -> list[Statement]:
    at = ordinal - 1 if ordinal > 0 else len(block) + ordinal
    return [block[at]] if 0 <= at < len(block) else block
