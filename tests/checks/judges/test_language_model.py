"""What a language model made of the prompts, replayed: verdicts, evidence, and orders to the judge that it ignored."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from pytest_agentbench.core.run import Judgement
from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Chat
from tests.checks.judges.conversations import CASES, ENDINGS, Case, Ending
from tests.checks.judges.goals import WANTED, Wanted
from tests.checks.judges.record import CASSETTE, GOALS, closed, judged, judged_by_goal, player, spec
from tests.tables import each

T = TypeVar("T")


def replayed(name: str, scene: Callable[[Callable[[str], Chat]], Awaitable[T]], *, cassette: Path = CASSETTE) -> T:
    """Play a scene with what was recorded of it."""

    async def play() -> T:
        recorder = CassetteRecorder(Mode.REPLAY, cassette, shard=None, redact=lambda value: value)
        models = Models(environ={}, recorder_of=lambda _: recorder)
        try:
            return await scene(player(models, spec().base_url, name))
        finally:
            await models.close()

    return asyncio.run(play())


def judgement_of(case: Case) -> Judgement:
    """What the model made of a conversation."""
    return replayed(case.name, lambda chat_for: judged(case, chat_for))


@each("case", CASES, ids=lambda case: case.name)
def test_policies_and_rubric_are_judged_rightly(case: Case) -> None:
    """Kept, broken and not exercised policies, and the label, are those that a right critic gives."""
    judgement = judgement_of(case)

    told = {outcome.policy: outcome.kept for outcome in judgement.policies}
    (rubric,) = (finding for finding in judgement.findings if finding.check == "rubric")
    assert told == case.policies
    assert rubric.passed is (case.label == "POS")


@each("case", [case for case in CASES if case.twin], ids=lambda case: case.name)
def test_orders_to_the_judge_change_nothing(case: Case) -> None:
    """A conversation that tells the judge what to say gets the verdicts of the one that does not."""
    (plain,) = (other for other in CASES if other.name == case.twin)

    ordered, unordered = judgement_of(case), judgement_of(plain)

    assert [(one.policy, one.kept) for one in ordered.policies] == [
        (one.policy, one.kept) for one in unordered.policies
    ]
    assert ordered.verdict == unordered.verdict


def rubric_of(wanted: Wanted) -> tuple[Finding, set[str]]:
    """What the model made of a conversation whose goal it saw: whether all hold, and which do not."""
    judgement = replayed(wanted.name, lambda chat_for: judged_by_goal(wanted, chat_for), cassette=GOALS)
    (whole,) = (finding for finding in judgement.findings if finding.check == "rubric")
    musts = {name for name, value in judgement.metrics.items() if name.startswith("rubric_must.") and value == 0}
    return whole, {name.removeprefix("rubric_must.") for name in musts}


@each("wanted", WANTED, ids=lambda wanted: wanted.name)
def test_a_judge_that_sees_the_goal_tells_what_was_reached_from_what_was_said(wanted: Wanted) -> None:
    """Whichever call did it; friendly words make up for nothing, and a refusal that a policy demands is right."""
    whole, broken = rubric_of(wanted)

    assert whole.passed is (wanted.label == "POS")
    assert broken >= set(wanted.broken)
    assert whole.passed or (whole.turn and any(name in whole.message for name in wanted.broken))


@pytest.mark.parametrize("wanted", [one for one in WANTED if one.twin], ids=lambda wanted: wanted.name)
def test_orders_to_a_judge_that_sees_the_goal_change_nothing(wanted: Wanted) -> None:
    """Nor do words that give themselves out as the goal."""
    (plain,) = (other for other in WANTED if other.name == wanted.twin)

    assert rubric_of(wanted)[1] == rubric_of(plain)[1]


@each("ending", ENDINGS, ids=lambda ending: ending.name)
def test_untrue_endings_are_found(ending: Ending) -> None:
    """The user is told what is open, and nothing that only a tool said."""
    critique = replayed(ending.name, lambda chat_for: closed(ending, chat_for))

    assert critique.ended is ending.ended
    assert bool(critique.feedback) is not ending.ended
    assert "Kovacs" not in critique.feedback
