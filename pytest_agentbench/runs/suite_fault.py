"""Where in its suite file a key stands that only a run showed to be wrong."""

from dataclasses import replace
from pathlib import Path

from pytest_agentbench.core.errors import Problem, SuiteError, SuiteFaultError
from pytest_agentbench.core.misfit import Keys, dotted
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.extends import read_suite_document
from pytest_agentbench.suites.shared_services import place_of_service


def suite_fault(plan: RunPlan, at: Keys, message: str, hint: str = "") -> SuiteFaultError:
    """Give the fault of a key of the suite, or of the run's variant where that sets it, with file, line and column."""
    if at[:2] == ("agent", "http") and len(at) > 2 and at[2] in plan.keywords:
        at = ("variants", plan.variant, *at[2:])
    try:
        document = read_suite_document(plan.suite.path)
        problem = document.problem(place_of_service(plan.suite, document, at), message, hint)
    except SuiteError:  # it was changed meanwhile
        problem = Problem(file=plan.suite.path, key=dotted(at), message=message, hint=hint)
    return SuiteFaultError(str(replace(problem, file=Path(plan.shown(problem.file)))))
