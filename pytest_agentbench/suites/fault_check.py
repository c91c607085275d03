"""Faults against the tools there are: one that no call can meet is an error of the suite."""

from collections.abc import Callable, Iterator
from pathlib import Path

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset

Point = Callable[[Keys, str, str], Problem]
"""Gives a problem of the suite file at a path."""


def fault_problems(suite: Suite, toolset: Toolset, point: Point) -> Iterator[Problem]:
    """Yield the faults of the axis and of scenarios that name no tool of the agent's, or can strike nowhere."""
    for index, entry in enumerate(suite.faults):
        for position, fault in enumerate(entry):
            if wrong := _wrong(fault, suite, toolset):
                path: Keys = ("faults", index, position) if len(entry) > 1 else ("faults", index)
                yield point(path, *wrong)
    for scenario in suite.scenarios:
        for fault in scenario.faults:
            if wrong := _wrong(fault, suite, toolset):
                message, hint = wrong
                file = Path(scenario.file)
                yield Problem(file=file, line=scenario.line, key=f"{scenario.id}: faults", message=message, hint=hint)


def _wrong(fault: FaultSpec, suite: Suite, toolset: Toolset) -> tuple[str, str] | None:
    if suite.agent.kind == "transcripts":
        return f"{fault.name!r} cannot strike: the conversations are recorded", "leave `faults` out"
    names = sorted(spec.name for spec in toolset.of("assistant"))
    if not names:
        if suite.environment.tools:
            return None  # tools that are not known here are told elsewhere
        hint = "name the agent's tools at `environment: {tools: …}`, and have the agent use those"
        return f"{fault.name!r} cannot strike: no tools are named, so none can be struck", hint
    if fault.tool not in ("*", *names):
        return f"there is no tool {fault.tool!r}; there are {listing(names)}", suggestion(fault.tool, names)
    return None
