"""What the scenario forbids (`never`: a call, asking for an approval), and the approvals that it expects.

A forbidden attempt that failed counts too.
"""

from collections.abc import Iterable, Iterator

from pytest_agentbench.checks.calls import SHOW_AGENTS
from pytest_agentbench.checks.findings import call_text, not_measured, not_seen
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.verdict import Finding


def check_approvals(run: Run, resolve: Resolver | None = None) -> Iterable[Finding]:
    """Give a finding for each expected approval, nothing where none is expected.

    A recording in which no approval stands may come from a log that has no place for them: it is not measured.
    """
    asked = [request for _, request in _asked(run)]
    if run.scenario.asks and not run.approvals_visible:
        why = "the recording holds no approvals"
        yield not_measured("approvals", "calls", why, cure='give its messages `"approvals": [{"tool": …}]`')
        return
    for want in run.scenario.asks:
        wanted = f"the approval of {call_text(want.name, want.arguments)}"
        found = any(_is_of(want, request, resolve) for request in asked)
        others = [call_text(one.tool, one.arguments) for one in asked]
        yield Finding(
            check="approvals",
            kind="calls",
            passed=found,
            message=f"{wanted} was asked for" if found else f"{wanted} was never asked for",
            tool=want.name,
            expected=call_text(want.name, want.arguments),
            actual=None if found else ", ".join(others) or "no approval",
        )


def forbidden_approvals(run: Run, resolve: Resolver | None = None) -> Iterator[Finding]:
    """Give a finding for each forbidden approval that the agent asked for."""
    for turn, request in _asked(run):
        if any(_is_of(forbidden, request, resolve) for forbidden in run.scenario.never_asks):
            told = f"the approval of {call_text(request.tool, request.arguments)} is forbidden in this scenario"
            yield Finding(
                check="never", kind="policy", passed=False, message=told, turn=turn, tool=request.tool, proven=True
            )


def _asked(run: Run) -> Iterator[tuple[int, ApprovalRequest]]:
    """Give what the agent asked its user to decide, each with its turn."""
    for turn, message in zip(run.transcript.turns, run.transcript.messages, strict=True):
        yield from ((turn, request) for request in message.approvals)


def _is_of(want: ExpectedCall, request: ApprovalRequest, resolve: Resolver | None) -> bool:
    return is_call_of(want, ToolCall(name=request.tool, arguments=request.arguments), resolve)


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
