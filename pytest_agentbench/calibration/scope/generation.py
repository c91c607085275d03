"""SCOPE, third stage: reasons become criteria by area, duplicates are merged, and each criterion is weighed."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Weighed:
    """A criterion and what was said of its weight, None where nothing was."""

    text: str
    label: Label
    weight: Weight | None


async def criteria_of(
    chat: Chat, reasons: Sequence[Reason], areas: Sequence[Area], *, label: Label, random_of: Callable[[str], Random]
) -> list[Weighed]:
    """Give the weighed criteria of one label; areas are summed up at the same time."""

    def of_area(area: Area) -> Awaitable[list[str]]:
        texts = [reason.text for reason in reasons if reason.label == label and reason.area == area.name]
        random = random_of(f"{label}/{area.name}")
        return summed_up(chat, texts, meaning=MEANING[label], most=PER_AREA, random=random)

    lines = [line for found in await asyncio.gather(*map(of_area, areas)) for line in found]
    random = random_of(f"{label}/all")
    most = max(len(lines) // 2, LEAST_KEPT)
    if len(lines) > 1:
        lines = await summed_up(chat, lines, meaning=MEANING[label], most=most, random=random, batch=len(lines))
    weights = await _weights(chat, lines, label, random)
    return [Weighed(text, label, weights.get(number)) for number, text in enumerate(lines, start=1)]


async def _weights(chat: Chat, lines: Sequence[str], label: Label, random: Random) -> dict[int, Weight]:
    if not lines:
        return {}
    given = await ask(
        chat,
        Weights,
        "weights.v1",
        data=["\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))],
        random=random,
        temperature=CLEAR_CUT,
        meaning=MEANING[label],
        make_or_break=_BREAKS if label == "NEG" else _NO_BREAKS,
    )
    return {one.number: one for one in given.weights}


def criteria(weighed: Sequence[Weighed], *, weights: bool = True, make_or_break: bool = True) -> tuple[Criterion, ...]:
    """Give criteria with what was said of their weight.

    Without `weights` all weigh 1 and none is make-or-break; without `make_or_break` those weigh what else was said.
    """
    counts: Counter[Label] = Counter()
    found = []
    for one in weighed:
        counts[one.label] += 1
        name, said = f"{one.label.lower()}-{counts[one.label]}", one.weight
        if not weights:
            found.append(Criterion(id=name, text=one.text, label=one.label, weight=1))
        elif said is None:
            found.append(Criterion(id=name, text=one.text, label=one.label))
        elif make_or_break and said.make_or_break and one.label == "NEG":
            found.append(Criterion(id=name, text=one.text, label=one.label, make_or_break=True))
        else:
            found.append(Criterion(id=name, text=one.text, label=one.label, weight=min(10, max(1, said.weight))))
    return tuple(found)
