"""One scenario, one closed and judged run: environment up, agent built, conversation, state read, checks."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

from pytest_agentbench.agents.factory import build_agent
from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import (
    AgentBenchError,
    EnvironmentFaultError,
    ImportPathError,
    NotRunError,
    ProviderError,
    SuiteError,
    SuiteFaultError,
)
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.seams import Agent, User
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.environment.faults import HungError
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.injection.schedule import Schedule
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.replay import prepare, works
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.cast import Cast, parties_of
from pytest_agentbench.runs.expected import ExpectedStates, World
from pytest_agentbench.runs.judging import Considered, best_of, judge_in_time, undecided
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.replaying import RecordedWorlds
from pytest_agentbench.runs.run_thread import GRACE, RunnerInThread
from pytest_agentbench.runs.session_name import SessionName, new_session_id
from pytest_agentbench.simulation.clock import Slot, Stopwatch
from pytest_agentbench.simulation.conversation import Closed, Conversation, Objection, crashed, out_of_time
from pytest_agentbench.simulation.progress import Progress
from pytest_agentbench.simulation.recording import Recording
from pytest_agentbench.simulation.views import history_of

_NOTICEABLE = 0.5
"""Seconds for which the event loop was blocked, from which that is the reason to give for lost time."""

_PLAYED = frozenset({Termination.FINISHED, Termination.STALLED})
"""How a conversation ends that came to all that it asks of models; one that broke off may ask more the next time."""

AgentBuilder = Callable[["Stage"], Awaitable[Agent]]
"""Builds the agent of a run on its stage."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A closed run and what the checks decided; `not_run` says why it could not take place after all.

    `was_denied` says that a model's server did not let in who asked.
    """

    run: Run
    judgement: Judgement
    players: dict[str, str]
    usage: dict[str, Usage] = field(default_factory=dict)
    not_run: str | None = None
    was_denied: bool = False


@dataclass(kw_only=True)
class Conductor:
    """Conducts runs: holds what they share, which is the slots, the isolation of states and the expected states."""

    isolation: IsolationGate
    slot: Slot | None = None
    now: Callable[[], float] = time.monotonic
    blocked: Callable[[], Counter[str]] = Counter
    grace: float = GRACE
    models: SessionModels | None = None
    seed: int = 0
    new_session: Callable[[], str] = new_session_id
    worlds: RecordedWorlds = field(default_factory=RecordedWorlds)
    _expected: ExpectedStates = field(default_factory=ExpectedStates)

    def cast(self, plan: RunPlan) -> Cast:
        """Give who plays and judges a run that is not played here."""
        return Cast(plan, self.models, seed=self.seed, paused=nullcontext, working=self.slot or nullcontext)

    async def conduct(self, plan: RunPlan, *, agent: AgentBuilder | None = None) -> Judged:
        """Play and judge one run; whatever breaks in it becomes its verdict, never an exception."""
        stage = Stage(
            plan=plan,
            isolation=self.isolation,
            now=self.now,
            slot=self.slot,
            expected=self._expected,
            all_blocked=self.blocked,
            grace=self.grace,
            models=self.models,
            seed=self.seed,
            new_session=self.new_session,
        )
        try:
            run = await stage.play(agent or Stage.build_agent)
            judgement = undecided("") if stage.cast.not_run else await stage.judge(run)
            if run.termination in _PLAYED:
                stage.cast.finished()
        finally:
            stage.runner.close()
        return Judged(
            run=run,
            judgement=judgement,
            players={"agent": stage.player, **parties_of(plan.suite)},
            usage=stage.cast.usage,
            not_run=stage.cast.not_run,
            was_denied=stage.cast.was_denied,
        )


@dataclass(kw_only=True)
class Stage:
    """Where one run takes place.

    Its `name` is the same every time and names threads and environments; its `session_id`, which is what the agent and
    its servers see, is new every time.
    """

    plan: RunPlan
    isolation: IsolationGate
    now: Callable[[], float]
    slot: Slot | None
    expected: ExpectedStates
    all_blocked: Callable[[], Counter[str]]
    grace: float = GRACE
    models: SessionModels | None = None
    seed: int = 0
    new_session: Callable[[], str] = new_session_id
    wall: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self._began = self.wall()
        self.name = self.plan.task_name
        self.session_id = self.new_session()
        self.runner = RunnerInThread(f"agentbench-{self.name}")
        self.recording = Recording(history_of(self.plan.scenario))
        self.limits = self.plan.limits
        self.context = {**self.plan.suite.context, **self.plan.scenario.context}
        self.environment = self.new_environment(self.name)
        self.faults = Schedule(self.plan.strikes, seed=digest([self.seed, str(self.plan.key)]))
        self.player = self.plan.suite.agent.target
        self._stopwatch = Stopwatch(self.now, self.slot)
        clock = self._stopwatch
        self.cast = Cast(self.plan, self.models, seed=self.seed, paused=clock.paused, working=clock.working)
        self._blocked_before = self.all_blocked()
        if task := asyncio.current_task():
            task.set_name(self.name)

    @property
    def root(self) -> Path:
        """The folder that import paths resolve from."""
        return self.plan.suite.root

    def blocked(self) -> tuple[float, float]:
        """Give the seconds for which this run, and for which all others, blocked the event loop since it began."""
        since = self.all_blocked()
        since.subtract(self._blocked_before)
        return since[self.name], sum(since.values()) - since[self.name]

    def new_environment(self, name: str) -> LocalEnvironment:
        """Give a fresh environment in the scenario's initial state."""
        spec, initial = self.plan.suite.environment, self.plan.scenario.task.initial_state
        whole = initial.model_dump() if initial else {}
        return LocalEnvironment(
            spec,
            root=self.root,
            scenario_state=whole if spec.tau2 else (whole.get("initialization_data") or {}).get("agent_data") or {},
            context=self.context,
            run_name=name,
            session_id=self.session_id if name == self.name else self.new_session(),
            runner=self.runner,
            gate=self.isolation,
            known=self.plan.toolset or None,
            patience=self.grace,
            is_over=self._is_out_of_time,
            plugged=self.plan.extensions.state,
        )

    async def build_agent(self) -> Agent:
        """Call the suite's factory with the variant's keywords and whatever it declares."""
        spec = self.plan.suite.agent
        has_factory = spec.openai is None and spec.http is None
        async with asyncio.timeout(self.limits.seconds):
            return await build_agent(
                spec,
                root=self.root,
                keywords=self.plan.keywords,
                offered={
                    "tools": self.environment.wrapped_tools(self.recording.observe) if has_factory else [],
                    "state": self.environment.handle,
                    "context": self.environment.context,
                    "session_id": self.session_id,
                    "base_url": self.cast.base_url,
                    **({} if self.plan.suite.now is None else {"now": self.plan.suite.now}),
                },
                run_sync=self.runner,
                chat=partial(self.cast.chat, "agent"),
                http=self.models.http if self.models and spec.http else None,
                other=self.plan.extensions.agent,
            )

    async def play(self, build: AgentBuilder, user: User | None = None) -> Run:
        """Play the conversation, with a `user` of the caller's where there is one, and read what is left of the world."""
        stopwatch = self._stopwatch
        agent: Agent | None = None
        initial: State | None = None
        final: State | None = None
        async with AsyncExitStack() as stack:
            try:
                self.cast.begin(self.limits, SessionName(self.session_id, known_as=self.name))
                async with stopwatch.paused():  # the run's seconds are those of its parties
                    await stack.enter_async_context(self.environment)
                    await self._prepare()
                    initial = await self.environment.snapshot()
                    if self.plan.keeps_states:
                        self.environment.keep_states()
                    if self.faults.faults:
                        await self.environment.strike(self.faults)
                    self.environment.limit_calls(self.limits.tool_calls, made=self.recording.calls)
                    agent = await build(self)
                user = user or self.cast.user(initial, self.environment.tools)
                objection = self.cast.objection(initial, self.environment.snapshot)
                closed = self._named(await self._converse(agent, user, stopwatch, objection))
                closed = self._overruled(closed)
                if self.environment.fault is not None:
                    closed = crashed(self.environment.fault, Blame.ENVIRONMENT)
            except NotRunError as error:
                self.cast.stop(error)
                closed = self._overruled(crashed(error, Blame.PROVIDER))
            except (AgentBenchError, TimeoutError) as error:
                closed = self._overruled(self._broken(error))
            seconds = stopwatch.seconds
            self.environment.seal()
            if closed.termination is Termination.SAFETY_TIMEOUT:
                self.runner.abandon()
            try:
                final = None if closed.blame is Blame.ENVIRONMENT else await self.environment.snapshot(like=initial)
            except EnvironmentFaultError as error:
                closed = self._broken(error)
            stack.push_async_callback(self._bounded_close, stack.pop_all())
        return self._run(closed, agent, seconds).model_copy(update={"initial_state": initial, "final_state": final})

    def _overruled(self, closed: Closed) -> Closed:
        return self.cast.overrule(closed, self.limits.seconds)

    async def judge(self, run: Run) -> Judgement:
        """Judge by each way that is right until one passes, then have models judge the rest."""
        if run.broken_tools:
            run = await self.only_here(run)
        considered, judgement = await best_of(self.plan.ways, lambda plan: self._judge_by(plan, run))
        return await self.cast.judged(considered, judgement, self.runner)

    async def expecting(self, plan: RunPlan, run: Run) -> Run:
        """Give the run with the state that the expected calls of `plan` lead to."""
        world = World(
            environment=self.new_environment,
            runner=self.runner,
            resolve=self._resolve,
            seconds=self.limits.seconds,
            wall=self.wall,
        )
        return await self.expected.expect(plan, run, world)

    def _resolve(self, path: str) -> Callable[[JsonValue], object]:
        return cast("Callable[[JsonValue], object]", load_object(path, self.root))

    async def only_here(self, run: Run) -> Run:
        """Keep of the tools that broke at every call of the run those that a fresh world answers the same call of.

        One that breaks there too is nobody's to use where the call is what the scenario expects.
        """
        struck = {hit.tool for hit in run.met}
        broken: dict[str, str] = {}
        useless: dict[str, str] = {}
        for name, why in run.broken_tools.items():
            calls = [record.call for record in run.transcript.trajectory if record.call.name == name]
            fresh = partial(self.new_environment, f"{self.name}-{name}")
            if not calls or name in struck:
                continue
            wanted = self.plan.scenario.expected_calls
            expected = (call for call in calls if any(is_call_of(want, call, self._resolve) for want in wanted))
            call = next(expected, None)
            if await works(fresh, call or calls[0], self.plan.scenario, self.grace):
                broken[name] = why
            elif call is not None:
                useless[name] = why
        return run.model_copy(update={"broken_tools": broken, "useless_tools": useless})

    async def _judge_by(self, plan: RunPlan, run: Run) -> Considered:
        """Compute the expected state, then run all checks in the run's thread."""
        try:
            run = await self.expecting(plan, run)
        except AgentBenchError as error:
            return run, undecided(f"{run.key.suite}: the state that the expected calls lead to cannot be told: {error}")
        return run, await judge_in_time(run, plan, self.runner, self.grace)

    async def _prepare(self) -> None:
        """Make the scenario's initial calls; raise `HungError` naming the one that does not end."""
        try:
            async with asyncio.timeout(self.grace):
                await prepare(self.environment, self.plan.scenario)
        except TimeoutError:
            raise HungError(
                f"the initialization actions have not ended within {self.grace:g} s{self.environment.busy}"
            ) from None

    def _is_out_of_time(self) -> bool:
        deadline = self._stopwatch.deadline
        return deadline is not None and deadline.expired()

    def _named(self, closed: Closed) -> Closed:
        """Name the tool in flight when time was up: whoever called it was waiting for the environment."""
        is_late = closed.termination is Termination.SAFETY_TIMEOUT and self._stopwatch.seconds >= self.limits.seconds
        if not is_late or self.environment.running is None or max(self.blocked()) >= _NOTICEABLE:
            return closed
        reason = f"limits.seconds = {self.limits.seconds:g} spent{self.environment.busy}"
        return replace(closed, reason=reason, blame=Blame.ENVIRONMENT)

    async def _converse(
        self, agent: Agent, user: User, stopwatch: Stopwatch, objection: Objection | None = None
    ) -> Closed:
        conversation = Conversation(
            scenario=self.plan.scenario,
            agent=agent,
            user=user,
            objection=objection,
            environment=self.environment,
            recording=self.recording,
            stopwatch=stopwatch,
            limits=self.limits,
            session_id=self.session_id,
            context=self.environment.context,
            blocked=self.blocked,
            progress=Progress(self.plan.suite.stall),
        )
        return await conversation.run()

    async def _bounded_close(self, stack: AsyncExitStack) -> None:
        """Tear down, giving up on what does not end."""
        try:
            async with asyncio.timeout(self.grace):
                await stack.aclose()
        except (EnvironmentFaultError, TimeoutError):
            self.runner.abandon()

    def _broken(self, error: Exception) -> Closed:
        """Close a run that never began: what the suite names and does not fit is its own fault."""
        if isinstance(error, TimeoutError | HungError) or isinstance(error.__cause__, HungError):
            self.runner.abandon()
        if isinstance(error, TimeoutError):
            return out_of_time(self.limits.seconds, Blame.AGENT, self.blocked())
        if isinstance(error, ImportPathError | SuiteError | SuiteFaultError):
            return crashed(error, Blame.SCENARIO)
        if isinstance(error, ProviderError):
            return crashed(error, Blame.PROVIDER)
        return crashed(error, Blame.ENVIRONMENT if isinstance(error, EnvironmentFaultError) else Blame.AGENT)

    def _run(self, closed: Closed, agent: Agent | None, seconds: float) -> Run:
        transcript = self.recording.close()
        return Run(
            key=self.plan.key,
            session_id=self.session_id,
            scenario=self.plan.scenario,
            policies=self.plan.policies,
            now=self.plan.suite.now,
            transcript=transcript,
            termination=closed.termination,
            stop_reason=closed.reason,
            error=closed.error,
            blame=closed.blame,
            toolset=self.environment.tools,
            calls_visible=_calls_visible(agent, transcript),
            shows=frozenset(getattr(agent, "shows", ())),
            reported=dict(self.recording.reported),
            seconds=seconds,
            broken_tools=self.environment.broken,
            played=(self._began, self.wall()),
            faults=self.plan.strikes,
            met=self.faults.met,
            states=self.environment.states,
            log="\n".join([*self.environment.log, *getattr(agent, "log", ())]),
            **self.cast.seen_of_user(transcript),
        )


def _calls_visible(agent: Agent | None, transcript: Transcript) -> bool:
    """Whether all of the agent's calls are there: as it says, else if any is and none is known to be hidden."""
    is_whole = bool(transcript.trajectory) and not getattr(agent, "hides_calls", False)
    return bool(getattr(agent, "calls_visible", True)) or is_whole
