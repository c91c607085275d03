"""The tools that a suite names, which nobody may describe: by its scenarios, and by what it says of their kinds."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.names import listing, nearest
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.suites.call_check import Finder


def named_tools(scenarios: Iterable[Scenario]) -> tuple[str, ...]:
    """Give the agent's tools that scenarios expect or forbid, in order."""
    calls = (call for one in scenarios for _, call in _calls(one))
    return tuple(dict.fromkeys(call.name for call in calls if call.requestor == "assistant"))


def places_of_named_tools(suite: Suite, root: Path) -> dict[str, str]:
    """Give where the suite first names each tool: file, line and key."""
    environment, finder = suite.environment, Finder(suite.path)
    listed = (("reads", environment.reads), ("writes", environment.writes))
    problems = {
        name: finder.suite_problem(("environment", key, index), "", "")
        for key, names in listed
        for index, name in enumerate(names)
    }
    for scenario in suite.scenarios:
        for key, call in _calls(scenario):
            if call.name not in problems:
                at = f"{scenario.id}: {key}"
                problems[call.name] = Problem(
                    file=Path(scenario.file), line=scenario.line, column=1, key=at, message=""
                )
    return {name: _shown(problem, root) for name, problem in problems.items()}


def never_called(named: dict[str, str], called: Iterable[str]) -> Iterator[str]:
    """Say of each name that no run called, and that is nearly one that some run did, where it stands and which one."""
    seen = sorted({*called})
    for name, place in named.items():
        if name not in seen and (near := nearest(name, seen)):
            yield f"{place}{name!r} was called in no run; called were {listing(seen)} (did you mean {near!r}?)"


def _calls(scenario: Scenario) -> Iterator[tuple[str, ExpectedCall]]:
    ways = (("expect_any", calls) for calls in scenario.expect_any)
    for key, calls in (("expect", scenario.expected_calls), ("never", scenario.never), *ways):
        yield from ((key, call) for call in calls)


def _shown(problem: Problem, root: Path) -> str:
    file = problem.file
    return str(replace(problem, file=file.relative_to(root) if file.is_relative_to(root) else file))
