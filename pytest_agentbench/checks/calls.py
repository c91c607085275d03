"""Whether the stated calls were made, by which of several agents and in which order, and handoffs took place.

Expected reads fail a run only under `match: {expected_calls: all}`; expected writes are decided by their effect
(state.py). An order mode other than `any_order` is a demand of its own: it is about every expected call, reads
included, and about calls that did not fail (`exact`: about every call, since a retry is something besides).

What the scenario forbids (`never`: a call, a handoff, asking for an approval) is looked for here, too; a forbidden
attempt that failed counts as well.
"""

from collections.abc import Iterable, Iterator, Sequence, Set

from pytest_agentbench.checks.findings import call_text, finding, not_made, not_measured, not_seen
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import Matching, is_call_of, left_open
from pytest_agentbench.checks.maximum_matching import fit_in_order, maximum_matching
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.errors import CheckError
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.verdict import CallExplanation, Finding

CONTRADICTED = "mend the rule, or what the scenario expects"
"""What to do where a call is forbidden that the scenario expects; marks the findings on it, which prove nothing."""

NOT_TOLD = "the agent does not tell which agent hands over to which"
SHOW_AGENTS = "name the sender of each message (`name`), or use an agent of a framework that tells it"
"""What makes handoffs, and the makers of calls, visible."""

_BROKEN_ORDER = {
    "in_order": "the expected calls were not all made in the order stated",
    "exact": "the calls made are not exactly the expected ones",
}


def check_calls(run: Run, matching: Matching, explanations: Sequence[CallExplanation]) -> Iterable[Finding]:
    """Give nothing where neither all calls nor an order are asked for, else what is missing or out of order."""
    match = run.scenario.match
    if not run.scenario.states_calls or (match.expected_calls == "writes" and match.order == "any_order"):
        return []
    if not run.calls_visible:
        return [not_seen("calls", "calls")]
    missing = [call for call in explanations if call.expected is not None and call.status != "matched"]
    found = [one for call in missing for one in not_made(call, "calls")] if match.expected_calls == "all" else []
    if match.order != "any_order" and not keeps_order(run, matching, exact=match.order == "exact"):
        expected = ", ".join(call_text(want.name, want.arguments) for want in matching.expected) or "no call"
        actual = ", ".join(call_text(one.call.name, one.call.arguments) for one in matching.records) or "no call"
        message = f"{_BROKEN_ORDER[match.order]} ({match.order})"
        found.append(finding("calls", "calls", False, message, expected=expected, actual=actual))
    return found or [finding("calls", "calls", True, "the expected calls were made")]


def handoffs_of(run: Run) -> list[tuple[int, Event]]:
    """Give (index of the message that it came before, event) of each handoff."""
    return [(index, event) for index, event in run.transcript.events if event.kind == "handoff"]


def keeps_order(run: Run, matching: Matching, *, exact: bool) -> bool:
    """Whether the expected calls and handoffs came in the order stated; where they are seen, handoffs count.

    Other calls may stand between them, and failed ones do not count, unless the order is `exact`: then all that was
    made is what is expected, retries included. The user's own calls count there only when some expected one is its.
    """
    parties = {"assistant", *(want.requestor for want in matching.expected)}
    wanted = run.scenario.handoffs if run.tells_handoffs else ()
    events = handoffs_of(run) if wanted else []
    # an event comes before its message, and so before the calls of that
    steps = [(index, 0, at) for at, (index, _) in enumerate(events)]
    steps += [
        (record.message, 1, at)
        for at, record in enumerate(matching.records)
        if (record.call.requestor in parties if exact else not record.failed)
    ]
    place = {step[1:]: number for number, step in enumerate(sorted(steps))}
    rows = [
        (want.place, 0, [place[0, at] for at, (_, event) in enumerate(events) if want.fits(event)]) for want in wanted
    ]
    rows += [(at, 1, [place[1, one] for one in fits if (1, one) in place]) for at, fits in enumerate(matching.fits)]
    edges = [row[2] for row in sorted(rows, key=lambda row: row[:2])]
    if exact:
        return len(steps) == len(edges) and all(at in row for at, row in enumerate(edges))
    return fit_in_order(edges)


def check_handoffs(run: Run) -> Iterable[Finding]:
    """Give a finding for each expected handoff that did not take place, and for each forbidden one that did."""
    scenario, made = run.scenario, handoffs_of(run)
    if not scenario.handoffs and not scenario.never_handoffs:
        return []
    if not run.tells_handoffs:
        return [not_measured("handoffs", "calls", NOT_TOLD, cure=SHOW_AGENTS)]
    edges = [[at for at, (_, event) in enumerate(made) if want.fits(event)] for want in scenario.handoffs]
    pairs = maximum_matching([edges])
    took_place = printable(", ".join(str(event) for _, event in made) or "no handoff")
    missing = [printable(str(want)) for place, want in enumerate(scenario.handoffs) if place not in pairs]
    found = [
        finding("handoffs", "calls", False, f"{text} did not take place", expected=text, actual=took_place)
        for text in missing
    ]
    found += [
        _forbidden(printable(str(event)), run.transcript.turns[index])
        for index, event in made
        if any(forbidden.fits(event) for forbidden in scenario.never_handoffs)
    ]
    return found or [finding("handoffs", "calls", True, "the handoffs are as expected")]


def check_makers(matching: Matching) -> Iterable[Finding]:
    """Give a finding for each expected call that was made, and by another agent than the one that it names."""
    wanted = [place for place, want in enumerate(matching.expected) if want.by and matching.fits[place]]
    makers = [record.call.by or "" for record in matching.records]
    by, known = (
        [[at for at in matching.fits[place] if makers[at] in (matching.expected[place].by, *more)] for place in wanted]
        for more in ((), ("",))
    )
    right, perhaps = maximum_matching([by]), maximum_matching([by, known])
    for position, place in enumerate(wanted):
        want = matching.expected[place]
        text, name = call_text(want.name, want.arguments), printable(want.by or "")
        if position in right:
            yield finding("by", "calls", True, f"{text} was made by {name}")
        elif position in perhaps:
            yield not_measured("by", "calls", f"nobody tells which agent made {text}", cure=SHOW_AGENTS)
        else:
            record = matching.records[matching.strict.get(place, matching.fits[place][0])]
            message = f"{text} was made by {printable(record.call.by or '')}, expected {name}"
            more = {"turn": record.turn, "tool": record.call.name, "expected": want.by, "actual": record.call.by}
            yield finding("by", "calls", False, message, **more)


def check_approvals(run: Run, resolve: Resolver | None = None) -> Iterable[Finding]:
    """Give a finding for each expected approval, nothing where none is expected.

    A recording in which no approval stands may come from a log that has no place for them: it is not measured.
    """
    asked = [request for _, request in _asked(run)]
    if run.scenario.asks and not run.approvals_visible:
        cure = 'give its messages `"approvals": [{"tool": …}]`'
        yield not_measured("approvals", "calls", "the recording holds no approvals", cure=cure)
        return
    others = ", ".join(call_text(one.tool, one.arguments) for one in asked) or "no approval"
    for want in run.scenario.asks:
        text = call_text(want.name, want.arguments)
        found = any(_is_of(want, request, resolve) for request in asked)
        message = f"the approval of {text} was {'asked for' if found else 'never asked for'}"
        actual = None if found else others
        yield finding("approvals", "calls", found, message, tool=want.name, expected=text, actual=actual)


def check_forbidden(run: Run, resolve: Resolver | None = None) -> Iterable[Finding]:
    """Give a finding for each forbidden call made and approval asked for, or one passing; nothing without `never`.

    Raise what `matchers.matches` raises.
    """
    never = run.scenario.never
    found = [
        _forbidden(f"the approval of {call_text(request.tool, request.arguments)}", turn, request.tool)
        for turn, request in _asked(run)
        if any(_is_of(forbidden, request, resolve) for forbidden in run.scenario.never_asks)
    ]
    if never:
        return [*found, *(_forbidden_calls(run, resolve) if run.calls_visible else [not_seen("never", "policy")])]
    nothing = (
        [finding("never", "policy", True, "no forbidden approval was asked for")] if run.scenario.never_asks else []
    )
    return found or nothing


def _forbidden_calls(run: Run, resolve: Resolver | None) -> Iterator[Finding]:
    never = run.scenario.never
    fitting = ((one, [want for want in never if want.by in (None, one.call.by)]) for one in run.made)
    found = [
        (one, next((want for want in wants if is_call_of(want, one.call, resolve)), None)) for one, wants in fitting
    ]
    broken = [(one, want) for one, want in found if want is not None]
    for record, want in broken:
        text, is_agents = call_text(record.call.name, record.call.arguments), record.call.requestor == "assistant"
        meant = CONTRADICTED if is_expected(run, record.call, {*want.compared}, resolve) else ""
        yield _forbidden(text, record.turn, record.call.name, proven=is_agents and not meant, cure=meant)
    if broken:
        return
    # a call that some agent must not make, and of which nobody tells which one made it
    makers = [want for want in never if want.by]
    unsure = [one for one in run.made if one.call.by is None] if makers else []
    doubtful = next((one for one in unsure if any(is_call_of(want, one.call, resolve) for want in makers)), None)
    if doubtful is None:
        yield finding("never", "policy", True, "no forbidden call was made")
    else:
        why = f"nobody tells which agent made {call_text(doubtful.call.name, doubtful.call.arguments)}"
        yield not_measured("never", "policy", why, cure=SHOW_AGENTS, turn=doubtful.turn)


def is_expected(run: Run, call: ToolCall, names: Set[str], resolve: Resolver | None = None) -> bool:
    """Whether the scenario expects a call, and says itself what each argument in `names` is to be."""
    pinned = [
        want for want in run.scenario.expected_calls if names <= set(want.compared) - left_open(want, call).keys()
    ]
    try:
        return any(is_call_of(want, call, resolve) for want in pinned)
    except (CheckError, ValueError):  # told where calls are paired; nothing that is proven is lost by it
        return False


def _forbidden(what: str, turn: int, tool: str | None = None, *, proven: bool = True, cure: str = "") -> Finding:
    message = f"{what} is forbidden in this scenario"
    return finding("never", "policy", False, message, turn=turn, tool=tool, proven=proven, cure=cure)


def _asked(run: Run) -> Iterator[tuple[int, ApprovalRequest]]:
    """Give what the agent asked its user to decide, each with its turn."""
    for turn, message in zip(run.transcript.turns, run.transcript.messages, strict=True):
        yield from ((turn, request) for request in message.approvals)


def _is_of(want: ExpectedCall, request: ApprovalRequest, resolve: Resolver | None) -> bool:
    return is_call_of(want, ToolCall(name=request.tool, arguments=request.arguments), resolve)
