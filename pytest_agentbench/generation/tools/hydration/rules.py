"""The rules of the suite while a walk is planned or cut: what must come before a call, which calls would break a rule.

The engine of checks (`checks.policies`) judges the partial run as a run of an agent that asks before each call for
which a rule wants a yes, and says what a rule wants said. So no walk is made that a right agent would have to refuse.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from pytest_agentbench.checks.policies import check_policies
from pytest_agentbench.core.acts import Act
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, ToolResult, Toolset
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.generation.accept import script_of
from pytest_agentbench.generation.draft import Draft, PlannedCall
from pytest_agentbench.generation.owned_rows import CallRecord
from pytest_agentbench.generation.tools.hydration.arguments import Executed
from pytest_agentbench.simulation.transcript_builder import result_message
from pytest_agentbench.suites.scenario_form import form_to_scenario
from pytest_agentbench.validation.oracle import Rules
from pytest_agentbench.validation.world_values import scalars


@dataclass
class SuiteRules:
    """The policies of a suite that have a rule, held against partial runs."""

    policies: tuple[Policy, ...]
    toolset: Toolset
    now: datetime | None = None

    def __bool__(self) -> bool:
        return any(policy.rule for policy in self.policies)

    def needed(
        self, tool: str, arguments: Mapping[str, JsonValue], made: Sequence[Executed]
    ) -> Iterator[tuple[str, ...]]:
        """Give, for each rule that wants an earlier call and does not have it yet, the tools of which one will do."""
        called = {one.card.tool for one in made}
        call = ToolCall(name=tool, arguments=dict(arguments))
        return (names for names in self._rules.before(call) if called.isdisjoint(names))

    def proofs(self, tool: str, arguments: Mapping[str, JsonValue], made: Sequence[Executed]) -> list[CallRecord]:
        """Give the calls that rules want before a call, and that were made."""
        first = {name for names in self.needed(tool, arguments, ()) for name in names}
        return [one.record for one in made if one.card.tool in first]

    def confirms(self, call: PlannedCall) -> bool:
        """Whether a planned call needs the user's yes."""
        return self.must_confirm(call.made)

    def first_of(self, call: PlannedCall) -> Iterator[tuple[str, ...]]:
        """Give, for each rule that wants another call before a planned one, the tools of which one will do."""
        return iter(self._rules.before(call.made))

    def must_confirm(self, call: ToolCall) -> bool:
        """Whether a call needs the user's yes."""
        return self._rules.must_confirm(call)

    def broken(self, made: Sequence[Executed], initial: State | None, states: Sequence[State]) -> tuple[str, ...]:
        """Name the policies that a right agent breaks by these calls, each in the turn of the user that asks for it."""
        return tuple(self._broken(self._messages(made), initial, states)) if self else ()

    def broken_in(self, draft: Draft) -> dict[str, str]:
        """Give the policies that the right run of a draft breaks, as far as its calls and answers tell, each with why.

        No state is known: what only a row could tell is not told.
        """
        return self._broken(self._messages_of(draft), None, ()) if self else {}

    def _broken(self, messages: Iterator[Message], initial: State | None, states: Sequence[State]) -> dict[str, str]:
        run = Run(
            key=RunKey(suite="", scenario=_SCENARIO.id),
            scenario=_SCENARIO,
            policies=tuple(policy for policy in self.policies if policy.rule),
            now=self.now,
            transcript=Transcript(messages=tuple(messages)),
            termination=Termination.FINISHED,
            toolset=self.toolset,
            initial_state=initial,
            final_state=states[-1] if states else initial,
            states=tuple(states),
        )
        found = [one for one in check_policies(run).findings if one.passed is False and one.policy]
        return {str(one.policy): one.message for one in reversed(found)}

    def _messages_of(self, draft: Draft) -> Iterator[Message]:
        calls = draft.calls
        for step in script_of(draft, self._rules):
            yield step.message
            if step.call is not None and step.position is not None:
                planned = calls[step.position]
                result = ToolResult(content=planned.answer, error=planned.fails, wrote=planned.writes)
                yield result_message(step.call, result)

    def _messages(self, made: Sequence[Executed]) -> Iterator[Message]:
        turn = -1
        for number, one in enumerate(made):
            call = ToolCall(id=f"call_{number}", name=one.card.tool, arguments=one.arguments)
            values = [value for _, value in scalars(call.arguments)]
            said = f"{call.name.replace('_', ' ')} ({call.name}): {', '.join(map(str, values))}"
            if one.turn != turn:
                yield Message(role="user", content=said, acts=(Act(kind="request"),))
                turn = one.turn
            if self._rules.must_confirm(call):
                yield Message(role="assistant", content=f"{said}. Shall I proceed?")
                yield Message(role="user", content="Yes.", acts=(Act(kind="confirm", about=tuple(values)),))
            yield Message(role="assistant", tool_calls=(call,))
            result = ToolResult(content=one.content, error=one.error, wrote=one.card.writes is not False)
            yield result_message(call, result)
        words = list(self._rules.words([ToolCall(name=one.card.tool, arguments=one.arguments) for one in made]))
        yield Message(role="assistant", content="; ".join([*words, *(one.content[:2000] for one in made)]) or "Done.")

    @cached_property
    def _rules(self) -> Rules:
        return Rules(self.policies, self.toolset, None, self.now)


def _scenario() -> Scenario:
    found = form_to_scenario({"id": "plan", "says": ["plan"]}, ())
    if isinstance(found, list):
        raise TypeError(str(found))
    return found


_SCENARIO = _scenario()
