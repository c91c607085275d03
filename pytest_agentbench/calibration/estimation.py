"""Scores of a conversation by many criteria in one short answer, as SCOPE and SPUR estimate labels."""

from collections.abc import Sequence
from random import Random
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.calibration.asking import CLEAR_CUT, ask, shown
from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.checks.judges.judge import id_faults
from pytest_agentbench.checks.judges.scoring import Score
from pytest_agentbench.core.rubric import Criterion
from pytest_agentbench.llm.seams import Chat

MOST = 10
"""The highest score (SCOPE §3.1 on SPUR's impact; its step 4 takes the maximum that the prompt names)."""

Template = Literal["estimate.v1", "spur_estimate.v1"]


class Given(BaseModel):
    """The score of one criterion that applies."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    criterion: str = Field(description="its id")
    score: int = Field(description="from 1 to 10")


class Estimated(BaseModel):
    """The scores of all criteria that apply."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    reason: str = Field(description="one short sentence")
    scores: list[Given]


async def estimated(
    chat: Chat, criteria: Sequence[Criterion], case: Case, *, template: Template, with_evidence: bool, random: Random
) -> list[Score]:
    """Score every criterion; one that is left out does not apply and has 0.

    Raise `UnusableAnswerError` where unknown ids, doubles or scores out of range are given twice in a row.
    """
    given = await ask(
        chat,
        Estimated,
        template,
        data=[shown(case, with_evidence=with_evidence)],
        random=random,
        temperature=CLEAR_CUT,
        faults=lambda answer: _faults(answer, criteria),
        criteria="\n".join(map(_line, criteria)),
    )
    scores = {one.criterion: one.score for one in given.scores}
    return [
        Score(criterion=one, value=scores.get(one.id, 0) * one.max_score / MOST, reason=given.reason)
        for one in criteria
    ]


def _line(criterion: Criterion) -> str:
    kind = "good" if criterion.label == "POS" else "bad"
    return f"- `{criterion.id}` ({kind}): {' '.join(criterion.text.split())}"


def _faults(given: Estimated, criteria: Sequence[Criterion]) -> list[str]:
    known = [one.id for one in criteria]
    named = [one.criterion for one in given.scores]
    # what is left out does not apply, so only what is named can be wrong
    faults = id_faults(named, [name for name in known if name in named])
    out = [one for one in given.scores if not 0 <= one.score <= MOST]
    wrong = [f"{one.criterion}: the score {one.score} is not between 0 and {MOST}" for one in out]
    return faults + wrong
