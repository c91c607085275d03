"""A model as judge: the criteria of a rubric that no code decides, each with the turns that its score rests on."""

import asyncio
from collections.abc import Sequence
from random import Random
from statistics import median_low

from pydantic import Field

from pytest_agentbench.checks.judges.asking import Answer, Citation, ask, citation_faults, render
from pytest_agentbench.checks.judges.evidence import Evidence
from pytest_agentbench.checks.judges.scoring import Score
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.rubric import Criterion, Rubric, Sees
from pytest_agentbench.llm.seams import Chat

TEMPLATES: dict[Sees, str] = {"conversation": "judge.v1", "goal": "judge_goal.v1"}
"""The templates in force; a changed prompt is a new file, since recorded answers belong to the old one."""


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


def judge_mark(model: str, rubric: Rubric, *, sees: Sees, notes: bool = False) -> dict[str, str]:
    """Give what decides of a judge, each by its hash: the model's name, the prompt, the rubric, and what it is shown.

    Criteria with a check of their own are left out, since no judge decides them, and so is a threshold of theirs alone.
    """
    threshold = None if all(one.must for one in rubric.judged) else rubric.threshold
    judged = rubric.model_copy(update={"criteria": rubric.judged, "threshold": threshold})
    return {
        "model": model,
        "prompt": digest([render(TEMPLATES[sees], {"criteria": "", "record": ""})]),
        "rubric": digest(judged.model_dump(mode="json")),
        "shown": f"{sees}, state, notes on calls" if notes else f"{sees}, state",
    }


async def judge_criteria(
    chat: Chat, criteria: Sequence[Criterion], evidence: Evidence, *, random: Random, votes: int = 1
) -> list[Score]:
    """Score `criteria` by what `chat` says, `votes` times (odd) side by side; of several votes the median counts.

    From the second vote on the criteria stand in another order, so that a vote is not the first one repeated. Raise
    `UnusableAnswerError` where an answer is refused twice, and what `structured` raises: the first vote's error, once
    all are in.
    """
    if votes < 1 or votes % 2 == 0:
        raise ValueError(f"votes is {votes!r}, allowed: 1, 3, 5, … (an even number may tie)")
    if not criteria:
        return []
    others = [Random(random.getrandbits(64)) for _ in range(votes - 1)]  # noqa: S311 - orders criteria, gives nonces
    orders = [(criteria, random), *((one.sample(criteria, k=len(criteria)), one) for one in others)]
    asked = [_vote(chat, order, evidence, one) for order, one in orders]
    cast = await asyncio.gather(*asked, return_exceptions=True)
    given = []
    for vote in cast:
        if isinstance(vote, BaseException):
            raise vote
        given.append({one.criterion: one for one in vote.verdicts})
    return [_score(criterion, [vote[criterion.id] for vote in given]) for criterion in criteria]


async def _vote(chat: Chat, criteria: Sequence[Criterion], evidence: Evidence, random: Random) -> RubricVerdicts:
    return await ask(
        chat,
        RubricVerdicts,
        TEMPLATES["conversation" if evidence.goal is None else "goal"],
        data=[evidence],
        random=random,
        faults=lambda given: _faults(given, criteria, evidence),
        values={"criteria": "\n".join(map(_line, criteria))},
    )


def _line(criterion: Criterion) -> str:
    kind = "good" if criterion.label == "POS" else "bad"
    scale = "0 or 1" if criterion.must else f"0 to {criterion.max_score}"
    texts = [f"- `{criterion.id}` ({kind}, {scale}): {criterion.text}"]
    texts += [f"{score}: {text}" for score, text in ((1, criterion.met), (0, criterion.unmet)) if text]
    return "\n  ".join(" ".join(text.split()) for text in texts)


def _faults(given: RubricVerdicts, criteria: Sequence[Criterion], evidence: Evidence) -> list[str]:
    most = {criterion.id: criterion.highest for criterion in criteria}
    faults = id_faults([verdict.criterion for verdict in given.verdicts], list(most))
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
    """Give what most votes come to; a vote that a good `must` had no occasion is one that it holds."""
    is_kept_idly = criterion.must and criterion.label == "POS"
    counted = [criterion.highest if is_kept_idly and not vote.applies else vote.score for vote in votes]
    value = median_low(counted)
    shown = next(vote for vote, score in zip(votes, counted, strict=True) if score == value)
    return Score(
        criterion=criterion,
        value=value,
        applies=sum(vote.applies for vote in votes) > len(votes) // 2,
        reason=shown.reason,
        citations=tuple(shown.evidence),
        votes=tuple(counted),
    )
