"""Deeds that come to nothing because of a rule: the user says no when asked, or asks for more than a rule allows.

The calls are made as if all were done; then the last one is what a right run leaves out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.generation.draft import Draft, Event, PlannedCall, PolicyPart, Turn, WrongRun
from pytest_agentbench.generation.language.guard import scalars_of
from pytest_agentbench.generation.owned_rows import records_of
from pytest_agentbench.generation.ownership import people_of
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.generation.tools.hydration.stock import Stock
from pytest_agentbench.generation.tools.hydration.turns import wanted_of
from pytest_agentbench.generation.tools.probing.result_parser import parsed
from pytest_agentbench.validation.oracle import Rules

_MOST_TIMES = 2
"""Times that a rule allows a call, beyond which nobody asks once more."""


class RuledDeeds:
    """What the rules of a suite say of the tools of a stock, and drafts that a run which breaks one of them fails."""

    def __init__(self, stock: Stock) -> None:
        self._stock, self._rules = stock, stock.rules
        toolset, now = stock.rules.toolset, stock.rules.now
        ruled = [one for one in stock.rules.policies if one.rule is not None]
        self._each: Mapping[str, Rules] = {one.id: Rules((one,), toolset, None, now) for one in ruled}

    def must_confirm(self, tool: str) -> bool:
        """Whether verified calls of a tool need the user's yes."""
        return any(map(self._rules.must_confirm, self._calls(tool)))

    def most(self, tool: str) -> int:
        """Give how often rules allow a tool to be called, 0 where no rule limits it to a few times."""
        times = [most for rules in self._each.values() for call in self._calls(tool) for most in rules.limits(call)]
        least = min(times, default=0)
        return least if least <= _MOST_TIMES else 0

    @cached_property
    def unlimited(self) -> Stock:
        """The stock without the policies that limit how often a tool is called."""
        every = [call for tool in {entry.tool for entry in self._stock.pool.entries} for call in self._calls(tool)]
        limiting = {name for name, rules in self._each.items() if any(any(rules.limits(call)) for call in every)}
        kept = [one for one in self._rules.policies if one.id not in limiting]
        return replace(self._stock, rules=SuiteRules(tuple(kept), self._rules.toolset, self._rules.now))

    def declined(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Have the user of the last change say no, and ask for a value that the agent looked up; () where it cannot."""
        *before, last = turns
        if last.act != "confirm" or len(last.calls) != 1 or not before:
            return ()
        change = last.calls[0]
        asking, known = before[-1], [value for turn in turns for value in _values(turn.calls)]
        known += self._who(turns)
        for at, call in reversed(list(enumerate(asking.calls if not call_writes(before) else ()))):
            found = wanted_of(parsed(call.answer), known, call.call.name, call.call.arguments)
            steady = [one for one in found if (call.call.name, "", one.path) not in self._stock.unsteady]
            if steady and not call.writes:
                asking = asking.model_copy(update={"wanted": (steady[0].model_copy(update={"call": at}),)})
                break
        if not asking.wanted and not call_writes(before):
            return ()  # an agent that does nothing would be right
        decline = Turn(act="decline", refused=(change,), about=_about(change))
        return (*before[:-1], asking, decline)

    def beyond(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Have the last change refused: the user says yes where an agent asks; () where other calls follow it."""
        *before, last = turns
        *looked_up, change = last.calls
        asking = last
        if last.act == "confirm":
            if looked_up or not before:
                return ()
            asking, looked_up = before[-1], list(before.pop().calls)
        update = {"calls": tuple(looked_up), "refused": (change,), "about": _about(change), "wanted": ()}
        return (*before, asking.model_copy(update=update))

    def ruled(self, draft: Draft) -> Draft:
        """Give a draft with what its last turn refuses as forbidden, and the policies that say so."""
        last = len(draft.turns) - 1
        change = draft.turns[last].refused[0]
        call = change.made
        is_declined = draft.turns[last].act == "decline"
        event: Event = "declined" if is_declined else "at_limit"
        parts = []
        for policy, rules in self._each.items():
            is_about = rules.must_confirm(call) if is_declined else any(rules.limits(call))
            why = "the user said no" if is_declined else "a rule forbids it"
            run = WrongRun(
                kind="declined" if is_declined else "forbidden",
                change=f"{call.name} is called though {why}",
                turn=last,
                call=None if is_declined else change,
            )
            part = PolicyPart(policy=policy, event=event, involves=run.change, wrong_runs=(run,))
            parts += [part] if is_about else []
        forbidden = ExpectedCall(name=call.name, arguments=dict(call.arguments))
        tags = draft.tags if is_declined else (*draft.tags, "refusal")
        return draft.model_copy(update={"policies": tuple(parts), "forbidden": (forbidden,), "tags": tags})

    def _who(self, turns: Sequence[Turn]) -> list[JsonValue]:
        """Give the keys and names of whom the calls are about: nobody asks who he is."""
        calls = records_of(one for turn in turns for one in turn.calls)
        owned = self._stock.ownership.plus(calls)
        people = people_of(owned, calls)
        return [*owned.names(people), *owned.owner_of(people).facts.values()]

    def _calls(self, tool: str) -> list[ToolCall]:
        return [ToolCall(name=tool, arguments=dict(entry.arguments)) for entry in self._stock.pool.of(tool)]


def call_writes(turns: Sequence[Turn]) -> bool:
    """Whether a call of turns changes something."""
    return any(call.writes for turn in turns for call in turn.calls)


def _values(calls: Sequence[PlannedCall]) -> list[JsonValue]:
    return [value for call in calls for value in scalars_of(dict(call.call.arguments))]


def _about(call: PlannedCall) -> tuple[JsonValue, ...]:
    return tuple(value for value in _values([call]) if value is not None)
