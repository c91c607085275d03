"""Whether the agent did what the scenario forbids (`never`): a call, or asking for an approval.

An attempt that failed counts too.
"""

from collections.abc import Iterable

from pytest_agentbench.checks.approvals import forbidden_approvals
from pytest_agentbench.checks.findings import not_measured, not_seen
from pytest_agentbench.checks.handoffs import SHOW_AGENTS
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.checks.wording import call_text
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.verdict import Finding


def check_forbidden(run: Run, resolve: Resolver | None = None) -> Iterable[Finding]:
    """Give a finding for each forbidden call made and approval asked for, or one passing; nothing without `never`.

    Raise what `matchers.matches` raises.
    """
    asked = list(forbidden_approvals(run, resolve))
    if not run.scenario.never:
        return asked or ([_finding(True, "no forbidden approval was asked for")] if run.scenario.never_asks else [])
    return [*asked, *_calls(run, resolve)] if asked else _calls(run, resolve)


def _calls(run: Run, resolve: Resolver | None) -> list[Finding]:
    never = run.scenario.never
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
    if found:
        return found
    doubtful = (
        record
        for record in run.made
        if record.call.by is None
        and any(forbidden.by and is_call_of(forbidden, record.call, resolve) for forbidden in never)
    )
    record = next(doubtful, None)
    if record is None:
        return [_finding(True, "no forbidden call was made")]
    why = f"nobody tells which agent made {call_text(record.call.name, record.call.arguments)}"
    return [not_measured("never", "policy", why, cure=SHOW_AGENTS, turn=record.turn)]


def _finding(passed: bool | None, message: str) -> Finding:
    return Finding(check="never", kind="policy", passed=passed, message=message)
