"""Edge weights by a model, in blocks: one question scores up to 144 pairs, where IntellAgent asks one for each."""

import asyncio
from collections.abc import Sequence
from itertools import combinations_with_replacement
from random import Random

from pydantic import Field

from pytest_agentbench.generation.policies.asking import Answer, ask
from pytest_agentbench.generation.policies.graph.graph import GraphInput, policy_tools
from pytest_agentbench.generation.policies.values import MOST_LIKELY, NEVER, ExtractedPolicy, PolicyEdge, PolicyGraph
from pytest_agentbench.llm.seams import Chat

EDGES = "edges.v1"
"""The template in force."""

ROLE = "weigher"
"""The role whose model this is."""

BLOCK = 12
"""Policies on each side of one question."""

_ITSELF = -1


class ScoreRow(Answer):
    """The scores of one rule with each of the second list."""

    number: int = Field(description="the number of the rule of the first list")
    scores: list[int] = Field(description="0 to 10 for each number of the second list, in order; -1 for itself")


class ScoreRows(Answer):
    """One row for each rule of the first list."""

    rows: list[ScoreRow]


class ModelWeights:
    """Scores pairs with a model: `k·(k+1)/2` calls for k blocks of 12 policies."""

    def __init__(self, chat: Chat, *, random: Random) -> None:
        """Take the model, and a source of nonces."""
        self._chat = chat
        self._random = random

    async def __call__(self, given: GraphInput, /) -> PolicyGraph:
        """Give the graph with every pair scored; raise `UnusableAnswerError` where an answer is refused twice."""
        policies = given.extraction.policies
        numbers = range(1, len(policies) + 1)
        blocks = [numbers[at : at + BLOCK] for at in range(0, len(policies), BLOCK)]
        weights: dict[tuple[int, int], int] = {}
        pairs = [
            (first, second)
            for first, second in combinations_with_replacement(blocks, 2)
            if len(first) > 1 or first != second
        ]
        for scored in await asyncio.gather(*(self._scored(policies, first, second) for first, second in pairs)):
            weights |= scored
        edges = tuple(
            PolicyEdge(source=policies[one - 1].id, target=policies[other - 1].id, weight=weight)
            for (one, other), weight in sorted(weights.items())
        )
        return PolicyGraph(
            policies=policies,
            edges=edges,
            weights="model",
            tools={one.id: found for one in policies if (found := policy_tools(one, given.tools))},
            document_hash=given.extraction.document_hash,
        )

    async def _scored(
        self, policies: Sequence[ExtractedPolicy], first: Sequence[int], second: Sequence[int]
    ) -> dict[tuple[int, int], int]:
        answer = await ask(
            self._chat,
            ScoreRows,
            EDGES,
            data=_listed(policies, sorted({*first, *second})),
            random=self._random,
            faults=lambda given: _faults(given, first, second),
            values={"first": _numbers(first), "second": _numbers(second)},
        )
        given = {row.number: row.scores for row in answer.rows}
        seen: dict[tuple[int, int], list[int]] = {}
        for one in first:
            for other, score in zip(second, given[one], strict=True):
                if one != other:
                    seen.setdefault((min(one, other), max(one, other)), []).append(score)
        # within a block each pair is scored twice, from both sides
        return {pair: round(sum(scores) / len(scores)) for pair, scores in seen.items()}


def _listed(policies: Sequence[ExtractedPolicy], numbers: Sequence[int]) -> str:
    return "\n".join(
        f"{number}. [{', '.join(policies[number - 1].flows)}] {policies[number - 1].text}" for number in numbers
    )


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _faults(given: ScoreRows, first: Sequence[int], second: Sequence[int]) -> list[str]:
    if sorted(row.number for row in given.rows) != list(first):
        return [f"give one row for each of {_numbers(first)}"]
    faults = []
    for row in given.rows:
        if len(row.scores) != len(second):
            faults.append(f"row {row.number} has {len(row.scores)} scores for {len(second)} numbers")
            continue
        for other, score in zip(second, row.scores, strict=True):
            fits = score == _ITSELF if other == row.number else NEVER <= score <= MOST_LIKELY
            if not fits:
                faults.append(
                    f"row {row.number}, number {other}: {score} is not {_ITSELF if other == row.number else '0 to 10'}"
                )
    return faults[:20]
