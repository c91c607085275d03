"""A suite validated, scenario by scenario: does it replay, does a right run pass, do wrong ones fail?"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_agentbench.checks.findings import value_text
from pytest_agentbench.checks.other_faults import NO_ARGUMENTS
from pytest_agentbench.checks.rules import read_rule, reads_handoffs
from pytest_agentbench.core.errors import AgentBenchError, CheckError, Problem, SuiteError
from pytest_agentbench.core.json_values import JsonValue, decoded
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.environment.call_replay import failure_text, prepare
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.kinds import ask_for_kinds, unknown_kinds
from pytest_agentbench.environment.mcp_server import end_servers_after
from pytest_agentbench.environment.state_access import HungError
from pytest_agentbench.environment.toolset import drift, load_toolset, real_toolset, remote_parts
from pytest_agentbench.runs.expected_state import ExpectedStates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.script_lines import unlabelled
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.impossible import impossible, unfit_states
from pytest_agentbench.validation.known import of_user
from pytest_agentbench.validation.mutants import MutantSource, other_writes, score, weak_agents
from pytest_agentbench.validation.oracle import NoExampleError, Oracle, Rules, Writer, result_of
from pytest_agentbench.validation.reachable import Tracer, known_too_much, unasked, unknown_ids
from pytest_agentbench.validation.report import RIGHT_RUN, Issue, Kind, ScenarioReport, Skipped, SuiteReport, passed_by
from pytest_agentbench.validation.scripted_run import Described, ScriptPlayer
from pytest_agentbench.validation.world_values import Columns, shape_of

_FINDINGS = 3
"""Findings against the oracle that are reported."""
_PLACES = 8
"""Places looked in that are reported."""


@dataclass(kw_only=True)
class Shared:
    """What the scenarios of a suite share: isolation of states, expected states, the clock, and the seed."""

    isolation: IsolationGate
    now: Callable[[], float]
    seed: int = 0
    mutate: bool = True
    expected: ExpectedStates = field(default_factory=ExpectedStates)
    results: dict[str, list[JsonValue]] = field(default_factory=dict)
    """What each tool gave in the right runs."""
    states: list[State] = field(default_factory=list)
    """What the right runs found and left behind, where a rule asks for it."""
    _last: tuple[State, Columns] = field(default_factory=lambda: ({}, Columns({})))

    def columns_of(self, state: State) -> Columns:
        """Give the values of an initial state, which most scenarios of a suite have in common."""
        if self._last[0] != state:
            self._last = (state, Columns(state))
        return self._last[1]


async def validate_scenario(plan: RunPlan, shared: Shared) -> ScenarioReport:
    """Ask every question about one scenario; what breaks on the way is a problem of it, never an exception."""
    validation = _Validation(plan, shared)
    runner = validation.player.runner
    try:
        await validation.run()
    except CheckError as error:
        validation.problem("oracle", str(error))
    except AgentBenchError as error:
        validation.problem("replay", f"the scenario's world cannot be played in: {error}")
        if isinstance(error, HungError):
            runner.abandon()
    except NoExampleError as error:
        validation.skip("oracle, weak agents, values and mutants", str(error))
    except Exception as error:  # noqa: BLE001 - predicates that the suite names may raise anything
        validation.problem("oracle", f"a check or a matcher of the scenario raised {raised_text(error)}")
    finally:
        runner.close()
    return validation.report()


class _Validation:
    """The questions in their order, and the answers so far."""

    def __init__(self, plan: RunPlan, shared: Shared) -> None:
        self._plan = plan
        self._of_calls = _of_calls(plan)
        self._scenario, self._toolset = plan.scenario, plan.toolset
        self._shared = shared
        self.player = ScriptPlayer(
            plan=self._of_calls,
            isolation=shared.isolation,
            now=shared.now,
            expected=shared.expected,
        )
        self._rules = Rules(plan.policies, plan.toolset, plan.resolve, plan.suite.now)
        self._columns = Columns({})
        self._state: State | None = None
        self._found: dict[str, JsonValue] = {}
        self._issues: list[Issue] = []
        self._skipped: list[Skipped] = []

    def problem(self, kind: Kind, message: str, about: str = "") -> None:
        """Note something that is wrong."""
        self._issues.append(Issue(kind=kind, message=message, about=about))

    def skip(self, what: str, why: str) -> None:
        """Note a question that could not be asked."""
        self._skipped.append(Skipped(what=what, why=why))

    def report(self) -> ScenarioReport:
        """Give what was found."""
        return ScenarioReport.of(
            self._scenario,
            mode="played" if self.player.is_played else "calls",
            issues=tuple(self._issues),
            skipped=tuple(self._skipped),
            **self._found,
        )

    async def run(self) -> None:
        """Ask everything."""
        is_partial = self._of_calls is not self._plan
        if is_partial:
            why = "only a run with the agent shows them"
            self.skip("what the agent replies, puts out and hands over", why)
        self._found["left_open"] = tuple(_left_open(self._scenario, self._toolset))
        oracle = await self.player.bounded(self._written())
        if self.player.is_played:
            for heard in oracle.heard:
                if heard.call.requestor == "assistant":
                    self._shared.results.setdefault(heard.call.name, []).append(decoded(heard.result.content))
            for position, problem in oracle.failed.items():
                self.problem("replay", failure_text(self._scenario.expected_calls[position], problem))
            for message in unknown_ids(self._scenario, oracle.heard, self._columns) if self._state is not None else ():
                self.problem("id", message)
        right = await self._check_oracle(oracle)
        await self._check_weak(oracle, right)
        self._check_values(oracle, await self.player.bounded(self._traced(oracle)))
        if not self._shared.mutate:
            self.skip("mutants", "not asked for")
        elif is_partial and not self._scenario.states_calls:
            self.skip("mutants", "replies, output and handoffs alone decide here")
        elif self._found["oracle"]:
            await self._mutate(oracle, right)
        elif self._found["oracle"] is None:
            self.skip("mutants", "they are held against a right run, and none is known")
        else:
            self.skip("mutants", "they are held against a right run, and the oracle's does not pass")

    async def _written(self) -> Oracle:
        """Open a world of the scenario's, find out whether calls can be made in it, and write the oracle's run."""
        writer = Writer(self._scenario, self._rules, self._toolset, self._plan.resolve)
        async with self.player.new_environment(f"{self.player.name}-first") as world:
            can_call = bool(world.tools) and all(world.can_call(spec.name, spec.requestor) for spec in world.tools)
            self.player.is_played = self._plan.suite.agent.kind != "transcripts" and can_call
            if not self.player.is_played:
                return await writer.write(Described(self._toolset), self._columns, can_fail=False)
            await prepare(world, self._scenario)
            self._state = await world.snapshot()
            self._columns = self._shared.columns_of(self._state or {})
            oracle = await writer.write(world, self._columns, can_fail=True)
            expected = {self._scenario.expected_calls[at].name for at in oracle.failed}
            for tool, why in world.calls.down.items():
                if tool not in expected:
                    self.problem("replay", f"the tool {tool!r} {NO_ARGUMENTS}: {why}")
            return oracle

    async def _check_oracle(self, oracle: Oracle) -> Run:
        """Let the oracle's run be played and judged; give it as a closed run to hold others against."""
        player = self.player
        if player.is_played:
            run = await player.play_through(oracle.script)
            if self._plan.keeps_states:
                states = (run.initial_state, *run.states, run.final_state)
                self._shared.states += [one for one in states if one is not None]
            judgement = await player.judge(run)
            run = await player.expecting(self._plan, run)
        else:
            done = await player.performed(oracle.script)
            plan = player.plan
            run = Run(
                key=plan.key,
                scenario=plan.scenario,
                policies=plan.policies,
                now=plan.suite.now,
                transcript=done.transcript,
                termination=Termination.FINISHED,
                stop_reason="done",
                toolset=plan.toolset,
            )
            judgement = await player.judge_as(run, done)
        passed = judgement.verdict is Verdict.PASSED
        self._found |= {"oracle": passed, "added": tuple(oracle.added)}
        if not passed and self._needs_unknown_calls(judgement):
            self._found["oracle"] = None
            self.skip(RIGHT_RUN, "a rule asks for an earlier call of a tool that nobody describes")
        elif not passed:
            why = "; ".join(_against(judgement, run)) or judgement.verdict.value
            self.problem("oracle", f"a run that makes exactly the expected calls does not pass: {why}")
        return run.model_copy(update={"termination": Termination.FINISHED, "blame": None, "error": None})

    def _needs_unknown_calls(self, judgement: Judgement) -> bool:
        """Whether nothing but rules is broken that ask for calls which nobody knows how to make."""
        asking = {
            f"policy:{policy.id}"
            for policy in self._plan.policies
            for want in self._scenario.expected_calls
            for names in Rules((policy,), self._toolset).before(ToolCall(name=want.name, arguments=want.arguments))
            if not any(self._toolset.get(name) for name in names)
        }
        against = {one.check for one in judgement.findings if one.required and one.passed is False}
        return bool(against) and against <= asking

    async def _check_weak(self, oracle: Oracle, right: Run) -> None:
        passing: list[str] = []
        self.player.plan = self._plan  # a weak agent's answers are known
        for name, script in weak_agents(self._scenario, oracle, self._toolset, self._columns, self._shared.seed):
            done = await self.player.performed(script)
            run = right.model_copy(update={"scenario": self._scenario})
            judgement = await self.player.judge_as(run, done, notes=False)
            passing += [name] if judgement.verdict is Verdict.PASSED else []
        self.player.plan = self._of_calls
        self._found |= {"vacuous": tuple(passing), "is_refusal": _is_refusal(self._scenario, self._toolset)}
        if passing and not self._found["is_refusal"]:
            self._issues.append(passed_by(passing))

    async def _traced(self, oracle: Oracle) -> Tracer:
        tracer = Tracer(self._scenario, self._toolset, self._plan.suite.policies, self._columns)
        tracer.hear(oracle.heard)
        if self.player.is_played and (tracer.open or tracer.untold):
            async with self.player.world() as world:
                await tracer.explore(world)
        return tracer

    def _check_values(self, oracle: Oracle, traced: Tracer) -> None:
        tools = self._toolset.of("assistant")
        decided = self.player.is_played or (bool(tools) and all(spec.kind == "write" for spec in tools))
        undecided = [*traced.undecided, *(() if decided else traced.unreachable)]
        self._found |= {
            "values": traced.count,
            "derived": sum(traced.derived.values()),
            "undecided": tuple(map(str, undecided)),
        }
        looked_in = "looked in " + ", ".join(traced.places[:_PLACES]) + (", …" if len(traced.places) > _PLACES else "")
        for want in traced.unreachable if decided else ():
            self.problem(
                "unreachable",
                f"nothing leads to {want}: say it in `says` or add it to `knows` ({looked_in})",
                f"{want.tool}.{want.path}",
            )
        warnings = list(unasked(traced.handed_on))
        untold = map(value_text, traced.untold if decided else ())
        warnings += [f"nothing leads to {info}, which is to be told; {looked_in}" for info in untold]
        if self._state is not None:
            warnings += known_too_much(self._scenario, oracle.heard, self._columns, self._toolset)
        self._found["warnings"] = tuple(dict.fromkeys(warnings))

    async def _mutate(self, oracle: Oracle, right: Run) -> None:
        known = of_user(self._scenario)
        for heard in oracle.heard:
            known.add(result_of(heard.call.name), heard.result.content, heard.call.name)
        extra = await self.player.bounded(other_writes(self.player, oracle, known, self._columns))
        source = MutantSource(
            self._scenario, oracle, self._toolset, self._rules, self._columns, extra, self._shared.seed
        )
        self._found |= await score(self.player, source, right)


def _of_calls(plan: RunPlan) -> RunPlan:
    """Ask a right run for nothing that only the agent itself can show: its replies, typed answers, and who did what."""
    scenario, policies = plan.scenario, plan.suite.policies
    kept = tuple(one for one in policies if one.rule is None or not reads_handoffs(read_rule(one.rule)))
    criteria = scenario.task.evaluation_criteria
    named = criteria is not None and any(call.by for call in scenario.expected_calls)
    if not (scenario.output or scenario.replies or scenario.handoffs or scenario.never_handoffs or named) and len(
        kept
    ) == len(policies):
        return plan
    changes: dict[str, object] = {"output": None, "replies": (), "handoffs": (), "never_handoffs": ()}
    if criteria is not None and named:
        calls = [call.model_copy(update={"by": None}) for call in scenario.expected_calls]
        criteria = criteria.model_copy(update={"actions": calls})
        changes["task"] = scenario.task.model_copy(update={"evaluation_criteria": criteria})
    changes["policies"] = tuple(name for name in scenario.policies if any(one.id == name for one in kept))
    suite = plan.suite.model_copy(update={"policies": kept})
    return replace(plan, suite=suite, scenario=scenario.model_copy(update=changes))


def _is_refusal(scenario: Scenario, toolset: Toolset) -> bool:
    """Whether nothing is to be changed and something is forbidden: doing nothing is right there."""
    specs = (toolset.get(want.name, want.requestor) for want in scenario.expected_calls)
    writes = any(spec is None or spec.kind not in ("read", "generic") for spec in specs)
    return bool(scenario.never or scenario.never_handoffs) and not writes


def _left_open(scenario: Scenario, toolset: Toolset) -> Iterator[str]:
    """Name the arguments of each expected write that the scenario does not state, those that may be left out too."""
    for want in scenario.expected_calls if not scenario.states_whole_calls else ():
        spec = toolset.get(want.name, want.requestor)
        if spec is None or spec.kind in ("read", "generic"):
            continue
        stated = [name for name in want.compared if not holds_matcher(want.arguments[name])]
        if names := [name for name in spec.parameters.get("properties", {}) if name not in stated]:
            yield f"{want.name}: {', '.join(names)}"


def _against(judgement: Judgement, run: Run) -> Iterator[str]:
    """Say what stood against the oracle."""
    failed = [finding for finding in judgement.findings if finding.required and finding.passed is not True]
    yield from (f"{finding.check}: {finding.message}" for finding in failed[:_FINDINGS])
    if not failed and run.error:
        yield run.error


Told = Callable[[int, int], None]
"""Is told how many scenarios of how many are done."""

_CALLS_ONLY = "calls are not made here, so what they would change and answer is not known: calls alone are judged"


def validate(
    path: Path,
    *,
    environ: Mapping[str, str],
    only: Sequence[str] = (),
    seed: int = 0,
    mutate: bool = True,
    now: Callable[[], float] = time.monotonic,
    told: Told = lambda _done, _total: None,
) -> SuiteReport:
    """Validate the suite in a file, or the scenarios `only` of it; same seed, same report but for `seconds`.

    Tools that another process executes are those that it lists; a committed list that differs is a problem. Raise
    `SuiteError` where the suite cannot be read, its tools cannot be loaded, or it has no such scenario.
    """
    begun = now()
    suite = load_suite(path, environ=environ)
    try:
        toolset = load_toolset(suite.environment, suite.root, recorded=suite.agent.kind == "transcripts")
        drifted: list[Problem] = []
        if remote_parts(suite.environment) and suite.agent.kind != "transcripts":
            toolset, drifted = _listed(suite, toolset)
    except AgentBenchError as error:
        raise SuiteError([Problem(file=path, key="environment", message=str(error))]) from error
    chosen = _chosen(suite, only)
    with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
        shared = Shared(isolation=IsolationGate(Path(directory), starts_ahead=True), now=now, seed=seed, mutate=mutate)
        scenarios = asyncio.run(end_servers_after(_validated(suite, chosen, toolset, shared, told)))
    misspelt, every = (() if only else tuple(_unseen(suite, toolset, shared, is_open=one)) for one in (True, False))
    unfit = () if only else (*misspelt, *map(str, unfit_states(suite, shared.states)))
    unseen = tuple(one for one in every if one not in unfit)
    return SuiteReport(
        name=suite.name,
        path=str(path),
        seed=seed,
        problems=tuple(str(problem) for problem in [*drifted, *_suite_problems(suite, toolset)]),
        unfit=unfit,
        unseen=unseen,
        unlabelled=tuple(one.told(Path.cwd()) for one in unlabelled(suite, toolset, chosen)),
        skipped=tuple(_skipped(suite, toolset, scenarios)),
        scenarios=tuple(scenarios),
        seconds=now() - begun,
    )


def _listed(suite: Suite, known: Toolset) -> tuple[Toolset, list[Problem]]:
    """Give the tools as what executes them lists them, and where a committed list differs: the list is what is used."""
    with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
        real = asyncio.run(real_toolset(suite.environment, suite.root, IsolationGate(Path(directory))))
    if not known:
        return real, []
    hint = "`agentbench tools SUITE -o FILE` lists them anew"
    return known, [
        Problem(file=suite.path, key="environment.tools", message=message, hint=hint) for message in drift(known, real)
    ]


async def _validated(
    suite: Suite, scenarios: Sequence[Scenario], toolset: Toolset, shared: Shared, told: Told
) -> list[ScenarioReport]:
    reports: list[ScenarioReport] = []
    variant = next(iter(suite.variants), "")
    silent = suite.environment.model_copy(update={"reads": (), "writes": ()})
    for scenario in scenarios:
        plan = RunPlan(suite=suite, suite_key=str(suite.path), scenario=scenario, variant=variant, toolset=toolset)
        alone = {"scenarios": (scenario,), "policies": (), "environment": silent}
        problems = check_calls(suite.model_copy(update=alone), toolset)
        reports.append(_refused(scenario, problems) if problems else await validate_scenario(plan, shared))
        told(len(reports), len(scenarios))
    return reports


def _chosen(suite: Suite, only: Sequence[str]) -> tuple[Scenario, ...]:
    names = [scenario.id for scenario in suite.scenarios]
    if missing := [name for name in only if name not in names]:
        message = f"there is no scenario {missing[0]!r}; there are {listing(names)}"
        raise SuiteError([Problem(file=suite.path, message=message, hint=suggestion(missing[0], names))])
    return tuple(scenario for scenario in suite.scenarios if not only or scenario.id in only)


def _suite_problems(suite: Suite, toolset: Toolset) -> list[Problem]:
    """Give what is wrong in the suite itself and in its policies, and what no run of it could do."""
    problems = [*check_calls(suite.model_copy(update={"scenarios": ()}), toolset), *impossible(suite, toolset)]
    if names := unknown_kinds(suite.environment, toolset):
        problems.append(Problem(file=suite.path, key="environment", message=ask_for_kinds(names)))
    return problems


def _unseen(suite: Suite, toolset: Toolset, shared: Shared, *, is_open: bool) -> Iterator[str]:
    """Name what rules ask of results that no right run saw: if `is_open`, only what is nearly the name of a key.

    A result may have a key in other runs alone: a reason, where something is refused.
    """
    results = shared.results
    told = set(map(str, _suite_problems(suite, toolset)))
    specs = (
        spec.model_copy(update={"returns": shape_of(results[spec.name], is_open=is_open)})
        if spec.returns is None and spec.requestor == "assistant" and spec.name in results
        else spec
        for spec in toolset
    )
    seen = toolset.model_copy(update={"specs": tuple(specs)})
    yield from (text for text in map(str, _suite_problems(suite, seen)) if text not in told)


def _refused(scenario: Scenario, problems: Sequence[Problem]) -> ScenarioReport:
    skipped = Skipped(what="everything else", why="the expected calls cannot be made as they are")
    issues = tuple(Issue(kind="static", message=str(problem)) for problem in problems)
    return ScenarioReport.of(scenario, issues=issues, skipped=(skipped,))


def _skipped(suite: Suite, toolset: Toolset, scenarios: Sequence[ScenarioReport]) -> Iterator[Skipped]:
    if all(scenario.mode == "played" for scenario in scenarios):
        return
    described = [Path(tools.target).name for tools in suite.environment.providers if tools.kind == "schema"]
    why = f"the tools are only described ({', '.join(described)})" if described else "some tools cannot be called"
    if not toolset:
        why = "the suite names no tools (its agent brings its own)"
    if suite.agent.kind == "transcripts":
        why = "recorded conversations are judged without an environment"
    yield Skipped(what="ids, replay, results of tools", why=f"{why}: {_CALLS_ONLY}")
