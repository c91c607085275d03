"""SPUR: reasons for contentment and discontent, summed up as rubrics, and a label by the sums of their impacts."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
from functools import partial

from pytest_agentbench.calibration.asking import DIVERSE, ask, lossy, prompts_mark, seeded, shown
from pytest_agentbench.calibration.calibrate import Estimate
from pytest_agentbench.calibration.criteria import FEELING, LABELS, MEANING, Answer, estimated, summed_up
from pytest_agentbench.calibration.labelled import Case, Labelled
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.rubric import Criterion, Label
from pytest_agentbench.llm.seams import Chat

REASONS = 3
"""Reasons per conversation (SCOPE §3.1, on SPUR)."""

MOST_RUBRICS = 10
"""Rubrics for satisfaction, and as many for dissatisfaction (same)."""

_PROMPTS = ("spur_reasons.v1", "summary.v1", "spur_estimate.v1")

_FEELING: dict[Label, str] = {"POS": "satisfied", "NEG": "dissatisfied"}


class Reasons(Answer):
    """The reasons."""

    reasons: list[str]


async def learn(
    chat: Chat, training: Sequence[Labelled], *, seed: int = 0, number: int = 0, lost: Counter[str] | None = None
) -> tuple[Criterion, ...]:
    """Learn at most ten rubrics for satisfaction and ten for dissatisfaction; `number` is that of the division."""
    lost = Counter() if lost is None else lost
    of = partial(seeded, seed, number, "spur")

    async def reasons_of(case: Labelled) -> list[str]:
        asked = ask(
            chat,
            Reasons,
            "spur_reasons.v1",
            data=[shown(case.case, with_evidence=False)],
            random=of("extract", case.id),
            temperature=DIVERSE,
            label=case.label,
            meaning=MEANING[case.label],
            feeling=_FEELING[case.label],
            most=str(REASONS),
        )
        return (await lossy(asked, Reasons(reasons=[]), lost, "conversations to learn from")).reasons[:REASONS]

    found: dict[Label, list[str]] = {label: [] for label in LABELS}
    for case, reasons in zip(training, await asyncio.gather(*map(reasons_of, training)), strict=True):
        found[case.label] += reasons

    def rubrics_of(label: Label) -> Awaitable[list[str]]:
        random = of("sum up", label)
        return summed_up(chat, found[label], meaning=FEELING[label], most=MOST_RUBRICS, random=random, lost=lost)

    summed = await asyncio.gather(*map(rubrics_of, LABELS))
    criteria = [
        Criterion(id=f"{label.lower()}-{number}", text=text, label=label)
        for label, texts in zip(LABELS, summed, strict=True)
        for number, text in enumerate(texts, start=1)
    ]
    if not criteria:
        raise UnusableAnswerError("no rubric came of the training conversations")
    return tuple(criteria)


class Spur:
    """SPUR as a contender; `teacher` learns in the place of the model that estimates, unless None."""

    name = "spur"
    learns = True

    def __init__(self, chat: Chat, *, seed: int = 0, teacher: Chat | None = None) -> None:
        self._chat = chat
        self._teacher = teacher or chat
        self._seed = seed
        self._fits = 0
        self.lost: Counter[str] = Counter()

    @property
    def mark(self) -> str:
        """A hash of models and prompts."""
        return digest([self._teacher.spec.model, self._chat.spec.model, prompts_mark(*_PROMPTS)])

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn rubrics and give what estimates by them: SAT iff its total exceeds that of DSAT (SCOPE §3.1)."""
        self._fits += 1
        number = self._fits - 1
        criteria = await learn(self._teacher, training, seed=self._seed, number=number, lost=self.lost)

        async def estimate(case: Case) -> Label | None:
            scores = await estimated(
                self._chat,
                criteria,
                shown(case, with_evidence=False),
                template="spur_estimate.v1",
                random=seeded(self._seed, "estimate", digest(case.transcript)),
            )
            totals: dict[Label, float] = {"POS": 0, "NEG": 0}
            for score in scores:
                totals[score.criterion.label] += score.value or 0
            return "POS" if totals["POS"] > totals["NEG"] else "NEG"

        return estimate
