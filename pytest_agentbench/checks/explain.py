"""What became of each expected call, and what each other call was."""

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_agentbench.checks.effects import expects_write, is_write_tool, wrote
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import Matching, argument_matches, compared_arguments, left_open
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.values import same, to_json
from pytest_agentbench.core.verdict import CallExplanation, CallStatus


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
        self.strict = matching.strict
        self.near: dict[int, int] = {}
        self.stand_ins: dict[int, int] = {}
        self.near = self._closest()
        self.stand_ins = self._substitutes()

    def explanations(self) -> list[CallExplanation]:
        explained = [self._explain_expected(index) for index in range(len(self.expected))]
        # a write that stands in for an expected call is outside the goal all the same: it is listed twice
        writes = {place for place in self.stand_ins.values() if wrote(self.records[place], self.toolset)}
        others = sorted({*self._free(), *writes})
        return explained + [self._explain_other(place) for place in others]

    def _taken(self) -> dict[int, int]:
        return {**self.stand_ins, **self.near, **self.strict}

    def _free(self) -> list[int]:
        taken = set(self._taken().values())
        return [place for place in range(len(self.records)) if place not in taken]

    def _open(self) -> Iterator[int]:
        taken = self._taken()
        return (index for index in range(len(self.expected)) if index not in taken)

    def _closest(self) -> dict[int, int]:
        """Pair what is left of the same tool and requestor, those with the most equal arguments first."""
        free = self._free()
        candidates = [
            (-self._equal_arguments(index, place), index, place)
            for index in self._open()
            for place in free
            if self.records[place].call.name == self.expected[index].name
            and self.records[place].call.requestor == self.expected[index].requestor
        ]
        return _greedy(candidates)

    def _substitutes(self) -> dict[int, int]:
        """Pair what is left with a call of another tool that stands in its place.

        In its place: between the calls given to the expected neighbours, by the same requestor, both writes or
        neither, a known tool, no repetition, and sharing the name of some argument. More equal values first.
        """
        free = [place for place in self._free() if place not in self.repeats and not self._unknown(place)]
        candidates: list[tuple[int, int, int]] = []
        for index in self._open():
            low, high = self._place_between(index)
            want = self.expected[index]
            writes = expects_write(want, self.records, self.toolset)
            for place in free:
                call = self.records[place].call
                if (
                    low < place < high
                    and call.name != want.name
                    and call.requestor == want.requestor
                    and is_write_tool(self.records[place], self.toolset) == writes
                    and (not want.arguments or want.arguments.keys() & call.arguments.keys())
                ):
                    candidates.append((-self._equal_arguments(index, place), index, place))
        return _greedy(candidates)

    def _place_between(self, index: int) -> tuple[int, int]:
        taken = {**self.near, **self.strict}
        before = [taken[other] for other in range(index) if other in taken]
        after = [taken[other] for other in range(index + 1, len(self.expected)) if other in taken]
        low = before[-1] if before else -1
        high = next((place for place in after if place > low), len(self.records))
        return low, high

    def _equal_arguments(self, index: int, place: int) -> int:
        want, call = self.expected[index], self.records[place].call
        return sum(argument_matches(want, name, call, self.resolve) for name in compared_arguments(want))

    def _unknown(self, place: int) -> bool:
        call = self.records[place].call
        return bool(self.toolset) and self.toolset.get(call.name, call.requestor) is None

    def _explain_expected(self, index: int) -> CallExplanation:
        want = self.expected[index]
        if index in self.strict:
            record = self.records[self.strict[index]]
            return self._expected("tool_failed" if record.failed else "matched", want, record)
        if index in self.near:
            return self._expected("wrong_arguments", want, self.records[self.near[index]])
        if index in self.stand_ins:
            return self._expected("substituted", want, self.records[self.stand_ins[index]])
        return CallExplanation(
            status="not_attempted",
            tool=want.name,
            expected=want.arguments,
            write=expects_write(want, self.records, self.toolset),
            note=self._made_by_other(want),
        )

    def _expected(self, status: CallStatus, want: ExpectedCall, record: CallRecord) -> CallExplanation:
        call = record.call
        differing: dict[str, tuple[Any, Any]] = {}
        if status == "wrong_arguments":
            differing = {
                name: (want.arguments[name], call.arguments.get(name))
                for name in compared_arguments(want)
                if not argument_matches(want, name, call, self.resolve)
            }
        notes = [f"instead of {want.name}: {call.name}"] if status == "substituted" else []
        return CallExplanation(
            status=status,
            tool=want.name,
            expected=want.arguments,
            actual=call.arguments,
            differing=differing,
            left_open=left_open(want, call) if status == "matched" and not self.states_whole_calls else {},
            turn=record.turn,
            write=True
            if wrote(record, self.toolset) and status != "substituted"
            else expects_write(want, self.records, self.toolset),
            note="; ".join(notes + _failure(record)),
            by=call.by,
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
        return CallExplanation(
            status=self._other_status(place, changed),
            tool=call.name,
            actual=call.arguments,
            turn=record.turn,
            write=changed,
            note="; ".join(notes + _failure(record)),
            by=call.by,
        )

    def _other_status(self, place: int, changed: bool | None) -> CallStatus:
        # a repeated write is a second write: outside the goal is the worse news; the user's is not the agent's
        if changed and self.records[place].call.requestor == "assistant":
            return "extra_write"
        if self._unknown(place):
            return "unknown_tool"
        return "repeated" if place in self.repeats else "extra_read"

    def _made_by_other(self, want: ExpectedCall) -> str:
        other = "user" if want.requestor == "assistant" else "assistant"
        made = any(record.call.name == want.name and record.call.requestor == other for record in self.records)
        names = {"user": "the user", "assistant": "the agent"}
        return f"called by {names[other]}, expected of {names[want.requestor]}" if made else ""


def _greedy(candidates: list[tuple[int, int, int]]) -> dict[int, int]:
    """Pair (rank, left, right), lowest rank first, each side once."""
    pairs: dict[int, int] = {}
    used: set[int] = set()
    for _, left, right in sorted(candidates):
        if left not in pairs and right not in used:
            pairs[left] = right
            used.add(right)
    return pairs


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
    return [f"the tool failed: {shorten(record.result.content, 200)}"]
