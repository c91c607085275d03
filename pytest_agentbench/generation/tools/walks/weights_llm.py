"""Weights that a model gives (§4.3): shares of what follows each node, or counts over walks that it plays; plausibility
from log-probabilities where the endpoint gives them.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Cards, Graph
from pytest_agentbench.generation.tools.template import asked
from pytest_agentbench.generation.tools.walks.weights import from_walks, with_rows
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import structured

TEMPERATURE = 0.1
WALKING = 0.7
"""Temperatures of judging and of inventing (Annex D)."""
WALKS = 100
"""Walks that the empirical estimate counts (§4.3)."""
_A_QUESTION = 10
_LENGTHS = {"count": str(_A_QUESTION), "shortest": "3", "longest": "25"}
"""What is asked for at a time, and how long walks are, in nodes."""
_FLOOR = 0.01
"""Share that an edge keeps at least: an edge that is there can be taken."""

A = TypeVar("A")
Progress = Callable[[str], None]


class Share(Model):
    """How often, of 100 times, a node follows."""

    node: str
    share: float


class Shares(Model):
    """What follows a node."""

    shares: list[Share]


class Walks(Model):
    """Conversations as lists of nodes."""

    walks: list[list[str]] = []


async def weighed_by_model(
    chat: Chat, graph: Graph, cards: Cards, random: Random, *, told: Progress = lambda _: None
) -> Graph:
    """Ask for the shares of what follows each node, one call a node, as many at once as the chat lets (§4.3).

    Where the endpoint gives log-probabilities of the first token (`extra_body: {logprobs: true, top_logprobs: 20}`),
    one numbered choice is asked for instead, and they are the shares. Unknown nodes and negative shares are passed
    over; a row without a usable answer stays uniform; `told` hears of both. Raise what model access does, other than
    for an unusable answer.
    """
    questions: dict[str, Coroutine[Any, Any, tuple[dict[str, float], list[str]]]] = {}
    for source in (RUN_CONVERSATION, *graph.tools):
        targets = [edge.target for edge in graph.edges if edge.source == source]
        if len(targets) > 1:
            record = {"tools": _tools(cards), "node": source, "may_follow": targets}
            listed = asked("shares.v1", record, random)
            choices = {str(number): target for number, target in enumerate(targets, start=1)}
            is_numbered = chat.spec.extra_body.get("logprobs") and len(targets) < 100
            numbered = asked("next.v1", {**record, "may_follow": choices}, random) if is_numbered else None
            questions[source] = _shares(chat, source, targets, listed, numbered)
    answers = await _at_once(list(questions.values()))
    for _, lines in answers:
        _tell(lines, told)
    rows = {source: row for source, (row, _) in zip(questions, answers, strict=True) if row}
    return with_rows(graph, rows, named="prompting")


Messages = list[dict[str, Any]]


async def _shares(
    chat: Chat, source: str, targets: list[str], listed: Messages, numbered: Messages | None
) -> tuple[dict[str, float], list[str]]:
    """Give the shares of what follows one node, none where no answer was usable, and what was refused."""
    refused: list[str] = []
    if numbered is not None:
        likeliest = (await chat.complete(numbered, temperature=0)).first_logprobs
        if row := row_of(targets, likeliest):
            return row, refused
        count = len(likeliest)
        why = f"none of the {count} likeliest first tokens is its number" if count else "none were given"
        refused.append(f"{source}: no log-probability of a step, {why} (`extra_body: {{top_logprobs: …}}`)")
    try:
        answer = await structured(chat, Shares, listed, temperature=TEMPERATURE)
    except UnusableAnswerError as error:
        return {}, [*refused, f"{source}: {shorten(str(error), 200)}"]
    given = {one.node: one.share for one in answer.shares if math.isfinite(one.share) and one.share >= 0}
    refused += [f"{source}: {node!r} cannot follow" for node in given if node not in targets]
    total = sum(given.get(target, 0.0) for target in targets)
    if total <= 0:
        return {}, [*refused, f"{source}: no usable share"]
    return {target: max(given.get(target, 0.0) / total, _FLOOR) for target in targets}, refused


async def walked_by_model(
    chat: Chat, graph: Graph, cards: Cards, random: Random, *, told: Progress = lambda _: None
) -> Graph:
    """Let the model play walks and count their steps, smoothed (§4.3, empirical).

    A walk with a step that the graph does not have is refused, and `told` hears why. Asks in portions, as many at once
    as are still needed, and no more than twice as often as that; raise what model access does.
    """
    steps: dict[str, list[str]] = {}
    for edge in graph.edges:
        steps.setdefault(edge.source, []).append(edge.target)
    record = {"tools": _tools(cards), "steps": steps}
    kept: list[list[str]] = []
    refused: list[str] = []

    async def ask() -> list[list[str]]:
        messages = asked("walk.v1", record, random, _LENGTHS)
        try:
            return (await structured(chat, Walks, messages, temperature=WALKING)).walks
        except UnusableAnswerError as error:
            refused.append(shorten(str(error), 200))
            return []

    left = 2 * WALKS // _A_QUESTION
    while left and len(kept) < WALKS:
        portions = min(left, math.ceil((WALKS - len(kept)) / _A_QUESTION))
        left -= portions
        for walk in [walk for walks in await _at_once([ask() for _ in range(portions)]) for walk in walks]:
            if why := _fault(walk, steps):
                refused.append(why)
            else:
                kept.append(walk)
    kept = kept[:WALKS]
    _tell([*refused, f"{len(kept)} of {WALKS} walks were usable"], told)
    return from_walks(graph, kept, named="empirical")


async def _at_once(questions: Sequence[Coroutine[Any, Any, A]]) -> list[A]:
    """Give the answers in the order of the questions; the first error ends those that are still under way."""
    tasks = [asyncio.ensure_future(one) for one in questions]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def row_of(targets: Sequence[str], logprobs: Mapping[str, float]) -> dict[str, float]:
    """Give the shares of targets, which `next.v1` numbered from 1, by the log-probabilities of an answer's first token.

    Tokens that are no such number are passed over; what is not among the tokens gets the smallest share that is.
    """
    found: dict[str, float] = {}
    for token, value in logprobs.items():
        text = token.strip()
        if text.isdigit() and 1 <= int(text) <= len(targets) and math.isfinite(value):
            target = targets[int(text) - 1]
            found[target] = found.get(target, 0.0) + math.exp(min(value, 0.0))
    return {target: found.get(target, min(found.values())) for target in targets} if found else {}


def _tell(lines: Sequence[str], told: Progress) -> None:
    for line in lines:
        told(f"weights: {printable(line)}")


def _fault(walk: Sequence[str], steps: Mapping[str, Sequence[str]]) -> str:
    if not walk or walk[0] != RUN_CONVERSATION or walk[-1] != END_OF_SIMULATION:
        return "a walk does not lead from the user's turn to the end"
    for source, target in pairwise(walk):
        if target not in steps.get(source, ()):
            return f"a walk steps from {source!r} to {target!r}, which is no edge"
    return ""


def _tools(cards: Cards) -> list[dict[str, str]]:
    return [{"tool": card.tool, "description": shorten(card.declared_description, 300)} for card in cards.cards]
