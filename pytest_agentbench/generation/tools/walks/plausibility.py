"""Which walks are worth hydrating: more are drawn than asked for, judged by how plausible they are, and the best kept.

Tool-to-scenario (§6) names this as what would follow: sampling reweighted by a judge. Without a model the chain itself
judges: a walk is as plausible as its steps are on the average, given what the conversation holds at each.
"""

import math
from collections.abc import Sequence
from functools import partial

from pydantic import BaseModel, Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import shorten
from pytest_agentbench.generation.roles import ask
from pytest_agentbench.generation.tools.data_types import Cards, Walk
from pytest_agentbench.generation.tools.template import TEMPLATES
from pytest_agentbench.generation.tools.walks.weights import Conditioned
from pytest_agentbench.llm.protocols import Chat

TEMPERATURE = 0.1
"""That of the paper's judging roles (Annex D)."""
_A_QUESTION = 20


class Scores(Model):
    """How plausible each walk is, from 0 to 1, in their order."""

    scores: tuple[float, ...]


class Ratings(BaseModel):
    """One rating for each walk, in their order."""

    ratings: list[int] = Field(description="0 (nobody would want this) to 10 (an everyday conversation), one a walk")


def scored_by_chain(chain: Conditioned, walks: Sequence[Walk]) -> Scores:
    """Score walks by the geometric mean of their steps' probabilities, each relative to the likeliest step."""

    def score(nodes: Sequence[str]) -> float:
        total = 0.0
        for place, node in enumerate(nodes[1:], start=1):
            row = chain.row(nodes[:place])
            most = max(row.values(), default=0.0)
            total += math.log(max(row.get(node, 0.0) / most if most else 0.0, 1e-6))
        return math.exp(total / max(len(nodes) - 1, 1))

    return Scores(scores=tuple(round(score(walk.nodes), 6) for walk in walks))


async def scored_by_model(chat: Chat, seed: int, cards: Cards, walks: Sequence[Walk]) -> Scores:
    """Ask a model for ratings, some walks at a time.

    Raise `UnusableAnswerError` where they are not one for each walk, from 0 to 10, twice.
    """
    tools = [{"tool": card.tool, "what": shorten(card.declared_description, 200)} for card in cards.cards]
    scores: list[float] = []
    for start in range(0, len(walks), _A_QUESTION):
        some = walks[start : start + _A_QUESTION]
        answer, faults = await ask(
            chat,
            Ratings,
            TEMPLATES,
            "walks.v1",
            values={},
            data={"tools": tools, "walks": [list(walk.nodes) for walk in some]},
            seed=f"judge/{seed}/{start}",
            guard=partial(_faults, len(some)),
            temperature=TEMPERATURE,
        )
        if faults:
            raise UnusableAnswerError(f"the judge of {len(some)} walks: {faults[0]}")
        scores += [rating / 10 for rating in answer.ratings]
    return Scores(scores=tuple(scores))


def _faults(count: int, answer: Ratings) -> list[str]:
    ratings = answer.ratings
    if len(ratings) == count and all(0 <= rating <= 10 for rating in ratings):
        return []
    return [f"`ratings` is {shorten(str(ratings), 200)}: give {count}, one each, from 0 to 10"]
