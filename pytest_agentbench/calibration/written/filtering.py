"""The filter of conversations: whether one is exactly of the situation that it is said to be of (TRACE §2.3, B.4)."""

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.calibration.asking import CLEAR_CUT, ask, seeded, shown
from pytest_agentbench.calibration.checker import check
from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.written.commission import described
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.llm.seams import Chat


class Offered(Model):
    """A conversation and the situation that it is said to be of."""

    situation: str
    case: Case


class Review(Model):
    """What a filter says of it."""

    fits: bool
    reason: str = ""


class CheckerFilter:
    """Lets through what the checker has nothing against: no model, and as many words as the checker knows."""

    async def __call__(self, given: Offered, /) -> Review:
        """Review one."""
        problem = check(given.case, given.situation)
        return Review(fits=problem is None, reason=problem or "")


class Fits(BaseModel):
    """The review."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    reason: str = Field(description="one sentence")
    fits: bool


class ModelFilter:
    """Asks a model, at temperature 0."""

    def __init__(self, chat: Chat, *, seed: int = 0) -> None:
        self._chat = chat
        self._seed = seed

    async def __call__(self, given: Offered, /) -> Review:
        """Review one; raise what `ask` raises."""
        answer = await ask(
            self._chat,
            Fits,
            "filter.v1",
            data=[shown(given.case, with_evidence=False)],
            random=seeded(self._seed, "filter", digest(given)),
            temperature=CLEAR_CUT,
            situation=described(situations()[given.situation]),
        )
        return Review(fits=answer.fits, reason=answer.reason)
