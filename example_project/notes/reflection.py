"""Reflection: each draft gets five scores; a weak one is written again, with what was wrong (paper §5)."""

from dataclasses import dataclass
from statistics import mean
from typing import Annotated

from pydantic import BaseModel, Field

from notes.model import Client, Wrong

SHORTEST = 20
"""Characters below which the heuristic takes an answer for too short."""

_Score = Annotated[float, Field(ge=0, le=10)]


class Draft(BaseModel):
    """An answer as the model gives it."""

    answer: str
    found: bool = True
    """Whether the notes hold what was asked."""
    sources: list[str] = []
    """Paths of the notes that it rests on."""
    concepts: list[str] = []


class Scores(BaseModel):
    """The five dimensions, from 0 to 10 each."""

    accuracy: _Score
    clarity: _Score
    completeness: _Score
    pedagogy: _Score
    citation: _Score

    @property
    def overall(self) -> float:
        """The mean of the five, from 0 to 1."""
        return mean((self.accuracy, self.clarity, self.completeness, self.pedagogy, self.citation)) / 10


class Evaluation(BaseModel):
    """What the critic says of a draft."""

    scores: Scores
    issues: list[str] = []
    suggestions: list[str] = []


@dataclass(frozen=True, kw_only=True)
class Round:
    """One draft and its judgement; `method` is `model` or `heuristic`."""

    draft: Draft
    score: float
    issues: tuple[str, ...]
    suggestions: tuple[str, ...]
    method: str


@dataclass(frozen=True, kw_only=True)
class Reflection:
    """Judges a draft and has it written again, until it is accepted or the rounds are over."""

    client: Client
    threshold: float
    rounds: int

    def accepts(self, judged: Round) -> bool:
        """Whether a draft is good enough."""
        return judged.score > self.threshold

    def reflect(self, question: str, draft: Draft, sources: str, memory: str) -> list[Round]:
        """Judge a draft, and have it written again until one is accepted or the rounds are over; give all rounds."""
        history: list[Round] = []
        while True:
            judged = self._judged(question, draft, sources, memory)
            history.append(judged)
            if self.accepts(judged) or len(history) >= self.rounds:
                return history
            text = self.client.ask(
                "refine",
                question=question,
                memory=memory,
                sources=sources,
                answer=draft.answer,
                issues="\n".join(f"- {issue}" for issue in (*judged.issues, *judged.suggestions)),
            )
            draft = parsed(text)

    def _judged(self, question: str, draft: Draft, sources: str, memory: str) -> Round:
        try:
            said = self.client.ask_for(
                Evaluation,
                "critic",
                question=question,
                memory=memory,
                sources=sources,
                answer=cited(draft),
            )
        except Wrong as error:
            score, issues = heuristic(draft)
            failure = f"the critic gave no usable judgement: {error}"
            return Round(draft=draft, score=score, issues=(failure, *issues), suggestions=(), method="heuristic")
        return Round(
            draft=draft,
            score=said.scores.overall,
            issues=tuple(said.issues),
            suggestions=tuple(said.suggestions),
            method="model",
        )


def heuristic(draft: Draft) -> tuple[float, list[str]]:
    """Score a draft by its form alone: its length, whether it answers, whether it names a note."""
    issues = [
        *(["the answer is very short"] if len(draft.answer.strip()) < SHORTEST else []),
        *(["it does not answer"] if not draft.found else []),
        *(["it names no note"] if draft.found and not draft.sources else []),
    ]
    return round(1 - 0.35 * len(issues), 2), issues


def cited(draft: Draft) -> str:
    """Give an answer as the user reads it: with its sources under it."""
    sources = [source for source in draft.sources if source not in draft.answer]
    return f"{draft.answer.strip()}\n\nSources: {', '.join(sources)}" if sources else draft.answer.strip()


def parsed(text: str) -> Draft:
    """Read a draft; text that is no JSON object is taken as the answer itself."""
    try:
        return Draft.model_validate_json(text[text.find("{") : text.rfind("}") + 1])
    except ValueError:
        return Draft(answer=text.strip())
