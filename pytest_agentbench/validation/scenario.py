"""One scenario, every question: does it replay, does a right run pass, do wrong ones fail, can its values be known?"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from pytest_agentbench.checks.findings import value_text
from pytest_agentbench.checks.matching import compared_arguments
from pytest_agentbench.checks.rules import read_rule, reads_handoffs
from pytest_agentbench.core.errors import AgentBenchError, CheckError
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.environment.faults import HungError
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.replay import failure_text, prepare
from pytest_agentbench.runs.expected import ExpectedStates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.validation.known import of_user
from pytest_agentbench.validation.mutants import Bench, Right, other_writes, score, weak_agents
from pytest_agentbench.validation.oracle import NoExampleError, Oracle, Writer, result_of
from pytest_agentbench.validation.reachable import Traced, Tracer, known_too_much, unasked, unknown_ids
from pytest_agentbench.validation.report import Issue, Kind, ScenarioReport, Skipped
from pytest_agentbench.validation.rules import Rules
from pytest_agentbench.validation.scripted_run import Described, ScriptPlayer
from pytest_agentbench.validation.values import Columns

_FINDINGS = 3
"""Findings against the oracle that are told."""
_PLACES = 8
"""Places looked in that are told."""


@dataclass(kw_only=True)
class Shared:
    """What the scenarios of a suite share: isolation of states, expected states, the clock, and the seed."""

    isolation: IsolationGate
    now: Callable[[], float]
    seed: int = 0
    mutate: bool = True
    expected: ExpectedStates = field(default_factory=ExpectedStates)
    _last: tuple[State, Columns] = field(default_factory=lambda: ({}, Columns({})))

    def columns_of(self, state: State) -> Columns:
        """Give the values of an initial state, which most scenarios of a suite have in common."""
        if self._last[0] != state:
            self._last = (state, Columns(state))
        return self._last[1]


async def validate_scenario(plan: RunPlan, shared: Shared) -> ScenarioReport:
    """Ask every question about one scenario; what breaks on the way is a problem of it, never an exception."""
    player = ScriptPlayer(
        plan=_of_calls(plan),
        isolation=shared.isolation,
        now=shared.now,
        slot=None,
        expected=shared.expected,
        all_blocked=Counter,
    )
    validation = _Validation(plan, shared, player)
    try:
        await validation.run()
    except CheckError as error:
        validation.problem("oracle", str(error))
    except AgentBenchError as error:
        validation.problem("replay", f"the scenario's world cannot be played in: {error}")
        if isinstance(error, HungError):
            player.runner.abandon()
    except NoExampleError as error:
        validation.skip("oracle, weak agents, values and mutants", str(error))
    except Exception as error:  # noqa: BLE001 - predicates that the suite names may raise anything
        validation.problem("oracle", f"a check or a matcher of the scenario raised {raised_text(error)}")
    finally:
        player.runner.close()
    return validation.report()


class _Validation:
    """The questions in their order, and the answers so far."""

    def __init__(self, plan: RunPlan, shared: Shared, player: ScriptPlayer) -> None:
        self._plan = plan
        self._scenario: Scenario = plan.scenario
        self._shared = shared
        self._player = player
        self._rules = Rules(plan.policies, plan.toolset, self._resolve, plan.suite.now)
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
        scenario = self._scenario
        return ScenarioReport(
            id=scenario.id,
            title=scenario.title,
            file=scenario.file,
            line=scenario.line,
            mode="played" if self._player.is_played else "calls",
            issues=tuple(self._issues),
            skipped=tuple(self._skipped),
            **self._found,
        )

    async def run(self) -> None:
        """Ask everything."""
        if self._player.plan is not self._plan:
            self.skip(
                "replies, output and agents of a right run", "what a right agent answers, and who, is not known before"
            )
        self._found["left_open"] = tuple(_left_open(self._scenario, self._plan.toolset))
        oracle = await self._player.bounded(self._written())
        if self._player.is_played:
            self._check_replay(oracle)
        right = await self._check_oracle(oracle)
        await self._check_weak(oracle, right.run)
        self._check_values(oracle, await self._player.bounded(self._traced(oracle)))
        if not self._shared.mutate:
            self.skip("mutants", "not asked for")
        elif self._player.plan is not self._plan and not self._scenario.states_calls:
            self.skip("mutants", "replies, output and handoffs alone decide here")
        elif self._found["oracle"]:
            await self._mutate(oracle, right)
        else:
            self.skip("mutants", "they are held against a right run, and the oracle's does not pass")

    async def _written(self) -> Oracle:
        """Open a world of the scenario's, find out whether calls can be made in it, and write the oracle's run."""
        writer = Writer(self._scenario, self._rules, self._plan.toolset, self._resolve)
        environment = self._player.new_environment(f"{self._player.name}-first")
        async with environment:
            self._player.is_played = self._plan.suite.agent.kind != "transcripts" and _can_call_all(environment)
            if not self._player.is_played:
                return await writer.write(Described(self._plan.toolset), self._columns, can_fail=False)
            await prepare(environment, self._scenario)
            self._state = await environment.snapshot()
            self._columns = self._shared.columns_of(self._state or {})
            return await writer.write(environment, self._columns, can_fail=True)

    def _check_replay(self, oracle: Oracle) -> None:
        for position, problem in oracle.failed.items():
            self.problem("replay", failure_text(self._scenario.expected_calls[position], problem))
        if self._state is not None:
            for message in unknown_ids(self._scenario, oracle.heard, self._columns):
                self.problem("id", message)

    async def _check_oracle(self, oracle: Oracle) -> Right:
        """Let the oracle's run be played and judged; give it as a closed run to hold others against."""
        player = self._player
        if player.is_played:
            run = await player.play_through(oracle.script)
            judgement = await player.judge(run)
            run = await player.expecting(self._plan, run)
        else:
            done = await player.performed(oracle.script)
            run = self._recorded(done.transcript)
            judgement = await player.judge_as(run, done)
        passed = judgement.verdict is Verdict.PASSED
        self._found.update(oracle=passed, added=tuple(oracle.added))
        if not passed:
            why = "; ".join(_against(judgement, run)) or judgement.verdict.value
            self.problem("oracle", f"a run that makes exactly the expected calls does not pass: {why}")
        closed = run.model_copy(update={"termination": Termination.FINISHED, "blame": None, "error": None})
        return Right(closed, run.transcript, run.final_state)

    async def _check_weak(self, oracle: Oracle, base: Run) -> None:
        passing: list[str] = []
        of_calls, self._player.plan = self._player.plan, self._plan  # a weak agent's answers are known
        agents = weak_agents(self._scenario, oracle, self._plan.toolset, self._columns, self._shared.seed)
        for name, script in agents:
            done = await self._player.performed(script)
            judgement = await self._player.judge_as(base.model_copy(update={"scenario": self._scenario}), done)
            if judgement.verdict is Verdict.PASSED:
                passing.append(name)
        self._player.plan = of_calls
        self._found["vacuous"] = tuple(passing)
        if passing:
            self.problem("vacuous", f"an agent passes that {' and one that '.join(passing)}")

    async def _traced(self, oracle: Oracle) -> Traced:
        tracer = Tracer(self._scenario, self._plan.toolset, self._plan.suite.policies, self._columns)
        tracer.hear(oracle.heard)
        if self._player.is_played and (tracer.open or tracer.untold):
            async with self._player.world() as world:
                await tracer.explore(world)
        return tracer.result()

    def _check_values(self, oracle: Oracle, traced: Traced) -> None:
        decided = self._player.is_played or not _may_read(self._plan)
        self._found.update(values=traced.count, derived=sum(traced.derived.values()))
        self._found["undecided"] = len(traced.undecided) + (0 if decided else len(traced.unreachable))
        looked_in = "looked in " + ", ".join(traced.places[:_PLACES]) + (", …" if len(traced.places) > _PLACES else "")
        for want in traced.unreachable if decided else ():
            self.problem("unreachable", f"nothing leads to {want}; {looked_in}", f"{want.tool}.{want.path}")
        warnings = list(unasked(traced.handed_on))
        untold = map(value_text, traced.untold if decided else ())
        warnings += [f"nothing leads to {info}, which is to be told; {looked_in}" for info in untold]
        if self._state is not None:
            warnings += known_too_much(self._scenario, oracle.heard, self._columns, self._plan.toolset)
        self._found["warnings"] = tuple(dict.fromkeys(warnings))

    async def _mutate(self, oracle: Oracle, right: Right) -> None:
        toolset = self._plan.toolset
        known = of_user(self._scenario)
        for heard in oracle.heard:
            known.add(result_of(heard.call.name), heard.result.content, heard.call.name)
        extra = await self._player.bounded(other_writes(self._player, oracle, known, self._columns))
        bench = Bench(self._scenario, oracle, toolset, self._rules, self._columns, extra, self._shared.seed)
        found = await score(self._player, bench, right)
        self._found.update(
            mutants=found.judged.total(),
            equivalent=found.equivalent,
            operators=found.operators,
            survivors=tuple(found.survivors),
        )

    def _recorded(self, transcript: Transcript) -> Run:
        plan = self._player.plan
        return Run(
            key=plan.key,
            scenario=plan.scenario,
            policies=plan.policies,
            now=plan.suite.now,
            transcript=transcript,
            termination=Termination.FINISHED,
            stop_reason="done",
            toolset=plan.toolset,
        )

    def _resolve(self, path: str) -> Callable[[JsonValue], object]:
        return cast("Callable[[JsonValue], object]", load_object(path, self._plan.suite.root))


def _of_calls(plan: RunPlan) -> RunPlan:
    """Ask a right run for nothing that only the agent itself can show: its replies, typed answers, and who did what."""
    scenario, policies = plan.scenario, [one for one in plan.suite.policies if not _reads_handoffs(one)]
    criteria = scenario.task.evaluation_criteria
    named = [call for call in scenario.expected_calls if call.by]
    if not (scenario.output or scenario.replies or scenario.handoffs or scenario.never_handoffs or named) and len(
        policies
    ) == len(plan.suite.policies):
        return plan
    changes: dict[str, object] = {"output": None, "replies": (), "handoffs": (), "never_handoffs": ()}
    if criteria is not None and named:
        calls = [call.model_copy(update={"by": None}) for call in scenario.expected_calls]
        criteria = criteria.model_copy(update={"actions": calls})
        changes["task"] = scenario.task.model_copy(update={"evaluation_criteria": criteria})
    changes["policies"] = tuple(name for name in scenario.policies if any(one.id == name for one in policies))
    suite = plan.suite.model_copy(update={"policies": tuple(policies)})
    return replace(plan, suite=suite, scenario=scenario.model_copy(update=changes))


def _reads_handoffs(policy: Policy) -> bool:
    return policy.rule is not None and reads_handoffs(read_rule(policy.rule))


def _left_open(scenario: Scenario, toolset: Toolset) -> Iterator[str]:
    """Name the arguments of each expected write that the scenario does not state, those that may be left out too."""
    for want in scenario.expected_calls if not scenario.states_whole_calls else ():
        spec = toolset.get(want.name, want.requestor)
        if spec is None or spec.kind in ("read", "generic"):
            continue
        stated = [name for name in compared_arguments(want) if not holds_matcher(want.arguments[name])]
        names = [name for name in spec.parameters.get("properties", {}) if name not in stated]
        if names:
            yield f"{want.name}: {', '.join(names)}"


def _can_call_all(environment: LocalEnvironment) -> bool:
    """Whether there is a function behind every tool, so that calls can be made."""
    tools = environment.tools
    return bool(tools) and all(environment.can_call(spec.name, spec.requestor) for spec in tools)


def _may_read(plan: RunPlan) -> bool:
    """Whether some tool of the agent could give values."""
    tools = plan.toolset.of("assistant")
    return not tools or any(spec.kind != "write" for spec in tools)


def _against(judgement: Judgement, run: Run) -> Iterator[str]:
    """Say what stood against the oracle."""
    failed = [finding for finding in judgement.findings if finding.required and finding.passed is not True]
    for finding in failed[:_FINDINGS]:
        yield f"{finding.check}: {finding.message}"
    if not failed and run.error:
        yield run.error
