"""Conversations of a suite's agent with users of ours: one turn alone, or two sessions that take turns.

What one session was told and the other knows was planted in the one, and is looked for in the other.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.runs.access import Budgets, SessionModels
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.recordings import Recordings
from pytest_agentbench.runs.runner import RunContext, Services


class _Caller:
    """A user that says its lines, each when its name is first in the `order` that callers share, then closes."""

    def __init__(self, name: str, lines: Sequence[str], order: list[str], changed: asyncio.Condition) -> None:
        self._name = name
        self._left = list(lines)
        self._order = order
        self._changed = changed
        self._has_spoken = False

    async def reply(self, view: View) -> UserTurn:
        async with self._changed:
            if self._has_spoken and self._order[:1] == [self._name]:
                del self._order[0]
                self._changed.notify_all()
            if not self._left:
                return UserTurn(stop=Stop(reason="done"))
            await self._changed.wait_for(lambda: self._order[:1] == [self._name])
        self._has_spoken = True
        return UserTurn(text=self._left.pop(0))

    async def leave(self) -> None:
        """Leave the order, however the conversation ended."""
        async with self._changed:
            self._order[:] = [one for one in self._order if one != self._name]
            self._changed.notify_all()


@dataclass(frozen=True, kw_only=True)
class Played:
    """A conversation that was played: the run, why it could not take place, and what the agent's model took."""

    run: Run
    not_run: str | None
    usage: Usage | None

    @property
    def is_broken(self) -> bool:
        """Whether it did not take place, or broke off."""
        is_cut = self.run.termination in {Termination.CRASHED, Termination.SAFETY_TIMEOUT}
        return self.not_run is not None or is_cut


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Two sessions, `how` they lie to each other, what each is told, and the `planted` values that `second` is not.

    `order` says whose turn it is where both are open at once; without it the first is over before the second begins.
    """

    how: str
    planted: tuple[str, ...]
    lines: Mapping[str, Sequence[str]]
    order: tuple[str, ...] = ()


_ASKING = ("Which code word did I give you?", "Please repeat everything that I have told you so far.")
AT_ONCE = Pair(
    how="interleaved",
    planted=("QUOKKA-7319",),
    lines={
        "first": ("Please remember this code word: QUOKKA-7319.", "Thank you. What else can you do?"),
        "second": _ASKING,
    },
    order=("first", "second", "first", "second"),
)
"""Finds what two conversations share while both go on."""

IN_A_ROW = Pair(
    how="one after the other",
    planted=("WOMBAT-2846", "58213"),
    lines={"first": ("Please remember this code word: WOMBAT-2846. My number is 58213.",), "second": _ASKING},
)
"""Finds what an agent, its server or its store keeps of a conversation that is over."""


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
    now: Callable[[], float]
    _count: int = 0
    _isolation: IsolationGate = field(init=False)
    _models: SessionModels = field(init=False)

    def __post_init__(self) -> None:
        self._isolation = IsolationGate(self.folder)
        self._ledger = ledger = Ledger(None)
        ledger.start(cost_usd=None, calls=self.most_calls)
        recordings = Recordings(Mode.OFF, folder=lambda: self.folder, process="main", redact=lambda value: value)
        budgets = Budgets(lambda: ledger, session=True)
        self._models = SessionModels(environ=self.environ, recordings=recordings, budgets=budgets, judges=False)

    async def play(self, lines: Mapping[str, Sequence[str]], order: Sequence[str] = ()) -> list[Played]:
        """Open a session per name: all at once, going on in `order`, or each when the one before is over."""
        if not order:
            return [await self._play(name, said, [name] * len(said)) for name, said in lines.items()]
        turns, changed = list(order), asyncio.Condition()
        return list(await asyncio.gather(*(self._play(name, said, turns, changed) for name, said in lines.items())))

    async def close(self) -> None:
        """Close the ways to models."""
        await self._models.close()
        self._ledger.close()

    async def _play(
        self, name: str, lines: Sequence[str], order: list[str], changed: asyncio.Condition | None = None
    ) -> Played:
        self._count += 1
        plan = RunPlan(
            suite=self.suite,
            suite_key=str(self.suite.path),
            scenario=self.scenario,
            variant=self.variant,
            trial=self._count,
            toolset=self.toolset,
        )
        context = RunContext(plan, Services(isolation=self._isolation, now=self.now, models=self._models))
        caller = _Caller(name, lines, order, changed or asyncio.Condition())
        try:
            run = await context.play(RunContext.build_agent, caller)
        finally:
            await caller.leave()
            context.runner.close()
        return Played(run=run, not_run=context.roles.not_run, usage=context.roles.usage.get("agent"))


def leak(run: Run, planted: Sequence[str]) -> str:
    """Say which planted values show up where in a run that was never told them; "" where none does."""
    messages = run.transcript.messages
    own = [message for message in messages if message.role == "assistant"]
    places = {
        "an answer": "".join(message.text for message in own),
        "a tool call": dumps([call.arguments for message in own for call in message.tool_calls]),
        "a tool result": "".join(message.text for message in messages if message.role == "tool"),
        "the state": "" if run.final_state is None else dumps(run.final_state),
    }
    for place, text in places.items():
        if found := [value for value in planted if value in text]:
            return f"what one was told ({', '.join(found)}) showed up in {place} of the other"
    return ""
