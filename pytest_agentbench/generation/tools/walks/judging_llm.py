"""The judge of walks played by a model: would a user of such a service want these things one after the other?"""

from random import Random

from pydantic import BaseModel, Field

from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import shorten
from pytest_agentbench.generation.tools.asking import ask
from pytest_agentbench.generation.tools.walks.judging import Scores, WalksGiven
from pytest_agentbench.llm.seams import Chat

TEMPERATURE = 0.1
"""That of the paper's judging roles (Annex D)."""
_A_QUESTION = 20


class Ratings(BaseModel):
    """One rating for each walk, in their order."""

    ratings: list[int] = Field(description="0 (nobody would want this) to 10 (an everyday conversation), one a walk")


class ModelWalkJudge:
    """Asks a model for ratings, some walks at a time."""

    def __init__(self, chat: Chat, random: Random) -> None:
        self._chat = chat
        self._random = random

    async def __call__(self, given: WalksGiven, /) -> Scores:
        """Give the scores; raise `UnusableAnswerError` where they are not one for each walk, from 0 to 10."""
        tools = [{"tool": card.tool, "what": shorten(card.declared_description, 200)} for card in given.cards.cards]
        scores: list[float] = []
        for start in range(0, len(given.walks), _A_QUESTION):
            walks = given.walks[start : start + _A_QUESTION]
            data = {"tools": tools, "walks": [list(walk.nodes) for walk in walks]}
            answer = await ask(
                self._chat, Ratings, "walks.v1", data, random=self._random, temperature=TEMPERATURE, language="en"
            )
            ratings = answer.ratings
            if len(ratings) != len(walks) or not all(0 <= rating <= 10 for rating in ratings):
                raise UnusableAnswerError(f"the judge of {len(walks)} walks gave {ratings!r}: one each, from 0 to 10")
            scores += [rating / 10 for rating in ratings]
        return Scores(scores=tuple(scores))
