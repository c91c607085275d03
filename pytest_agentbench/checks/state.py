"""Whether the final state is the one that the expected calls lead to.

Where both states can be read they are compared row by row; how the agent got there does not matter. Where they
cannot, or where an expected write leaves open what no call of the run tells, the calls decide: every expected write was
made, strictly and without failing, and no other call wrote. A comparison of states agrees with that on nearly every
recording, and never fails what it passes; the reverse happens, when another path leads to an equal state. An expected
call of a tool whose kind is not known counts as a write: the author asked for it. Where there are neither states nor
stated calls, nothing is measured.
"""

from collections.abc import Iterable, Iterator, Sequence

from pytest_agentbench.checks.effects import expects_write, tool_writes, wrote
from pytest_agentbench.checks.findings import call_text, finding, not_made, not_measured, not_seen, value_text
from pytest_agentbench.checks.matching import Matching
from pytest_agentbench.core.names import count, listing
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.state import Difference
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.verdict import CallExplanation, Finding
from pytest_agentbench.environment.call_replay import failure_text
from pytest_agentbench.environment.diff import describe, diff
from pytest_agentbench.environment.kinds import guessed_kind

MOST_ROWS = 20
"""Differing rows that are listed one by one."""

_MADE_UP = "the run's world and a fresh one made up values there of different forms, and nothing tells which is which"
_IGNORE = "name these values under `state: {ignore: […]}`, or let a tool's result name them"
_RECORD = "record it again in the world of this suite, or give the suite the tools and rows it was made with"
_USERS = "the user changed the state by calls that are not expected of it"
_USERS_CURE = "expect these calls of the user, or say in its task what it must not do"
OWN_TOOLS = "the suite has no tool to make the expected calls with, so nothing tells the state that they lead to"
OWN_TOOLS_CURE = (
    "name the agent's tools, which then work on the suite's state (`environment: {tools: my_tools}`), and let a "
    "factory build the agent with them (`def build(tools): …`)"
)
_NAME_ID = "let the tool that makes an id name it in its result"
_MEND = "change the expected call, or the state that the scenario begins with (`agentbench validate` names it)"


def check_state(
    run: Run, matching: Matching, explanations: Sequence[CallExplanation], ignore: Sequence[str] = ()
) -> Iterable[Finding]:
    """Give one passing finding, one that says *not measured*, or a finding for each thing that is wrong.

    `ignore` are path patterns left out of the comparison of states (`orders.*.updated_at`).
    """
    if run.scenario.asserts_state:
        return []  # what else reads the scenario's basis judges the assertions
    failing = [*_failing(run, matching)]
    if any(one.required for one in failing):
        return failing
    if run.final_state is not None and run.expected_state is not None:
        found = [*_by_state(run, explanations, ignore), *failing]
        others = _unpaired(matching, "user")
        if any(one.passed is False for one in found) and any(wrote(one, run.toolset) for one in others):
            return [*_by_calls_alone(run, matching, explanations, _USERS, _USERS_CURE), *failing]
        return found
    if not run.scenario.states_calls:
        nothing = "not measured: the scenario states neither a final state nor calls"
        return [finding("state", "state", None, nothing, required=False)]
    if not run.calls_visible:
        return [not_seen("state", "state")]
    why, cure = _why_by_calls(run, matching)
    if why:
        return [*_by_calls_alone(run, matching, explanations, why, cure), *failing]
    return [*_by_calls(run, matching, explanations), *failing]


def _why_by_calls(run: Run, matching: Matching) -> tuple[str, str]:
    """Say why nobody knows the state that a run should have led to, and what to do; "" where none was to be known."""
    if run.replay_differs:
        return f"when replayed, {run.replay_differs}", _RECORD
    if run.untold:
        return printable(run.untold), _NAME_ID
    return (_own_tools(run, matching), OWN_TOOLS_CURE) if run.unmade else ("", "")


def _own_tools(run: Run, matching: Matching) -> str:
    """Say why nobody knows the state that the calls of the agent's own tools should lead to."""
    wrote_rightly = [
        want.name
        for position, want in enumerate(matching.expected)
        if position in matching.succeeded
        and (tool_writes(want.name, want.requestor, run.toolset) or guessed_kind(want.name) == "write")
    ]
    if wrote_rightly and run.initial_state is not None and run.initial_state == run.final_state:
        names = printable(listing(sorted(set(wrote_rightly))))
        return f"{OWN_TOOLS}; {names} left the state as it was: do the agent's own tools work on another one?"
    return OWN_TOOLS


def _by_calls_alone(
    run: Run, matching: Matching, explanations: Sequence[CallExplanation], why: str, cure: str
) -> Iterator[Finding]:
    """Let the calls decide, and say why the state does not: it could not be made again, or is not the agent's."""
    yield not_measured("state", "state", f"{why}; the calls decide", cure=cure)
    yield from (one.model_copy(update={"check": "writes"}) for one in _by_calls(run, matching, explanations))


def _unpaired(matching: Matching, requestor: str) -> list[CallRecord]:
    """Give the calls of a party that are none of the expected ones."""
    paired = set(matching.strict.values())
    return [
        one for place, one in enumerate(matching.records) if place not in paired and one.call.requestor == requestor
    ]


def _by_state(run: Run, explanations: Sequence[CallExplanation], ignore: Sequence[str]) -> Iterator[Finding]:
    differences = diff(run.expected_state or {}, run.final_state or {}, tuple(ignore))
    unknown = set(run.unknown_rows)
    not_told = [one.path for one in differences if one.path in unknown]
    differences = [one for one in differences if one.path not in unknown]
    if not_told:
        shown = ", ".join(".".join(path) for path in not_told[:MOST_ROWS])
        yield not_measured("state", "state", printable(f"{shown}: {_MADE_UP}"), cure=_IGNORE)
    if not differences:
        if not not_told:
            yield finding("state", "state", True, "the final state is the expected one")
        return
    yield from _wrong_writes(run, explanations, stand=_stands(run, differences, ignore))
    for one in differences[:MOST_ROWS]:
        expected = None if one.extra else value_text(one.expected)
        actual = None if one.missing else value_text(one.actual)
        yield finding("state", "state", False, printable(describe(one)), expected=expected, actual=actual)
    if len(differences) > MOST_ROWS:
        more = f"{count(len(differences) - MOST_ROWS, 'more difference')} of the final state"
        yield finding("state", "state", False, more)


def _stands(run: Run, differences: Sequence[Difference], ignore: Sequence[str]) -> bool:
    """Whether some value is neither what it was nor what it should become, so that a wrong write is left behind."""
    if run.initial_state is None:
        return True
    tables = {one.path[0] for one in differences}  # in all others nothing can be left behind; they may be large
    before, after = (
        {name: rows for name, rows in (state or {}).items() if name in tables}
        for state in (run.initial_state, run.final_state)
    )
    changed = [one.path for one in diff(before, after, tuple(ignore))]
    paths = {path[:length] for path in changed for length in range(1, len(path) + 1)}
    whole = set(changed)
    return any(one.path in paths or any(one.path[:n] in whole for n in range(len(one.path))) for one in differences)


def _failing(run: Run, matching: Matching) -> Iterator[Finding]:
    """Say which expected calls fail in a fresh world too; where one may write, no state shows what a right run does."""
    for position, problem in run.unreplayed.items():
        if position < len(matching.expected):
            want = matching.expected[position]
            writes = expects_write(want, matching.records, run.toolset) is not False
            yield finding("state", "state", None, failure_text(want, problem), required=writes, cure=_MEND)


def is_of_failing_call(finding: Finding) -> bool:
    """Whether a finding says that an expected call fails in a fresh world too."""
    return finding.check == "state" and finding.cure == _MEND


def _by_calls(run: Run, matching: Matching, explanations: Sequence[CallExplanation]) -> list[Finding]:
    done = matching.succeeded
    is_missing = any(
        index not in done and expects_write(want, matching.records, run.toolset) is not False
        for index, want in enumerate(matching.expected)
    )
    effects = [(one.call.name, wrote(one, run.toolset)) for one in _unpaired(matching, "assistant")]
    if is_missing or any(effect for _, effect in effects):
        wrong = list(_wrong_writes(run, explanations, stand=True))
        return wrong or [finding("state", "state", False, "the calls that write are not the expected ones")]
    unsure = sorted({name for name, effect in effects if effect is None})
    likely = [name for name in unsure if guessed_kind(name) == "write"]
    if likely:
        # the name is no proof against the agent, and the state cannot be called right
        called = (
            f"{printable(listing(likely))} changed something, as the {'name says' if len(likely) == 1 else 'names say'}"
        )
        return [not_measured("state", "state", f"whether {called}", cure=_say_kinds(likely))]
    right = [finding("state", "state", True, "the calls that write are the expected ones")]
    if unsure:
        why = f"whether {printable(listing(unsure))} changed something"
        right.append(not_measured("other writes", "state", why, cure=_say_kinds(unsure)))
    return right


def _say_kinds(names: Sequence[str]) -> str:
    what = "it does" if len(names) == 1 else "they do"
    return f"say what {what}: `environment: {{writes: [{printable(', '.join(names))}]}}`, or `reads`"


def _wrong_writes(run: Run, explanations: Sequence[CallExplanation], *, stand: bool) -> Iterator[Finding]:
    """Word each expected write that was not made rightly and each write outside the goal.

    What the agent did write wrongly is proven where writes `stand`; what it has not written yet is not.
    """
    for call in explanations:
        is_agents = any(
            one.turn == call.turn and one.call.name == call.tool and one.call.arguments == call.actual
            for one in run.calls
        )
        if call.status == "extra_write":
            note = f" ({printable(call.note)})" if call.note else ""
            message = f"{call_text(call.tool, call.actual or {})} changed state and is not part of the goal{note}"
            proven = stand and is_agents
            yield finding("state", "write", False, message, turn=call.turn, tool=call.tool, proven=proven)
        elif call.expected is not None and call.status != "matched" and call.write is not False:
            # the note says that the call failed: nothing was written wrongly then
            wrote_wrongly = call.status == "wrong_arguments" and call.write is True and not call.note
            proven = stand and wrote_wrongly and is_agents
            yield from not_made(call, "state", arguments="state" if call.note else "write", proven=proven)
