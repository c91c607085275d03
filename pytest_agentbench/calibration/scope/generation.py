"""SCOPE, third stage: reasons become criteria by area, duplicates are merged, and each criterion is weighed."""

from collections.abc import Sequence
from random import Random

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.calibration.asking import CLEAR_CUT, ask
from pytest_agentbench.calibration.scope.discovery import Area
from pytest_agentbench.calibration.scope.extraction import Reason
from pytest_agentbench.calibration.summary import MEANING, summed_up
from pytest_agentbench.core.rubric import Criterion, Label
from pytest_agentbench.llm.seams import Chat

PER_AREA = 5
"""Criteria per area and label (SCOPE, appendix C.3)."""

LEAST_KEPT = 12
"""De-duplication leaves at most half of a label's criteria, or this many where that is more (same)."""

_BREAKS = (
    "Mark as make-or-break those of which a single instance makes a conversation undesirable whatever else is good "
    "about it, and no others."
)
_NO_BREAKS = "None of them is make-or-break."


class Weight(BaseModel):
    """How much one criterion weighs."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    number: int
    weight: int = Field(description="from 1 to 10")
    make_or_break: bool


class Weights(BaseModel):
    """One weight for each criterion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    weights: list[Weight]


async def criteria_of(
    chat: Chat,
    reasons: Sequence[Reason],
    areas: Sequence[Area],
    *,
    label: Label,
    weigh: bool,
    make_or_break: bool,
    random: Random,
) -> list[Criterion]:
    """Give the weighted criteria of one label; without `weigh` all weigh 1, and none is make-or-break."""
    lines: list[str] = []
    for area in areas:
        texts = [reason.text for reason in reasons if reason.label == label and reason.area == area.name]
        lines += await summed_up(chat, texts, label=label, most=PER_AREA, random=random)
    most = max(len(lines) // 2, LEAST_KEPT)
    if len(lines) > 1:
        lines = await summed_up(chat, lines, label=label, most=most, random=random, batch=len(lines))
    weights = await _weighed(chat, lines, label, make_or_break=make_or_break, random=random) if weigh else {}
    alike = None if weigh else Weight(number=0, weight=1, make_or_break=False)
    return [_criterion(number, text, label, weights.get(number, alike)) for number, text in enumerate(lines, start=1)]


async def _weighed(
    chat: Chat, lines: Sequence[str], label: Label, *, make_or_break: bool, random: Random
) -> dict[int, Weight]:
    if not lines:
        return {}
    may_break = make_or_break and label == "NEG"
    given = await ask(
        chat,
        Weights,
        "weights.v1",
        data=["\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))],
        random=random,
        temperature=CLEAR_CUT,
        meaning=MEANING[label],
        make_or_break=_BREAKS if may_break else _NO_BREAKS,
    )
    return {one.number: one if may_break else one.model_copy(update={"make_or_break": False}) for one in given.weights}


def _criterion(number: int, text: str, label: Label, weight: Weight | None) -> Criterion:
    name = f"{label.lower()}-{number}"
    if weight is not None and weight.make_or_break:
        return Criterion(id=name, text=text, label=label, make_or_break=True)
    if weight is None:
        return Criterion(id=name, text=text, label=label)
    return Criterion(id=name, text=text, label=label, weight=min(10, max(1, weight.weight)))
