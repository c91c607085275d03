"""SPUR: reasons for contentment and discontent, summed up as rubrics, and a label by the sums of their impacts."""

from collections.abc import Sequence
from random import Random

from pydantic import BaseModel, ConfigDict

from pytest_agentbench.calibration.asking import DIVERSE, ask, prompts_mark, record, shown
from pytest_agentbench.calibration.contender import Estimate
from pytest_agentbench.calibration.labelled import Case, Labelled
from pytest_agentbench.calibration.summary import MEANING, summed_up
from pytest_agentbench.checks.judges.judge import TEMPLATE, judge_criteria
from pytest_agentbench.checks.judges.template import render
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.rubric import Criterion, Label
from pytest_agentbench.llm.seams import Chat

REASONS = 3
"""Reasons per conversation (SCOPE §3.1, on SPUR)."""

MOST_RUBRICS = 10
"""Rubrics for satisfaction, and as many for dissatisfaction (same)."""

_FEELING: dict[Label, str] = {"POS": "satisfied", "NEG": "dissatisfied"}


class Reasons(BaseModel):
    """The reasons."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    reasons: list[str]


async def learn(chat: Chat, training: Sequence[Labelled], *, random: Random) -> tuple[Criterion, ...]:
    """Learn at most ten rubrics for satisfaction and ten for dissatisfaction, each with an impact of up to 10."""
    found: dict[Label, list[str]] = {"POS": [], "NEG": []}
    for case in training:
        given = await ask(
            chat,
            Reasons,
            "spur_reasons.v1",
            data=[record(shown(case.case, with_evidence=False), random)],
            random=random,
            temperature=DIVERSE,
            label=case.label,
            meaning=MEANING[case.label],
            feeling=_FEELING[case.label],
            most=str(REASONS),
        )
        found[case.label] += given.reasons[:REASONS]
    criteria = [
        Criterion(id=f"{label.lower()}-{number}", text=text, label=label)
        for label, reasons in found.items()
        for number, text in enumerate(
            await summed_up(chat, reasons, label=label, most=MOST_RUBRICS, random=random), start=1
        )
    ]
    if not criteria:
        raise UnusableAnswerError("no rubric came of the training conversations")
    return tuple(criteria)


class Spur:
    """SPUR as a contender."""

    name = "spur"
    learns = True

    def __init__(self, chat: Chat, *, seed: int = 0) -> None:
        self._chat = chat
        self._seed = seed
        self._fits = 0

    @property
    def mark(self) -> str:
        """A hash of model and prompts."""
        judge = render(TEMPLATE, {"criteria": "", "record": ""})
        return digest([self._chat.spec.model, prompts_mark("spur_reasons.v1", "summary.v1"), judge])

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn rubrics and give what estimates by them: SAT iff its total exceeds that of DSAT (SCOPE §3.1)."""
        random = Random(f"{self._seed}/{self._fits}")  # noqa: S311 - draws nonces
        self._fits += 1
        criteria = await learn(self._chat, training, random=random)

        async def estimate(case: Case) -> Label | None:
            scores = await judge_criteria(self._chat, criteria, shown(case, with_evidence=False), random=random)
            totals: dict[Label, float] = {"POS": 0, "NEG": 0}
            for score in scores:
                totals[score.criterion.label] += score.value or 0
            return "POS" if totals["POS"] > totals["NEG"] else "NEG"

        return estimate
