"""SCOPE, second stage: the reasons for the label of each training conversation, by area."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.calibration.asking import DIVERSE, ask, record, shown
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
    chat: Chat, training: Sequence[Labelled], areas: Sequence[Area], *, with_evidence: bool, random: Random
) -> list[Reason]:
    """Give the reasons of all conversations; one whose area is none of `areas` is left out."""
    names = {area.name.casefold(): area.name for area in areas}
    listed = "\n".join(f"- {area.name}: {area.description}" for area in areas)
    found: list[Reason] = []
    for case in training:
        given = await ask(
            chat,
            Reasons,
            "reasons.v1",
            data=[record(shown(case.case, with_evidence=with_evidence), random)],
            random=random,
            temperature=DIVERSE,
            label=case.label,
            meaning=MEANING[case.label],
            areas=listed,
        )
        found += [
            Reason(names[one.area.casefold()], case.label, one.reason)
            for one in given.reasons
            if one.area.casefold() in names and one.reason.strip()
        ]
    return found
