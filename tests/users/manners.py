"""A right agent with manners: it knows the calls that a scenario expects, and asks for consent in one of five ways.

It plays against the scripted user of the suite in the real loop. It makes a call when the user has said what the call
is about, asks before each write, writes after a yes alone, and tells at the end what has to be told.
"""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from pytest_agentbench.checks.fault_outcomes import settled
from pytest_agentbench.core.acts import Line
from pytest_agentbench.core.conversation import Reply, Turn, UserTurn, View
from pytest_agentbench.core.protocols import User
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.environment.call_replay import prepare
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.runs.expected_state import ExpectedStates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.roles import Roles
from pytest_agentbench.runs.runner import RunContext, Services
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.users.script import ANSWERS
from pytest_agentbench.validation.oracle import NoExampleError, Oracle, Rules, Writer
from pytest_agentbench.validation.world_values import Columns, scalars

Manner = Literal["confirms", "offers an extra", "asks two things", "no question mark", "a turn early"]
MANNERS: tuple[Manner, ...] = get_args(Manner)

PATIENCE = 3
"""How often the agent asks for the same yes before it gives up."""


@dataclass
class Deed:
    """A call with the lookups before it: made when `due` lines of the user were said, after a yes where it `writes`."""

    call: ToolCall
    due: int
    writes: bool


@dataclass
class Ear:
    """Hears what the user meant with its last turn, as an agent that understands every word would."""

    user: User
    turn: UserTurn = field(default_factory=UserTurn)

    async def reply(self, view: View) -> UserTurn:
        """Let the user speak, and remember what it meant."""
        self.turn = await self.user.reply(view)
        return self.turn

    @property
    def agrees(self) -> bool:
        """Whether the user said yes and did not say no."""
        kinds = {act.kind for act in self.turn.acts or ()}
        return "confirm" in kinds and "decline" not in kinds


class _Listening(Roles):
    """The parties of a run, with an ear at its user."""

    ear: Ear
    lines: Sequence[Line] = ()

    def user(self, state: State | None, tools: Toolset) -> User:
        """Give the scripted user that the suite asks for."""
        self.ear = Ear(super().user(state, tools))
        return self.ear


class Polite:
    """The agent (`core.protocols.Agent`); what it does next depends on what it heard and did."""

    calls_visible = True

    def __init__(
        self, manner: Manner, deeds: Sequence[Deed], told: str, labels: Sequence[str], roles: _Listening
    ) -> None:
        self._manner = manner
        self._left = list(deeds)
        self._told = told
        self._labels = list(labels)
        self._roles = roles
        self._asked = 0
        self._early = False
        self._owes_offer = False
        self._said: set[str] = set()
        self._number = 0

    async def reply(self, turn: Turn) -> Reply:
        """Make the next call, ask for the yes to it, or say what there is to say."""
        self._said |= {message.text for message in turn.messages if message.role == "user"}
        deed = self._next()
        if deed is None:
            return self._speak(self._rest())
        if not deed.writes or (self._asked and self._consented()):
            return self._act(deed)
        if self._asked >= PATIENCE:
            self._left.clear()
            return self._speak("I am sorry, I cannot do that without a yes.")
        self._asked += 1
        return self._speak(self._question(deed))

    def _next(self) -> Deed | None:
        lines = sum(any(line.text in said for said in self._said) for line in self._roles.lines)
        return self._left[0] if self._left and self._left[0].due <= lines else None

    def _consented(self) -> bool:
        if self._manner == "a turn early" and self._roles.ear.agrees and not self._early:
            self._early = True
            return False
        return self._early or self._roles.ear.agrees

    def _act(self, deed: Deed) -> Reply:
        self._left.remove(deed)
        self._asked, self._early = 0, False
        self._owes_offer = deed.writes
        self._number += 1
        call = deed.call.model_copy(update={"id": f"polite_{self._number}"})
        return Reply(messages=(Message(role="assistant", tool_calls=(call,)),))

    def _question(self, deed: Deed) -> str:
        what = ", ".join(str(value) for _, value in scalars(deed.call.arguments))
        change = f"{deed.call.name.replace('_', ' ')}: {what}"
        if self._early:
            label = self._labels.pop(0) if self._labels else "reference for our files"
            return f"Thank you. Before I do it, what is your {label}?"
        if self._manner == "no question mark":
            return f"I would now make this change: {change}. Please tell me whether I may."
        if self._manner == "asks two things":
            label = self._labels.pop(0) if self._labels else "reference for our files"
            return f"I would now make this change: {change}. Shall I? And what is your {label}?"
        return f"I would now make this change: {change}. Shall I proceed?"

    def _rest(self) -> str:
        if self._owes_offer and self._manner == "offers an extra":
            self._owes_offer = False
            return "That is done. Would you also like to hear from us once a month?"
        if self._left:
            return "I see."
        return self._told

    def _speak(self, text: str) -> Reply:
        return Reply(messages=(Message(role="assistant", content=text),))


@dataclass
class Outcome:
    """One judged run."""

    manner: Manner
    run: Run
    judgement: Judgement

    @property
    def name(self) -> str:
        """The scenario, with its suite."""
        return f"{Path(self.run.key.suite).stem}::{self.run.scenario.id}"

    @property
    def kind(self) -> str:
        """Whether it passed, failed or is unscored, in a word."""
        if self.judgement.verdict is Verdict.PASSED:
            return "passed"
        by_agent = self.judgement.verdict is Verdict.FAILED and self.judgement.blame is Blame.AGENT
        return "failed" if by_agent else "unscored"

    @property
    def is_faulty(self) -> bool:
        """Whether a lasting fault of the suite's own keeps every agent from what is expected."""
        is_unclear = self.judgement.blame is Blame.UNCLEAR and self.judgement.verdict is Verdict.ERROR
        return is_unclear and any(not fault.calls for fault in self.run.scenario.faults)

    @property
    def why(self) -> str:
        """What stood against it."""
        found = [one.message for one in self.judgement.findings if one.required and one.passed is not True]
        return f"{self.run.termination}, {self.run.stop_reason}: {'; '.join(found) or self.run.error}"


def play(path: Path, manners: Sequence[Manner] = MANNERS, every: int = 1) -> list[Outcome]:
    """Play every scripted scenario of a suite with each manner; those that an oracle cannot do are left out."""
    suite = load_suite(path, environ=os.environ)
    assert suite.user.kind == "scripted"
    return asyncio.run(_play(suite, manners, every))


async def _play(suite: Suite, manners: Sequence[Manner], every: int) -> list[Outcome]:
    toolset = load_toolset(suite.environment, suite.root)
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="agentbench-") as folder:
        isolation, expected = IsolationGate(Path(folder)), ExpectedStates()
        for scenario in suite.scenarios[::every]:
            variant = next(iter(suite.variants), "")
            plan = RunPlan(suite=suite, suite_key=str(suite.path), scenario=scenario, variant=variant, toolset=toolset)
            rules = Rules(plan.policies, toolset)
            oracle = await _oracle(_context(plan, isolation, expected), rules)
            for manner in manners if oracle is not None else ():
                assert oracle is not None
                found.append(await _played(_context(plan, isolation, expected), manner, oracle))
    return found


def _context(plan: RunPlan, isolation: IsolationGate, expected: ExpectedStates) -> RunContext:
    return RunContext(plan, Services(isolation=isolation, expected=expected))


async def _oracle(context: RunContext, rules: Rules) -> Oracle | None:
    plan = context.plan
    try:
        async with context.new_environment(f"{context.name}-first") as environment:
            await prepare(environment, plan.scenario)
            columns = Columns(await environment.snapshot() or {})
            return await Writer(plan.scenario, rules, plan.toolset).write(environment, columns, can_fail=True)
    except NoExampleError:
        return None
    finally:
        context.runner.close()


async def _played(context: RunContext, manner: Manner, oracle: Oracle) -> Outcome:
    plan = context.plan
    context.roles = roles = _Listening(plan, None, seed=0, paused=context.stopwatch.paused)
    roles.lines = [line for line in plan.scenario.says if line.act not in ANSWERS]
    told = next(step.text for step in reversed(oracle.script) if step.part == "told")
    labels = [name.replace("_", " ") for name in plan.scenario.knows]

    async def build(_: RunContext) -> Polite:
        return Polite(manner, list(_deeds(plan, oracle)), told, labels, roles)

    try:
        run = await context.play(build)
        # every one of these agents says what did not work, which no code reads
        return Outcome(manner, run, settled(await context.judge(run), told=True))
    finally:
        context.runner.close()


def _deeds(plan: RunPlan, oracle: Oracle) -> Iterator[Deed]:
    """Give the calls of a right run, each due when all that it is about and that the user says was said."""
    lines = [line for line in plan.scenario.says if line.act not in ANSWERS]
    due = min(1, len(lines))
    for step in oracle.script:
        if step.call is None or step.call.requestor == "user":
            continue
        values = [value for _, value in scalars(step.call.arguments) if isinstance(value, str | int | float)]
        firsts = [
            next((number for number, line in enumerate(lines, 1) if states(value, line.text, "en")), 0)
            for value in values
            if len(str(value)) > 2
        ]
        due = max([due, *firsts])
        spec = plan.toolset.get(step.call.name)
        yield Deed(step.call, due, writes=spec is not None and spec.kind not in ("read", "generic"))
