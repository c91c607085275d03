"""Expected calls paired with the calls that were made: R_name, R_strict, complete, order.

Pairing is one-to-one and maximum: a call satisfies one expected call, and no other pairing satisfies more. Only the
arguments that the expected call names count, `compare_args` narrows them further (`[]`: the name alone), and the
requestor must be the same.

A failed call counts as an attempt: recall asks what was called with which arguments (tool-to-scenario §5.2), not how
the tool took it, so R_name, R_strict and `complete` count it. Deciding on state asks for the effect and counts
calls that did not fail only. Pairing prefers calls that changed state, then calls that did not fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.checks.matchers import Resolver, matches
from pytest_agentbench.checks.pairing import Edges, maximum_matching
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.values import JsonValue

_MISSING = object()


@dataclass(frozen=True)
class Matching:
    """Expected calls and calls made, by position: `named` and `strict` map the former to the latter.

    `fits[i]` lists the calls that satisfy expected call `i`, whether paired with it or not.
    """

    expected: tuple[ExpectedCall, ...]
    records: tuple[CallRecord, ...]
    fits: Edges
    named: dict[int, int]
    strict: dict[int, int]

    @property
    def name_recall(self) -> float | None:
        """R_name = expected calls paired by name / expected calls (tool-to-scenario §5.2); None if none is expected."""
        return len(self.named) / len(self.expected) if self.expected else None

    @property
    def strict_recall(self) -> float | None:
        """R_strict = expected calls paired with their arguments / expected calls (§5.2); None if none is expected."""
        return len(self.strict) / len(self.expected) if self.expected else None

    @property
    def complete(self) -> bool | None:
        """Complete success: every expected call strictly satisfied (§5.2); None if none is expected."""
        return len(self.strict) == len(self.expected) if self.expected else None

    @property
    def succeeded(self) -> dict[int, int]:
        """The strict pairs whose call did not fail."""
        return {left: right for left, right in self.strict.items() if not self.records[right].failed}


def match_run(run: Run, resolve: Resolver | None = None) -> Matching:
    """Pair the run's expected calls with all calls made in it, the agent's and the user's; see `Run.made`."""
    return match_calls(run.scenario.expected_calls, run.made, run.toolset, resolve)


def match_calls(
    expected: Sequence[ExpectedCall],
    records: Sequence[CallRecord],
    toolset: Toolset | None = None,
    resolve: Resolver | None = None,
) -> Matching:
    """Pair expected calls with calls made; raise what `matchers.matches` raises."""
    tools = toolset if toolset is not None else Toolset()
    by_name = [[place for place, record in enumerate(records) if _may_be(want, record)] for want in expected]
    fits = [
        [place for place in places if arguments_match(want, records[place].call, resolve)]
        for want, places in zip(expected, by_name, strict=True)
    ]
    changed = {place for place, record in enumerate(records) if wrote(record, tools)}
    answered = {place for place, record in enumerate(records) if not record.failed}
    return Matching(
        expected=tuple(expected),
        records=tuple(records),
        fits=fits,
        named=maximum_matching([by_name]),
        strict=maximum_matching([_only(fits, changed), _only(fits, changed | answered), fits]),
    )


def left_open(expected: ExpectedCall, call: ToolCall) -> dict[str, JsonValue]:
    """Give what a call gave for the arguments whose value an expected call leaves open, in the call's order.

    Left open is an argument that is not named, one that is named with a matcher, and one that does not count.
    """
    compared = expected.compared
    return {
        name: value
        for name, value in call.arguments.items()
        if name not in compared or holds_matcher(expected.arguments[name])
    }


def may_leave_open(expected: ExpectedCall, toolset: Toolset) -> bool:
    """Whether a call of the tool may give more than an expected call says."""
    spec = toolset.get(expected.name, expected.requestor)
    names = None if spec is None else spec.arguments
    return names is None or not names <= set(expected.compared) or any(map(holds_matcher, expected.arguments.values()))


def argument_matches(expected: ExpectedCall, name: str, call: ToolCall, resolve: Resolver | None = None) -> bool:
    """Whether the call gives argument `name` the expected value; one left out matches nothing, not even null."""
    actual = call.arguments.get(name, _MISSING)
    return actual is not _MISSING and matches(expected.arguments[name], actual, resolve)


def arguments_match(expected: ExpectedCall, call: ToolCall, resolve: Resolver | None = None) -> bool:
    """Whether the call gives every argument that counts the expected value."""
    return all(argument_matches(expected, name, call, resolve) for name in expected.compared)


def is_call_of(expected: ExpectedCall, call: ToolCall, resolve: Resolver | None = None) -> bool:
    """Whether a call satisfies an expected call: tool, requestor and arguments."""
    return _same_tool(expected, call) and arguments_match(expected, call, resolve)


def _may_be(expected: ExpectedCall, record: CallRecord) -> bool:
    """Whether a call is of the tool that is expected, and of the session under which it is expected."""
    return _same_tool(expected, record.call) and expected.session in (None, record.session)


def _same_tool(expected: ExpectedCall, call: ToolCall) -> bool:
    return expected.name == call.name and expected.requestor == call.requestor


def _only(edges: Edges, kept: set[int]) -> list[list[int]]:
    return [[place for place in row if place in kept] for row in edges]
