"""SCOPE as a whole: a rubric learned from labelled conversations, and labels estimated by it in the exact mode."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pytest_agentbench.calibration.asking import prompts_mark, shown
from pytest_agentbench.calibration.contender import Estimate
from pytest_agentbench.calibration.labelled import Case, Labelled
from pytest_agentbench.calibration.scope.discovery import WHOLE, discover
from pytest_agentbench.calibration.scope.extraction import extract
from pytest_agentbench.calibration.scope.generation import criteria_of
from pytest_agentbench.checks.judges.judge import TEMPLATE, judge_criteria
from pytest_agentbench.checks.judges.scoring import rate
from pytest_agentbench.checks.judges.template import render
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.rubric import Label, Rubric
from pytest_agentbench.llm.seams import Chat

_PROMPTS = ("areas.v1", "reasons.v1", "summary.v1", "weights.v1")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Which parts of SCOPE are in force; `evidence` goes beyond it: state changes, failures, origins of arguments."""

    areas: bool = True
    weights: bool = True
    make_or_break: bool = True
    evidence: bool = False

    @property
    def name(self) -> str:
        """What it is called in tables."""
        without = [name for name in ("areas", "weights", "make_or_break") if not getattr(self, name)]
        return "scope" + ("+evidence" if self.evidence else "") + "".join(f"-{name}" for name in without)


async def learn(chat: Chat, training: Sequence[Labelled], *, parts: Parts, random: Random) -> Rubric:
    """Learn a rubric; raise `UnusableAnswerError` where no POS criterion comes of it."""
    found = await discover(chat, training, with_evidence=parts.evidence, random=random) if parts.areas else [WHOLE]
    reasons = await extract(chat, training, found, with_evidence=parts.evidence, random=random)
    labels: tuple[Label, Label] = ("POS", "NEG")
    criteria = [
        criterion
        for label in labels
        for criterion in await criteria_of(
            chat,
            reasons,
            found,
            label=label,
            weigh=parts.weights,
            make_or_break=parts.make_or_break,
            random=random,
        )
    ]
    if not any(criterion.label == "POS" for criterion in criteria):
        raise UnusableAnswerError("no criterion for desirable conversations came of the training conversations")
    return Rubric(criteria=tuple(criteria), mode="scope")


class Scope:
    """SCOPE as a contender."""

    learns = True

    def __init__(self, chat: Chat, *, parts: Parts | None = None, seed: int = 0) -> None:
        self._chat = chat
        self._parts = parts or Parts()
        self._seed = seed
        self.name = self._parts.name
        self.rubrics: list[Rubric] = []

    @property
    def mark(self) -> str:
        """A hash of model, prompts and parts."""
        return digest([self._chat.spec.model, prompts_mark(*_PROMPTS), _judge_prompt(), self.name])

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn a rubric from the training set and give what estimates by it."""
        random = Random(f"{self._seed}/{len(self.rubrics)}")  # noqa: S311 - draws conversations and nonces
        self.rubrics.append(await learn(self._chat, training, parts=self._parts, random=random))
        return estimator(self._chat, self.rubrics[-1], with_evidence=self._parts.evidence, random=random)


class ByRubric:
    """A rubric that is given, scored by a model, as a contender."""

    learns = False

    def __init__(self, chat: Chat, rubric: Rubric, *, name: str, with_evidence: bool = True, seed: int = 0) -> None:
        self._chat = chat
        self._rubric = rubric
        self._with_evidence = with_evidence
        self._seed = seed
        self.name = name

    @property
    def mark(self) -> str:
        """A hash of model, prompt and rubric."""
        return digest([self._chat.spec.model, _judge_prompt(), self._rubric.model_dump(mode="json")])

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Give what estimates by the rubric: there is nothing to learn."""
        random = Random(self._seed)  # noqa: S311 - draws nonces
        return estimator(self._chat, self._rubric, with_evidence=self._with_evidence, random=random)


def estimator(chat: Chat, rubric: Rubric, *, with_evidence: bool, random: Random) -> Estimate:
    """Give what labels a conversation by a rubric in its mode; SCOPE's own is exact."""

    async def estimate(case: Case) -> Label | None:
        evidence = shown(case, with_evidence=with_evidence)
        scores = await judge_criteria(chat, rubric.judged, evidence, random=random)
        return rate(rubric, scores).label

    return estimate


def _judge_prompt() -> str:
    return digest([render(TEMPLATE, {"criteria": "", "record": ""})])
