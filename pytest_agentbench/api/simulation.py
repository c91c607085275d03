"""What a simulated conversation gives to assertions: values whose representation shows expected beside actual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_agentbench.api.facts import CriterionFacts, Fact, Named, PolicyFacts, quoted
from pytest_agentbench.core.errors import NotMeasuredError, with_hint
from pytest_agentbench.core.names import count, suggestion
from pytest_agentbench.core.rubric import Criterion
from pytest_agentbench.core.run import Result, Run
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.transcript import CallRecord, Transcript
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, Verdict
from pytest_agentbench.report.calls import call_text
from pytest_agentbench.report.table import glyphs
from pytest_agentbench.runs.judgement import own_states
from pytest_agentbench.runs.plan import RunPlan

__tracebackhide__ = True  # pytest then shows the line of the test that asked, not this file
_MOST = 12
_MOST_SAID = 3
_WIDTH = 160


class _Keyed(dict[str, Any]):
    """A part of a state, whose keys are text: another key, such as the number of a row, is told what to write."""

    def __missing__(self, key: object) -> Any:
        """Raise what `dict` does, with a hint where the key is there as text."""
        if str(key) in self:
            raise KeyError(with_hint(str(key), f"keys are text: write {str(key)!r}"))
        raise KeyError(key)


def _keyed(value: Any) -> Any:
    if type(value) is list:
        return [_keyed(part) for part in value]
    return _Keyed({key: _keyed(part) for key, part in value.items()}) if type(value) is dict else value


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """One conversation that was played and judged; `criteria` are those of its rubric."""

    run: Run
    result: Result
    criteria: tuple[Criterion, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the default verdict is *passed*."""
        return self.result.verdict is Verdict.PASSED

    @property
    def verdict(self) -> Verdict:
        """The default verdict."""
        return self.result.verdict

    @property
    def blame(self) -> Blame | None:
        """Who caused a non-pass."""
        return self.result.blame

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
    def state(self) -> State:
        """The final state as its provider gives it: of SQLite `{table: {primary key as text: row}}`, of JSON its data.

        Raise `NotMeasuredError` where it was not read.
        """
        if self.run.final_state is None:
            raise NotMeasuredError(
                "`state` was not measured: the suite has none, or it cannot be read, or the run broke off before that; "
                "give the suite's `environment` a `state`"
            )
        return self.run.final_state

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the checks found, worst first."""
        return self.result.findings

    @property
    def explanations(self) -> tuple[CallExplanation, ...]:
        """What became of each expected call, and what each other call was."""
        return self.result.calls

    @property
    def name_recall(self) -> float | None:
        """R_name: the share of expected calls made, names compared; None when nothing was expected."""
        return self.result.metrics.get("name_recall")

    @property
    def strict_recall(self) -> float | None:
        """R_strict: the share of expected calls made with the expected arguments; None when nothing was expected."""
        return self.result.metrics.get("strict_recall")

    @property
    def complete(self) -> Fact:
        """Whether every expected call was made with its arguments, reads included."""
        value = self.result.metrics.get("complete")
        if value is None:
            why = "the scenario expects no call" if self.run.calls_visible else "the agent's calls cannot be seen"
            raise NotMeasuredError(
                f"`complete` was not measured: {why}; expected calls measure it (`expect`), of an agent whose calls "
                "are visible"
            )
        left = [one for one in self.explanations if one.expected is not None and one.status != "matched"]
        marks = glyphs(unicode=True)
        missing = ", ".join(f"{call_text(one.tool, one.expected or {}, marks)} ({one.status})" for one in left[:_MOST])
        return Fact(bool(value), "complete: all expected calls were made" if value else f"not complete: {missing}")

    @property
    def policies(self) -> Named[PolicyFacts]:
        """What became of each policy: `run.policies["consent"].kept`."""
        ruled = {policy.id: policy.rule is not None for policy in self.run.policies}
        names = dict.fromkeys([*self.run.scenario.policies, *ruled, *(one.policy for one in self.result.policies)])

        def facts(name: str) -> PolicyFacts:
            return PolicyFacts(name, self.result, self.transcript, has_rule=ruled.get(name, False))

        return Named("policy", tuple(names), facts)

    @property
    def rubric(self) -> Named[CriterionFacts]:
        """What was found about each criterion of the rubric: `run.rubric["invents"].hit`."""
        labels = {one.id: one.label for one in self.criteria}

        def facts(name: str) -> CriterionFacts:
            return CriterionFacts(name, labels[name], self.result, self.transcript)

        return Named("criterion", tuple(labels), facts)

    @property
    def make_or_break(self) -> Fact:
        """Whether a criterion that alone decides went against the agent: `must` or `make_or_break`."""
        deciding = [one.id for one in self.criteria if one.must or one.make_or_break]
        if not deciding:
            raise NotMeasuredError(
                "the rubric has no criterion that alone decides: write `must: true`, and the judge measures it"
            )
        for name in deciding:
            if self.rubric[name].is_measured and not (fact := self.rubric[name].passed):
                return Fact(True, f"hit: {repr(fact).strip('<>')}")
        for name in deciding:
            _ = self.rubric[name].passed  # raises where it was not measured
        return Fact(False, f"not hit: {', '.join(deciding)}")

    @property
    def output(self) -> Any:
        """The agent's last typed answer, None where there is none."""
        return self.run.output

    @property
    def reply(self) -> str:
        """The agent's last text."""
        texts = self.run.transcript.texts("assistant")
        return texts[-1][1] if texts else ""

    def called(self, name: str, **arguments: Any) -> Fact:
        """Whether the agent called `name` with at least these arguments; its words name the calls that were made.

        Raise `ValueError` for a slip of a tool's name, or for an argument that it does not take: such a call is never
        made. Raise `NotMeasuredError` where the agent's calls cannot be seen.
        """
        known = {spec.name: spec for spec in self.run.toolset.of("assistant")}
        made_names = {record.call.name for record in self.calls}
        if name not in made_names and name not in known and (hint := suggestion(name, list(known))):
            raise ValueError(with_hint(f"called({name!r}): there is no such tool", hint))
        taken = known[name].arguments if name in known else None
        for one in arguments:
            if taken is not None and one not in taken:
                message = f"called({name!r}): there is no argument {one!r}, only {', '.join(sorted(taken)) or 'none'}"
                raise ValueError(with_hint(message, suggestion(one, sorted(taken))))
        was = self.run.called(name, **arguments)
        if not was and not self.run.calls_visible:
            raise NotMeasuredError(
                f"called({name!r}) was not measured: the agent's calls cannot be seen; let its factory take `tools`, "
                "have it return its messages with their calls, or map `calls` of an agent behind HTTP"
            )
        marks = glyphs(unicode=True)
        made = [call_text(record.call.name, record.call.arguments, marks) for record in self.calls]
        rest = f" and {len(made) - _MOST} more" if len(made) > _MOST else ""
        listed = f"{', '.join(made[:_MOST]) or 'none'}{rest}"
        words = "called" if was else "not called"
        return Fact(was, f"{words}: {call_text(name, arguments, marks)}; calls made: {listed}")

    def said(self, text: str) -> Fact:
        """Whether some message of the agent contains `text`, ignoring case; its words are what the agent said."""
        spoken = [one for _, one in self.transcript.texts("assistant")]
        rest = f"{count(len(spoken) - _MOST_SAID, 'message')} before, " if len(spoken) > _MOST_SAID else ""
        shown = ", ".join(repr(shorten(printable(one), _WIDTH)) for one in spoken[-_MOST_SAID:])
        was = self.run.said(text)
        words = "said" if was else "not said"
        return Fact(was, f"{words}: {printable(text)!r}; the agent said: {rest}{shown or 'nothing'}")

    def __repr__(self) -> str:
        wrong = [shorten(printable(finding.message), _WIDTH) for finding in self.findings if finding.passed is False]
        why = f": {'; '.join(wrong[:3])}" if wrong else ""
        turns = self.transcript.turns
        last = f"; the last turn, {turns[-1]}, {quoted(self.transcript, turns[-1])}" if turns else ""
        ended = shorten(printable(self.run.stop_reason), _WIDTH)
        return f"<Simulation {self.termination}, {self.verdict}{why}; it closed: {ended}{last}>"


def simulation_of(plan: RunPlan, run: Run | None, result: Result) -> Simulation:
    """Give the simulation of a plan; of a run that was given up there is nothing but its result."""
    if run is None:
        crashed = {"termination": Termination.CRASHED, "stop_reason": result.stop_reason, "blame": result.blame}
        run = plan.closed_run(Transcript(), **crashed)
    criteria = plan.rubric.criteria if plan.rubric else ()
    run = own_states(run)
    run = run.model_copy(update={"final_state": _keyed(run.final_state)})
    return Simulation(run=run, result=result, criteria=criteria)
