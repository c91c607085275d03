"""Expected calls paired with those made (R_name, R_strict, complete, order), and what became of each.

Pairing is one-to-one and maximum: a call satisfies one expected call, and no other pairing satisfies more. Only the
arguments that the expected call names count, `compare_args` narrows them further (`[]`: the name alone), and the
requestor must be the same.

A failed call counts as an attempt: recall asks what was called with which arguments (tool-to-scenario §5.2), not how
the tool took it, so R_name, R_strict and `complete` count it. Deciding on state asks for the effect and counts
calls that did not fail only. Pairing prefers calls that changed state, then calls that did not fail.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.checks.effects import expects_write, is_write_tool, wrote
from pytest_agentbench.checks.matchers import Resolver, matches
from pytest_agentbench.checks.maximum_matching import Edges, maximum_matching
from pytest_agentbench.core.json_values import JsonValue, same, to_json
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.verdict import CallExplanation, CallStatus

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
    by_name = [
        [at for at, one in enumerate(records) if _same_tool(want, one.call) and want.session in (None, one.session)]
        for want in expected
    ]
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


def _same_tool(expected: ExpectedCall, call: ToolCall) -> bool:
    return expected.name == call.name and expected.requestor == call.requestor


def _only(edges: Edges, kept: set[int]) -> list[list[int]]:
    return [[place for place in row if place in kept] for row in edges]


def explain(run: Run, matching: Matching, resolve: Resolver | None = None) -> list[CallExplanation]:
    """Explain the expected calls in their order, then the other calls in the order made.

    Empty when the scenario states no calls or when calls are not visible: there is nothing to compare then.
    Raise what `matchers.matches` raises.
    """
    if not run.scenario.states_calls or not run.calls_visible:
        return []
    return _Explainer(matching, run.toolset, resolve, run.scenario.states_whole_calls).explanations()


class _Explainer:
    """Gives each call made to at most one expected call: strict pairs first, then near ones, then stand-ins."""

    def __init__(
        self, matching: Matching, toolset: Toolset, resolve: Resolver | None, states_whole_calls: bool
    ) -> None:
        self.states_whole_calls = states_whole_calls
        self.expected: Sequence[ExpectedCall] = matching.expected
        self.records: Sequence[CallRecord] = matching.records
        self.toolset = toolset
        self.resolve = resolve
        self.repeats = _repeats(self.records)
        self.pairs: dict[int, tuple[CallStatus, int]] = {
            index: ("tool_failed" if self.records[place].failed else "matched", place)
            for index, place in matching.strict.items()
        }
        self._pair("wrong_arguments", lambda index, at: _same_tool(self.expected[index], self.records[at].call))
        self._pair("substituted", self._stands_in)

    def explanations(self) -> list[CallExplanation]:
        """Give what became of each expected call, then of each other one."""
        explained = [self._explain_expected(index) for index in range(len(self.expected))]
        # a write that stands in for an expected call is outside the goal all the same: it is listed twice
        writes = {
            place
            for status, place in self.pairs.values()
            if status == "substituted" and wrote(self.records[place], self.toolset)
        }
        return explained + [self._explain_other(place) for place in sorted({*self._free(), *writes})]

    def _free(self) -> list[int]:
        taken = {place for _, place in self.pairs.values()}
        return [place for place in range(len(self.records)) if place not in taken]

    def _pair(self, status: CallStatus, fits: Callable[[int, int], bool]) -> None:
        """Pair what is left of expected and other calls where they fit, those with the most equal arguments first."""
        left = [index for index in range(len(self.expected)) if index not in self.pairs]
        fitting = [(index, place) for index in left for place in self._free() if fits(index, place)]
        free = set(self._free())
        for index, place in sorted(fitting, key=lambda pair: -sum(self._compared(*pair).values())):
            if index not in self.pairs and place in free:
                free.remove(place)
                self.pairs[index] = status, place

    def _stands_in(self, index: int, place: int) -> bool:
        """Whether a call of another tool stands in the place of an expected one.

        In its place: between the calls given to the expected neighbours, by the same requestor, both writes or
        neither, a known tool, no repetition, and sharing the name of some argument.
        """
        want, call = self.expected[index], self.records[place].call
        low, high = self._place_between(index)
        return (
            low < place < high
            and place not in self.repeats
            and not self._is_unknown(place)
            and call.name != want.name
            and call.requestor == want.requestor
            and is_write_tool(self.records[place], self.toolset) == self._expects_write(want)
            and (not want.arguments or bool(want.arguments.keys() & call.arguments.keys()))
        )

    def _place_between(self, index: int) -> tuple[int, int]:
        before = [self.pairs[other][1] for other in range(index) if other in self.pairs]
        after = [self.pairs[other][1] for other in range(index + 1, len(self.expected)) if other in self.pairs]
        low = before[-1] if before else -1
        return low, next((place for place in after if place > low), len(self.records))

    def _compared(self, index: int, place: int) -> dict[str, bool]:
        """Say of each argument that counts whether the call gives it rightly."""
        want, call = self.expected[index], self.records[place].call
        return {name: argument_matches(want, name, call, self.resolve) for name in want.compared}

    def _expects_write(self, want: ExpectedCall) -> bool | None:
        return expects_write(want, self.records, self.toolset)

    def _is_unknown(self, place: int) -> bool:
        call = self.records[place].call
        return bool(self.toolset) and self.toolset.get(call.name, call.requestor) is None

    def _explain_expected(self, index: int) -> CallExplanation:
        want = self.expected[index]
        more: dict[str, Any] = {"tool": want.name, "expected": want.arguments, "write": self._expects_write(want)}
        if index not in self.pairs:
            return CallExplanation(status="not_attempted", note=self._made_by_other(want), **more)
        status, place = self.pairs[index]
        record = self.records[place]
        call = record.call
        notes = _failure(record)
        if status == "substituted":
            notes.insert(0, f"instead of {want.name}: {call.name}")
        elif wrote(record, self.toolset):
            more["write"] = True
        if status == "wrong_arguments":
            wrong = [name for name, fits in self._compared(index, place).items() if not fits]
            more["differing"] = {name: (want.arguments[name], call.arguments.get(name)) for name in wrong}
        if status == "matched" and not self.states_whole_calls:
            more["left_open"] = left_open(want, call)
        return CallExplanation(
            status=status, actual=call.arguments, turn=record.turn, note="; ".join(notes), by=call.by, **more
        )

    def _explain_other(self, place: int) -> CallExplanation:
        record = self.records[place]
        call = record.call
        changed = wrote(record, self.toolset)
        notes = ["by the user"] if call.requestor == "user" else []
        if place in self.repeats:
            notes.append(f"repeats the call of turn {self.records[self.repeats[place]].turn}")
        if changed is False and is_write_tool(record, self.toolset) and not record.failed:
            notes.append("changed nothing")
        # a repeated write is a second write: outside the goal is the worse news; the user's is not the agent's
        status: CallStatus = "repeated" if place in self.repeats else "extra_read"
        if changed and call.requestor == "assistant":
            status = "extra_write"
        elif self._is_unknown(place):
            status = "unknown_tool"
        return CallExplanation(
            status=status,
            tool=call.name,
            actual=call.arguments,
            turn=record.turn,
            write=changed,
            note="; ".join(notes + _failure(record)),
            by=call.by,
        )

    def _made_by_other(self, want: ExpectedCall) -> str:
        other = "user" if want.requestor == "assistant" else "assistant"
        made = any(record.call.name == want.name and record.call.requestor == other for record in self.records)
        names = {"user": "the user", "assistant": "the agent"}
        return f"called by {names[other]}, expected of {names[want.requestor]}" if made else ""


def _repeats(records: Sequence[CallRecord]) -> dict[int, int]:
    """Map each call with the tool, requestor and arguments of an earlier one that did not fail to that one."""
    repeats: dict[int, int] = {}
    seen: dict[tuple[str, str], list[tuple[int, Any]]] = {}
    for place, record in enumerate(records):
        earlier = seen.setdefault((record.call.name, record.call.requestor), [])
        arguments = to_json(record.call.arguments)
        first = next((other for other, given in earlier if same(given, arguments)), None)
        if first is not None:
            repeats[place] = first
        else:
            earlier.append((place, arguments))
    return repeats


def _failure(record: CallRecord) -> list[str]:
    if not record.failed or record.result is None:
        return []
    told = record.result.content.removeprefix("Error:").lstrip()
    return [f"failed: {shorten(told, 200)}" if told else "failed"]
