"""A suite as collection needs it: read, checked against its tools, and laid out as runs."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from pytest_agentbench.agents.callables import requires, untaken
from pytest_agentbench.agents.factory import check_import
from pytest_agentbench.core.errors import AgentBenchError, Problem, SuiteError
from pytest_agentbench.core.extensions import BUILT_IN, Extensions
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.context import MAKE, split_context
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import reviews_of
from pytest_agentbench.llm.prices import check_priced
from pytest_agentbench.results.calibration import objections, standing_of
from pytest_agentbench.results.document import SuiteRecord, policy_record
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.results.secrets import specs_of
from pytest_agentbench.runs.forecast import expired, impossible_gates, unmeasurable_gates
from pytest_agentbench.runs.plan import RunPlan, plans
from pytest_agentbench.runs.transcript_runs import recorded_plans
from pytest_agentbench.spec.loading import begins_with_key, read_document
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.extends import extended_file, read_suite_document
from pytest_agentbench.suites.scenario_files import find_scenario_files, is_suite_file
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.impossible import impossible

_MAKE = f"context.{MAKE}"


def read_suite(path: Path) -> tuple[Suite, Toolset]:
    """Read a suite and its tools, and import its agent; raise `SuiteError` with every problem found."""
    suite = load_suite(path, environ=os.environ)
    problems: list[Problem] = []
    toolset = Toolset()
    try:
        toolset = tools_of(suite)
    except AgentBenchError as error:
        problems.append(Problem(file=path, key="environment", message=str(error)))
    problems += _unimportable_agent(suite)
    problems += _unknown_keywords(suite)
    if suite.agent.kind == "callable" and any(suite.variants.values()):
        message = "a plain reply function takes no variant keywords"
        hint = "make it a factory: `agent: module:build`, where build(**keywords) returns the reply function"
        problems.append(Problem(file=path, key="variants", message=message, hint=hint))
    problems += _unloadable(suite)
    if problems := [*problems, *check_calls(suite, toolset), *impossible(suite, toolset)]:
        redact = Redactor(suite.secrets).text
        placed = (_placed(problem, suite.path) for problem in problems)
        raise SuiteError([replace(problem, message=redact(problem.message)) for problem in placed])
    return suite, toolset


def tools_of(suite: Suite) -> Toolset:
    """Give the tools of a suite, as far as they are known before anything runs."""
    return load_toolset(suite.environment, suite.root, recorded=suite.agent.kind == "transcripts")


def record_of(suite: Suite, key: str, plans: Sequence[RunPlan]) -> SuiteRecord:
    """Give what results say of a suite with these runs, all of which are selected."""
    recorded = suite.agent.kind == "transcripts"
    variants = tuple(dict.fromkeys(plan.variant for plan in plans)) if recorded else tuple(suite.variants)
    total = sum(not is_left_out(plan) for plan in plans)
    return SuiteRecord(
        path=key,
        name=suite.name,
        owner=suite.owner,
        content_hash=suite.content_hash,
        gates=suite.gates,
        variants=variants,
        trials=max((plan.trial for plan in plans), default=1),
        scenarios=len(suite.scenarios),
        total=total,
        selected=total,
        policies=tuple(map(policy_record, suite.policies)),
        auditor=standing_of(suite),
        review=reviews_of(suite),
    )


def is_left_out(plan: RunPlan) -> bool:
    """Whether a scenario says `skip` or `xfail`, and so is in no rate."""
    return bool(plan.scenario.skip or plan.scenario.xfail)


def check_decidable(suite: Suite, plans: Sequence[RunPlan], toolset: Toolset, today: date) -> None:
    """Raise `SuiteError` for quarantines that are over, and for gates that these runs can never meet or measure."""
    gates = (*impossible_gates(suite, plans, toolset), *unmeasurable_gates(suite, plans))
    if problems := [*expired(suite, today), *gates]:
        raise SuiteError(problems)


def refusals(suite: Suite, *, judge: bool, max_cost: float | None, max_calls: int | None) -> Iterator[str]:
    """Say why a suite cannot be played like this: it needs a judge and names none, or nobody can bound what it costs.

    A budget of money cannot bound models whose cost nobody knows; a judge may have to have figures.
    """
    costs = any(cost is not None for cost in (max_cost, suite.limits.cost_usd, *_own(suite, "cost_usd")))
    calls = max_calls is not None or suite.limits.model_calls is not None
    calls = calls or all(one is not None for one in _own(suite, "model_calls"))
    if problems := check_priced(list(specs_of(suite)), has_cost_budget=costs, has_call_budget=calls):
        yield f"{suite.path.name}: {'; '.join(problems)}"
    rubrics = (suite.rubric, *(scenario.rubric for scenario in suite.scenarios))
    judged = [one.id for rubric in rubrics if rubric is not None for one in rubric.judged]
    if not judged or not judge:
        return
    if suite.judge is None:
        yield (
            f"{suite.path}: the criterion {judged[0]!r} needs a judge; add `judge: {{llm: {{model: …}}}}`, or "
            "leave such criteria unmeasured with `-o agentbench_judge=false`"
        )
    elif suite.judge.calibration is not None:
        yield from objections(suite)


def _own(suite: Suite, limit: str) -> Iterator[float | None]:
    yield from (getattr(scenario.limits, limit) for scenario in suite.scenarios)


class Owners:
    """Finds the suite of a scenario file; every suite is read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[Path, dict[Path, frozenset[Path]]] = {}

    def of(self, file: Path) -> Path | None:
        """Give the first suite, in the file's folder or above it up to the root, whose `scenarios` name the file."""
        file = file.resolve()
        for folder in file.parents:
            if folder not in self._files:
                suites = filter(is_suite_file, sorted(folder.glob("*agentbench.yaml")))
                self._files[folder] = {suite: frozenset(_scenario_files(suite)) for suite in suites}
            if suite := next((suite for suite, files in self._files[folder].items() if file in files), None):
                return suite
            if folder == self._root:
                break
        return None


def is_base(path: Path, root: Path) -> bool:
    """Whether a suite file without scenarios is one that other suites extend: in its folder, below it, or in `root`."""
    if begins_with_key(path, "scenarios"):  # the whole is read once, as a suite
        return False
    if not isinstance(read_document(path).value, dict):
        return False
    folders = (path.parent, root) if path.is_relative_to(root) else (path.parent,)
    suites = (other for folder in folders for other in folder.rglob("*agentbench.yaml") if is_suite_file(other))
    return any(extended_file(other) == path.resolve() for other in suites if other != path)


def _scenario_files(path: Path) -> Iterator[Path]:
    """Give the files that a suite takes its scenarios from; none where it cannot be read."""
    try:
        document = read_suite_document(path)
    except SuiteError:
        return
    value = document.value
    listed = value.get("scenarios") if isinstance(value, dict) else None
    folder = document.file_of(("scenarios",)).parent
    for entry in listed if isinstance(listed, list) else ():
        found = find_scenario_files(folder, entry) if isinstance(entry, str) else ()
        yield from (one.resolve() for one in found if isinstance(one, Path))


def _placed(problem: Problem, path: Path) -> Problem:
    """Say where in the suite file the key of a problem stands, as far as it can be told."""
    if problem.line or problem.file != path or not problem.key:
        return problem
    try:
        place = read_suite_document(path).place(tuple(problem.key.split(".")))
    except SuiteError:  # it has changed since it was read
        return problem
    return replace(problem, file=place.file or path, line=place.line, column=place.column) if place else problem


def _unimportable_agent(suite: Suite) -> Iterator[Problem]:
    """Import the agent, as the first run would: one wrong path is one problem here, and not one of every run.

    pytest imports test modules at the same time. Nothing of the agent is called.
    """
    try:
        check_import(suite.agent, suite.root)
    except AgentBenchError as error:
        yield Problem(file=suite.path, key="agent", message=str(error))
        return
    if suite.environment.tools or suite.environment.offered is not None or suite.agent.kind != "factory":
        return
    varied = [set(keywords) for keywords in suite.variants.values()] or [set()]
    if requires(load_object(suite.agent.target, suite.root), "tools") and any("tools" not in one for one in varied):
        message = f"the factory {suite.agent.target!r} requires `tools`, and the suite names none"
        hint = "add `environment: {tools: MODULE}`, or give the parameter a default"
        yield Problem(file=suite.path, key="agent", message=message, hint=hint)


def _unknown_keywords(suite: Suite) -> Iterator[Problem]:
    """Give the keywords of variants that the factory does not take, of variants that are not played, too.

    Variants of a suite that this one extends may be those of another agent: they are told when they are played.
    """
    if suite.agent.kind != "factory" or not any(suite.variants.values()):
        return
    try:
        factory, document = load_object(suite.agent.target, suite.root), read_suite_document(suite.path)
    except AgentBenchError:  # told where it is imported
        return
    for name, keywords in suite.variants.items():
        for keyword, names in untaken(factory, keywords):
            if document.file_of(("variants", name, keyword)) != suite.path:
                continue
            message = (
                f"the factory {suite.agent.target!r} has no parameter {keyword!r}; it has {listing(names) or 'none'}"
            )
            yield document.problem(("variants", name, keyword), message, suggestion(keyword, names), at_key=True)


def key_of(path: Path, root: Path) -> str:
    """Name a suite by its path: relative to the root where it lies below it."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _unloadable(suite: Suite) -> Iterator[Problem]:
    """Give every check, state provider and maker of a context whose import path leads to nothing that can be called."""
    paths = {path: scenario for scenario in reversed(suite.scenarios) for path in scenario.checks}
    places = [(path, Path(one.file or suite.path), one.line, "checks") for path, one in reversed(paths.items())]
    state = suite.environment.state
    if state is not None and state.kind == "own":
        places.append((str(state.options.get("own")), suite.path, 0, "environment.state.own"))
    makers = {split_context(one.context)[0]: one for one in reversed(suite.scenarios)}
    places += [(path, Path(one.file or suite.path), one.line, _MAKE) for path, one in makers.items() if path]
    if (path := split_context(suite.context)[0]) and path not in makers:
        places.append((path, suite.path, 0, _MAKE))
    for path, file, line, key in places:
        try:
            found = load_object(path, suite.root)
        except AgentBenchError as error:
            hint = "; where it is a value of your own, give its key another name" if key == _MAKE else ""
            yield Problem(file=file, line=line, column=1, key=key, message=f"{error}{hint}")
            continue
        if not callable(found):
            message = f"{path!r} is {type(found).__name__}, which cannot be called"
            yield Problem(file=file, line=line, column=1, key=key, message=message)


def planned(
    suite: Suite,
    key: str,
    variants: tuple[str, ...],
    toolset: Toolset,
    *,
    trials: int | None = None,
    extensions: Extensions = BUILT_IN,
) -> Iterator[RunPlan]:
    """Give the runs of the chosen variants: the named ones, all, or the first that the suite declares.

    `trials` replaces the number that the suite declares; of recordings there are as many as were recorded.
    """
    if suite.agent.kind == "transcripts":
        found = recorded_plans(suite, key, variants, toolset)
    else:
        asked = chosen(tuple(suite.variants), variants)
        found = plans(suite, key, asked, toolset, trials=trials)
    yield from (replace(plan, extensions=extensions) for plan in found)


def chosen(declared: tuple[str, ...], asked: tuple[str, ...]) -> tuple[str, ...]:
    """Give the variants to run, in declared order; `""` stands for a suite that declares none.

    A suite that lacks every asked variant runs nothing.
    """
    if not declared:
        return ("",) if asked in ((), ("all",)) else ()
    if not asked:
        return declared[:1]
    return declared if asked == ("all",) else tuple(name for name in declared if name in asked)
