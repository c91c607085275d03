"""What others did wrong in a run that did not pass: what ended it, and what kept everybody from passing."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_agentbench.checks.calls import CONTRADICTED
from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.checks.fault_outcomes import SUFFERS, Handling
from pytest_agentbench.checks.findings import call_text, cut, value_text
from pytest_agentbench.checks.state import is_of_failing_call
from pytest_agentbench.core.json_values import same, to_json
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import flat, printable, shorten
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, FindingKind, OtherFault
from pytest_agentbench.environment.call_replay import failure_text

_PLACE = re.compile(r" \([^()\n]{1,500}:\d{1,7} in [\w<>.]{1,200}\)$")
"""Where a tool raised: `(tools.py:15 in look)`."""


def others_of(
    run: Run,
    raised: Sequence[Finding],
    findings: Sequence[Finding],
    explanations: Sequence[CallExplanation],
    handling: Handling,
) -> list[OtherFault]:
    """Give what others did wrong, the end of the run first, but for a stall: that may come of what failed before.

    `raised` are the findings of checks that raised.
    """
    ended = [*_ended(run, raised)]
    known = [*_of_scenario(findings), *_of_world(run, findings), *_of_faults(run, findings, handling)]
    told = [*known, *ended] if run.termination is Termination.STALLED else [*ended, *known]
    refused = [*_refused(run, findings, explanations), *_refused_to_user(run, findings, explanations)]
    return [*told, *_unanswered(run, findings), *refused]


def _ended(run: Run, raised: Sequence[Finding]) -> Iterator[OtherFault]:
    """Give who ended the run by a fault, and the check that raised."""
    if run.blame is not None and run.blame is not Blame.AGENT:
        reason = cut(printable(run.error or run.stop_reason or str(run.termination)).split("\n")[0])
        yield OtherFault(blame=run.blame, reason=reason, ended=True)
    elif run.finished and run.transcript.messages and all(one.role == "user" for one in run.transcript.messages):
        yield OtherFault(blame=Blame.USER, reason="the user closed before the agent had a turn", ended=True)
    yield from (OtherFault(blame=Blame.SCENARIO, reason=finding.message) for finding in raised[:1])


NO_ARGUMENTS = "broke, and no argument can be the cause"
"""What became of a call where the environment does not work."""

UNANSWERED = (
    "the user left a question of the agent unanswered; add its answer to `knows`, or a `confirm` line to `says`"
)
"""Why an agent is not to blame for what it did not do where a question of its own stood open."""


def _unanswered(run: Run, findings: Sequence[Finding]) -> Iterator[OtherFault]:
    """Give the question that was left open where the run failed."""
    if run.unanswered and any(one.required and one.passed is False for one in findings):
        yield OtherFault(blame=Blame.SCENARIO, reason=cut(f"{UNANSWERED}: {printable(shorten(run.unanswered, 80))!r}"))


def _of_world(run: Run, findings: Sequence[Finding]) -> Iterator[OtherFault]:
    """Give what kept everybody from passing; a failing read or a broken tool only where it did."""
    failed = any(one.required and one.passed is False for one in findings)
    failing = [one.message for one in findings if one.required and one.passed is None and is_of_failing_call(one)]
    if run.left_over and (failing or _only_lacks(run, findings)):
        yield OtherFault(blame=Blame.ENVIRONMENT, reason=cut(printable(run.left_over)))
    for tool, why in list(run.down.items())[:1]:
        if failing or _only_lacks(run, findings, let_through=why):
            yield OtherFault(blame=Blame.ENVIRONMENT, reason=cut(f"the tool {tool!r} {NO_ARGUMENTS}: {why}"))
    if run.unreplayed and (failed or failing):
        position, problem = next(iter(run.unreplayed.items()))
        reason = failing[0] if failing else failure_text(run.scenario.expected_calls[position], problem)
        file, line = run.scenario.file, run.scenario.line
        yield OtherFault(blame=Blame.SCENARIO, reason=f"{reason} ({Path(file).name}:{line})" if file else reason)
    if not failed:
        return
    for index, event in [one for one in run.transcript.events if one[1].kind == "refused_by_provider"][:1]:
        named = f" ({printable(event.name)})" if event.name else ""
        reason = f"turn {run.transcript.turns[index]}: the provider of the agent's model refused to answer{named}"
        yield OtherFault(blame=Blame.PROVIDER, reason=cut(reason))
    for tool, why in list(run.broken_tools.items())[:1]:
        reason = f"the tool {tool!r} broke at every call of the run, and works in a fresh environment: {why}"
        yield OtherFault(blame=Blame.ENVIRONMENT, reason=cut(reason))
    for tool, why in list(run.useless_tools.items())[:1]:
        reason = f"the tool {tool!r} breaks in a fresh environment, too, at a call that the scenario expects: {why}"
        yield OtherFault(blame=Blame.SCENARIO, reason=cut(reason))


def _of_scenario(findings: Sequence[Finding]) -> Iterator[OtherFault]:
    """Give the rule that forbids a call which the scenario expects."""
    for one in [one for one in findings if one.passed is False and one.cure == CONTRADICTED][:1]:
        what = f"the policy {one.policy!r}" if one.policy else "`never`"
        reason = f"{what} forbids a call that the scenario expects: {one.message}; {CONTRADICTED}"
        yield OtherFault(blame=Blame.SCENARIO, reason=cut(printable(reason)))


def _of_faults(run: Run, findings: Sequence[Finding], handling: Handling) -> Iterator[OtherFault]:
    """Give the faults that no answer shows, where what is wrong may all come of them."""
    if handling.silent and _only_lacks(run, findings):
        names = ", ".join(dict.fromkeys(hit.fault.name for hit in run.met if not hit.shows))
        what = f": {handling.injected}" if handling.injected else ""
        reason = f"{printable(names)} struck unseen{what}, and may have led to all that is wrong"
        yield OtherFault(blame=Blame.ENVIRONMENT, reason=reason)


def _only_lacks(run: Run, findings: Sequence[Finding], *, let_through: str = "") -> bool:
    """Whether the run failed, and by nothing but what goes wrong by itself where tools do not do what they should.

    A stall is such a thing, a rule that is not proven to be broken, and a crash by what a tool raised, which the agent
    `let_through`.
    """
    failing = [one for one in findings if one.required and one.passed is False]
    failed = [one.kind for one in failing if one.proven or one.kind != "policy"]
    raised = _PLACE.sub("", let_through).partition(", led to by ")[0].partition(": ")[2]
    crashed = run.termination is Termination.CRASHED and bool(raised) and raised in (run.error or "")
    ended: set[FindingKind] = {"termination"} if crashed or run.termination is Termination.STALLED else set()
    return bool(failing) and SUFFERS.union(ended).issuperset(failed)


def _refused_to_user(
    run: Run, findings: Sequence[Finding], explanations: Sequence[CallExplanation]
) -> Iterator[OtherFault]:
    """Give the lookup, the last call, that refused what the user is to give, before any write was tried.

    No other lookup takes that, so the agent did not choose the wrong one. What the user says in a line of its own may
    be meant to be refused, and so may a call that is expected. A slip of the tool's own code is meant by nobody, unless
    it looked up what it was given.
    """
    last, knows = next(iter(run.calls[-1:]), None), {flat(name): value for name, value in run.scenario.knows.items()}
    if last is None or run.faults or not _only_lacks(run, findings) or wrote(last, run.toolset) is not False:
        return
    name, given = last.call.name, last.call.arguments
    known = [key for key in given if flat(key) in knows]
    told = [key for key in known if same(to_json(knows[flat(key)]), to_json(given[key]))]
    lookups = [spec for spec in run.toolset.of("assistant") if spec.kind != "write"]
    elsewhere = [spec.arguments for spec in lookups if spec.name != name]
    is_only_way = any(all(names is not None and key not in names for names in elsewhere) for key in told)
    others = (value for key, value in given.items() if key not in told)
    is_known = is_only_way and all(any(states(one, text) for text in run.scenario.user_texts) for one in others)
    worked = any(one.call.name == name and not one.failed for one in run.calls)
    tried = any(one.write is not False and one.status not in ("not_attempted", "matched") for one in explanations)
    meant = any(one.status == "tool_failed" and one.tool == name for one in explanations)
    missing = any(one.status == "not_attempted" and one.expected is not None for one in explanations)
    shown = ", ".join(f"{key}: {value_text(given[key])}" for key in told)
    slip = run.slipped_tools.get(name, "")
    if not is_known or worked or tried:
        return
    if slip and not any(states(value, slip) for value in given.values()):  # no lookup of what was given
        reason = f"the tool {name!r} failed in its own code at what the user is to give, {shown}: {slip}"
        yield OtherFault(blame=Blame.ENVIRONMENT, reason=cut(printable(reason)))
    elif missing and not meant:
        why = f"the tool {name!r} refused what the user is to give, {shown}: {last.answer.removeprefix('Error: ')}"
        cure = "mend it under `knows`, or have the user say it in `says` where the refusal is meant"
        yield OtherFault(blame=Blame.SCENARIO, reason=cut(printable(f"{why}; {cure}")))


def _refused(run: Run, findings: Sequence[Finding], explanations: Sequence[CallExplanation]) -> Iterator[OtherFault]:
    """Give the refusal of an expected write to an agent that had done all before it as expected, and nothing else.

    Where a state can be read, making the expected calls anew tells whether they can be made. A lookup may be expected
    to find nothing.
    """
    failed = any(one.required and one.passed is False for one in findings)
    if not failed or run.final_state is not None or run.faults:
        return
    for call in explanations:
        if call.expected is None or call.status not in ("matched", "tool_failed"):
            return
        if call.status == "tool_failed" and call.write is not False:
            others = [one for one in explanations if one.expected is None and one.status != "repeated"]
            if all(one.write is False for one in others):
                reason = f"the tool refused the expected call {call_text(call.tool, call.actual or {})}: {call.note}"
                yield OtherFault(blame=Blame.SCENARIO, reason=cut(printable(reason)))
            return
