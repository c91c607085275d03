"""All runs of one process: the loop they share, the pool that starts them, their models, and what keeps their results.

Nothing is opened and no thread started before the first run. What is closed opens anew when another run asks for it.

What agents and tools print and log is kept per run: conversations overlap, and pytest would give it to any item. It is
told apart by context, which tasks and the run's own thread inherit. Threads that an agent makes itself do not inherit
it before Python 3.14; what they print goes where pytest puts it. Writes past Python (subprocesses, C code) cannot be
split.
"""

import asyncio
import contextlib
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, TextIO
from weakref import WeakSet

from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result, Run, RunKey
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.environment.isolation import MOST_BYTES, IsolationGate
from pytest_agentbench.environment.state_provider import bytes_per_run
from pytest_agentbench.runs.access import Accounts, SessionModels
from pytest_agentbench.runs.loop_thread import LoopThread
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.pool import LoopBlockedError, Pool, Slots
from pytest_agentbench.runs.result import crash_result, crashed, deserves_another
from pytest_agentbench.runs.roles import Roles
from pytest_agentbench.runs.runner import AgentBuilder, Services, run_scenario
from pytest_agentbench.runs.transcript_runs import judge_recorded

_MOST = 200_000
"""Characters kept per run; the rest is counted."""

_BUFFER: ContextVar["RunOutput | None"] = ContextVar("agentbench_output", default=None)


class RunOutput:
    """Collects the output of one run."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._left_out = 0

    def write(self, text: str) -> None:
        """Keep `text`, as far as there is room."""
        room = _MOST - self._size
        self._parts.append(text[:room] if room > 0 else "")
        self._size += len(text)
        self._left_out += max(0, len(text) - max(room, 0))

    @property
    def text(self) -> str:
        """What was printed and logged."""
        rest = f"\n… {count(self._left_out, 'more character')}" if self._left_out else ""
        return "".join(self._parts) + rest


@contextlib.contextmanager
def kept_apart() -> Iterator[RunOutput]:
    """Give what the code of this context prints and logs, and keep it from everybody else."""
    output = RunOutput()
    token = _BUFFER.set(output)
    try:
        yield output
    finally:
        _BUFFER.reset(token)


class OutputRouter:
    """Sends the output of runs to their own buffers while it is installed; all other output goes its usual way.

    pytest swaps `sys.stdout` and `sys.stderr` between phases, so `watch` is called in each; it is cheap and may be
    repeated.
    """

    def __init__(self) -> None:
        self._streams: WeakSet[TextIO] = WeakSet()
        self._handlers: list[logging.Handler] = []
        self._handler = _BufferHandler()
        self._handler.setFormatter(logging.Formatter("%(levelname)-8s %(name)s: %(message)s"))

    def watch(self) -> None:
        """Route what goes through the current streams and log handlers."""
        for stream in (sys.stdout, sys.stderr):
            if stream not in self._streams and hasattr(stream, "__dict__"):
                self._streams.add(stream)
                stream.write = _routed(stream.write)  # type: ignore[method-assign]  # until it is undone
                stream.close = _kept_open(stream.close)  # type: ignore[method-assign]  # the same
        root = logging.getLogger()
        if self._handler not in root.handlers:
            root.addHandler(self._handler)
        for handler in root.handlers:
            if handler is not self._handler and handler not in self._handlers:
                self._handlers.append(handler)
                handler.addFilter(_is_no_run)

    def stop(self) -> None:
        """Leave streams and handlers as they were."""
        for stream in list(self._streams):
            with contextlib.suppress(AttributeError):
                del stream.write, stream.close
        self._streams.clear()
        for handler in self._handlers:
            handler.removeFilter(_is_no_run)
        self._handlers.clear()
        logging.getLogger().removeHandler(self._handler)


def _routed(write: Callable[[str], int]) -> Callable[[str], int]:
    def routed(text: str) -> int:
        output = _BUFFER.get()
        if output is None:
            return write(text)
        output.write(text)
        return len(text)

    return routed


def _kept_open(close: Callable[[], None]) -> Callable[[], None]:
    """Let only what is no run's close a stream that all runs print to."""
    return lambda: close() if _BUFFER.get() is None else None


class _BufferHandler(logging.Handler):
    """Formats the records of a run into its buffer."""

    def emit(self, record: logging.LogRecord) -> None:
        output = _BUFFER.get()
        if output is None:
            return
        try:
            output.write(self.format(record) + "\n")
        except Exception:  # noqa: BLE001 - logging never raises into the code that logs
            self.handleError(record)


def _is_no_run(_: logging.LogRecord) -> bool:
    """Let a handler have only what no run has logged."""
    return _BUFFER.get() is None


Attempts = tuple[tuple[Run | None, Result], ...]
"""All attempts at one run, the deciding one last; what an earlier session stored has no `Run`."""

_LOOPS = 3
"""Event loops that a run may see lost to others before it is given up."""

_GOODBYE = 2.0
"""Seconds that connections to models have to close."""

_STATES: dict[str, object] = {"initial_state": None, "final_state": None, "expected_state": None, "states": ()}
"""What a run is kept without while it waits for its turn: states may be large."""


class Keeper(Protocol):
    """Keeps results and conversations, and notes which runs are in flight."""

    def started(self, key: RunKey) -> None:
        """Note that a run begins."""

    def ended(self, key: RunKey) -> None:
        """Note that a run is over without a result of its own."""

    def append(self, result: Result, transcript: Transcript | None = None) -> Result:
        """Keep an attempt; give the result as kept."""

    def close(self) -> None:
        """Close what is open."""


def state_size(suite: Suite) -> int:
    """Give about how many bytes a run's state takes, 0 where nobody knows; what cannot be read is told by the run."""
    try:
        return bytes_per_run(suite.environment.state, suite.root)
    except OSError:
        return 0


@dataclass(kw_only=True, repr=False)
class RunService:
    """Plays and judges runs, at most `concurrency` agent turns at a time.

    `open_keeper` and `open_accounts` are asked when the first run begins, and again after `close`; the latter is told
    whether it is the first time. `redact` takes secrets out of what was printed. `workers` share the memory, `locks` is
    the folder of what they lock, and `reaches_all` says whether the others see it. States, which may be large, are
    handed over where it `keeps_states`, conversations kept where it `keeps_transcript`. A run that its model spoilt is
    played once more, unless it `replays` recordings.
    """

    concurrency: int
    open_keeper: Callable[[], Keeper]
    open_accounts: Callable[[bool], Accounts]
    redact: Callable[[str], str]
    locks: Path
    reaches_all: Callable[[], bool] = lambda: True
    workers: int = 1
    seed: int = 0
    replays: bool = False
    eager_tail: bool = True
    keeps_states: bool = False
    keeps_transcript: Callable[[Result], bool] = lambda _: True
    router: OutputRouter = field(default_factory=OutputRouter)
    _loop: LoopThread | None = None
    _pool: Pool[Attempts] | None = None
    _services: Services | None = None
    _models: SessionModels | None = None
    _accounts: Accounts | None = None
    _had_accounts: bool = False
    _keeper: Keeper | None = None
    _writes: ThreadPoolExecutor | None = None
    _gate: IsolationGate | None = None
    _serial: dict[tuple[str, int], asyncio.Lock] = field(default_factory=dict)

    @property
    def pool(self) -> Pool[Attempts]:
        """The conversations in flight; another one after `close`."""
        if self._pool is None:
            self._pool = Pool(self._running_loop(), slots=self.concurrency, eager_tail=self.eager_tail)
        return self._pool

    @property
    def accounts(self) -> Accounts:
        """What is recorded and what is spent."""
        if self._accounts is None:
            self._accounts = self.open_accounts(not self._had_accounts)
            self._had_accounts = True
        return self._accounts

    @property
    def keeper(self) -> Keeper:
        """What keeps the results; opened once all suites, and so all secrets, are known."""
        if self._keeper is None:
            self._keeper = self.open_keeper()
        return self._keeper

    @property
    def in_flight(self) -> int:
        """The number of runs started and not yet done."""
        return self._pool.in_flight if self._pool else 0

    def start(self, plan: RunPlan) -> None:
        """Start a run now unless it has been started."""
        self.pool.start(plan.key, partial(self._attempts, plan))

    def queue(self, plans: Iterable[RunPlan]) -> None:
        """Replace the runs that may start ahead of their turn."""
        self.pool.queue([(plan.key, partial(self._attempts, plan)) for plan in plans])

    def finish(self, plan: RunPlan) -> Attempts:
        """Start a run unless it has been, and wait for it.

        One that loses the event loop to code which blocks it is begun again; where it is its own code, or all loops are
        lost, it counts as crashed.
        """
        found = self._outlasting(plan, partial(self._attempts, plan))
        if isinstance(found, LoopBlockedError):
            return ((None, self.keeper.append(crash_result(plan.planned, str(found)))),)
        return found

    def drain(self, plan: RunPlan) -> None:
        """Wait until nothing is in flight, as long as a run of this plan may take."""
        self.pool.drain(limit=plan.limits.seconds)

    def simulate(self, plan: RunPlan, agent: AgentBuilder | None = None) -> tuple[Run, Result]:
        """Play one run once, with all of its states, and wait for it; where it blocks its loop, it has crashed."""
        found = self._outlasting(plan, partial(self._once, plan, agent))
        if isinstance(found, LoopBlockedError):
            return crashed(plan, str(found)), self.keeper.append(crash_result(plan.planned, str(found)))
        [(run, result)] = found
        if run is None:
            raise ValueError(f"{plan.key} was not played")
        return run, result

    def _outlasting(self, plan: RunPlan, work: Callable[[], Awaitable[Attempts]]) -> Attempts | LoopBlockedError:
        """Wait for a run, begun anew where code of others blocks the event loop; give what took the loop from it."""
        for loops_left in reversed(range(_LOOPS)):
            self.pool.start(plan.key, work)
            try:
                return self.pool.take(plan.key, limit=plan.limits.seconds)
            except LoopBlockedError as error:
                blocked = error
                self.close()  # the loop is lost to whatever blocks it; the next start makes a new one
            if blocked.task == plan.task_name or not loops_left:
                break
        return blocked

    async def simulate_here(self, plan: RunPlan, agent: AgentBuilder | None = None) -> tuple[Run, Result]:
        """Play one run on the running loop, which is not the session's: slots and locks belong to loops."""
        models = self.accounts.models()
        try:
            return await self._play(plan, agent, Services(isolation=self._isolation, models=models, seed=self.seed))
        finally:
            await models.close()

    async def finish_here(self, plans: Iterable[RunPlan]) -> list[Attempts]:
        """Play runs on the running loop, which is not the session's, and give their attempts in order."""
        models = self.accounts.models()
        slot, room = Slots(self.concurrency), asyncio.Semaphore(self.concurrency + self.concurrency // 4)
        services = Services(isolation=self._isolation, slot=slot, models=models, seed=self.seed)

        async def finish(plan: RunPlan) -> Attempts:
            async with room:
                return await self._attempts(plan, services)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(finish(plan)) for plan in plans]
            return [task.result() for task in tasks]
        finally:
            await models.close()

    def close(self) -> int:
        """Cancel what is in flight and end the loop; give the number of cancelled runs."""
        cancelled = self._pool.cancel_all() if self._pool else 0
        self.router.stop()
        if self._loop:
            if self._models is not None:
                self._loop.give(self._models.close(), seconds=_GOODBYE)
            self._loop.stop()
            self._loop = self._pool = self._services = self._models = None
            self._serial.clear()
        if self._gate:
            self._gate.release_all()
        if self._accounts is not None:
            self._accounts.close()
            self._accounts = None
        if self._writes is not None:
            self._writes.shutdown()
            self._writes = None
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        return cancelled

    def _running_loop(self) -> LoopThread:
        if self._loop is None:
            self._loop = LoopThread()
        return self._loop

    def _shared(self) -> Services:
        """Give what the runs on the session's loop share."""
        if self._services is None:
            loop = self._running_loop()
            self._models = self.accounts.models()
            self._services = Services(
                isolation=self._isolation,
                slot=Slots(self.concurrency),
                blocked=lambda: loop.blocked,
                models=self._models,
                seed=self.seed,
            )
        return self._services

    @property
    def _isolation(self) -> IsolationGate:
        if self._gate is None:
            room = MOST_BYTES // self.workers
            self._gate = IsolationGate(self.locks, reaches_all=self.reaches_all(), room=room)
        return self._gate

    async def _once(self, plan: RunPlan, agent: AgentBuilder | None) -> Attempts:
        return (await self._play(plan, agent, self._shared()),)

    async def _attempts(self, plan: RunPlan, by: Services | None = None) -> Attempts:
        """Play a run, and once more where it was spoilt."""
        left_out = {} if self.keeps_states else _STATES
        run, result = await self._play(plan, None, by or self._shared())
        first = (run.model_copy(update=left_out), result)
        if plan.recording is not None or not deserves_another(run, result, replaying=self.replays):
            return (first,)
        run, result = await self._play(plan.again(), None, by or self._shared())
        return first, (run.model_copy(update=left_out), result)

    async def _play(self, plan: RunPlan, agent: AgentBuilder | None, by: Services) -> tuple[Run, Result]:
        async with self._isolation.room_for(state_size(plan.suite)):
            keeper = self.keeper
            keeper.started(plan.key)
            try:
                with kept_apart() as output:
                    run, result = await self._judged(plan, agent, by)
            except BaseException:
                keeper.ended(plan.key)
                raise
            if self._writes is None:
                self._writes = ThreadPoolExecutor(1, thread_name_prefix="agentbench-writes")
            # files take their time, and the other runs go on meanwhile; what is cancelled from here on is kept as well
            transcript = run.transcript if self.keeps_transcript(result) else None
            storing = asyncio.get_running_loop().run_in_executor(self._writes, keeper.append, result, transcript)
            stored = await asyncio.shield(storing)
            return run.model_copy(update={"printed": self.redact(output.text)}), stored

    async def _judged(self, plan: RunPlan, agent: AgentBuilder | None, services: Services) -> tuple[Run, Result]:
        if plan.recording is not None:
            slot = services.slot or nullcontext
            roles = Roles(plan, services.models, seed=services.seed, working=slot)
            return await judge_recorded(plan, plan.recording, services.worlds, roles=roles)
        if not plan.suite.agent.serial:
            return await run_scenario(plan, services, agent=agent)
        key = (plan.suite_key, id(asyncio.get_running_loop()))
        async with self._serial.setdefault(key, asyncio.Lock()):
            return await run_scenario(plan, services, agent=agent)
