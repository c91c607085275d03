"""Which walks are worth hydrating: more are drawn than asked for, judged by how plausible they are, and the best kept.

Tool-to-scenario (§6) names this as what would follow: sampling reweighted by a judge. What the walks cover together
stays covered, and each complexity class keeps its share. Without a model the chain itself judges: a walk is as
plausible as its steps are on the average, given what the conversation holds at each.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import partial

from pydantic import BaseModel, Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.seams import Role
from pytest_agentbench.core.text import shorten
from pytest_agentbench.generation.roles import ask
from pytest_agentbench.generation.tools.template import TEMPLATES
from pytest_agentbench.generation.tools.values import Cards, Walk
from pytest_agentbench.generation.tools.walks.conditioned import Conditioned
from pytest_agentbench.generation.tools.walks.sampling import CLASSES, Sampler, class_of, reweighed
from pytest_agentbench.llm.seams import Chat

TEMPERATURE = 0.1
"""That of the paper's judging roles (Annex D)."""
_A_QUESTION = 20


class WalksGiven(Model):
    """What a judge of walks sees."""

    walks: tuple[Walk, ...]
    cards: Cards


class Scores(Model):
    """How plausible each walk is, from 0 to 1, in their order."""

    scores: tuple[float, ...]


WalkJudge = Role[WalksGiven, Scores]


class ChainJudge:
    """Scores a walk by the geometric mean of its steps' probabilities, each relative to the likeliest step."""

    def __init__(self, chain: Conditioned) -> None:
        self._chain = chain

    async def __call__(self, given: WalksGiven, /) -> Scores:
        """Give the scores."""
        return Scores(scores=tuple(round(self._score(walk), 6) for walk in given.walks))

    def _score(self, walk: Walk) -> float:
        total = 0.0
        for place, node in enumerate(walk.nodes[1:], start=1):
            row = self._chain.row(walk.nodes[:place])
            most = max(row.values(), default=0.0)
            total += math.log(max(row.get(node, 0.0) / most if most else 0.0, 1e-6))
        return math.exp(total / max(len(walk.nodes) - 1, 1))


class Ratings(BaseModel):
    """One rating for each walk, in their order."""

    ratings: list[int] = Field(description="0 (nobody would want this) to 10 (an everyday conversation), one a walk")


class ModelWalkJudge:
    """Asks a model for ratings, some walks at a time."""

    def __init__(self, chat: Chat, seed: int) -> None:
        self._chat = chat
        self._seed = seed

    async def __call__(self, given: WalksGiven, /) -> Scores:
        """Give the scores; raise `UnusableAnswerError` where they are not one for each walk, from 0 to 10, twice."""
        tools = [{"tool": card.tool, "what": shorten(card.declared_description, 200)} for card in given.cards.cards]
        scores: list[float] = []
        for start in range(0, len(given.walks), _A_QUESTION):
            walks = given.walks[start : start + _A_QUESTION]
            answer, faults = await ask(
                self._chat,
                Ratings,
                TEMPLATES,
                "walks.v1",
                values={},
                data={"tools": tools, "walks": [list(walk.nodes) for walk in walks]},
                seed=f"judge/{self._seed}/{start}",
                guard=partial(_faults, len(walks)),
                temperature=TEMPERATURE,
            )
            if faults:
                raise UnusableAnswerError(f"the judge of {len(walks)} walks: {faults[0]}")
            scores += [rating / 10 for rating in answer.ratings]
        return Scores(scores=tuple(scores))


def _faults(count: int, answer: Ratings) -> list[str]:
    ratings = answer.ratings
    if len(ratings) == count and all(0 <= rating <= 10 for rating in ratings):
        return []
    return [f"`ratings` is {shorten(str(ratings), 200)}: give {count}, one each, from 0 to 10"]


class Chosen:
    """Gives the chosen walks first, then what the sampler draws; it is told of each that is lost."""

    def __init__(self, sampler: Sampler, walks: Sequence[Walk]) -> None:
        self._sampler = sampler
        self._walks = list(walks)

    def draw(self) -> Walk | None:
        """Give the next walk, or None where no new one is found."""
        return self._walks.pop(0) if self._walks else self._sampler.draw()

    def lost(self, walk: Walk) -> None:
        """Say that a walk became no scenario."""
        self._sampler.lost(walk)

    def shortened(self, walk: Walk, turns: int) -> Walk | None:
        """Give a walk that ends after so many turns in place of one."""
        return self._sampler.shortened(walk, turns)

    def spare(self, walk: Walk, tool: str) -> None:
        """Say that a walk had more calls of a tool than the world bears."""
        self._sampler.spare(walk, tool)

    def bar(self, before: Mapping[str, int], step: tuple[str, str]) -> None:
        """Say that the world did not bear a step after these calls."""
        self._sampler.bar(before, step)

    def end(self, walk: Walk, step: tuple[str, str]) -> None:
        """Pass on where a turn leads nowhere."""
        self._sampler.end(walk, step)


def candidates(sampler: Sampler, count: int) -> list[Walk]:
    """Draw up to `count` walks to choose from."""
    return list(itertools.islice(iter(sampler.draw, None), count))


def chosen(sampler: Sampler, walks: Sequence[Walk], scores: Sequence[float], count: int) -> Chosen:
    """Keep `count` of the walks by their scores, as many of each class as their share among all."""
    kept: list[Walk] = []
    classes = [name for name in CLASSES if any(class_of(walk) == name for walk in walks)]
    for place, name in enumerate(classes):
        members = [number for number, walk in enumerate(walks) if class_of(walk) == name]
        is_last = place + 1 == len(classes)
        share = count - len(kept) if is_last else round(count * len(members) / max(len(walks), 1))
        kept += reweighed([walks[number] for number in members], [scores[number] for number in members], share)
    order = {walk.id: number for number, walk in enumerate(walks)}
    for walk in walks:
        if walk not in kept:
            sampler.passed_over(walk)
    return Chosen(sampler, sorted(kept, key=lambda walk: order[walk.id]))
