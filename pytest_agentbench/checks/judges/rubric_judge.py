"""A model as judge: one question with a strict answer, criteria that no code decides, and the label by the formula."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random
from statistics import median_low
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.checks.judges.evidence import Evidence, new_nonce
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.expression import every
from pytest_agentbench.core.rubric import Criterion, Label, Rubric, Sees
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import refusable
from pytest_agentbench.llm.templates import Templates

render = Templates("pytest_agentbench.checks.judges").render
MOST_CITATIONS = 20
"""Citations that one judgement may rest on."""


class Answer(BaseModel):
    """Part of what a judge answers: frozen, nothing beyond the schema, nothing read as another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Citation(Answer):
    """Words of a turn."""

    turn: int = Field(description="the number of the turn, as the record gives it")
    quote: str = Field(description="a few words of this turn, copied exactly")


def citation_faults(citations: Sequence[Citation], evidence: Evidence) -> list[str]:
    """Say what is wrong with citations, for the model to correct; nothing of what they quote is repeated."""
    faults = []
    if len(citations) > MOST_CITATIONS:
        faults.append(f"{len(citations)} quotes are too many; give the {MOST_CITATIONS} best at most")
    for number, citation in enumerate(citations[:MOST_CITATIONS], start=1):
        if not 1 <= citation.turn <= evidence.last_turn:
            faults.append(f"quote {number}: there is no turn {citation.turn}; the last one is {evidence.last_turn}")
            continue
        turns = evidence.turns_with(citation.quote)
        if citation.turn not in turns:
            elsewhere = f"; these words stand in turn {turns[0]}" if turns else ""
            faults.append(f"quote {number}: turn {citation.turn} does not hold these words exactly{elsewhere}")
    return faults


A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class Manner:
    """How is asked: by whose templates, and at which temperature."""

    templates: Templates
    temperature: float


JUDGING = Manner(Templates("pytest_agentbench.checks.judges"), 0)


async def ask(
    chat: Chat,
    answer: type[A],
    task: str,
    *,
    data: Sequence[str | Evidence],
    random: Random,
    faults: Callable[[A], list[str]] = lambda _: [],
    values: Mapping[str, str] | None = None,
    how: Manner = JUDGING,
) -> A:
    """Ask for an `answer` by the template `task` of `how`, filled with `values`.

    `data` are records and other texts that are no instructions: they are sent in the user's role, each between
    delimiters with a nonce of `random` that stands in none of them. An answer with `faults` is refused with the
    reasons, once. Raise what `refusable` raises.
    """
    nonce = new_nonce("\n".join(_block(one, "") for one in data), random)
    places = {"nonce": nonce, "record": render("record.v1", {"nonce": nonce}), **(values or {})}
    messages = [
        {"role": "system", "content": how.templates.render(task, places)},
        {"role": "user", "content": "\n\n".join(_block(one, nonce) for one in data)},
    ]

    def told(listed: str) -> str:
        return how.templates.render("again.v1", {"faults": listed})

    return await refusable(chat, answer, messages, faults=faults, told=told, temperature=how.temperature)


def _block(data: str | Evidence, nonce: str) -> str:
    return data.record(nonce) if isinstance(data, Evidence) else f"BEGIN {nonce}\n{data}\nEND {nonce}"


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a criterion was given, from 0 to its maximum, None where it could not be measured.

    `applies` False says that there was no occasion for it. `votes` are the scores of a judge that was asked several
    times.
    """

    criterion: Criterion
    value: float | None
    applies: bool = True
    reason: str = ""
    citations: tuple[Citation, ...] = ()
    votes: tuple[int, ...] = ()

    @cached_property
    def share(self) -> Fraction | None:
        """The score as a share of its maximum, from 0 to 1."""
        return None if self.value is None else Fraction(self.value) / self.criterion.highest

    @property
    def good(self) -> Fraction | None:
        """How much speaks for the run, from 0 to 1: a good thing that shows, or a fault that does not."""
        return self.share if self.share is None or self.criterion.label == "POS" else 1 - self.share

    @property
    def had_no_occasion(self) -> bool:
        """Whether a good thing did not show since there was no occasion for it."""
        return self.criterion.label == "POS" and not self.applies

    @property
    def holds(self) -> bool | None:
        """Whether a `must` holds: a good one is true or had no occasion, a fault does not show."""
        if self.share is None:
            return None
        return self.had_no_occasion or (self.share == 1) == (self.criterion.label == "POS")


@dataclass(frozen=True, kw_only=True)
class RubricScore:
    """The label of a run, None where what was not measured could decide, and the numbers of the rubric's formula.

    `scope`: `pos` and `neg` are the averages, None where a criterion of the label was not measured. `must`: `holds`
    says of each `must` whether it does, `score` is that of the other criteria, from 0 to 1, None where there are none,
    none had an occasion, or one was not measured; `reached` says whether it is the least score or more.
    """

    label: Label | None
    pos: float | None = None
    neg: float | None = None
    holds: Mapping[str, bool | None]
    score: float | None = None
    reached: bool | None = None

    @property
    def all_hold(self) -> bool | None:
        """Whether every `must` holds, None where one that was not measured could decide."""
        return every(self.holds.values())


def rate(rubric: Rubric, scores: Iterable[Score]) -> RubricScore:
    """Rate a run by one score per criterion of `rubric`; raise `ValueError` where there is another number of them."""
    given = list(scores)
    wanted = [criterion.id for criterion in rubric.criteria]
    if sorted(score.criterion.id for score in given) != sorted(wanted):
        raise ValueError(f"scores for {sorted(score.criterion.id for score in given)}, wanted: {sorted(wanted)}")
    return _by_scope(given) if rubric.formula == "scope" else _by_must(given, rubric.least_score)


def _by_must(scores: list[Score], least: float | None) -> RubricScore:
    holds = {score.criterion.id: score.holds for score in scores if score.criterion.must}
    others = [score for score in scores if not score.criterion.must and not score.had_no_occasion]
    weights = sum(score.criterion.weight for score in others)
    worst, best = (
        sum(
            ((Fraction(unknown) if one.good is None else one.good) * one.criterion.weight for one in others),
            Fraction(0),
        )
        for unknown in (0, 1)
    )
    reached = None
    if least is not None and weights:
        reached = _agreed(*(total / weights >= Fraction(str(least)) for total in (worst, best)))
    is_known = bool(weights) and all(one.good is not None for one in others)
    return RubricScore(
        label=_label(every([*holds.values(), *(() if least is None else (reached,))])),
        holds=holds,
        score=float(worst / weights) if is_known else None,
        reached=reached,
    )


def _by_scope(scores: list[Score]) -> RubricScore:
    of: dict[Label, list[Score]] = {
        "POS": [one for one in scores if one.criterion.label == "POS"],
        "NEG": [one for one in scores if one.criterion.label == "NEG"],
    }
    # what was not measured counts in full for one label and not at all for the other, and the other way round
    passed = _agreed(*(_average(of["POS"], at) > _average(of["NEG"], 1 - at) for at in (0, 1)))
    pos, neg = (
        float(_average(of[label], 0)) if all(one.share is not None for one in of[label]) else None
        for label in ("POS", "NEG")
    )
    return RubricScore(label=_label(passed), pos=pos, neg=neg, holds={})


def _average(scores: list[Score], unknown: int) -> Fraction:
    """Give SCOPE's average of a label; what was not measured counts as `unknown` of its maximum."""
    shares = ((one.criterion.rated_weight, Fraction(unknown) if one.share is None else one.share) for one in scores)
    total = sum((weight * share for weight, share in shares), Fraction(0))
    return total / len(scores) if scores else Fraction(0)


def _label(passed: bool | None) -> Label | None:
    return None if passed is None else "POS" if passed else "NEG"


def _agreed(one: bool, other: bool) -> bool | None:
    return one if one == other else None


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
