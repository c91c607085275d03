"""Where in its suite file a key stands that only a run showed to be wrong."""

from dataclasses import replace
from pathlib import Path

from pytest_agentbench.core.errors import Problem, SuiteError, SuiteFaultError
from pytest_agentbench.core.misfit import Keys, dotted
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.extends import read_suite_document
from pytest_agentbench.suites.shared_services import has_key


def suite_fault(plan: RunPlan, at: Keys, message: str, hint: str = "") -> SuiteFaultError:
    """Give the fault of a key of the suite, or of the run's variant where that sets it, with file, line and column."""
    if at[:2] == ("agent", "http") and len(at) > 2 and at[2] in plan.keywords:
        at = ("variants", plan.variant, *at[2:])
    try:
        document = read_suite_document(plan.suite.path)
        # the service of the tools may be started where the agent says how
        at = ("agent", "http", "serve") if at[-1:] == ("serve",) and not has_key(document, at) else at
        problem = document.problem(at, message, hint)
    except SuiteError:  # it was changed meanwhile
        problem = Problem(file=plan.suite.path, key=dotted(at), message=message, hint=hint)
    return SuiteFaultError(str(replace(problem, file=Path(plan.shown(problem.file)))))
