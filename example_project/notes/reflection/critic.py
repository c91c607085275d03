"""The rule-based critic: marks a draft by what can be checked about it."""

import re

from notes.drafts import Draft, Part
from notes.reflection.evaluation import Evaluation, Scores
from notes.text import stems
from notes.wording import answers

SHORTEST, LONGEST = 25, 900
"""Characters between which an answer is easy to take in."""

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def judge(draft: Draft, read_again: str) -> Evaluation:
    """Mark a draft; `read_again` is what its cited lines say now."""
    said = " ".join(part.said for part in draft.found)
    accuracy, issues = _accuracy(said, read_again)
    marks: dict[str, float] = {"accuracy": accuracy}
    strengths: list[str] = []
    suggestions: list[str] = []
    for name, rule in (
        ("completeness", _completeness),
        ("clarity", _clarity),
        ("pedagogy", _pedagogy),
        ("citation", _citation),
    ):
        mark, wrong, advice = rule(draft)
        marks[name] = mark
        issues += wrong
        suggestions += advice
    strengths = [name for name, mark in marks.items() if mark >= 9]
    return Evaluation(
        scores=Scores(**marks), issues=tuple(issues), strengths=tuple(strengths), suggestions=tuple(suggestions)
    )


Marked = tuple[float, list[str], list[str]]


def _accuracy(said: str, read_again: str) -> tuple[float, list[str]]:
    """Mark the share of the answer's words, and count every figure, that the cited lines hold."""
    if not said:
        return 0.0, ["nothing was found"]
    wanted, held = set(stems(said)), set(stems(read_again))
    share = len(wanted & held) / max(len(wanted), 1)
    strange = sorted(set(_FIGURE.findall(said)) - set(_FIGURE.findall(read_again)))
    issues = [f"the cited lines do not say {figure}" for figure in strange[:3]]
    if share < 0.8:
        issues.append("the cited lines say something else")
    return max(10 * share - 3 * len(strange), 0.0), issues


def _completeness(draft: Draft) -> Marked:
    marks = [_covered(part) for part in draft.parts] or [0.0]
    issues = [f"{_short(part)} is not answered" for part in draft.parts if not part.found]
    for part in draft.found:
        kind = part.query.asked.kind
        if kind and not answers(kind, part.said):
            issues.append(f"no {kind} is named for {_short(part)}")
    return sum(marks) / len(marks), issues, ["search with other words", "read another section"] if issues else []


def _covered(part: Part) -> float:
    if not part.found:
        return 0.0
    if part.answer is None:
        return 9.0
    mark = 10 * part.answer.coverage
    return mark if part.answer.typed else mark * 0.4


def _clarity(draft: Draft) -> Marked:
    length = len(" ".join(part.said for part in draft.found))
    if not length:
        return 0.0, [], []
    if length < SHORTEST:
        return 6.0, [], ["quote the whole sentence"]
    return (10.0, [], []) if length <= LONGEST else (6.0, ["the answer is long"], ["quote less"])


def _pedagogy(draft: Draft) -> Marked:
    """Full sentences and lists explain; a bare word or a row of figures does less."""
    found = draft.found
    if not found:
        return 0.0, [], []
    full = sum(len(part.said.split()) >= 6 for part in found) / len(found)
    return 6 + 4 * full, [], []


def _citation(draft: Draft) -> Marked:
    sources = draft.sources
    if not draft.found or not sources:
        return 0.0, ["no source is cited"] if draft.found else [], []
    if not draft.cite_lines:
        return 4.0, ["the lines are not cited"], ["cite the lines"]
    return (10.0 if all(source.first for source in sources) else 6.0), [], []


def _short(part: Part) -> str:
    text = part.query.text.strip(" ?")
    return f"“{text}”" if len(text) < 60 else f"“{text[:57]}…”"
