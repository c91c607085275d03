"""Whether the agent made a call that the scenario forbids (`never`); an attempt that failed counts too."""

from collections.abc import Iterable

from pytest_agentbench.checks.findings import not_seen
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.checks.wording import call_text
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.verdict import Finding


def check_forbidden(run: Run, resolve: Resolver | None = None) -> Iterable[Finding]:
    """Give a finding for each forbidden call made, or one passing; nothing where none is forbidden.

    Raise what `matchers.matches` raises.
    """
    never = run.scenario.never
    if not never:
        return []
    if not run.calls_visible:
        return [not_seen("never", "policy")]
    found = [
        Finding(
            check="never",
            kind="policy",
            passed=False,
            message=f"{call_text(record.call.name, record.call.arguments)} is forbidden in this scenario",
            turn=record.turn,
            tool=record.call.name,
            proven=record.call.requestor == "assistant",
        )
        for record in run.made
        if any(
            is_call_of(forbidden, record.call, resolve) and forbidden.by in (None, record.call.by)
            for forbidden in never
        )
    ]
    return found or [_finding(True, "no forbidden call was made")]


def _finding(passed: bool | None, message: str) -> Finding:
    return Finding(check="never", kind="policy", passed=passed, message=message)
