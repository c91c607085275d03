"""SCOPE as a whole: a rubric learned from labelled conversations, and labels estimated by it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from pytest_agentbench.calibration.asking import prompts_mark, seeded, shown
from pytest_agentbench.calibration.contender import Estimate
from pytest_agentbench.calibration.estimation import estimated
from pytest_agentbench.calibration.labelled import Case, Labelled
from pytest_agentbench.calibration.scope.discovery import WHOLE, discover
from pytest_agentbench.calibration.scope.extraction import extract
from pytest_agentbench.calibration.scope.generation import criteria, criteria_of
from pytest_agentbench.checks.judges.judge import judge_criteria, judge_mark
from pytest_agentbench.checks.judges.scoring import Score, rate
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.rubric import Label, Rubric, Sees
from pytest_agentbench.llm.seams import Chat

_PROMPTS = ("areas.v1", "reasons.v1", "summary.v1", "weights.v1", "estimate.v1")


VETO = Fraction(1, 2)
"""The share of its maximum above which a make-or-break criterion decides alone, with `veto`."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Which parts of SCOPE are in force, and what goes beyond it.

    `evidence` shows the judge state changes and what can be said of each call; `veto` lets a make-or-break criterion
    decide alone. The rubric is learned from what was said and called in any case.
    """

    areas: bool = True
    weights: bool = True
    make_or_break: bool = True
    evidence: bool = False
    veto: bool = False

    @property
    def name(self) -> str:
        """What it is called in tables."""
        more = [name for name in ("evidence", "veto") if getattr(self, name)]
        without = [name for name in ("areas", "weights", "make_or_break") if not getattr(self, name)]
        return "scope" + "".join(f"+{name}" for name in more) + "".join(f"-{name}" for name in without)


ABLATIONS = (Parts(areas=False), Parts(weights=False), Parts(make_or_break=False))
"""What SCOPE is without one of its parts (SCOPE, tables 4 and 10)."""


async def learn(chat: Chat, training: Sequence[Labelled], *, parts: Parts, seed: int = 0, number: int = 0) -> Rubric:
    """Learn a rubric; raise `UnusableAnswerError` where no POS criterion comes of it.

    Contenders that differ in weights, vetoes or evidence alone ask the same questions about the same division `number`.
    """
    of = partial(seeded, seed, number, "areas" if parts.areas else "whole")
    found = await discover(chat, training, random=of("discover")) if parts.areas else [WHOLE]
    reasons = await extract(chat, training, found, random_of=partial(of, "extract"))
    labels: tuple[Label, Label] = ("POS", "NEG")
    weighed = [
        one
        for given in await asyncio.gather(
            *(criteria_of(chat, reasons, found, label=label, random_of=partial(of, "generate")) for label in labels)
        )
        for one in given
    ]
    if not any(one.label == "POS" for one in weighed):
        raise UnusableAnswerError("no criterion for desirable conversations came of the training conversations")
    return Rubric(criteria=criteria(weighed, weights=parts.weights, make_or_break=parts.make_or_break), formula="scope")


class Scope:
    """SCOPE as a contender; `teacher` learns in the place of the model that estimates, unless None."""

    learns = True

    def __init__(self, chat: Chat, *, parts: Parts | None = None, seed: int = 0, teacher: Chat | None = None) -> None:
        self._chat = chat
        self._teacher = teacher or chat
        self._parts = parts or Parts()
        self._seed = seed
        self.name = self._parts.name
        self.rubrics: list[Rubric] = []
        self._overruled = 0

    @property
    def mark(self) -> str:
        """A hash of models, prompts and parts."""
        return digest([self._teacher.spec.model, self._chat.spec.model, prompts_mark(*_PROMPTS), self.name])

    @property
    def notes(self) -> tuple[str, ...]:
        """Say how often a make-or-break criterion showed and the sums decided otherwise."""
        if not self._overruled:
            return ()
        who = "the veto decided" if self._parts.veto else "it did not decide"
        return (f"{self._overruled} times a make-or-break criterion showed, the sums said POS, and {who}",)

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn a rubric from the training set and give what estimates by it."""
        number = len(self.rubrics)
        rubric = await learn(self._teacher, training, parts=self._parts, seed=self._seed, number=number)
        self.rubrics.append(rubric)

        async def estimate(case: Case) -> Label | None:
            scores = await estimated(
                self._chat,
                rubric.criteria,
                case,
                template="estimate.v1",
                with_evidence=self._parts.evidence,
                random=seeded(self._seed, "estimate", digest(case.transcript)),
            )
            label = rate(rubric, scores).label
            if label != "POS" or not any(map(_breaks, scores)):
                return label
            self._overruled += 1
            return "NEG" if self._parts.veto else label

        return estimate


def _breaks(score: Score) -> bool:
    """Whether a make-or-break criterion shows by more than half."""
    return score.criterion.make_or_break and score.share is not None and score.share > VETO


class ByRubric:
    """A rubric that is given, scored by a model as a suite's judge does, as a contender.

    Where it `sees` the goal, raise `ValueError` for a conversation without one.
    """

    learns = False

    def __init__(
        self,
        chat: Chat,
        rubric: Rubric,
        *,
        name: str,
        sees: Sees = "conversation",
        notes: bool = False,
        seed: int = 0,
    ) -> None:
        self._chat = chat
        self._rubric = rubric
        self._sees = sees
        self._notes = notes
        self._seed = seed
        self.name = name

    @property
    def parts(self) -> dict[str, str]:
        """What decides: model, prompt, rubric, and what is shown."""
        return judge_mark(self._chat.spec.model, self._rubric, sees=self._sees, notes=self._notes)

    @property
    def mark(self) -> str:
        """A hash of these."""
        return digest(self.parts)

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Give what estimates by the rubric: there is nothing to learn."""

        async def estimate(case: Case) -> Label | None:
            evidence = shown(case, with_evidence=True, notes=self._notes, sees=self._sees)
            random = seeded(self._seed, "estimate", digest(case.transcript))
            scores = await judge_criteria(self._chat, self._rubric.judged, evidence, random=random)
            return rate(self._rubric, scores).label

        return estimate
