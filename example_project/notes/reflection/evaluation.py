"""A judgement of one draft: five scores, what is wrong with it, and the history of a turn's drafts."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

CRITERIA = ("accuracy", "clarity", "completeness", "pedagogy", "citation")
"""What is judged (paper §5.3)."""


class Scores(BaseModel):
    """Marks from 0 to 10."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    accuracy: float = Field(ge=0, le=10)
    clarity: float = Field(ge=0, le=10)
    completeness: float = Field(ge=0, le=10)
    pedagogy: float = Field(ge=0, le=10)
    citation: float = Field(ge=0, le=10)


class Evaluation(BaseModel):
    """The marks with their reasons; `method` says who judged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scores: Scores
    issues: tuple[str, ...] = ()
    strengths: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    method: Literal["model", "rules", "heuristic"] = "rules"

    @property
    def score(self) -> float:
        """The mean of the marks, scaled to [0, 1] (paper §5.3)."""
        marks: list[float] = [getattr(self.scores, name) for name in CRITERIA]
        return sum(marks) / (10 * len(CRITERIA))


@dataclass(frozen=True, kw_only=True)
class Reflected:
    """One round: the draft that was judged and its judgement; rounds count from 1."""

    round: int
    answer: str
    evaluation: Evaluation
    accepted: bool


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What a critic sees: question, answer, and what the cited lines say."""

    question: str
    answer: str
    sources: str


REFERENCE = ".md", "source", "selon", "according to", "d'après"
NON_ANSWERS = (
    "i found nothing", "i don't know", "i do not know", "cannot answer", "no information", "je n'ai rien trouvé",
    "je ne sais pas", "aucune information", "impossible de répondre",
)  # fmt: skip


def heuristic(candidate: Candidate) -> Evaluation:
    """Judge by form alone where a model's judgement is unusable: length, non-answers, citation marks (paper §5.3)."""
    answer = candidate.answer.lower()
    issues: list[str] = []
    length = 10.0 if len(answer) >= 80 else 7.0 if len(answer) >= 20 else 2.0
    if length < 7:
        issues.append("the answer is too short")
    evasive = any(phrase in answer for phrase in NON_ANSWERS)
    if evasive:
        issues.append("the answer says that there is none")
    cited = any(mark in answer for mark in REFERENCE)
    if not cited:
        issues.append("no source is cited")
    worth = 2.0 if evasive else 8.0
    scores = Scores(
        accuracy=worth if cited else worth / 2, clarity=length, completeness=min(length, worth), pedagogy=length * 0.8,
        citation=10.0 if cited else 0.0,
    )  # fmt: skip
    return Evaluation(scores=scores, issues=tuple(issues), method="heuristic")
