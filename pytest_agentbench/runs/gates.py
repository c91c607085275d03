"""What no run of a suite can meet, found before any: gates on names that there are not, quarantines that are over."""

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from pathlib import Path

from pytest_agentbench.core.errors import GateError, Problem
from pytest_agentbench.core.gates import Known, parse_gate
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.extended import read_suite_document
from pytest_agentbench.suites.script_lines import form_of


def impossible_gates(suite: Suite, plans: Sequence[RunPlan], toolset: Toolset) -> Iterator[Problem]:
    """Give a problem for each gate on a name that the suite does not have, or on more trials than it plays."""
    known = _known(suite, plans, toolset)
    for index, text in enumerate(suite.gates):
        try:
            gate = parse_gate(text, known=known)
            if gate.metric == "pass^":
                _check_trials(text, int(gate.argument), suite, plans)
        except GateError as error:
            yield read_suite_document(suite.path).problem(("gates", index), error.message, error.hint)


def expired(suite: Suite, today: date) -> Iterator[Problem]:
    """Give a problem for each scenario whose quarantine is over."""
    for scenario in suite.scenarios:
        quarantine = scenario.quarantine
        if quarantine is not None and quarantine.until < today:
            ended = f"that of {scenario.id} ended on {quarantine.until.isoformat()}"
            message = f"{ended}; {quarantine.owner} owns it: {quarantine.reason}"
            hint = "remove `quarantine` and let the scenario count, or set a later `until`"
            form = form_of(suite, scenario)
            if form is None:
                yield Problem(file=Path(scenario.file or suite.path), line=scenario.line, message=message, hint=hint)
            else:
                yield form[0].problem((*form[1], "quarantine", "until"), message, hint)


def _known(suite: Suite, plans: Sequence[RunPlan], toolset: Toolset) -> Known:
    """Give the names that gates may be about; agents are known only when they run."""
    scenarios = [*suite.scenarios, *(plan.scenario for plan in plans)]  # a plan's may have tags of its own
    expected = {call.name for scenario in scenarios for call in scenario.expected_calls}
    policies = {policy.id: policy for policy in suite.policies}
    rated = (scenario.rated_complexity(policies) for scenario in scenarios)
    rubrics = (rubric for rubric in (suite.rubric, *(one.rubric for one in scenarios)) if rubric is not None)
    known: dict[str, Collection[str]] = {
        "tag": {tag for scenario in scenarios for tag in scenario.tags},
        "language": {scenario.language or suite.language for scenario in scenarios},
        "rubric": {criterion.id for rubric in rubrics for criterion in rubric.criteria},
        "complexity": {str(one[0]) for one in rated if one is not None},
    }
    if toolset.names():  # an agent's own tools are seen only when it runs
        known["tool"] = toolset.names() | {spec.name for spec in toolset.own} | expected
    return known


def _check_trials(text: str, k: int, suite: Suite, plans: Sequence[RunPlan]) -> None:
    most = max((plan.trial for plan in plans), default=suite.trials or 1)
    if k > most:
        raise GateError(
            f"the gate {text!r} needs {k} trials of a scenario, and the suite plays {most}",
            f"write `trials: {k}`, or `--agentbench-trials {k}`",
        )
    if any(plan.stops_early for plan in plans):
        raise GateError(
            f"the gate {text!r} needs all trials, and the suite stops them early",
            "leave `stop: sequential` out, or the gate",
        )
