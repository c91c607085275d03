"""What a simulated conversation gives to assertions: values whose representation shows expected beside actual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.run import Judgement, Result, Run
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.transcript import CallRecord, Transcript
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, Verdict
from pytest_agentbench.report.calls import call_text
from pytest_agentbench.report.glyphs import glyphs

_MOST = 12
_WIDTH = 160


class CallFound:
    """Whether a call was made; what pytest shows of it names the calls that were."""

    def __init__(self, *, found: bool, wanted: str, made: list[str] | None) -> None:
        """Remember the answer; `made` is None where calls cannot be seen."""
        self._found = found
        self._wanted = wanted
        self._made = made

    def __bool__(self) -> bool:
        return self._found

    def __repr__(self) -> str:
        return f"<{'called' if self._found else 'not called'}: {self._wanted}; calls made: {self._listed()}>"

    def _listed(self) -> str:
        if self._made is None:
            return "they cannot be seen"
        rest = len(self._made) - _MOST
        return (", ".join(self._made[:_MOST]) or "none") + (f" and {rest} more" if rest > 0 else "")


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """One conversation that was played and judged."""

    run: Run
    judgement: Judgement
    result: Result

    @property
    def passed(self) -> bool:
        """Whether the default verdict is *passed*."""
        return self.judgement.verdict is Verdict.PASSED

    @property
    def verdict(self) -> Verdict:
        """The default verdict."""
        return self.judgement.verdict

    @property
    def blame(self) -> Blame | None:
        """Who caused a non-pass."""
        return self.judgement.blame

    @property
    def finished(self) -> bool:
        """Whether a party closed the conversation."""
        return self.run.finished

    @property
    def termination(self) -> Termination:
        """How the conversation closed."""
        return self.run.termination

    @property
    def transcript(self) -> Transcript:
        """All messages."""
        return self.run.transcript

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """The agent's tool calls with their results, in order."""
        return self.run.calls

    @property
    def state(self) -> State | None:
        """The final state, or None where it cannot be read."""
        return self.run.final_state

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the checks found, worst first."""
        return self.judgement.findings

    @property
    def explanations(self) -> tuple[CallExplanation, ...]:
        """What became of each expected call, and what each other call was."""
        return self.judgement.calls

    @property
    def name_recall(self) -> float | None:
        """R_name: the share of expected calls made, names compared; None when nothing was expected."""
        return self.judgement.metrics.get("name_recall")

    @property
    def strict_recall(self) -> float | None:
        """R_strict: the share of expected calls made with the expected arguments; None when nothing was expected."""
        return self.judgement.metrics.get("strict_recall")

    @property
    def output(self) -> Any:
        """The agent's last typed answer, None where there is none."""
        return self.run.output

    @property
    def reply(self) -> str:
        """The agent's last text."""
        texts = self.run.transcript.texts("assistant")
        return texts[-1][1] if texts else ""

    def called(self, name: str, **arguments: Any) -> CallFound:
        """Whether the agent called `name` with at least these arguments."""
        marks = glyphs(unicode=True)
        calls = [call_text(record.call.name, record.call.arguments, marks) for record in self.calls]
        made = calls if self.run.calls_visible else None
        wanted = call_text(name, arguments, marks)
        return CallFound(found=self.run.called(name, **arguments), wanted=wanted, made=made)

    def said(self, text: str) -> bool:
        """Whether some message of the agent contains `text`, ignoring case."""
        return self.run.said(text)

    def __repr__(self) -> str:
        wrong = [shorten(printable(finding.message), _WIDTH) for finding in self.findings if finding.passed is False]
        why = f": {'; '.join(wrong[:3])}" if wrong else ""
        return f"<Simulation {self.termination}, {self.verdict}{why}>"
