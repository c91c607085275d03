"""The rules of a suite, asked about conversations by the engine that judges runs; nothing here knows what one means."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pytest_agentbench.checks.matchers import every
from pytest_agentbench.checks.rules import (
    AllOf,
    AnyOf,
    AtMost,
    Described,
    InState,
    Not,
    OnlyIf,
    Other,
    Rule,
    Says,
    When,
    read_rule,
)
from pytest_agentbench.checks.rules_judge import judge_rule
from pytest_agentbench.checks.rules_values import Facts
from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.validation.rules import Rules


class Rulebook:
    """The rules of a suite's policies, asked about conversations."""

    def __init__(self, policies: Sequence[Policy], toolset: Toolset, now: datetime | None = None) -> None:
        self.rules: dict[str, Rule] = {one.id: read_rule(one.rule) for one in policies if one.rule is not None}
        self.needs = Rules(policies, toolset, now=now)
        self.toolset = toolset
        self.reads_state = any(_any_part(rule, lambda part: isinstance(part, InState)) for rule in self.rules.values())
        self._policies = tuple(policies)
        self._now = now
        self._scenario = Scenario(id="planned", title="planned", task=Task(id="planned"))

    def depends_on_words(self, policy: str) -> bool:
        """Whether a rule reads what the user says, which nobody knows before the lines are written."""
        return _any_part(self.rules[policy], lambda part: isinstance(part, Says) and part.speaker == "user")

    def limits(self, policy: str) -> list[AtMost]:
        """Give the parts of a rule that limit how often calls are made."""
        return [part for part in _parts(self.rules[policy]) if isinstance(part, AtMost)]

    def verdicts(
        self,
        transcript: Transcript,
        initial: State | None = None,
        states: Sequence[State] = (),
        *,
        only: Collection[str] | None = None,
    ) -> dict[str, bool | None]:
        """Say of each policy that a conversation sets off whether it was kept, None where nobody can tell.

        `only` names the policies that are asked about, where not all are.
        """
        run = Run.model_construct(
            key=RunKey(suite="planned", scenario="planned"),
            scenario=self._scenario,
            policies=self._policies,
            now=self._now,
            transcript=transcript,
            termination=Termination.FINISHED,
            toolset=self.toolset,
            initial_state=initial if self.reads_state else None,
            final_state=(states[-1] if states else initial) if self.reads_state else None,
            states=tuple(states),
        )
        facts = Facts(run)
        found: dict[str, bool | None] = {}
        for name, rule in self.rules.items():
            if only is not None and name not in only:
                continue
            try:
                judged = judge_rule(rule, facts)
            except PatternBoundError:
                found[name] = None
                continue
            if judged:
                found[name] = every(one.kept for one in judged)
        return found

    def broken(self, verdicts: Mapping[str, bool | None]) -> frozenset[str]:
        """Give the policies that were broken."""
        return frozenset(name for name, kept in verdicts.items() if kept is False)

    def wanted_before(self, policy: str) -> list[tuple[str, ...]]:
        """Give the tools of which a rule wants one earlier, each alternative by itself."""
        return list(_wanted(self.rules[policy], earlier=True))

    def wanted_after(self, policy: str) -> list[tuple[str, ...]]:
        """Give the tools of which a rule wants one afterwards."""
        return list(_wanted(self.rules[policy], earlier=False))

    def triggers(self, policy: str) -> list[tuple[str, ...]]:
        """Give the tools whose calls set a rule off."""
        triggers = [part.trigger for part in _parts(self.rules[policy]) if isinstance(part, When)]
        return [one.calls for one in triggers if isinstance(one, Described) and not isinstance(one.calls, str)]


def _wanted(rule: Rule, *, earlier: bool) -> Iterator[tuple[str, ...]]:
    for part in _parts(rule, through_not=False):
        about = part.about if isinstance(part, Other) and part.earlier is earlier else None
        if isinstance(about, Described) and not isinstance(about.calls, str):
            yield about.calls


def _parts(rule: Rule, *, through_not: bool = True) -> Iterator[Rule]:
    """Give a rule with all that it is made of."""
    yield rule
    inner: tuple[Rule, ...] = ()
    match rule:
        case OnlyIf():
            inner = (rule.needs,)
        case When():
            inner = (rule.then,)
        case AllOf() | AnyOf():
            inner = rule.rules
        case Not() if through_not:
            inner = (rule.rule,)
    for one in inner:
        yield from _parts(one, through_not=through_not)


def _any_part(rule: Rule, is_wanted: Callable[[Any], bool]) -> bool:
    about = {When: "trigger", Other: "about"}
    return any(is_wanted(part) or is_wanted(getattr(part, about.get(type(part), ""), None)) for part in _parts(rule))
