"""What all plugins of one process share: options, the run directory, the pool of conversations, stored results."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

import pytest

from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.run import Judgement, Result, Run, RunKey
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.environment.isolation import MOST_BYTES, IsolationGate
from pytest_agentbench.environment.own_state import bytes_per_run
from pytest_agentbench.plugin.accounts import Accounts
from pytest_agentbench.plugin.directory import CRASHES, PLAN, continued, new_directory, posted
from pytest_agentbench.plugin.early_stop import EarlyStop
from pytest_agentbench.plugin.hosts import Posting, sees
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.plugin.wire import Meta
from pytest_agentbench.results.files import LineLog, numbered_lines, write_atomic
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.results.store import RunDirectory, RunWriter, without_attempt
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.loop_thread import LoopThread
from pytest_agentbench.runs.output import OutputRouter, kept_apart
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.pool import Pool, Slots, Work
from pytest_agentbench.runs.recorded import judge_recorded
from pytest_agentbench.runs.result import deserves_another, result_of
from pytest_agentbench.runs.roles import Roles
from pytest_agentbench.runs.runner import AgentBuilder, Judged, Services, run_scenario

Role = Literal["single", "controller", "worker"]

_GOODBYE = 2.0
"""Seconds that connections to models have to close."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A run's result as stored; run and judgement are None but for simulations of a test: states may be large.

    `earlier` are the results of attempts before this one. `was_denied` says that a model's server let nobody in.
    """

    result: Result
    run: Run | None = None
    judgement: Judgement | None = None
    output: str = ""
    earlier: tuple[Result, ...] = ()
    was_denied: bool = False


def state_size(suite: Suite) -> int:
    """Give about how many bytes a run's state takes, 0 where nobody knows; what cannot be read is told by the run."""
    try:
        return bytes_per_run(suite.environment.state, suite.root)
    except OSError:
        return 0


def bound_by_states(suite: Suite, options: Options, runs: int) -> str:
    """Say how many runs fit into memory at once where that is fewer than there might be; else nothing."""
    size = state_size(suite)
    most = max(MOST_BYTES // options.workers // size, 1) if size else runs
    if most >= min(runs, options.concurrency + options.concurrency // 4):
        return ""
    where = " in each process" if options.workers > 1 else ""
    return f"a run's state takes about {size / 1e6:,.0f} MB: at most {most} runs at once{where}"


def _told(finished: Finished) -> Finished:
    """Give what a suite's item asks for: the result, without the run's states, which wait for their turn in memory."""
    return replace(finished, run=None, judgement=None)


@dataclass(kw_only=True, repr=False)
class Bench:
    """The shared services of one process. Nothing is created on disk, and no thread started, before the first run."""

    options: Options
    role: Role
    process: str = "main"
    run_path: Path | None = None
    posting: Posting | None = None
    secrets: set[str] = field(default_factory=set, repr=False)
    public: set[str] = field(default_factory=set, repr=False)
    router: OutputRouter = field(default_factory=OutputRouter)
    metas: dict[str, Meta] = field(default_factory=dict)
    variants: set[str] = field(default_factory=set)
    told: list[str] = field(default_factory=list)
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    early_stop: EarlyStop = field(default_factory=EarlyStop)
    _redactor: tuple[int, Redactor] | None = None
    _directory: RunDirectory | None = None
    _writer: RunWriter | None = None
    _writing: ThreadPoolExecutor | None = None
    _loop: LoopThread | None = None
    _pool: Pool[Finished] | None = None
    _services: Services | None = None
    _models: SessionModels | None = None
    _accounts: Accounts | None = None
    _has_started: bool = False
    _stored: dict[RunKey, Result] = field(default_factory=dict)
    _suspects: frozenset[RunKey] = frozenset()
    _crashes_seen: int = -1
    _serial: dict[tuple[str, int], asyncio.Lock] = field(default_factory=dict)
    _gate: IsolationGate | None = None

    @property
    def directory(self) -> RunDirectory:
        """The run directory: continued, opened where the controller made it, or made now."""
        if self._directory is None:
            if self.posting is not None:
                self._directory = posted(self.posting, self.options)
            else:
                found = continued(self.options) if self.options.resume else None
                self._directory = found or new_directory(self.options, told=self.told)
            self.run_path = self._directory.path
        return self._directory

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is a worker on another host than the controller's."""
        return self.posting is not None and self.posting.elsewhere

    @property
    def loop(self) -> LoopThread:
        """The session's event loop."""
        if self._loop is None:
            self._loop = LoopThread()
        return self._loop

    @property
    def pool(self) -> Pool[Finished]:
        """The conversations in flight."""
        if self._pool is None:
            self._pool = Pool(self.loop, slots=self.options.concurrency, eager_tail=not self.options.stops_early)
        return self._pool

    @property
    def services(self) -> Services:
        """What the session's runs share: slots, isolation and models."""
        if self._services is None:
            loop, slots = self.loop, Slots(self.options.concurrency)
            self._models = self.accounts.models()
            self._services = Services(
                isolation=self._isolation,
                slot=slots,
                blocked=lambda: loop.blocked,
                models=self._models,
                seed=self.options.seed,
            )
        return self._services

    @property
    def accounts(self) -> Accounts:
        """What is recorded and what is spent."""
        if self._accounts is None:
            self._accounts = Accounts(
                self.options,
                process=self.process,
                run_path=lambda: self.directory.path,
                redact=self._redacted,
                starts=not self._has_started and (self.role != "worker" or self.is_elsewhere),
                account=self.posting.account if self.posting else "",
            )
            self._has_started = True
        return self._accounts

    @property
    def _isolation(self) -> IsolationGate:
        if self._gate is None:
            alone = self.posting is not None and self.is_elsewhere and not sees(self.posting)
            room = MOST_BYTES // self.options.workers
            self._gate = IsolationGate(self.options.directory / "locks", reaches_all=not alone, room=room)
        return self._gate

    @property
    def redactor(self) -> Redactor:
        """Takes the secrets of all suites read so far out of whatever is written or shown."""
        known = len(self.secrets) + len(self.public)
        if self._redactor is None or self._redactor[0] != known:
            self._redactor = (known, Redactor(self.secrets, self.public))
        return self._redactor[1]

    def _redacted(self, value: JsonValue) -> JsonValue:
        """Take out the secrets known by now: suites may be read after whoever asks was made."""
        return self.redactor.json(value)

    def stored(self, plan: RunPlan, nodeid: str, scenario_hash: str) -> Result | None:
        """Give the result of a run that this session, or the one it continues, has finished already.

        None when there is none, or when scenario or suite changed since.
        """
        found = self._stored.get(without_attempt(plan.key)) if self._stored else None
        if found is None or plan.attempt > 1 or found.not_run is not None:
            return None
        if (found.scenario_hash, found.suite_hash) != (scenario_hash, plan.suite.content_hash):
            return None
        return found.model_copy(
            update={
                "nodeid": nodeid,
                "pending": plan.suite.is_pending(plan.scenario),
                "quarantine": plan.scenario.quarantine,
            }
        )

    def is_suspect(self, key: RunKey) -> bool:
        """Whether the run was in flight when a process died, so that it must run with nothing beside it."""
        return self.has_suspects and without_attempt(key) in self._suspects

    @property
    def has_suspects(self) -> bool:
        """Whether any run was in flight when a process died."""
        return bool(self._suspects)

    def work(self, plan: RunPlan, known: Result) -> Work[Finished]:
        """Give what the pool starts for a plan of which so much is `known`; a spoilt run is played once more."""
        return lambda: self._conduct_again(plan, known)

    def work_once(self, plan: RunPlan, known: Result, agent: AgentBuilder | None) -> Work[Finished]:
        """Give what the pool starts for a simulation of a test of which so much is `known`."""
        return lambda: self._conduct(plan, known, agent, self.services)

    async def conduct_here(self, plan: RunPlan, known: Result, agent: AgentBuilder | None) -> Finished:
        """Play a plan on the running loop, which is not the session's: slots and locks belong to loops."""
        models = self.accounts.models()
        services = Services(isolation=self._isolation, models=models, seed=self.options.seed)
        try:
            return await self._conduct(plan, known, agent, services)
        finally:
            await models.close()

    async def _conduct_again(self, plan: RunPlan, known: Result) -> Finished:
        first = _told(await self._conduct(plan, known, None, self.services))
        replaying = self.options.cassette == "replay"
        if plan.recording is not None or first.was_denied or not deserves_another(first.result, replaying=replaying):
            return first
        second = _told(await self._conduct(plan.again(), known, None, self.services))
        return replace(second, earlier=(first.result,))

    async def _conduct(self, plan: RunPlan, known: Result, agent: AgentBuilder | None, by: Services) -> Finished:
        async with self._isolation.room_for(state_size(plan.suite)):
            return await self._conduct_now(plan, known, agent, by)

    async def _conduct_now(self, plan: RunPlan, known: Result, agent: AgentBuilder | None, by: Services) -> Finished:
        writer = self.writer
        writer.started(plan.key)
        try:
            with kept_apart() as output:
                judged = await self._judged(plan, agent, by)
        except BaseException:
            writer.ended(plan.key)
            raise
        result = result_of(plan, judged, known)
        keeps = {"all": True, "failed": not result.passed, "none": False}[self.options.transcripts]
        transcript = judged.run.transcript if keeps else None
        # files take their time, and the other runs go on meanwhile; what is cancelled from here on is kept all the same
        storing = asyncio.get_running_loop().run_in_executor(self._writes, writer.append, result, transcript)
        return Finished(
            result=await asyncio.shield(storing),
            run=judged.run,
            judgement=judged.judgement,
            output=self.redactor.text(output.text),
            was_denied=judged.was_denied,
        )

    async def _judged(self, plan: RunPlan, agent: AgentBuilder | None, services: Services) -> Judged:
        if plan.recording is not None:
            slot = services.slot or nullcontext
            roles = Roles(plan, services.models, seed=services.seed, working=slot)
            return await judge_recorded(plan, plan.recording, services.worlds, roles=roles)
        if not plan.suite.agent.serial:
            return await run_scenario(plan, services, agent=agent)
        key = (plan.suite_key, id(asyncio.get_running_loop()))
        async with self._serial.setdefault(key, asyncio.Lock()):
            return await run_scenario(plan, services, agent=agent)

    @property
    def writer(self) -> RunWriter:
        """What this process writes to the run directory; opened once all suites, and so all secrets, are known."""
        if self._writer is None:
            self._writer = self.directory.writer(self.process, self.redactor)
        return self._writer

    @property
    def in_flight(self) -> int | None:
        """The runs in flight here, None where workers play them."""
        return None if self.role == "controller" else (self._pool.in_flight if self._pool else 0)

    @property
    def _writes(self) -> ThreadPoolExecutor:
        """The one thread in which finished runs are written."""
        if self._writing is None:
            self._writing = ThreadPoolExecutor(1, thread_name_prefix="agentbench-writes")
        return self._writing

    def note_crash(self, suspects: list[RunKey]) -> None:
        """Tell all processes which runs were in flight when one died."""
        log = LineLog(self.directory.path / CRASHES)
        log.append([key.model_dump() for key in suspects])
        log.close()

    def load_stored(self) -> None:
        """Read what the run directory holds: finished runs, and those that were in flight when a process died."""
        self._stored = dict(self.directory.results())
        self.early_stop.stored = self._stored
        in_flight = self.directory.in_flight() if self.options.resume else ()
        noted = self._noted_crashes()
        self._suspects = frozenset(without_attempt(key) for key in (*in_flight, *noted))

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
        if self._writing is not None:
            self._writing.shutdown()
            self._writing = None
        if self._writer:
            self._writer.close()
            self._writer = None
        return cancelled

    def release(self) -> None:
        """Give the run directory back at the end of the session."""
        if self._directory is not None and self.role != "worker":
            self._directory.end()
            self._directory.close()

    def open_directory(self) -> None:
        """Make the run directory now; raise `pytest.UsageError` where nothing can be written."""
        try:
            _ = self.directory
        except (ResultsError, OSError) as error:
            raise pytest.UsageError(
                f"results cannot be written to {self.options.directory}: {error}; "
                "choose another folder with `-o agentbench_dir=FOLDER`"
            ) from None

    def write_plan(self) -> None:
        """Tell the controller which runs there are, before any of them starts."""
        write_atomic(self.directory.path / PLAN, dumps(list(self.metas.values())))

    def read_plan(self) -> None:
        """Learn from the workers which runs there are."""
        file = self.run_path / PLAN if self.run_path else None
        if not self.metas and file is not None and file.exists():
            metas = (Meta.model_validate(meta) for meta in loads(file.read_text(encoding="ascii")))
            self.metas = {meta.name: meta for meta in metas}

    def look_for_crashes(self) -> None:
        """Read the run directory again when a crash was noted since: what is stored or suspect may have changed."""
        if self.run_path is None and not self.options.resume:
            return
        try:
            size = (self.directory.path / CRASHES).stat().st_size
        except FileNotFoundError:
            size = 0
        if size == self._crashes_seen:
            return
        first, self._crashes_seen = self._crashes_seen == -1, size
        if size or (first and self.options.resume):
            self.load_stored()

    def files_for_others(self) -> dict[str, str]:
        """Give what a worker must find in its run directory where it has one of its own: finished runs, suspects."""
        self.look_for_crashes()
        files = {}
        if self._stored:
            lines = ({"session": 0, "result": result.model_dump()} for result in self._stored.values())
            files["shards/stored.jsonl"] = "".join(f"{dumps(line)}\n" for line in lines)
        if self._suspects:
            files[CRASHES] = dumps([key.model_dump() for key in sorted(self._suspects, key=str)]) + "\n"
        return files

    def _noted_crashes(self) -> list[RunKey]:
        """Give the runs that were in flight when a worker died; a line that names none is left out."""
        found: list[RunKey] = []
        for line in numbered_lines(self.directory.path / CRASHES):
            try:
                found += [RunKey.model_validate(key) for key in line.record or ()]
            except (TypeError, ValueError):
                self.directory.left_out[f"{CRASHES}:{line.number}"] = "it names no runs"
        return found
