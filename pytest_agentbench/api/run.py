"""Suites and conversations played by a script, without pytest: on a loop of their own, or on the caller's."""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Unpack

from pytest_agentbench.api.options import Options, check_list, check_options, check_trials
from pytest_agentbench.api.simulation import Simulation, simulation_of
from pytest_agentbench.api.simulation_plan import Says, builder_of, plan_of
from pytest_agentbench.api.suite_loader import (
    check_decidable,
    is_left_out,
    key_of,
    planned,
    read_suite,
    record_of,
    refusals,
    tools_of,
)
from pytest_agentbench.core.errors import NotRunError, SuiteFaultError, with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.results.document import Document, facts_of, players_of, read, write
from pytest_agentbench.results.gates import GateVerdict, evaluate_gates
from pytest_agentbench.results.run_directory import transcript_name, write_transcript
from pytest_agentbench.results.secrets import Secrets
from pytest_agentbench.runs.access import CASSETTES, Accounts
from pytest_agentbench.runs.cassettes import merge_all
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.service import Attempts, RunService

_HINT = 'or a suite: simulate(suite="bench/agentbench.yaml", scenario="refund-late")'


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """A suite that was played: its simulations in the order of the suite, and what its gates say of them."""

    simulations: tuple[Simulation, ...]
    gates: tuple[GateVerdict, ...]
    document: Document
    _secrets: Secrets = field(repr=False)

    @property
    def results(self) -> tuple[Result, ...]:
        """The results, as `write` writes them."""
        return self.document.results

    @property
    def passed(self) -> bool:
        """Whether the gates hold; where none of the suite's own was decided, whether every run that counts passed."""
        if any(gate.failed for gate in self.gates):
            return False
        return bool(self.document.decided) or all(one.passed or one.result.set_aside for one in self.simulations)

    def __iter__(self) -> Iterator[Simulation]:
        return iter(self.simulations)

    def __len__(self) -> int:
        return len(self.simulations)

    def __getitem__(self, place: int | str) -> Simulation:
        """Give a simulation by its place, or the first one of a scenario by its id."""
        if isinstance(place, int):
            return self.simulations[place]
        ids = [one.run.scenario.id for one in self.simulations]
        if place not in ids:
            raise KeyError(with_hint(f"no run of {place!r}", suggestion(place, ids) or f"there are: {listing(ids)}"))
        return self.simulations[ids.index(place)]

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write `results.json` and the conversations (`transcripts/`) into a folder, without secrets; give the file."""
        target = Path(folder)
        results = []
        for one in self.simulations:
            result = one.result.model_copy(update={"transcript": f"transcripts/{transcript_name(one.result.key)}"})
            write_transcript(target, result, self._secrets.transcript(one.transcript))
            results.append(result)
        write(self.document.model_copy(update={"results": tuple(results)}), target / "results.json")
        return target / "results.json"


def load_suite(path: str | os.PathLike[str]) -> Suite:
    """Read a suite file and check it against its agent and its tools; raise `SuiteError` with every problem in it."""
    return read_suite(Path(path).absolute())[0]


def run_suite(
    suite: Suite | str | os.PathLike[str],
    *,
    variants: Sequence[str] = (),
    scenarios: Sequence[str] | None = None,
    trials: int | None = None,
    baseline: Document | str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> SuiteRun:
    """Play a suite and wait for it, also from within a running event loop.

    `variants` names those to play, or `("all",)`; without it the first. `scenarios` names those to play, `trials`
    replaces the suite's own number. `regression` and relative gates are measured against `baseline`, results or their
    file. Scenarios that say `skip` or `xfail` are left out. Raise `SuiteError` for gates that no run can meet and for a
    quarantine that is over, as pytest does; `ValueError` where nothing is to be played.
    """
    check_options(run_suite, options)
    asked = _Asked(suite, options, variants=variants, scenarios=scenarios, trials=trials, baseline=baseline)
    with asked.service() as service:
        service.queue(asked.plans)
        return asked.run([service.finish(plan) for plan in asked.plans])


async def run_suite_async(
    suite: Suite | str | os.PathLike[str],
    *,
    variants: Sequence[str] = (),
    scenarios: Sequence[str] | None = None,
    trials: int | None = None,
    baseline: Document | str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> SuiteRun:
    """Play a suite on the running event loop; see `run_suite`."""
    check_options(run_suite_async, options)
    asked = _Asked(suite, options, variants=variants, scenarios=scenarios, trials=trials, baseline=baseline)
    with asked.service() as service:
        return asked.run(await service.finish_here(asked.plans))


def simulate(
    agent: Any = None,
    *,
    suite: Suite | str | os.PathLike[str] | None = None,
    scenario: str | None = None,
    variant: str | None = None,
    says: Says | None = None,
    knows: Mapping[str, Any] | None = None,
    expect: Sequence[Any] | None = None,
    communicate: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> Simulation:
    """Play one conversation and wait for it, also from within a running event loop.

    `agent` is whatever a factory may return; without it the suite's own is built. `scenario` and `variant` name what to
    play of `suite`, of which there is else the first. The rest is as in a scenario file and replaces what the scenario
    has. Raise `NotRunError` where the run could not take place, since a key is missing or a budget is spent.
    """
    check_options(simulate, options)
    given = {"says": says, "knows": knows, "expect": expect, "communicate": communicate}
    plan, secrets = _plan(agent, suite, (scenario, variant), given, options)
    with _service(secrets, options) as service:
        return _played(plan, service.simulate(plan, builder_of(agent)))


async def simulate_async(
    agent: Any = None,
    *,
    suite: Suite | str | os.PathLike[str] | None = None,
    scenario: str | None = None,
    variant: str | None = None,
    says: Says | None = None,
    knows: Mapping[str, Any] | None = None,
    expect: Sequence[Any] | None = None,
    communicate: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> Simulation:
    """Play one conversation on the running event loop; see `simulate`."""
    check_options(simulate_async, options)
    given = {"says": says, "knows": knows, "expect": expect, "communicate": communicate}
    plan, secrets = _plan(agent, suite, (scenario, variant), given, options)
    with _service(secrets, options) as service:
        return _played(plan, await service.simulate_here(plan, builder_of(agent)))


class _Asked:
    """A suite to be played, and what of it."""

    def __init__(
        self,
        suite: Suite | str | os.PathLike[str],
        options: Options,
        *,
        variants: Sequence[str],
        scenarios: Sequence[str] | None,
        trials: int | None,
        baseline: Document | str | os.PathLike[str] | None,
    ) -> None:
        check_trials(trials)
        check_list("scenarios", scenarios, "names")
        scenarios = None if scenarios is None else tuple(scenarios)
        if scenarios == ():
            raise ValueError("scenarios must name at least one; leave it out to play all")
        self._created = datetime.now(UTC)
        if baseline is not None and not isinstance(baseline, Document):
            baseline = read(Path(baseline))
        self._before = None if baseline is None else baseline.results
        self._suite, toolset = _read(suite)
        self._options = options
        self._secrets = _secrets_of(self._suite, options)
        self._key = key_of(self._suite.path, Path.cwd())
        names = (variants,) if isinstance(variants, str) else tuple(variants)
        if self._suite.agent.kind != "transcripts":
            _check_named("variant", [one for one in names if one != "all"], self._suite.variants)
        if scenarios is not None:
            _check_named("scenario", scenarios, [one.id for one in self._suite.scenarios])
        self._all = [
            replace(plan, nodeid=f"{self._key}::{plan.name}")
            for plan in planned(self._suite, self._key, names, toolset, trials=trials)
        ]
        check_decidable(self._suite, self._all, toolset, self._created.date())
        asked = [plan for plan in self._all if scenarios is None or plan.scenario.id in scenarios]
        self.plans = [plan for plan in asked if not is_left_out(plan)]
        self._is_whole = len(self.plans) == sum(not is_left_out(plan) for plan in self._all)
        if not self.plans:
            why = "each scenario asked for says `skip` or `xfail`" if asked else "there is no run of what was asked for"
            raise ValueError(f"{self._suite.path.name}: nothing to play: {why}")
        self._began = time.monotonic()

    @contextmanager
    def service(self) -> Iterator[RunService]:
        """Give what plays the runs."""
        with _service(self._secrets, self._options) as service:
            yield service

    def run(self, played: Sequence[Attempts]) -> SuiteRun:
        """Give the suite as it was played."""
        pairs = [(plan, attempts[-1]) for plan, attempts in zip(self.plans, played, strict=True)]
        results = tuple(result for _, (_, result) in pairs)
        record = record_of(self._suite, self._key, self._all).model_copy(update={"selected": len(self.plans)})
        texts = self._suite.gates if self._is_whole else ()
        gates = evaluate_gates(self._key, texts, results, baseline=self._before, facts=facts_of([record]))
        document = Document(
            created=self._created.isoformat(),
            root=str(Path.cwd()),
            versions={"pytest-agentbench": version("pytest-agentbench")},
            seed=self._options.get("seed", 0),
            seconds=time.monotonic() - self._began,
            cassette=self._options.get("cassette", "off"),
            complete=all(result.not_run is None for result in results),
            players=players_of(results),
            suites=(record.redacted(self._secrets.text),),
            gates=gates,
            results=results,
            retried=tuple(result for attempts in played for _, result in attempts[:-1]),
        )
        simulations = tuple(simulation_of(plan, run, result) for plan, (run, result) in pairs)
        return SuiteRun(simulations=simulations, gates=gates, document=document, _secrets=self._secrets)


@dataclass
class _InMemory:
    """Keeps nothing on disk; what is kept holds no secrets."""

    secrets: Secrets

    def started(self, key: RunKey) -> None:
        """Nothing has to know."""

    def ended(self, key: RunKey) -> None:
        """Nothing has to know."""

    def append(self, result: Result, transcript: Transcript | None = None) -> Result:
        """Give the result without secrets."""
        return self.secrets.redactor.result(result)

    def close(self) -> None:
        """Nothing is open."""


@contextmanager
def _service(secrets: Secrets, options: Options) -> Iterator[RunService]:
    """Give what plays runs; at the end what models said is brought into the cassettes."""
    mode = Mode(options.get("cassette", "off"))
    with tempfile.TemporaryDirectory(prefix="agentbench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)

        def accounts(is_first: bool) -> Accounts:
            return Accounts(
                mode,
                process="main",
                folder=lambda: folder,
                redact=secrets.json,
                max_cost=options.get("max_cost"),
                max_calls=options.get("max_calls"),
                judges=options.get("judge", True),
                starts=is_first,
            )

        service = RunService(
            concurrency=options.get("concurrency", 8),
            open_keeper=lambda: _InMemory(secrets),
            open_accounts=accounts,
            redact=secrets.text,
            locks=Path.cwd() / ".agentbench" / "locks",
            seed=options.get("seed", 0),
            replays=mode is Mode.REPLAY,
            keeps_states=True,
        )
        try:
            yield service
        finally:
            service.close()
            wrong = [
                f"{cassette}: {found}" for cassette, found in merge_all(folder / CASSETTES) if isinstance(found, str)
            ]
        if wrong:
            raise SuiteFaultError(f"what models said could not be kept: {'; '.join(wrong)}")


def _played(plan: RunPlan, played: tuple[Any, Result]) -> Simulation:
    run, result = played
    if result.not_run is not None:
        raise NotRunError(f"not run: {result.not_run}")
    return simulation_of(plan, run, result)


def _plan(
    agent: Any,
    suite: Suite | str | os.PathLike[str] | None,
    of: tuple[str | None, str | None],
    given: Mapping[str, Any],
    options: Options,
) -> tuple[RunPlan, Secrets]:
    """Give the plan of one conversation, `of` a scenario and a variant, and the secrets that it holds."""
    scenario, variant = of
    if suite is None:
        plan = plan_of(None, agent, given, name="simulation", file=Path.cwd() / "simulation", hint=_HINT)
        return plan, Secrets()
    found, toolset = _read(suite)
    if variant is not None:
        _check_named("variant", [variant], found.variants)
    if scenario is not None:
        _check_named("scenario", [scenario], [one.id for one in found.scenarios])
    plans = planned(found, key_of(found.path, Path.cwd()), (variant,) if variant else (), toolset)
    first = next(plan for plan in plans if scenario in (None, plan.scenario.id))
    plan = plan_of(first, agent, given, name=first.name, file=found.path, hint=_HINT)
    return plan, _secrets_of(found, options)


def _read(suite: Suite | str | os.PathLike[str]) -> tuple[Suite, Toolset]:
    return (suite, tools_of(suite)) if isinstance(suite, Suite) else read_suite(Path(suite).absolute())


def _secrets_of(suite: Suite, options: Options) -> Secrets:
    """Give the secrets of a suite; raise `SuiteFaultError` where it asks for what the options do not give."""
    cost, calls = options.get("max_cost"), options.get("max_calls")
    if wrong := list(refusals(suite, judge=options.get("judge", True), max_cost=cost, max_calls=calls)):
        raise SuiteFaultError("\n".join(wrong))
    secrets = Secrets()
    secrets.add(suite)
    return secrets


def _check_named(what: str, asked: Sequence[str], there: Sequence[str] | Mapping[str, Any]) -> None:
    """Raise `ValueError` for a name that the suite does not have."""
    for name in asked:
        if name not in there:
            hint = suggestion(name, there) or f"there are: {listing(there) or 'none'}"
            raise ValueError(with_hint(f"the suite has no {what} {name!r}", hint))
