"""Whether the agent asked for the approvals that a right run asks for, and for none that the scenario forbids."""

from collections.abc import Iterable, Iterator

from pytest_agentbench.checks.findings import not_measured
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.checks.wording import call_text
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
