"""Criteria as SPUR makes them and SCOPE after it: reasons summed up in batches, and conversations scored by them."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.calibration.asking import CLEAR_CUT, ask, lossy
from pytest_agentbench.checks.judges.evidence import Evidence
from pytest_agentbench.checks.judges.judge import id_faults
from pytest_agentbench.checks.judges.scoring import Score
from pytest_agentbench.core.rubric import Criterion, Label
from pytest_agentbench.core.text import shorten
from pytest_agentbench.llm.seams import Chat

BATCH = 20
"""Reasons summed up at a time (SCOPE, appendix C.3)."""

LONGEST = 400
"""Characters of a criterion."""

MOST = 10
"""The highest score (SCOPE §3.1 on SPUR's impact; its step 4 takes the maximum that the prompt names)."""

LABELS: tuple[Label, Label] = ("POS", "NEG")

MEANING: dict[Label, str] = {"POS": "desirable overall", "NEG": "undesirable overall"}

FEELING: dict[Label, str] = {"POS": "satisfying for the user", "NEG": "dissatisfying for the user"}
"""The same of a conversation where only the user's satisfaction counts (SPUR)."""


class Answer(BaseModel):
    """A typed answer of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Criteria(Answer):
    """Criteria, the most telling first."""

    criteria: list[Annotated[str, Field(description="a short name, a colon, one sentence")]]


class Given(Answer):
    """The score of one criterion that applies."""

    criterion: str = Field(description="its id")
    score: int = Field(description="from 1 to 10")


class Estimated(Answer):
    """The scores of all criteria that apply."""

    reason: str = Field(description="one short sentence")
    scores: list[Given]


async def summed_up(
    chat: Chat,
    reasons: Sequence[str],
    *,
    meaning: str,
    most: int,
    random: Random,
    batch: int = BATCH,
    lost: Counter[str] | None = None,
) -> list[str]:
    """Give at most `most` criteria of what makes a conversation `meaning`.

    Each batch is summed up together with what came of those before; one without a usable answer changes nothing.
    """
    lost = Counter() if lost is None else lost
    criteria: list[str] = []
    for start in range(0, len(reasons), batch):
        lines = [f"criterion so far: {one}" for one in criteria]
        lines += [f"observation: {_line(one)}" for one in reasons[start : start + batch]]
        asked = ask(
            chat,
            Criteria,
            "summary.v1",
            data=["\n".join(lines)],
            random=random,
            temperature=CLEAR_CUT,
            most=str(most),
            meaning=meaning,
        )
        given = await lossy(asked, Criteria(criteria=criteria), lost, "batches of reasons")
        criteria = [_line(one) for one in given.criteria if one.strip()][:most]
    return criteria


def _line(text: str) -> str:
    return shorten(" ".join(text.split()), LONGEST)


async def estimated(
    chat: Chat,
    criteria: Sequence[Criterion],
    evidence: Evidence,
    *,
    template: Literal["estimate.v1", "spur_estimate.v1"],
    random: Random,
) -> list[Score]:
    """Score every criterion; one that is left out does not apply and has 0.

    Raise `UnusableAnswerError` where unknown ids, doubles or scores out of range are given twice in a row.
    """
    given = await ask(
        chat,
        Estimated,
        template,
        data=[evidence],
        random=random,
        temperature=CLEAR_CUT,
        faults=lambda answer: _faults(answer, criteria),
        criteria="\n".join(
            f"- `{one.id}` ({'good' if one.label == 'POS' else 'bad'}): {' '.join(one.text.split())}"
            for one in criteria
        ),
    )
    scores = {one.criterion: one.score for one in given.scores}
    return [
        Score(criterion=one, value=scores.get(one.id, 0) * one.max_score / MOST, reason=given.reason)
        for one in criteria
    ]


def _faults(given: Estimated, criteria: Sequence[Criterion]) -> list[str]:
    named = [one.criterion for one in given.scores]
    # what is left out does not apply, so only what is named can be wrong
    faults = id_faults(named, [one.id for one in criteria if one.id in named])
    out = [one for one in given.scores if not 0 <= one.score <= MOST]
    return faults + [f"{one.criterion}: the score {one.score} is not between 0 and {MOST}" for one in out]
