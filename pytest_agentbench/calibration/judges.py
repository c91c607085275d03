"""What is calibrated: anything that labels conversations, and the judges that learn nothing.

These are the signals alone, a given rubric, and the auditor; the last two are held against whether the agent is at
fault, as a suite uses them.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from pytest_agentbench.calibration.asking import seeded, shown
from pytest_agentbench.calibration.labelled import Case, Labelled, Target, run_of
from pytest_agentbench.calibration.signals import NAME, WEAK, labelled_by, signals
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

Estimate = Callable[[Case], Awaitable[Label | None]]
"""Labels one conversation; None where it could not."""


class Contender:
    """A judge, or a way to learn one. `learns` False means that all training sets give the same judge.

    `target` is the label that it is held against, `lost` counts questions of learning without a usable answer.
    """

    name: str
    learns = False
    target: Target = "overall"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.lost: Counter[str] = Counter()

    @property
    def parts(self) -> dict[str, str]:
        """What decides, each by its name, where these are told apart."""
        return {}

    @property
    def mark(self) -> str:
        """A hash of what decides: model, prompts and rubric."""
        return digest(self.parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth printing besides the figures."""
        return ()

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn from labelled conversations, unless there is nothing to learn."""
        return self._estimate

    async def _estimate(self, case: Case) -> Label | None:
        raise NotImplementedError


class Baseline(Contender):
    """The signals by themselves, to see what a judge adds to them."""

    name = NAME

    @property
    def mark(self) -> str:
        """A hash of what does not count."""
        return digest([NAME, sorted(WEAK)])

    async def _estimate(self, case: Case) -> Label | None:
        return labelled_by(signals(case))


class ByRubric(Contender):
    """A rubric, scored by a model as a suite's judge scores it, which is shown the same.

    Where it `sees` the goal, raise `ValueError` for a conversation without one.
    """

    target: Target = "agent"

    def __init__(
        self, chat: Chat, rubric: Rubric, *, name: str, sees: Sees = "conversation", notes: bool = False, seed: int = 0
    ) -> None:
        super().__init__(seed)
        self._chat, self._rubric, self.name = chat, rubric, name
        self._sees, self._notes = sees, notes

    @property
    def parts(self) -> dict[str, str]:
        """Model, prompt, rubric, and what is shown."""
        return judge_mark(self._chat.spec.model, self._rubric, sees=self._sees, notes=self._notes)

    async def _estimate(self, case: Case) -> Label | None:
        evidence = shown(case, with_evidence=True, notes=self._notes, sees=self._sees)
        random = seeded(self._seed, "estimate", digest(case.transcript))
        scores = await judge_criteria(self._chat, self._rubric.judged, evidence, random=random)
        return rate(self._rubric, scores).label


class Auditor(Contender):
    """The auditor under `decide`, where code found nothing wrong: NEG of a conversation where it fails the agent."""

    name = AUDITOR
    target: Target = "agent"

    def __init__(self, chat: Chat, *, seed: int = 0) -> None:
        super().__init__(seed)
        self._chat = chat

    @property
    def parts(self) -> dict[str, str]:
        """Model and prompt."""
        return {"model": self._chat.spec.model, "prompt": TEMPLATE}

    async def _estimate(self, case: Case) -> Label | None:
        run = run_of(case)
        policies = tuple(f"{one.id}: {one.text}" for one in run.policies)
        goal = (case.goal or Goal()).model_copy(update={"policies": policies})
        evidence = of_run(run, system=case.briefing, goal=goal)
        random = seeded(self._seed, AUDITOR, digest(case.transcript))
        seen = await audit(self._chat, run, policies=run.policies, evidence=evidence, random=random)
        judged = observed(run, Judgement(verdict=Verdict.PASSED), seen, decides=True)
        return "NEG" if judged.verdict is Verdict.FAILED else "POS"
