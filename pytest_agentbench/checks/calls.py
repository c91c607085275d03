"""Whether the stated calls were made, where the scenario asks for more than their effect.

Expected reads fail a run only under `match: {expected_calls: all}`; expected writes are decided by their effect
(state.py). An order mode other than `any_order` is a demand of its own: it is about every expected call, reads
included, and about calls that did not fail (`exact`: about every call, since a retry is something besides).
"""

from collections.abc import Iterable, Sequence
from functools import partial

from pytest_agentbench.checks.findings import about, call_text, not_made, not_seen
from pytest_agentbench.checks.handoffs import in_order_with_handoffs, is_exact_with_handoffs
from pytest_agentbench.checks.matching import Matching, in_order, is_exact
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.verdict import CallExplanation, Finding

_finding = partial(about, "calls", "calls")


def check_calls(run: Run, matching: Matching, explanations: Sequence[CallExplanation]) -> Iterable[Finding]:
    """Give nothing where neither all calls nor an order are asked for, else what is missing or out of order."""
    match = run.scenario.match
    if not run.scenario.states_calls or (match.expected_calls == "writes" and match.order == "any_order"):
        return []
    if not run.calls_visible:
        return [not_seen("calls", "calls")]
    missing = [call for call in explanations if call.expected is not None and call.status != "matched"]
    found = [one for call in missing for one in not_made(call, "calls")] if match.expected_calls == "all" else []
    with_handoffs = bool(run.scenario.handoffs) and run.tells_handoffs
    ordered = in_order_with_handoffs(run, matching) if with_handoffs else in_order(matching)
    if match.order == "in_order" and not ordered:
        found.append(_out_of_order(run, matching, "the expected calls were not all made in the order stated"))
    exact = is_exact_with_handoffs(run, matching) if with_handoffs else is_exact(matching)
    if match.order == "exact" and not exact:
        found.append(_out_of_order(run, matching, "the calls made are not exactly the expected ones"))
    return found or [_finding(True, "the expected calls were made")]


def _out_of_order(run: Run, matching: Matching, message: str) -> Finding:
    expected = [call_text(want.name, want.arguments) for want in matching.expected]
    actual = [call_text(record.call.name, record.call.arguments) for record in matching.records]
    return Finding(
        check="calls",
        kind="calls",
        passed=False,
        message=f"{message} ({run.scenario.match.order})",
        expected=", ".join(expected) or "no call",
        actual=", ".join(actual) or "no call",
    )
