"""Calls that a right run does not make: with other values than the user's, of other tools, with half a value."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import flat
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.validation.oracle import Heard
from pytest_agentbench.validation.values import Columns, another, beyond, cut_short, near, scalars

_TRIES = 8
"""Values that are drawn in the place of one."""

_CUTTABLE = 4
"""Characters from which half of a value is still something."""

Given = tuple[str, JsonValue]
"""An argument: its name and value."""


def mark_of(call: ToolCall) -> str:
    """Give what equal calls have in common."""
    return dumps([call.name, call.arguments])


def holds(pairs: Iterable[Given], name: str, value: JsonValue) -> bool:
    """Whether an argument is among some."""
    return any(name == other and same(value, one) for other, one in pairs)


def with_argument(call: ToolCall, name: str, value: JsonValue) -> ToolCall:
    """Give a call with another value for one argument."""
    return call.model_copy(update={"arguments": {**call.arguments, name: value}})


def schema_of(toolset: Toolset, call: ToolCall, name: str) -> Mapping[str, JsonValue]:
    """Give the schema of an argument, an empty one where there is none."""
    spec = toolset.get(call.name, call.requestor)
    schema = (spec.parameters.get("properties", {}) if spec else {}).get(name)
    return schema if isinstance(schema, Mapping) else {}


@dataclass(frozen=True)
class WrongCalls:
    """Makes the wrong calls beside a right run, whose calls were `heard` with what they gave.

    `pool` are values by the name of their argument, `columns` those by column, and `is_near` keeps to values at hand.
    """

    toolset: Toolset
    heard: Sequence[Heard]
    columns: Columns
    pool: Mapping[str, Sequence[JsonValue]]
    random: Random
    is_near: bool = False

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the right run."""
        return tuple(one.call for one in self.heard)

    def supplied(self, calls: Sequence[ToolCall]) -> list[Given]:
        """Give the arguments of calls that no earlier answer gives, so that the user must, each once."""
        known, found = "", list[Given]()
        results = {mark_of(one.call): one.result.content for one in self.heard}
        for call in calls:
            for name, value in call.arguments.items():
                is_given = all(flat(one) in flat(known) for _, one in scalars(value, name))
                if not is_given and not holds(found, name, value):
                    found.append((name, value))
            known += f"\n{results.get(mark_of(call), '')}"
        return found

    def listed(self, call: ToolCall) -> list[str]:
        """Give the values that the schema of a tool lists: a person says them in other words."""
        spec = self.toolset.get(call.name, call.requestor)
        names = spec.parameters.get("properties", {}) if spec else {}
        return [str(one) for name in names for one in schema_of(self.toolset, call, name).get("enum", ())]

    def swapped(self, call: ToolCall) -> list[ToolCall]:
        """Give a call with a value of the user's exchanged for another: misread by a digit, or one that exists."""
        given = self.supplied(self.calls)
        own = [flat(value) for _, value in scalars(call.arguments)]
        found: list[ToolCall] = []
        for name, value in call.arguments.items():
            if not holds(given, name, value):
                continue
            has_digit = isinstance(value, str | int | float) and any(map(str.isdigit, str(value)))
            for other in [*([near(value)] if has_digit else []), *self._others(call, name)]:
                changed = with_argument(call, name, other)
                # `W1` and `w-1` are no different values
                if [flat(one) for _, one in scalars(changed.arguments)] != own:
                    found.append(changed)
        return found

    def of_other_tools(self) -> list[ToolCall]:
        """Give a call of each tool that the right run does not use, with values that are at hand."""
        used = {call.name for call in self.calls}
        specs = [spec for spec in self.toolset.of("assistant") if spec.name not in used]
        self.random.shuffle(specs)
        return self.nearest([call for spec in specs if (call := self._filled(spec)) is not None])

    def nearest(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Give the calls with most values at hand first, with `is_near` only those without any other."""
        far = [(sum(not self._is_at_hand(value) for value in call.arguments.values()), call) for call in calls]
        return [call for count, call in sorted(far, key=lambda one: one[0]) if not (count and self.is_near)]

    def cut(self) -> Iterator[Sequence[ToolCall]]:
        """Give the right calls up to one with a value of the user's, which is cut short."""
        given = self.supplied(self.calls)
        for place, call in enumerate(self.calls):
            for name, value in call.arguments.items():
                if isinstance(value, str) and len(value) >= _CUTTABLE and holds(given, name, value):
                    yield [*self.calls[:place], with_argument(call, name, cut_short(value))]

    def refusable(self, target: int) -> Iterator[Sequence[ToolCall]]:
        """Give the right calls up to that at `target`, with one value of the user's that its tool may refuse.

        Values of the target alone come first: others exist for them, and nothing else in the request changes.
        """
        *before, last = calls = self.calls[: target + 1]
        own, leads = last.arguments, dumps([call.arguments for call in before])
        given = [name for name, _ in self.supplied(calls) if name in own]
        given.sort(key=lambda name: str(own[name]) in leads)
        listed = self.listed(last)
        # nobody asks in so many words for what a tool's list has not: that comes last
        for names in ([one for one in given if (str(own[one]) in listed) == flag] for flag in (False, True)):
            for is_beyond in (False, True):
                for name in names:
                    others = beyond(own[name]) if is_beyond else self._others(last, name)
                    yield from ([_exchanged(call, own[name], other) for call in calls] for other in others)

    def _others(self, call: ToolCall, name: str) -> list[JsonValue]:
        """Give values that an argument could have instead."""
        value, schema = call.arguments[name], schema_of(self.toolset, call, name)
        found = (another(value, name, schema, self.columns, self.random) for _ in range(_TRIES))
        return [one for one in found if one is not None]

    def _filled(self, spec: ToolSpec) -> ToolCall | None:
        """Give a call of a tool with values known under its arguments' names; None where one is not known."""
        at_hand: dict[str, JsonValue] = {}
        for one in self.heard:
            for key, value in scalars([one.call.arguments, one.result.content]):
                at_hand.setdefault(key, value)
        arguments: dict[str, JsonValue] = {}
        for key in spec.parameters.get("required", list(spec.parameters.get("properties", {}))):
            known = self.pool.get(key, [])
            if key not in at_hand and not known:
                return None
            nearest = [one for one in known if self._is_at_hand(one)] or known
            arguments[key] = at_hand[key] if key in at_hand else self.random.choice(nearest)
        return ToolCall(name=spec.name, arguments=arguments)

    @cached_property
    def _values_at_hand(self) -> str:
        """Everything in the right calls and their answers, to look values up in."""
        return flat(" ".join(dumps([one.call.arguments, one.result.content]) for one in self.heard))

    def _is_at_hand(self, value: JsonValue) -> bool:
        return all(flat(one) in self._values_at_hand for _, one in scalars(value, "value"))


def _exchanged(call: ToolCall, value: JsonValue, other: JsonValue) -> ToolCall:
    arguments = {name: other if same(one, value) else one for name, one in call.arguments.items()}
    return call.model_copy(update={"arguments": arguments})
