"""What keeps a failed run from telling of its agent on account of the simulated user's part in the conversation."""

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_agentbench.checks.fault_outcomes import SUFFERS
from pytest_agentbench.checks.findings import cut
from pytest_agentbench.core.ids import clipped, named_values
from pytest_agentbench.core.json_values import leaves
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, OtherFault

_MISSING = ("not_attempted", "substituted")


def user_gaps(run: Run, findings: Sequence[Finding], explanations: Sequence[CallExplanation]) -> Iterator[OtherFault]:
    """Give why nobody can tell whose fault it is: values that nobody said, or a stall after all that was expected."""
    failed = [one for one in findings if one.required and one.passed is False]
    if not failed or any(one.kind not in SUFFERS and one.kind != "termination" for one in failed):
        return
    if run.termination not in (Termination.FINISHED, Termination.STALLED):
        return
    if unsaid := _unsaid(run, explanations):
        reason = f"nobody said {listing(unsaid)}, which the user knows and missing calls take: say it in `says`"
        yield OtherFault(blame=Blame.UNCLEAR, reason=cut(printable(reason)))
    expected = [one for one in explanations if one.expected is not None]
    is_done = expected and run.calls_visible and all(one.status == "matched" for one in expected)
    if is_done and all(one.kind == "termination" for one in failed):
        yield OtherFault(blame=Blame.UNCLEAR, reason="the conversation stalled after every expected call was made")


def _unsaid(run: Run, explanations: Sequence[CallExplanation]) -> list[str]:
    """Name the known values that missing calls take and no message or call holds; hidden calls may all be missing."""
    missing = [one.expected for one in explanations if one.status in _MISSING and one.expected is not None]
    if not run.calls_visible:
        missing = [one.arguments for one in run.scenario.expected_calls if one.requestor == "assistant"]
    taken = {plain(str(value)) for arguments in missing for _, value, _ in named_values(arguments)}
    known = {name: value for name, value in run.scenario.knows.items() if plain(str(value)) in taken}
    if not known:
        return []
    texts = [clipped(message.text) for message in run.transcript.messages]
    used = {plain(str(one)) for record in run.calls for one in leaves(record.call.arguments)}

    def is_said(value: Any) -> bool:
        return plain(str(value)) in used or any(states(value, text, run.scenario.language or "en") for text in texts)

    return [name for name, value in known.items() if not is_said(value)]
