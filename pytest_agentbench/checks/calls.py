"""Whether the stated calls were made, by which of several agents and in which order, and handoffs took place.

Expected reads fail a run only under `match: {expected_calls: all}`; expected writes are decided by their effect
(state.py). An order mode other than `any_order` is a demand of its own: it is about every expected call, reads
included, and about calls that did not fail (`exact`: about every call, since a retry is something besides).
"""

from collections.abc import Iterable, Sequence
from functools import partial

from pytest_agentbench.checks.findings import about, call_text, not_made, not_measured, not_seen
from pytest_agentbench.checks.matching import Matching, in_order, is_exact
from pytest_agentbench.checks.pairing import longest_in_order, maximum_matching
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.verdict import CallExplanation, Finding

_finding = partial(about, "calls", "calls")


def check_calls(run: Run, matching: Matching, explanations: Sequence[CallExplanation]) -> Iterable[Finding]:
    """Give nothing where neither all calls nor an order are asked for, else what is missing or out of order."""
    match = run.scenario.match
    if not run.scenario.states_calls or (match.expected_calls == "writes" and match.order == "any_order"):
        return []
    if not run.calls_visible:
        return [not_seen("calls", "calls")]
    missing = [call for call in explanations if call.expected is not None and call.status != "matched"]
    found = [one for call in missing for one in not_made(call, "calls")] if match.expected_calls == "all" else []
    with_handoffs = bool(run.scenario.handoffs) and run.tells_handoffs
    ordered = in_order_with_handoffs(run, matching) if with_handoffs else in_order(matching)
    if match.order == "in_order" and not ordered:
        found.append(_out_of_order(run, matching, "the expected calls were not all made in the order stated"))
    exact = is_exact_with_handoffs(run, matching) if with_handoffs else is_exact(matching)
    if match.order == "exact" and not exact:
        found.append(_out_of_order(run, matching, "the calls made are not exactly the expected ones"))
    return found or [_finding(True, "the expected calls were made")]


def _out_of_order(run: Run, matching: Matching, message: str) -> Finding:
    expected = [call_text(want.name, want.arguments) for want in matching.expected]
    actual = [call_text(record.call.name, record.call.arguments) for record in matching.records]
    return Finding(
        check="calls",
        kind="calls",
        passed=False,
        message=f"{message} ({run.scenario.match.order})",
        expected=", ".join(expected) or "no call",
        actual=", ".join(actual) or "no call",
    )


NOT_TOLD = "the agent does not tell which agent hands over to which"
SHOW_AGENTS = "name the sender of each message (`name`), or use an agent of a framework that tells it"
"""What makes handoffs, and the makers of calls, visible."""


def handoffs_of(run: Run) -> list[tuple[int, Event]]:
    """Give (index of the message that it came before, event) of each handoff."""
    return [(index, event) for index, event in run.transcript.events if event.kind == "handoff"]


def check_handoffs(run: Run) -> Iterable[Finding]:
    """Give a finding for each expected handoff that did not take place, and for each forbidden one that did."""
    scenario, made = run.scenario, handoffs_of(run)
    if not scenario.handoffs and not scenario.never_handoffs:
        return []
    if not run.tells_handoffs:
        return [not_measured("handoffs", "calls", NOT_TOLD, cure=SHOW_AGENTS)]
    pairs = maximum_matching(
        [[[at for at, (_, event) in enumerate(made) if want.fits(event)] for want in scenario.handoffs]]
    )
    took_place = ", ".join(str(event) for _, event in made) or "no handoff"
    found = [
        Finding(
            check="handoffs",
            kind="calls",
            passed=False,
            message=printable(f"{want} did not take place"),
            expected=printable(str(want)),
            actual=printable(took_place),
        )
        for place, want in enumerate(scenario.handoffs)
        if place not in pairs
    ]
    found += [
        Finding(
            check="never",
            kind="policy",
            passed=False,
            message=printable(f"{event} is forbidden in this scenario"),
            turn=run.transcript.turns[index],
            proven=True,
        )
        for index, event in made
        if any(forbidden.fits(event) for forbidden in scenario.never_handoffs)
    ]
    return found or [Finding(check="handoffs", kind="calls", passed=True, message="the handoffs are as expected")]


def check_makers(matching: Matching) -> Iterable[Finding]:
    """Give a finding for each expected call that was made, and by another agent than the one that it names."""
    wanted = [place for place, want in enumerate(matching.expected) if want.by and matching.fits[place]]
    by = {
        place: [at for at in matching.fits[place] if _maker(matching, at) == _by(matching, place)] for place in wanted
    }
    known = {place: [*by[place], *(at for at in matching.fits[place] if not _maker(matching, at))] for place in wanted}
    right = maximum_matching([[by[place] for place in wanted]])
    perhaps = maximum_matching([[by[place] for place in wanted], [known[place] for place in wanted]])
    for position, place in enumerate(wanted):
        want = matching.expected[place]
        text = call_text(want.name, want.arguments)
        if position in right:
            yield Finding(
                check="by", kind="calls", passed=True, message=f"{text} was made by {printable(want.by or '')}"
            )
        elif position in perhaps:
            why = f"nobody tells which agent made {text}"
            yield not_measured("by", "calls", why, cure=SHOW_AGENTS)
        else:
            at = matching.strict.get(place, matching.fits[place][0])
            record = matching.records[at]
            yield Finding(
                check="by",
                kind="calls",
                passed=False,
                message=f"{text} was made by {printable(record.call.by or '')}, expected {printable(want.by or '')}",
                turn=record.turn,
                tool=record.call.name,
                expected=want.by,
                actual=record.call.by,
            )


def _maker(matching: Matching, at: int) -> str:
    return matching.records[at].call.by or ""


def _by(matching: Matching, place: int) -> str:
    return matching.expected[place].by or ""


def in_order_with_handoffs(run: Run, matching: Matching) -> bool:
    """Whether the expected calls, those that did not fail, and handoffs came in the order stated."""
    done = [("call", at) for at, record in enumerate(matching.records) if not record.failed]
    made = _woven(run, matching, done)
    edges = _edges(run, matching, made)
    return len(longest_in_order(edges, len(made))) == len(edges)


def is_exact_with_handoffs(run: Run, matching: Matching) -> bool:
    """Whether the calls and the handoffs are exactly the expected ones, in the same order."""
    parties = {"assistant", *(want.requestor for want in matching.expected)}
    calls = [("call", at) for at, record in enumerate(matching.records) if record.call.requestor in parties]
    made = _woven(run, matching, calls)
    edges = _edges(run, matching, made)
    return len(made) == len(edges) and all(place in row for place, row in enumerate(edges))


_Step = tuple[str, int]
"""A call or a handoff, by its position among its own."""


def _woven(run: Run, matching: Matching, calls: Sequence[_Step]) -> list[_Step]:
    """Give calls and handoffs in the order in which they happened: an event comes before its message."""
    places = [(matching.records[at].message, 1, at, ("call", at)) for _, at in calls]
    places += [(index, 0, at, ("handoff", at)) for at, (index, _) in enumerate(handoffs_of(run))]
    return [step for *_, step in sorted(places)]


def _edges(run: Run, matching: Matching, made: Sequence[_Step]) -> list[list[int]]:
    """Give, for each expected call and handoff in the order stated, which of the steps made it may be."""
    at = {step: place for place, step in enumerate(made)}
    events = handoffs_of(run)
    rows: list[list[int]] = []
    left = list(run.scenario.handoffs)
    for place in range(len(matching.expected) + 1):
        while left and left[0].place <= place:
            want = left.pop(0)
            steps = [("handoff", n) for n, (_, event) in enumerate(events) if want.fits(event)]
            rows.append([at[step] for step in steps])
        if place < len(matching.expected):
            rows.append([at["call", n] for n in matching.fits[place] if ("call", n) in at])
    return rows
