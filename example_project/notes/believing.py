"""Whether an answer is about what was asked, or only about something near it."""

from collections.abc import Sequence

from notes.answering import Answer
from notes.drafts import Part
from notes.querying import Query
from notes.stopwords import STOPWORDS
from notes.text import stem, words
from notes.wording import WEAK, is_french

TOO_LITTLE = 0.7
"""Share of a question's words that must be found where no note at all holds one of them (of three, all)."""

MEASURED = frozenset({"duration", "length", "money", "temperature"})
"""What an answer must have a figure of, unless it has the word that was asked for."""

OF = frozenset({"de", "du", "des", "d", "la", "le", "les", "l"})
"""Words between a French noun and what tells it apart."""


def holds(answer: Answer, part: Part) -> bool:
    """Whether an answer can be believed to be about the question, whose words some may be in no note at all."""
    unknown = [name for name in part.missing if stem(name) in part.query.strong]
    if not answer.good or any(_is_other(name, part.query, answer.text) for name in unknown):
        return False
    if part.query.asked.kind in MEASURED and not answer.typed and not answer.says(part.query.weak):
        return False
    if part.query.asked.kind in MEASURED and part.query.anchors and not (answer.named or answer.called):
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
