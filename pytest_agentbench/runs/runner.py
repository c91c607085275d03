"""One scenario, one closed and judged run: environment up, agent built, conversation, state read, checks."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.agents.factory import build_agent
from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.conversation import Stop
from pytest_agentbench.core.errors import (
    AgentBenchError,
    EnvironmentFaultError,
    ImportPathError,
    NeverUpError,
    NotRunError,
    ProviderError,
    SuiteError,
    SuiteFaultError,
)
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.protocols import Agent, User
from pytest_agentbench.core.run import Judgement, Result, Run
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.variants import vary_http
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.environment.call_replay import prepare, works
from pytest_agentbench.environment.injection import Schedule
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.kinds import named_in
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.state_access import HungError
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.cassettes import SessionName, new_session_id
from pytest_agentbench.runs.expected_state import ExpectedStates, World
from pytest_agentbench.runs.judgement import Considered, best_of, judge_by, undecided
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.result import result_of
from pytest_agentbench.runs.roles import Roles, players_of
from pytest_agentbench.runs.run_thread import GRACE, RunnerInThread
from pytest_agentbench.runs.suite_fault import suite_fault
from pytest_agentbench.runs.transcript_replay import RecordedWorlds
from pytest_agentbench.simulation.clock import Slot, Stopwatch
from pytest_agentbench.simulation.conversation import Conversation, crashed, out_of_time
from pytest_agentbench.simulation.stall import Progress
from pytest_agentbench.simulation.transcript_builder import Recording
from pytest_agentbench.simulation.views import history_of

if TYPE_CHECKING:  # httpx2 takes a fifth of a second to import, and few suites need it
    from pytest_agentbench.environment.service import Endpoint

_NOTICEABLE = 0.5
"""Seconds for which the event loop was blocked, from which that is the reason to give for lost time."""

_PLAYED = frozenset({Termination.FINISHED, Termination.STALLED})
"""How a conversation ends that came to all that it asks of models; one that broke off may ask more the next time."""

AgentBuilder = Callable[["RunContext"], Awaitable[Agent]]
"""Builds the agent of a run in its context."""


@dataclass(kw_only=True)
class Services:
    """What runs share: slots, isolation of states, ways to models, expected states, clocks and the seed."""

    isolation: IsolationGate
    slot: Slot | None = None
    now: Callable[[], float] = time.monotonic
    blocked: Callable[[], Counter[str]] = Counter
    grace: float = GRACE
    models: SessionModels | None = None
    seed: int = 0
    new_session: Callable[[], str] = new_session_id
    wall: Callable[[], float] = time.time
    expected: ExpectedStates = field(default_factory=ExpectedStates)
    worlds: RecordedWorlds = field(default_factory=RecordedWorlds)


async def run_scenario(plan: RunPlan, services: Services, *, agent: AgentBuilder | None = None) -> tuple[Run, Result]:
    """Play and judge one run; whatever breaks in it becomes its verdict, never an exception."""
    context = RunContext(plan, services)
    roles = context.roles
    try:
        run = await context.play(agent or RunContext.build_agent)
        judgement = undecided("") if roles.not_run else await context.judge(run)
        if run.termination in _PLAYED:
            roles.finished()
    finally:
        context.runner.close()
    players = {"agent": plan.suite.agent.target, **players_of(plan.suite)}
    if roles.was_denied:
        run = run.model_copy(update={"was_denied": True})
    return run, result_of(plan, run, judgement, roles, players)


class RunContext:
    """All that belongs to one run.

    Its `name` is the same every time and names threads and environments; its `session_id`, which is what the agent and
    its servers see, is new every time.
    """

    def __init__(self, plan: RunPlan, services: Services) -> None:
        self.plan = plan
        self.services = services
        self._began = services.wall()
        self.name = plan.task_name
        self.session_id = services.new_session()
        self._named_as = SessionName(self.session_id, known_as=self.name)
        self.runner = RunnerInThread(f"agentbench-{self.name}")
        self.recording = Recording(history_of(plan.scenario))
        self.limits = plan.limits
        self.environment = self.new_environment(self.name)
        self.faults = Schedule(plan.strikes, seed=digest([services.seed, str(plan.key)]) if plan.strikes else "")
        self.stopwatch = clock = Stopwatch(services.now, services.slot)
        self.roles = Roles(plan, services.models, seed=services.seed, paused=clock.paused, working=clock.working)
        self._endpoint: Endpoint | None = None
        self._blocked_before = services.blocked()
        if task := asyncio.current_task():
            task.set_name(self.name)

    @property
    def root(self) -> Path:
        """The folder that import paths resolve from."""
        return self.plan.suite.root

    @property
    def now(self) -> datetime | None:
        """The suite's clock as it stands in the present session."""
        later = self.plan.scenario.later(self.recording.session)
        return None if self.plan.suite.now is None else self.plan.suite.now + later

    def blocked(self) -> tuple[float, float]:
        """Give the seconds for which this run, and for which all others, blocked the event loop since it began."""
        since = self.services.blocked()
        if not since:
            return 0.0, 0.0
        since.subtract(self._blocked_before)
        return since[self.name], sum(since.values()) - since[self.name]

    def new_environment(self, name: str) -> LocalEnvironment:
        """Give a fresh environment in the scenario's initial state."""
        return self.plan.environment(
            name,
            self.runner,
            self.services.isolation,
            session_id=self.session_id if name == self.name else self.services.new_session(),
            patience=self.services.grace,
            is_over=lambda: self.stopwatch.deadline is not None and self.stopwatch.deadline.expired(),
        )

    async def build_agent(self) -> Agent:
        """Call the suite's factory with the variant's keywords and whatever it declares."""
        spec, models = self.plan.suite.agent, self.services.models
        has_factory = spec.openai is None and spec.http is None
        wrapped = self.environment.wrapped_tools(self.recording.observe) if has_factory else []
        self.recording.wrapped = frozenset(one.__name__ for one in wrapped)
        async with asyncio.timeout(self.limits.seconds):
            return await build_agent(
                spec,
                root=self.root,
                keywords=self.plan.keywords,
                offered={
                    "tools": wrapped,
                    "state": self.environment.handle,
                    "context": self.environment.context,
                    "session_id": self.session_id,
                    "base_url": self.roles.base_url,
                    **({} if self.now is None else {"now": self.now}),
                },
                run_sync=self.runner,
                chat=partial(self.roles.chat, "agent"),
                http=models.http if models and spec.http else None,
                endpoint=self._endpoint,
                other=self.plan.extensions.agent,
                names=named_in(self.plan.suite.environment),
                faulty=partial(suite_fault, self.plan),
            )

    async def play(self, build: AgentBuilder, user: User | None = None) -> Run:
        """Play the conversation, with a `user` of the caller's where there is one; read what is left of the world."""
        roles, environment = self.roles, self.environment
        agent: Agent | None = None
        initial: State | None = None
        final: State | None = None
        async with AsyncExitStack() as stack:
            try:
                roles.begin(self.limits, self._named_as)
                async with self.stopwatch.paused():  # the run's seconds are those of its parties
                    self._note_turn()
                    await stack.enter_async_context(environment)
                    await self._make_endpoint_ready(stack)
                    initial = await self._prepared()
                    agent = await build(self)
                closed = await self._converse(agent, user or roles.user(initial, environment.tools), initial)
                getattr(agent, "check_answers", lambda: None)()
                while self._goes_on(closed):
                    async with self.stopwatch.paused():
                        self._next_session()
                        agent = await build(self)
                    party = user or roles.user(initial, environment.tools, self.recording.session)
                    closed = await self._converse(agent, party, initial)
                    getattr(agent, "check_answers", lambda: None)()
                closed = roles.overrule(self._named(closed), self.limits.seconds)
                if environment.calls.fault is not None:
                    closed = crashed(environment.calls.fault, Blame.ENVIRONMENT)
            except NotRunError as error:
                roles.stop(error)
                closed = roles.overrule(crashed(error, Blame.PROVIDER), self.limits.seconds)
            except (AgentBenchError, TimeoutError) as error:
                closed = roles.overrule(self._broken(error), self.limits.seconds)
            seconds = self.stopwatch.seconds
            environment.calls.seal()
            if closed.termination is Termination.SAFETY_TIMEOUT:
                self.runner.abandon()
            try:
                final = None if closed.blame is Blame.ENVIRONMENT else await environment.snapshot(like=initial)
            except EnvironmentFaultError as error:
                closed = self._broken(error)
            stack.push_async_callback(self._bounded_close, stack.pop_all())
        return self._run(closed, agent, seconds).model_copy(update={"initial_state": initial, "final_state": final})

    def _note_turn(self) -> None:
        """Have the run wait for the agent's endpoint together with all else that it has for itself."""
        spec = self.plan.suite.agent.http
        if spec is not None and (varied := vary_http(spec, self.plan.keywords)).reset:
            from pytest_agentbench.agents.http.agent import turn_of  # noqa: PLC0415 - imports httpx2

            self.environment.world.turns |= {turn for turn in [turn_of(varied)] if turn}

    async def _make_endpoint_ready(self, stack: AsyncExitStack) -> None:
        """Start and reset what is behind the agent's endpoint, where the suite says how."""
        spec, models = self.plan.suite.agent.http, self.services.models
        if spec is None or not (spec.serve or spec.reset):
            return
        from pytest_agentbench.agents.http.agent import endpoint_of_run  # noqa: PLC0415 - as above
        from pytest_agentbench.agents.http.connections import HttpConnections  # noqa: PLC0415 - imports httpx2

        values: dict[str, JsonValue] = {
            "context": to_json(self.environment.context),
            "session_id": self.session_id,
            "session": None,
            "now": self.now.isoformat() if self.now else None,
        }
        ready = endpoint_of_run(
            vary_http(spec, self.plan.keywords),
            root=self.root,
            gate=self.services.isolation,
            connections=models.http if models else HttpConnections(),
            values=values,
            world=self.environment.world,
        )
        self._endpoint = await stack.enter_async_context(ready)

    def _goes_on(self, closed: Stop) -> bool:
        """Whether another session follows one that closed in order."""
        left = len(self.plan.scenario.sessions) - self.recording.session
        return left > 0 and closed.termination is Termination.FINISHED and closed.blame is None

    def _next_session(self) -> None:
        """Let time pass, and begin a conversation of which an agent without memory knows nothing."""
        self.recording.next_session()
        self.session_id = self.services.new_session()
        self._named_as.add(self.session_id)
        self.environment.turn_clock(self.plan.scenario.later(self.recording.session))

    async def judge(self, run: Run) -> Judgement:
        """Judge by each way that is right until one passes, then have models judge the rest."""
        if run.broken_tools:
            run = await self.only_here(run)
        considered, judgement = await best_of(self.plan.ways, partial(self._judge_by, run))
        return await self.roles.judged(considered, judgement, self.runner)

    async def expecting(self, plan: RunPlan, run: Run) -> Run:
        """Give the run with the state that the expected calls of `plan` lead to."""
        world = World(
            environment=self.new_environment,
            runner=self.runner,
            resolve=self.plan.resolve,
            seconds=self.limits.seconds,
            wall=self.services.wall,
        )
        return await self.services.expected.expect(plan, run, world)

    async def only_here(self, run: Run) -> Run:
        """Keep of the tools that broke at every call of the run those that a fresh world answers the same call of.

        One that breaks there too is nobody's to use where the call is what the scenario expects.
        """
        found: dict[str, dict[str, str]] = {"broken_tools": {}, "useless_tools": {}}
        for name, why in run.broken_tools.items():
            calls = [record.call for record in run.transcript.trajectory if record.call.name == name]
            if not calls or name in self.faults.struck:
                continue
            wanted = self.plan.scenario.expected_calls
            expected = (call for call in calls if any(is_call_of(want, call, self.plan.resolve) for want in wanted))
            call = next(expected, None)
            fresh = partial(self.new_environment, f"{self.name}-{name}")
            if await works(fresh, call or calls[0], self.plan.scenario, self.services.grace):
                found["broken_tools"][name] = why
            elif call is not None:
                found["useless_tools"][name] = why
        return run.model_copy(update=found)

    async def _judge_by(self, run: Run, plan: RunPlan) -> Considered:
        """Compute the expected state, then run all checks in the run's thread."""
        return await judge_by(self.expecting(plan, run), run, plan, self.runner, self.services.grace)

    async def _prepared(self) -> State | None:
        """Make the initial calls, set faults and limits from then on, and give the state that the run begins in."""
        environment, grace = self.environment, self.services.grace
        try:
            async with asyncio.timeout(grace):
                await prepare(environment, self.plan.scenario)
        except TimeoutError:
            why = f"the initialization actions have not ended within {grace:g} s{environment.calls.busy}"
            raise HungError(why) from None
        initial = await environment.snapshot()
        if self.plan.keeps_states:
            environment.calls.keeps_states = True
        if self.faults.faults:
            await environment.strike(self.faults)
        environment.calls.limit(self.limits.tool_calls, made=self.recording.calls)
        return initial

    def _named(self, closed: Stop) -> Stop:
        """Name the tool in flight when time was up: whoever called it was waiting for the environment."""
        is_late = closed.termination is Termination.SAFETY_TIMEOUT and self.stopwatch.seconds >= self.limits.seconds
        if not is_late or self.environment.calls.running is None or max(self.blocked()) >= _NOTICEABLE:
            return closed
        reason = f"limits.seconds = {self.limits.seconds:g} spent{self.environment.calls.busy}"
        return closed.model_copy(update={"reason": reason, "blame": Blame.ENVIRONMENT})

    async def _converse(self, agent: Agent, user: User, initial: State | None) -> Stop:
        conversation = Conversation(
            scenario=self.plan.scenario.session(self.recording.session),
            agent=agent,
            user=user,
            objection=self.roles.objection(initial, self.environment.snapshot),
            environment=self.environment,
            recording=self.recording,
            stopwatch=self.stopwatch,
            limits=self.limits,
            session_id=self.session_id,
            agent_turns=self.recording.earlier_turns,
            context=self.environment.context,
            blocked=self.blocked,
            progress=Progress(self.plan.suite.stall),
        )
        return await conversation.run()

    async def _bounded_close(self, stack: AsyncExitStack) -> None:
        """Tear down, giving up on what does not end."""
        try:
            async with asyncio.timeout(self.services.grace):
                await stack.aclose()
        except (EnvironmentFaultError, TimeoutError):
            self.runner.abandon()

    def _broken(self, error: Exception) -> Stop:
        """Close a run that never began: what the suite names and does not fit is its own fault."""
        if isinstance(error, TimeoutError | HungError) or isinstance(error.__cause__, HungError):
            self.runner.abandon()
        if isinstance(error, TimeoutError):
            return out_of_time(self.limits.seconds, Blame.AGENT, self.blocked())
        if isinstance(error, NeverUpError):
            error = suite_fault(self.plan, error.at, str(error))
        if isinstance(error, ImportPathError | SuiteError | SuiteFaultError):
            return crashed(error, Blame.SCENARIO)
        if isinstance(error, ProviderError):
            return crashed(error, Blame.PROVIDER)
        return crashed(error, Blame.ENVIRONMENT if isinstance(error, EnvironmentFaultError) else Blame.AGENT)

    def _run(self, closed: Stop, agent: Agent | None, seconds: float) -> Run:
        transcript, environment = self.recording.close(), self.environment
        shows_some = bool(transcript.trajectory) and not getattr(agent, "hides_calls", False)
        return self.plan.closed_run(
            transcript,
            session_id=self.session_id,
            termination=closed.termination,
            stop_reason=closed.reason,
            error=closed.error,
            blame=closed.blame,
            unanswered=closed.unanswered,
            toolset=environment.tools,
            # all of the agent's calls are there: as it says, else if any is and none is known to be hidden
            calls_visible=bool(getattr(agent, "calls_visible", True)) or shows_some,
            shows=frozenset(getattr(agent, "shows", ())),
            reported=dict(self.recording.reported),
            seconds=seconds,
            turn_seconds=tuple(self.recording.turn_seconds),
            down={tool: why for tool, why in environment.calls.down.items() if tool not in self.faults.struck},
            broken_tools=environment.calls.broken,
            slipped_tools=environment.calls.slipped,
            played=(self._began, self.services.wall()),
            faults=self.plan.strikes,
            met=self.faults.met,
            states=environment.states,
            log="\n".join([*environment.calls.log, *getattr(agent, "log", ())]),
            **self.roles.seen_of_user(transcript),
        )
