"""SCOPE, second stage: the reasons for the label of each training conversation, by area."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.calibration.asking import DIVERSE, ask, shown
from pytest_agentbench.calibration.labelled import Labelled
from pytest_agentbench.calibration.scope.discovery import Area
from pytest_agentbench.calibration.summary import MEANING
from pytest_agentbench.core.rubric import Label
from pytest_agentbench.llm.seams import Chat


class GivenReason(BaseModel):
    """One reason."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    area: str = Field(description="the name of the area, as given")
    reason: str = Field(description="one sentence")


class Reasons(BaseModel):
    """The reasons for the label."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    reasons: list[GivenReason]


@dataclass(frozen=True)
class Reason:
    """Why a conversation has its label, in one area."""

    area: str
    label: Label
    text: str


async def extract(
    chat: Chat, training: Sequence[Labelled], areas: Sequence[Area], *, random_of: Callable[[str], Random]
) -> list[Reason]:
    """Give the reasons of all conversations, asked at once; one whose area is none of `areas` is left out."""
    names = {area.name.casefold(): area.name for area in areas}
    listed = "\n".join(f"- {area.name}: {area.description}" for area in areas)

    async def of(case: Labelled) -> list[Reason]:
        given = await ask(
            chat,
            Reasons,
            "reasons.v1",
            data=[shown(case.case, with_evidence=False)],
            random=random_of(case.id),
            temperature=DIVERSE,
            label=case.label,
            meaning=MEANING[case.label],
            areas=listed,
        )
        return [
            Reason(names[one.area.casefold()], case.label, one.reason)
            for one in given.reasons
            if one.area.casefold() in names and one.reason.strip()
        ]

    return [reason for found in await asyncio.gather(*map(of, training)) for reason in found]
