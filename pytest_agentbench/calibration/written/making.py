"""From commissions to labelled conversations: written, and kept where the filter lets them through."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_agentbench.calibration.labelled import Labelled
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.written.commission import Commission, Work
from pytest_agentbench.calibration.written.filtering import Offered, Review
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.seams import Role

Writer = Role[Commission, Work]
Filter = Role[Offered, Review]


@dataclass
class Made:
    """What came of commissions: `kept` are silver, `refused` was held back by the filter, `failed` is not written."""

    kept: list[Labelled] = field(default_factory=list)
    refused: list[tuple[Labelled, str]] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)


async def written(commissions: Sequence[Commission], writer: Writer, review: Filter) -> Made:
    """Have all commissions written at once and each reviewed; the order is theirs."""

    async def one(number: int, given: Commission) -> tuple[Labelled, Review] | str:
        try:
            work = await writer(given)
            labelled = _labelled(number, given, work)
            return labelled, await review(Offered(situation=given.situation, case=work.case))
        except UnusableAnswerError as error:
            return str(error)

    made = Made()
    for found in await asyncio.gather(*(one(number, given) for number, given in enumerate(commissions, start=1))):
        if isinstance(found, str):
            made.failed[found] += 1
        elif found[1].fits:
            made.kept.append(found[0])
        else:
            made.refused.append((found[0], found[1].reason))
    return made


def _labelled(number: int, given: Commission, work: Work) -> Labelled:
    situation = situations()[given.situation]
    return Labelled(
        id=f"written-{number}-{given.situation}",
        case=work.case,
        label=situation.label,
        situation=given.situation,
        language=given.language,
        faults=work.faults,
        grade="silver",
        reason=situation.reason,
    )
