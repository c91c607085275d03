"""Judges of suites as contenders, held against whether the agent is at fault: a given rubric, and the auditor."""

from collections.abc import Sequence

from pytest_agentbench.calibration.asking import seeded, shown
from pytest_agentbench.calibration.calibrate import Estimate
from pytest_agentbench.calibration.labelled import Case, Labelled, Target, run_of
from pytest_agentbench.checks.auditor.ask import AUDITOR, TEMPLATE, audit
from pytest_agentbench.checks.auditor.findings import observed
from pytest_agentbench.checks.judges.evidence import Goal, of_run
from pytest_agentbench.checks.judges.judge import judge_criteria, judge_mark
from pytest_agentbench.checks.judges.scoring import rate
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.rubric import Label, Rubric, Sees
from pytest_agentbench.core.run import Judgement
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.llm.seams import Chat


class ByRubric:
    """A rubric, scored by a model as a suite's judge scores it.

    Where it `sees` the goal, raise `ValueError` for a conversation without one.
    """

    learns = False
    target: Target = "agent"

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


class Auditor:
    """The auditor under `decide`, where code found nothing wrong: NEG of a conversation where it fails the agent."""

    name = AUDITOR
    learns = False
    target: Target = "agent"
    is_auditor = True

    def __init__(self, chat: Chat, *, seed: int = 0) -> None:
        self._chat = chat
        self._seed = seed

    @property
    def parts(self) -> dict[str, str]:
        """What decides: model and prompt."""
        return {"model": self._chat.spec.model, "prompt": TEMPLATE}

    @property
    def mark(self) -> str:
        """A hash of these."""
        return digest(self.parts)

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Give what estimates by the auditor: there is nothing to learn."""

        async def estimate(case: Case) -> Label | None:
            run = run_of(case)
            policies = tuple(f"{one.id}: {one.text}" for one in run.policies)
            goal = (case.goal or Goal()).model_copy(update={"policies": policies})
            evidence = of_run(run, system=case.briefing, goal=goal)
            random = seeded(self._seed, AUDITOR, digest(case.transcript))
            seen = await audit(self._chat, run, policies=run.policies, evidence=evidence, random=random)
            judged = observed(run, Judgement(verdict=Verdict.PASSED), seen, decides=True)
            return "NEG" if judged.verdict is Verdict.FAILED else "POS"

        return estimate
