"""What rules of policies ask of a right run beside its expected calls: lookups before, a yes before, words after."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pytest_agentbench.checks.matchers import Resolver, matches
from pytest_agentbench.checks.rules import (
    AllOf,
    AnyOf,
    Confirmed,
    Described,
    OnlyIf,
    Other,
    Rule,
    Says,
    When,
    read_rule,
)
from pytest_agentbench.core.matchers import holds_reference, is_reference
from pytest_agentbench.core.moments import dated, is_moment, moment_text
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.values import JsonValue

_Need = Literal["before", "confirm", "terms", "say", "tell"]


class Rules:
    """The rules that hold in a scenario, as far as a right run has to do something for them.

    Of alternatives (`any`) the first is kept. What a rule asks of the user, or says with patterns alone, is left to it.
    """

    def __init__(
        self,
        policies: Sequence[Policy],
        toolset: Toolset,
        resolve: Resolver | None = None,
        now: datetime | None = None,
    ) -> None:
        self._toolset = toolset
        self._now = now
        self._resolve = resolve
        self._needs: list[tuple[_Need, Described | None, Any]] = []
        for policy in policies:
            if policy.rule is not None:
                self._read(read_rule(policy.rule), None)

    def must_confirm(self, call: ToolCall) -> bool:
        """Whether a call needs the user's yes."""
        return any(self._of("confirm", call))

    def terms(self, call: ToolCall) -> Iterator[tuple[Described, Mapping[str, Any]]]:
        """Give what the user must hear beside the arguments: a reference, and the calls that it leads into."""
        return self._of("terms", call)

    def before(self, call: ToolCall) -> Iterator[tuple[str, ...]]:
        """Give, for each rule about the call, the tools of which one must have been called before."""
        return self._of("before", call)

    def orders(self, first: str, call: ToolCall) -> bool:
        """Whether a rule says that a tool is to be called before this call."""
        return any(first in names for names in self.before(call))

    def told(self, call: ToolCall) -> Iterator[Mapping[str, Any]]:
        """Give the references into a call whose values the agent must say once it was made."""
        return self._of("tell", call)

    def words(self, calls: Sequence[ToolCall]) -> Iterator[str]:
        """Give what the agent must say in a run with these calls."""
        for need, about, text in self._needs:
            if need == "say" and (about is None or any(self.is_about(about, call) for call in calls)):
                yield text

    def _of(self, need: _Need, call: ToolCall) -> Iterator[Any]:
        return (what for one, about, what in self._needs if one == need and about and self.is_about(about, call))

    def _read(self, rule: Rule, about: Described | None) -> None:
        """Take in a rule, or a requirement on the calls that `about` describes."""
        match rule:
            case OnlyIf() if isinstance(rule.about, Described):
                if isinstance(rule.needs, Confirmed) and about is not None:
                    self._needs += [("terms", rule.about, (about, one)) for one in rule.needs.values]
                self._read(rule.needs, rule.about)
            case When() if rule.trigger is None or isinstance(rule.trigger, Described):
                self._read(rule.then, rule.trigger)
            case AllOf():
                for one in rule.rules:
                    self._read(one, about)
            case AnyOf():
                self._read(rule.rules[0], about)
            case Other() if (
                rule.earlier
                and about is not None
                and isinstance(rule.about, Described)
                and not (isinstance(rule.about.calls, str) or rule.about.failed or (rule.about.times or 1) > 1)
            ):
                self._needs.append(("before", about, rule.about.calls))
            case Confirmed() if about is not None:
                self._needs.append(("confirm", about, True))
            case Other() if isinstance(rule.about, Says) and not rule.earlier:
                self._must_say(rule.about.spoken.texts, about)
            case _:
                pass  # nothing that a run with the expected calls would have to do

    def _must_say(self, texts: Sequence[Any], about: Described | None) -> None:
        """Take in texts of which one must be said: the first that can be told without a run, else a reference."""
        told = [str(text) for text in texts if not isinstance(text, Mapping)]
        told += [moment_text(text, self._now) for text in texts if self._now is not None and is_moment(text)]
        if told:
            self._needs.append(("say", about, told[0]))
        elif about is not None:
            self._needs += [("tell", about, text) for text in texts if is_reference(text)][:1]

    def is_about(self, about: Described, call: ToolCall) -> bool:
        """Whether a call fits a description, as far as its tool and arguments tell."""
        if about.calls == "writes":
            spec = self._toolset.get(call.name, call.requestor)
            is_of = spec is not None and spec.kind == "write"
        else:
            is_of = about.calls == "any" or call.name in about.calls
        return is_of and all(
            name in call.arguments and self._fits(value, call.arguments[name]) for name, value in about.where.items()
        )

    def _fits(self, value: JsonValue, actual: JsonValue) -> bool:
        """Whether an argument fits; where only a run could tell, what a right run does for the call harms nobody."""
        if holds_reference(value):
            return True
        return matches(value if self._now is None else dated(value, self._now), actual, self._resolve)
