"""Reasons summed up as criteria, batch after batch, as SPUR does and SCOPE after it."""

from collections.abc import Sequence
from random import Random
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.calibration.asking import CLEAR_CUT, ask
from pytest_agentbench.core.rubric import Label
from pytest_agentbench.core.text import shorten
from pytest_agentbench.llm.seams import Chat

BATCH = 20
"""Reasons summed up at a time (SCOPE, appendix C.3)."""

LONGEST = 400
"""Characters of a criterion."""

MEANING: dict[Label, str] = {"POS": "desirable overall", "NEG": "undesirable overall"}

FEELING: dict[Label, str] = {"POS": "satisfying for the user", "NEG": "dissatisfying for the user"}
"""The same of a conversation where only the user's satisfaction counts (SPUR)."""


class Criteria(BaseModel):
    """Criteria, the most telling first."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    criteria: list[Annotated[str, Field(description="a short name, a colon, one sentence")]]


async def summed_up(
    chat: Chat, reasons: Sequence[str], *, meaning: str, most: int, random: Random, batch: int = BATCH
) -> list[str]:
    """Give at most `most` criteria of what makes a conversation `meaning`.

    Each batch is summed up together with what came of those before.
    """
    criteria: list[str] = []
    for start in range(0, len(reasons), batch):
        lines = [f"criterion so far: {one}" for one in criteria]
        lines += [f"observation: {_line(one)}" for one in reasons[start : start + batch]]
        given = await ask(
            chat,
            Criteria,
            "summary.v1",
            data=["\n".join(lines)],
            random=random,
            temperature=CLEAR_CUT,
            most=str(most),
            meaning=meaning,
        )
        criteria = [_line(one) for one in given.criteria if one.strip()][:most]
    return criteria


def _line(text: str) -> str:
    return shorten(" ".join(text.split()), LONGEST)
