"""Plays conversations of a suite's agent with users of ours: one turn alone, or two sessions that take turns."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.seams import User
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.runs.access import Budgets, SessionModels
from pytest_agentbench.runs.cast import Cast
from pytest_agentbench.runs.conduct import Stage
from pytest_agentbench.runs.expected import ExpectedStates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.recordings import Recordings
from pytest_agentbench.validation.doctor.turns import Caller, Turns


class _Called(Cast):
    """The parties of a run with a user of ours; the agent's model is the suite's."""

    def __init__(self, plan: RunPlan, models: SessionModels, user: User) -> None:
        super().__init__(plan, models, seed=0, paused=nullcontext)
        self._caller = user

    def user(self, state: State | None, tools: Toolset) -> User:
        """Give the user."""
        return self._caller


@dataclass(frozen=True, kw_only=True)
class Played:
    """A conversation that was played: the run, why it could not take place, and what the agent's model took."""

    run: Run
    not_run: str | None
    usage: Usage | None


@dataclass(kw_only=True)
class Player:
    """Plays conversations under one scenario and variant. At most `most_calls` model calls are made in all."""

    suite: Suite
    scenario: Scenario
    variant: str
    toolset: Toolset
    folder: Path
    environ: Mapping[str, str]
    most_calls: int
    now: Callable[[], float] = time.monotonic
    _models: SessionModels | None = None
    _ledger: Ledger | None = None
    _isolation: IsolationGate = field(init=False)
    _count: int = 0

    def __post_init__(self) -> None:
        self._isolation = IsolationGate(self.folder)

    async def alone(self, line: str) -> Played:
        """Say one line to the agent and close."""
        (played,) = await self.together({"a": (line,)}, ("a",))
        return played

    async def together(self, lines: Mapping[str, Sequence[str]], order: Sequence[str]) -> list[Played]:
        """Open a session per name and have them go on in `order`, all open at once."""
        turns = Turns(order)
        return list(await asyncio.gather(*(self._play(name, said, turns) for name, said in lines.items())))

    async def one_after_the_other(self, lines: Mapping[str, Sequence[str]]) -> list[Played]:
        """Open a session per name, each when the one before is over."""
        return [await self._play(name, said, Turns([name] * len(said))) for name, said in lines.items()]

    async def close(self) -> None:
        """Close the ways to models."""
        if self._models is not None:
            await self._models.close()
        if self._ledger is not None:
            self._ledger.close()

    async def _play(self, name: str, lines: Sequence[str], turns: Turns) -> Played:
        self._count += 1
        plan = RunPlan(
            suite=self.suite,
            suite_key=str(self.suite.path),
            scenario=self.scenario,
            variant=self.variant,
            trial=self._count,
            toolset=self.toolset,
        )
        models = self._reach()
        stage = Stage(
            plan=plan,
            isolation=self._isolation,
            now=self.now,
            slot=None,
            expected=ExpectedStates(),
            all_blocked=Counter,
            models=models,
        )
        stage.cast = _Called(plan, models, Caller(name, lines, turns))
        try:
            run = await stage.play(Stage.build_agent)
        finally:
            await turns.leave(name)
            stage.runner.close()
        return Played(run=run, not_run=stage.cast.not_run, usage=stage.cast.usage.get("agent"))

    def _reach(self) -> SessionModels:
        if self._models is None:
            self._ledger = ledger = Ledger(None)
            ledger.start(cost_usd=None, calls=self.most_calls)
            recordings = Recordings(Mode.OFF, folder=lambda: self.folder, process="main", redact=lambda value: value)
            budgets = Budgets(lambda: ledger, session=True)
            self._models = SessionModels(environ=self.environ, recordings=recordings, budgets=budgets, judges=False)
        return self._models
