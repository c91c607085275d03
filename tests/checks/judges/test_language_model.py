"""What a language model made of the prompts, replayed: verdicts, evidence, and orders to the judge that it ignored."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from pytest_agentbench.core.run import Judgement
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.recorder import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.seams import Chat
from tests.checks.judges.conversations import CASES, ENDINGS, Case, Ending
from tests.checks.judges.record import CASSETTE, closed, judged, player, spec

T = TypeVar("T")


def replayed(name: str, scene: Callable[[Callable[[str], Chat]], Awaitable[T]]) -> T:
    """Play a scene with what was recorded of it."""

    async def play() -> T:
        recorder = CassetteRecorder(Mode.REPLAY, CASSETTE, shard=None, redact=lambda value: value)
        models = Models(environ={}, recorder_of=lambda _: recorder)
        try:
            return await scene(player(models, spec().base_url, name))
        finally:
            await models.close()

    return asyncio.run(play())


def judgement_of(case: Case) -> Judgement:
    """What the model made of a conversation."""
    return replayed(case.name, lambda chat_for: judged(case, chat_for))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_policies_and_rubric_are_judged_rightly(case: Case) -> None:
    """Kept, broken and not exercised policies, and the label, are those that a right critic gives."""
    judgement = judgement_of(case)

    told = {outcome.policy: outcome.kept for outcome in judgement.policies}
    (rubric,) = (finding for finding in judgement.findings if finding.check == "rubric")
    assert told == case.policies
    assert rubric.passed is (case.label == "POS")


@pytest.mark.parametrize("case", [case for case in CASES if case.twin], ids=lambda case: case.name)
def test_orders_to_the_judge_change_nothing(case: Case) -> None:
    """A conversation that tells the judge what to say gets the verdicts of the one that does not."""
    (plain,) = (other for other in CASES if other.name == case.twin)

    ordered, unordered = judgement_of(case), judgement_of(plain)

    assert [(one.policy, one.kept) for one in ordered.policies] == [
        (one.policy, one.kept) for one in unordered.policies
    ]
    assert ordered.verdict == unordered.verdict


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_untrue_endings_are_found(ending: Ending) -> None:
    """The user is told what is open, and nothing that only a tool said."""
    critique = replayed(ending.name, lambda chat_for: closed(ending, chat_for))

    assert critique.ended is ending.ended
    assert bool(critique.feedback) is not ending.ended
    assert "Kovacs" not in critique.feedback
