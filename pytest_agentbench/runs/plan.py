"""What is to be run: a scenario of a suite, for a variant and a trial."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from pathlib import PurePath
from typing import Any, cast

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.extensions import BUILT_IN, Extensions
from pytest_agentbench.core.fault import FaultSpec, axis_id
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.rubric import Rubric
from pytest_agentbench.core.run import PlannedRun, Run, RunKey
from pytest_agentbench.core.scenario import ComplexityScale, Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.termination import Limits
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.variants import vary_chat
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.suites.hashes import scenario_hash
from pytest_agentbench.suites.transcripts import Recording


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """One run to be.

    `suite_key` is the suite's path relative to the root, `toolset` what its environment was found to offer,
    `recording` what is judged instead of playing. `faults` are the entry of the suite's axis that it runs under, None
    where the suite has no axis. `shows_trial` says whether the id names the trial, which depends on
    the suite file and the trial's number alone. `trials` are planned; `stops_early` leaves out those not needed. `way`
    says which of the scenario's ways (`Scenario.ways`) it is judged by. `nodeid` is pytest's name of it, `file` where
    results say that its scenario stands, else the scenario's own.
    """

    suite: Suite
    suite_key: str
    scenario: Scenario
    variant: str = ""
    trial: int = 1
    attempt: int = 1
    shows_trial: bool = False
    trials: int = 1
    stops_early: bool = False
    toolset: Toolset = field(default=Toolset(), repr=False)
    recording: Recording | None = field(default=None, repr=False)
    faults: tuple[FaultSpec, ...] | None = None
    extensions: Extensions = field(default=BUILT_IN, repr=False, compare=False)
    way: int = 0
    nodeid: str = ""
    file: str = ""

    @cached_property
    def planned(self) -> PlannedRun:
        """What is known of the run before it starts."""
        complexity = self.complexity
        return PlannedRun(
            key=self.key,
            nodeid=self.nodeid,
            title=self.scenario.title,
            file=self.file or self.shown_file,
            line=self.scenario.line,
            scenario_hash=scenario_hash(self._as_run, self.suite.secrets),
            suite_hash=self.suite.content_hash,
            listed_policies=self.scenario.policies,
            complexity=complexity[0] if complexity else None,
            complexity_scale=complexity[1] if complexity else None,
            trials=self.trials,
            stops_early=self.stops_early,
            pending=self.suite.is_pending(self.scenario),
            quarantine=self.scenario.quarantine,
            plain=self.scenario.provenance.get("worded") == "plain",
            language=self.scenario.language or self.suite.language,
            tags=self.scenario.tags,
            tools=tuple(dict.fromkeys(call.name for call in self.scenario.expected_calls)),
            faults=tuple(fault.name for fault in self.strikes),
        )

    @property
    def complexity(self) -> tuple[int, ComplexityScale] | None:
        """The complexity of the scenario and its scale, None where it has none."""
        return self.scenario.rated_complexity({policy.id: policy for policy in self.suite.policies})

    @property
    def shown_file(self) -> str:
        """The scenario's file, relative to where the key of its suite starts."""
        return self.shown(self.scenario.file or self.suite.path)

    def shown(self, file: str | PurePath) -> str:
        """Name a file relative to where the key of the suite starts."""
        return _relative(file, self.suite.path, self.suite_key)

    @property
    def _as_run(self) -> Scenario:
        """The scenario with all the faults that it runs under: under others it is another test."""
        return self.scenario.model_copy(update={"faults": self.strikes}) if self.faults else self.scenario

    @cached_property
    def key(self) -> RunKey:
        """The name of the run."""
        return RunKey(
            suite=self.suite_key,
            scenario=self.scenario.id,
            variant=self.variant,
            trial=self.trial,
            attempt=self.attempt,
            fault="" if self.faults is None else axis_id(self.faults),
        )

    @cached_property
    def task_name(self) -> str:
        """The opaque name of the run, the same in every session: of its task, its thread and its environment."""
        return digest(str(self.key))

    @property
    def rubric(self) -> Rubric | None:
        """The scenario's own rubric, else the suite's."""
        return self.suite.rubric if self.scenario.rubric is None else self.scenario.rubric

    @property
    def limits(self) -> Limits:
        """The suite's limits, each replaced by the scenario's own where it has one."""
        own = self.scenario.limits
        if not own.model_fields_set:  # few have any, and each run asks several times
            return self.suite.limits
        return self.suite.limits.model_copy(update=own.model_dump(exclude_none=True))

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords that the variant gives to the agent's factory."""
        return dict(self.suite.variants.get(self.variant, {}))

    @cached_property
    def system(self) -> str:
        """The agent's system prompt, where it is known."""
        chat = self.suite.agent.openai
        return vary_chat(chat, self.keywords).system if chat else ""

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies that hold in this run: those the scenario lists, and every one with a rule."""
        return tuple(
            policy for policy in self.suite.policies if policy.id in self.scenario.policies or policy.rule is not None
        )

    @cached_property
    def keeps_states(self) -> bool:
        """Whether a rule asks what the state held in the middle of the run."""
        rules = [policy.rule for policy in self.suite.policies if policy.rule is not None]
        if not rules:
            return False
        from pytest_agentbench.suites.rule_check import state_paths  # noqa: PLC0415 - few suites have rules

        return any(next(state_paths(rule, ()), None) is not None for rule in rules)

    @property
    def name(self) -> str:
        """What pytest shows: the scenario, then `[variant-fault-t2]` as far as the suite declares them."""
        parts = [part for part in (self.variant, self.key.fault) if part]
        if self.shows_trial:
            parts.append(f"t{self.trial}")
        return f"{self.scenario.id}[{'-'.join(parts)}]" if parts else self.scenario.id

    @property
    def strikes(self) -> tuple[FaultSpec, ...]:
        """The faults of this run: the scenario's own, and those of its entry of the axis."""
        return (*self.scenario.faults, *(self.faults or ()))

    @property
    def ways(self) -> "list[RunPlan]":
        """The plan for each way that is as right as the others, to judge the same run by, with all of its context."""
        context = {**self.suite.context, **self.scenario.context}
        several = [one.model_copy(update={"context": context}) for one in self.scenario.ways]
        return [replace(self, scenario=one, way=way) for way, one in enumerate(several)]

    def resolve(self, path: str) -> Callable[[JsonValue], object]:
        """Give what an import path of the suite leads to."""
        return cast("Callable[[JsonValue], object]", load_object(path, self.suite.root))

    def environment(self, name: str, runner: RunSync, gate: IsolationGate, **more: Any) -> LocalEnvironment:
        """Give a fresh environment in the scenario's initial state."""
        spec, initial = self.suite.environment, self.scenario.task.initial_state
        whole = initial.model_dump() if spec.offered and initial else {}
        return LocalEnvironment(
            spec,
            root=self.suite.root,
            scenario_state=whole if spec.offered else self.scenario.initial_rows,
            context={**self.suite.context, **self.scenario.context},
            run_name=name,
            runner=runner,
            gate=gate,
            known=self.toolset or None,
            plugged=self.extensions.state,
            **more,
        )

    def closed_run(self, transcript: Transcript, **more: Any) -> Run:
        """Give the run of this plan with what was said and done in it."""
        return Run(
            key=self.key,
            scenario=self.scenario,
            policies=self.policies,
            now=self.suite.now,
            transcript=transcript,
            **{"toolset": self.toolset, **more},
        )

    def again(self) -> "RunPlan":
        """Give the next attempt of the same run."""
        return replace(self, attempt=self.attempt + 1)


def plans(
    suite: Suite,
    suite_key: str,
    variants: tuple[str, ...],
    toolset: Toolset,
    *,
    trials: int | None = None,
) -> Iterator[RunPlan]:
    """Give every run of a suite in order: scenarios, then the chosen variants, then faults, then trials.

    `trials` replaces the suite's own number. Ids stay what the suite file makes them: the first trial of a suite that
    declares none is named as ever, those beyond it `[t2]`, `[t3]`, ….
    """
    declared = suite.trials or 1
    trials = trials or declared
    axis = suite.faults or (None,)
    for scenario, variant, faults, trial in product(suite.scenarios, variants, axis, range(1, trials + 1)):
        yield RunPlan(
            suite=suite,
            suite_key=suite_key,
            scenario=scenario,
            variant=variant,
            faults=faults,
            trial=trial,
            shows_trial=declared > 1 or trial > 1,
            trials=trials,
            stops_early=suite.stops_early,
            toolset=toolset,
        )


@lru_cache(maxsize=64)  # a file holds many scenarios
def _relative(file: str | PurePath, suite: PurePath, key: str) -> str:
    """Give a scenario's file relative to where the key of its suite starts."""
    path, base = PurePath(file), suite
    if PurePath(key).is_absolute():  # outside of a session a suite is named by where it is
        return path.as_posix()
    for _ in PurePath(key).parts:
        base = base.parent
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix()
