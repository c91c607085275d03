"""A model as judge: the criteria of a rubric that no code decides, each with the turns that its score rests on."""

from collections.abc import Sequence
from random import Random
from statistics import median_low

from pydantic import Field

from pytest_agentbench.checks.judges.asking import ask
from pytest_agentbench.checks.judges.citations import Answer, Citation, citation_faults
from pytest_agentbench.checks.judges.evidence import Evidence
from pytest_agentbench.checks.judges.scoring import Score
from pytest_agentbench.checks.judges.template import render
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.rubric import Criterion, Rubric
from pytest_agentbench.llm.seams import Chat

TEMPLATE = "judge.v1"
"""The template in force; a changed prompt is a new file, since recorded answers belong to the old one."""


class CriterionVerdict(Answer):
    """The verdict on one criterion."""

    criterion: str = Field(description="the id of the criterion")
    applies: bool = Field(description="whether the conversation gives occasion for the criterion")
    evidence: list[Citation] = Field(description="the turns that the score rests on")
    reason: str = Field(description="one sentence")
    score: int = Field(description="from 0 to the maximum of the criterion")


class RubricVerdicts(Answer):
    """One verdict for each criterion."""

    verdicts: list[CriterionVerdict]


def judge_mark(model: str, rubric: Rubric, *, notes: bool = False) -> dict[str, str]:
    """Give what decides of a judge, each by its hash: the model's name, the prompt, the rubric, and what it is shown.

    Criteria with a check of their own are left out: no judge decides them.
    """
    judged = rubric.model_copy(update={"criteria": rubric.judged})
    return {
        "model": model,
        "prompt": digest([render(TEMPLATE, {"criteria": "", "record": ""})]),
        "rubric": digest(judged.model_dump(mode="json")),
        "shown": "conversation, state, notes on calls" if notes else "conversation, state",
    }


async def judge_criteria(
    chat: Chat, criteria: Sequence[Criterion], evidence: Evidence, *, random: Random, votes: int = 1
) -> list[Score]:
    """Score `criteria` by what `chat` says, `votes` times (odd); of several votes the median counts.

    From the second vote on the criteria stand in another order, so that a vote is not the first one repeated. Raise
    `UnusableAnswerError` where an answer is refused twice, and what `structured` raises.
    """
    if votes < 1 or votes % 2 == 0:
        raise ValueError(f"votes is {votes!r}, allowed: 1, 3, 5, … (an even number may tie)")
    if not criteria:
        return []
    cast: list[dict[str, CriterionVerdict]] = []
    ordered = list(criteria)
    for _ in range(votes):
        given = await _vote(chat, ordered, evidence, random)
        cast.append({verdict.criterion: verdict for verdict in given.verdicts})
        random.shuffle(ordered)
    return [_score(criterion, [vote[criterion.id] for vote in cast]) for criterion in criteria]


async def _vote(chat: Chat, criteria: Sequence[Criterion], evidence: Evidence, random: Random) -> RubricVerdicts:
    return await ask(
        chat,
        RubricVerdicts,
        TEMPLATE,
        evidence=evidence,
        random=random,
        faults=lambda given: _faults(given, criteria, evidence),
        values={"criteria": "\n".join(map(_line, criteria))},
    )


def _line(criterion: Criterion) -> str:
    kind = "good" if criterion.label == "POS" else "bad"
    return f"- `{criterion.id}` ({kind}, 0 to {criterion.max_score}): {' '.join(criterion.text.split())}"


def _faults(given: RubricVerdicts, criteria: Sequence[Criterion], evidence: Evidence) -> list[str]:
    faults = id_faults([verdict.criterion for verdict in given.verdicts], [criterion.id for criterion in criteria])
    most = {criterion.id: criterion.max_score for criterion in criteria}
    for verdict in given.verdicts:
        if verdict.criterion not in most:
            continue
        found = citation_faults(verdict.evidence, evidence)
        if not 0 <= verdict.score <= most[verdict.criterion]:
            found.append(f"the score {verdict.score} is not between 0 and {most[verdict.criterion]}")
        if verdict.applies and not verdict.evidence:
            found.append("it applies, but no turn is quoted")
        if not verdict.applies and verdict.score != 0:
            found.append(f"it does not apply, but its score is {verdict.score}")
        faults.extend(f"{verdict.criterion}: {fault}" for fault in found)
    return faults


def id_faults(given: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Say which ids are missing, given twice or unknown, for the model to correct."""
    missing = [name for name in wanted if name not in given]
    twice = sorted({name for name in given if given.count(name) > 1})
    unknown = sorted(set(given) - set(wanted))
    faults = [f"{name}: no verdict" for name in missing] + [f"{name}: more than one verdict" for name in twice]
    return faults + ([f"{len(unknown)} verdicts name no id that was asked for"] if unknown else [])


def _score(criterion: Criterion, votes: Sequence[CriterionVerdict]) -> Score:
    values = tuple(vote.score for vote in votes)
    value = median_low(values)
    told = next(vote for vote in votes if vote.score == value)
    return Score(criterion=criterion, value=value, reason=told.reason, citations=tuple(told.evidence), votes=values)
