"""Whether the conversation was closed by a party."""

from collections.abc import Iterable

from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.verdict import Finding


def check_termination(run: Run) -> Iterable[Finding]:
    """Give one finding: passed when the run FINISHED and nobody is to blame for how it did."""
    reason = printable(shorten(run.stop_reason or run.error or "", 300))
    blame = f", blame {run.blame}" if run.blame is not None else ""
    turns = run.transcript.turns
    yield Finding(
        check="termination",
        kind="termination",
        passed=run.finished and run.blame is None,
        message=f"{run.termination}{blame}{f': {reason}' if reason else ''}",
        turn=turns[-1] if turns else None,
        expected="FINISHED",
        actual=str(run.termination),
    )
