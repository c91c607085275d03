"""SCOPE, first stage: the areas in which conversations can be good or bad."""

from collections.abc import Sequence
from random import Random

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.calibration.asking import DIVERSE, ask, shown
from pytest_agentbench.calibration.labelled import Labelled
from pytest_agentbench.llm.seams import Chat

SAMPLE = 10
"""Conversations that are looked at (SCOPE, appendix C.3)."""

MOST_AREAS = 5
"""Same."""


class Area(BaseModel):
    """One area."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(description="two or three words")
    description: str = Field(description="one sentence")


class Areas(BaseModel):
    """The areas, without overlap."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    areas: list[Area]


WHOLE = Area(name="overall", description="anything that makes the conversation good or bad")
"""The one area where discovery is left out."""


async def discover(chat: Chat, training: Sequence[Labelled], *, random: Random) -> list[Area]:
    """Name at most five areas, from ten conversations drawn at random."""
    drawn = random.sample(list(training), min(SAMPLE, len(training)))
    texts = [shown(case.case, with_evidence=False) for case in drawn]
    given = await ask(chat, Areas, "areas.v1", data=texts, random=random, temperature=DIVERSE, most=str(MOST_AREAS))
    return given.areas[:MOST_AREAS] or [WHOLE]
