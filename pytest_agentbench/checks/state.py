"""Whether the final state is the one that the expected calls lead to.

Where both states can be read they are compared row by row; how the agent got there does not matter. Where they
cannot, the calls decide: every expected write was made, strictly and without failing, and no other call wrote.
τ²'s database check agrees with that on nearly every recording, and never passes what it fails; the reverse happens,
when another path leads to an equal state. An expected call of a tool whose kind is not known counts as a write: the
author asked for it. Where there are neither states nor stated calls, nothing is measured.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from pytest_agentbench.checks.effects import expects_write, wrote
from pytest_agentbench.checks.findings import about, not_made, not_measured, not_seen
from pytest_agentbench.checks.matching import Matching
from pytest_agentbench.checks.wording import call_text, value_text
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.state import Difference
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.verdict import CallExplanation, Finding
from pytest_agentbench.environment.diff import describe, diff
from pytest_agentbench.environment.replay import failure_text

_finding = partial(about, "state", "state")

MOST_ROWS = 20
"""Differing rows that are listed one by one."""


def check_state(
    run: Run, matching: Matching, explanations: Sequence[CallExplanation], ignore: Sequence[str] = ()
) -> Iterable[Finding]:
    """Give one passing finding, one that says *not measured*, or a finding for each thing that is wrong.

    `ignore` are path patterns left out of the comparison of states (`orders.*.updated_at`).
    """
    if run.scenario.asserts_state:
        return []  # see tau2/basis.py
    if run.final_state is not None and run.expected_state is not None:
        return [*_by_state(run, explanations, ignore), *_never_tried(run, matching)]
    if not run.scenario.states_calls:
        nothing = _finding(None, "not measured: the scenario states neither a final state nor calls")
        return [nothing.model_copy(update={"required": False})]
    if not run.calls_visible:
        return [not_seen("state", "state")]
    by_calls = _by_calls(run, matching, explanations)
    return _not_replayed(run.replay_differs, by_calls) if run.replay_differs else by_calls


def _not_replayed(why: str, by_calls: Sequence[Finding]) -> list[Finding]:
    """Say that the state of a recording is not known, since it did not happen in the suite's world; the calls are."""
    cure = "record it again in the world of this suite, or give the suite the tools and rows it was made with"
    unknown = not_measured("state", "state", f"when replayed, {why}; the calls decide", cure=cure)
    return [unknown, *(one.model_copy(update={"check": "writes"}) for one in by_calls)]


def _by_state(run: Run, explanations: Sequence[CallExplanation], ignore: Sequence[str]) -> Iterator[Finding]:
    differences = diff(run.expected_state or {}, run.final_state or {}, tuple(ignore))
    if not differences:
        yield _finding(True, "the final state is the expected one")
        return
    yield from _wrong_writes(run, explanations, stand=_stands(run, differences, ignore))
    for difference in differences[:MOST_ROWS]:
        yield Finding(
            check="state",
            kind="state",
            passed=False,
            message=printable(describe(difference)),
            expected=None if difference.extra else value_text(difference.expected),
            actual=None if difference.missing else value_text(difference.actual),
        )
    if len(differences) > MOST_ROWS:
        yield _finding(False, f"{len(differences) - MOST_ROWS} more differences of the final state")


def _stands(run: Run, differences: Sequence[Difference], ignore: Sequence[str]) -> bool:
    """Whether some value is neither what it was nor what it should become, so that a wrong write is left behind."""
    if run.initial_state is None:
        return True
    changed = [one.path for one in diff(run.initial_state, run.final_state or {}, tuple(ignore))]
    paths = {path[:length] for path in changed for length in range(1, len(path) + 1)}
    whole = set(changed)
    return any(one.path in paths or any(one.path[:n] in whole for n in range(len(one.path))) for one in differences)


def _never_tried(run: Run, matching: Matching) -> Iterator[Finding]:
    """Ask for the attempt at each expected write that fails in this world: no state can show that it was made.

    That it fails is told in any case: it may be meant (a refusal), or the world may lack what the call needs.
    """
    for position, problem in run.unreplayed.items():
        want = matching.expected[position] if position < len(matching.expected) else None
        if want is None:
            continue
        writes = expects_write(want, matching.records, run.toolset) is not False
        if writes:
            yield _finding(None, failure_text(want, problem)).model_copy(update={"required": False})
        if position in matching.strict:
            continue
        if not run.calls_visible:
            yield not_seen("state", "state")
        elif writes:
            wanted = call_text(want.name, want.arguments)
            yield _finding(False, f"{wanted} was never called (it fails here, so the state cannot show it)")


def _by_calls(run: Run, matching: Matching, explanations: Sequence[CallExplanation]) -> list[Finding]:
    done = matching.succeeded
    missing = [
        index
        for index, want in enumerate(matching.expected)
        if index not in done and expects_write(want, matching.records, run.toolset) is not False
    ]
    paired = set(matching.strict.values())
    others = [
        record
        for place, record in enumerate(matching.records)
        if place not in paired and record.call.requestor == "assistant"
    ]
    extra = any(wrote(record, run.toolset) for record in others)
    if not missing and not extra:
        unsure = any(wrote(record, run.toolset) is None for record in others)
        return [_finding(True, _right_calls(unsure))]
    found = list(_wrong_writes(run, explanations, stand=True))
    return found or [_finding(False, "the calls that write are not the expected ones")]


def _right_calls(unsure: bool) -> str:
    if unsure:
        return "every expected call that writes was made; whether other calls wrote is not known"
    return "the calls that write are the expected ones"


def _wrong_writes(run: Run, explanations: Sequence[CallExplanation], *, stand: bool) -> Iterator[Finding]:
    """Word each expected write that was not made rightly and each write outside the goal.

    What the agent did write wrongly is proven where writes `stand`; what it has not written yet is not.
    """
    for call in explanations:
        if call.status == "extra_write":
            yield _write_outside(call).model_copy(update={"proven": stand and _is_agents(run, call)})
        elif call.expected is not None and call.status != "matched" and call.write is not False:
            # the note says that the tool failed: nothing was written wrongly then
            wrote_wrongly = call.status == "wrong_arguments" and call.write is True and not call.note
            proven = stand and wrote_wrongly and _is_agents(run, call)
            for found in not_made(call, "state", arguments="state" if call.note else "write"):
                yield found.model_copy(update={"proven": proven})


def _is_agents(run: Run, call: CallExplanation) -> bool:
    """Whether the agent made a call, and not the user."""
    return any(
        record.turn == call.turn and record.call.name == call.tool and record.call.arguments == call.actual
        for record in run.calls
    )


def _write_outside(call: CallExplanation) -> Finding:
    note = f" ({printable(call.note)})" if call.note else ""
    made = call_text(call.tool, call.actual or {})
    return about("state", "write", False, f"{made} changed state and is not part of the goal{note}", call)
