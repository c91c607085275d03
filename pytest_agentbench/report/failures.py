"""What failed, for a terminal: broken policies, then runs, worst first, each with where it left the expected way."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from pytest_agentbench.checks.verdict import EXCUSE
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import FINDING_KINDS, Blame, CallExplanation, Finding, Verdict
from pytest_agentbench.report.auditor import marks_of
from pytest_agentbench.report.calls import call_text, explained
from pytest_agentbench.report.table import UNICODE, Glyphs, Layout, Line, cells, table, wrap
from pytest_agentbench.results.document import Document, PolicyRecord, policy_words

_RANK = {kind: min(rank, FINDING_KINDS.index("communicate")) for rank, kind in enumerate(FINDING_KINDS)}
"""How bad a finding is; the last three kinds are equals."""


def worst_first(results: Iterable[Result]) -> list[Result]:
    """Give the runs that the agent failed: wrong writes, policies, other state, strict recall, the rest.

    Among equals: more failed findings, then lower strict recall, then higher complexity, then the key.
    """
    return sorted((run for run in results if run.scored and not run.passed), key=_severity)


def by_check(failures: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Give failures by suite and by the worst thing that each broke, in their order."""
    kinds: dict[tuple[str, str], list[Result]] = {}
    for run in failures:
        found = failed_findings(run)
        kinds.setdefault((run.key.suite, _kind(found[0]) if found else "termination"), []).append(run)
    return kinds


def _kind(finding: Finding) -> str:
    return "wrong write" if finding.kind == "write" and not finding.policy else check_name(finding)


def failed_findings(result: Result) -> list[Finding]:
    """Give the findings that failed the run, worst first; a crash or a spent limit explains what is merely missing.

    What happened before it and is proven, such as a broken policy, comes first. Of a run that is unscored by its
    simulated user's fault they are what that user did wrong.
    """
    if result.also:  # what is merely missing, as the run broke off, says nothing about the agent
        proven = [one for one in result.findings if one.required and one.passed is False and one.proven]
        return sorted(proven, key=lambda finding: _RANK[finding.kind])
    by_user = result.blame is Blame.USER and not result.decided  # of any other run a user is only suspected
    if by_user and (spoilt := [one for one in result.findings if one.kind == "user" and is_fault(one)]):
        return spoilt
    failed = [finding for finding in result.findings if finding.required and finding.passed is False]
    cut = result.termination in {Termination.CRASHED, Termination.SAFETY_TIMEOUT}

    def place(finding: Finding) -> tuple[int, int]:
        is_end = finding.kind == "termination"
        return (0 if finding.proven else 1 if is_end else 2) if cut else 0, _RANK[finding.kind]

    return sorted(failed, key=place)


def is_fault(finding: Finding) -> bool:
    """Whether a finding on the simulated user is a fault of it, and not about a modifier."""
    return finding.passed is False and not finding.check.startswith("modifier ")


def check_name(finding: Finding) -> str:
    """Name what failed: the policy, else what the check is about."""
    return finding.policy or ("state" if finding.kind == "write" else finding.check)


def call_of(result: Result, finding: Finding) -> CallExplanation | None:
    """Find the call that a finding is about, where an argument differs or the call was not asked for."""
    if finding.kind not in ("write", "state", "calls"):
        return None
    return next(
        (
            call
            for call in result.calls
            if call.status == "wrong_arguments" and finding.tool == call.tool and finding.turn == call.turn
        ),
        None,
    )


def finding_text(result: Result, finding: Finding, glyphs: Glyphs, width: int = 10_000) -> str:
    """Say in one line what is wrong: the call with the differing argument, else the message with both sides."""
    place = f"turn {finding.turn}: " if finding.turn is not None else ""
    call = call_of(result, finding)
    if call is not None:
        return place + explained(call, glyphs, width - len(place))
    message = glyphs.plain(finding.message)
    sides = [
        f"{side} {glyphs.plain(text)}"
        for side, text in (("expected", finding.expected), ("actual", finding.actual))
        # what differs between two states is worded with both sides, cut where they part
        if text is not None and finding.kind != "state" and glyphs.plain(text) not in message
    ]
    return place + message + (f"  {', '.join(sides)}" if sides else "")


def no_finding_text(result: Result, glyphs: Glyphs) -> str:
    """Say why a run did not pass when no finding says so."""
    if result.not_run is not None:
        why = result.not_run.removeprefix("not run").lstrip(": ")
        return f"not run: {glyphs.plain(why)}" if why else "not run"
    if result.verdict is Verdict.ERROR and result.asked and result.asked == len(result.unmeasured) and not result.error:
        first = result.unmeasured[0]
        cure = f" ({glyphs.plain(first.cure)})" if first.cure else ""
        return f"{glyphs.plain(first.part)}: {glyphs.plain(first.why)}{cure}"
    if result.verdict is Verdict.ERROR and result.faults and not result.error:
        wrong = next((finding.message for finding in result.findings if finding.passed is False), "")
        unseen = result.blame is Blame.ENVIRONMENT
        how = "struck unseen" if unseen else "struck; it is not measured whether the user was told"
        said = next((one.message for one in result.findings if unseen and one.check == EXCUSE), "")
        said = said or f"{', '.join(result.faults)} {how}"
        return glyphs.plain(f"{said}: {wrong}")
    if excuse := next((one.message for one in result.findings if one.check == EXCUSE), ""):
        return glyphs.plain(excuse)
    ending = result.termination.value if result.termination else "no result"
    reason = result.error or result.stop_reason
    return f"{ending}: {glyphs.plain(reason)}" if reason else ending


def whose_fault(run: Result) -> str:
    """Name who is to blame for a run that did not pass; "" where it was not played."""
    return "" if run.not_run is not None else run.blame.value if run.blame else "unknown"


def cause(run: Result, glyphs: Glyphs, width: int = 10_000) -> str:
    """Say in one line what failed a run, or why it decided nothing about the agent."""
    found = failed_findings(run)
    if run.scored:
        return finding_text(run, found[0], glyphs, width) if found else no_finding_text(run, glyphs)
    if not found or found[0].kind != "user":
        return no_finding_text(run, glyphs)
    rule = found[0].check.removeprefix("user").strip()  # who was at fault is said already
    return f"{rule}: {finding_text(run, found[0], glyphs)}" if rule else finding_text(run, found[0], glyphs)


def rerun_command(result: Result, default_variant: str = "", *, cassette: str = "off", seed: int | None = None) -> str:
    """Give the command that runs this run again.

    `default_variant` is the one that runs without being asked for. What was replayed is replayed again, not asked live.
    """
    variant = result.key.variant
    option = ["--agentbench-variant", variant] if variant and variant != default_variant else []
    option += ["--agentbench-trials", str(result.key.trial)] if result.key.trial > 1 and result.trials > 1 else []
    option += ["--agentbench-cassette", cassette] if cassette == "replay" else []
    option += ["--agentbench-seed", str(seed)] if seed else []
    return shlex.join(["pytest", "--agentbench", *option, result.nodeid or str(result.key), "-vv"])


def _severity(result: Result) -> tuple[int, int, float, int, tuple[str, str, str, str, int]]:
    failed = failed_findings(result)
    recall = result.metrics.get("strict_recall")
    key = result.key
    return (
        _RANK[failed[0].kind] if failed else len(FINDING_KINDS),
        -len(failed),
        1.0 if recall is None else recall,
        -(result.complexity or 0),
        key.without_attempt,
    )


MOST_FAILURES = 10
"""Failures that are listed unless asked for all."""

MOST_OF_ONE = 3
"""Failures of one kind that are listed where there are several kinds."""

MOST_KINDS = 6

MOST_LINES = 3
"""Lines that one run may take."""

_ID_WIDTH = 36


def failures_lines(document: Document, layout: Layout, *, title: str = "worst first") -> list[Line]:
    """List the runs that the agent failed under what each broke, and say how to run the worst one again."""
    failures = worst_first(document.results)
    if not failures:
        return []
    lines = [Line(""), Line(title, "head")]
    kinds = by_check(failures)
    shown, rest = layout.listed(list(kinds), MOST_KINDS)
    suites = document.suite_names
    for suite, name in shown:
        runs = kinds[suite, name]
        whose = f"{suites[suite]}, " if len(suites) > 1 and suite in suites else ""
        lines += _heading(f"{whose}{name}", runs, policy_of(document, suite, name), layout)
        lines += _runs(runs, document, layout, most=MOST_OF_ONE if len(kinds) > 1 else MOST_FAILURES)
    lines += [Line(f"  {rest}")] if rest else []
    first = failures[0]
    is_unique = all(run.key.suite == first.key.suite for run in document.results if run.key.name == first.key.name)
    named = layout.marks.plain(shlex.quote(first.key.name if is_unique else first.nodeid or str(first.key)))
    rerun = layout.marks.plain(rerun_of(first, document))
    return [*lines, Line(f"rerun: {rerun}"), Line(f"why: agentbench explain {named}")]


def rerun_of(result: Result, document: Document) -> str:
    """Give the command that runs a run of these results again."""
    variants = next((suite.variants for suite in document.suites if suite.path == result.key.suite), ())
    default = variants[0] if variants else ""
    return rerun_command(result, default, cassette=document.cassette, seed=document.seed)


def policy_of(document: Document, suite: str, name: str) -> PolicyRecord | None:
    """Find a policy of a suite by its id."""
    stated = (policy for one in document.suites if one.path == suite for policy in one.policies)
    return next((policy for policy in stated if policy.id == name), None)


def run_name(run: Result, marks: Glyphs) -> str:
    """Name a run in 36 cells, the scenario's name cut in its middle."""
    variant = f"[{run.key.label}]" if run.key.label else ""
    trial = f" trial {run.key.trial}" if run.key.trial > 1 else ""
    which = marks.cut(marks.plain(f"{variant}{trial}"), _ID_WIDTH // 2)
    return marks.squeeze(marks.plain(run.key.scenario), _ID_WIDTH - cells(which)) + which


def _heading(name: str, runs: Sequence[Result], policy: PolicyRecord | None, layout: Layout) -> list[Line]:
    """Say what was broken and how often; of a policy its text and what its rule asks for."""
    lines = layout.wrapped(f"{name}: {count(len(runs), 'run')}", start="  ", style="bad")
    for text in policy_words(policy) if policy is not None else ():
        lines += layout.wrapped(text, start="    ")
    return lines


def _runs(runs: Sequence[Result], document: Document, layout: Layout, *, most: int) -> list[Line]:
    marks, width = layout.marks, layout.width
    shown, rest = layout.listed(runs, most)
    levels = [f"c{run.complexity}" if run.complexity is not None else marks.dash for run in shown]
    names = [run_name(run, marks) for run in shown]
    starts = table([["  ", *pair] for pair in zip(names, levels, strict=True)], ["<", "<", "<"], glyphs=marks)
    column = max(map(cells, starts))
    lines = []
    for run, start in zip(shown, starts, strict=True):
        found = failed_findings(run)
        room = max(width - column - 2, 20)
        text = cause(run, marks, max(room, width - 8))
        others = list(dict.fromkeys(check_name(one) for one in found[1:]))
        others = [name for name in others if name != check_name(found[0])]
        text += f"  (also {', '.join(map(marks.plain, others))})" if others else ""
        text += f"  [{noted}]" if (noted := marks_of(run, document)) else ""
        lines += [Line(part) for part in _beside(start, column, text, marks, width)]
    return [*lines, *([Line(f"    {rest}")] if rest else [])]


def _beside(start: str, column: int, text: str, marks: Glyphs, width: int) -> list[str]:
    """Put `text` beside `start` where it fits, else below it, in at most three lines."""
    one = start.ljust(len(start) + column - cells(start)) + "  " + text
    if cells(one) <= width:
        return [one]
    parts = [f"        {part}" for part in wrap(text, width - 8, "  ")]
    if len(parts) > MOST_LINES:
        parts = [*parts[: MOST_LINES - 1], f"{parts[MOST_LINES - 1]} {marks.ellipsis}"]
    return [marks.cut(part, width) for part in (start, *parts)]


_WRONG = frozenset({"wrong_arguments", "substituted", "tool_failed", "extra_write", "unknown_tool"})
"""What a call made can be that no right run makes; reads that nobody asked for are no divergence."""


class Divergence(Model):
    """A turn (from 1) and why it is the first to differ: from the expected calls, a check's word, or the baseline.

    `agent` is the one of several that acted in it, "" where nobody tells.
    """

    turn: int
    reason: str
    against: Literal["expected calls", "checks", "baseline"]
    agent: str = ""


def from_expected(result: Result, transcript: Transcript) -> Divergence | None:
    """Give the first turn that departs from the expected calls, else the first that a failed check points at.

    A call that was never made is missing from the turn in which the next expected one was made, at the latest from
    the agent's last turn: in any order of calls nobody can say sooner that it will not come.
    """
    departures = list(_departures(result, transcript))
    if departures:
        first_of_all = min(departures, key=lambda departure: departure.turn)
        return first_of_all if first_of_all.agent else _named(first_of_all, transcript)
    found = [finding for finding in failed_findings(result) if finding.turn is not None]
    if not found:
        return None
    first = min(found, key=lambda finding: finding.turn or 0)
    reason = UNICODE.plain(f"{check_name(first)}: {first.message}")
    return _named(Divergence(turn=first.turn or 0, reason=reason, against="checks"), transcript)


def from_baseline(transcript: Transcript, baseline: Transcript) -> Divergence | None:
    """Give the agent's first turn whose calls, arguments included, are not those of the baseline's same turn.

    Only calls are compared: two runs of one model hardly ever say the same twice. A user's turn never diverges, but
    the turn numbers of the agent count both parties.
    """
    mine, theirs = _calls_by_turn(transcript), _calls_by_turn(baseline)
    for place in range(max(len(mine), len(theirs))):
        turn, calls = mine[place] if place < len(mine) else (last_turn(transcript), [])
        _, before = theirs[place] if place < len(theirs) else (0, [])
        if [*map(_bare, calls)] == [*map(_bare, before)]:
            continue
        was, now = _listed(before), _listed(calls)
        reason = f"the baseline made {was}, this run {now}"
        return _named(Divergence(turn=turn, reason=reason, against="baseline"), transcript)
    return None


def _named(found: Divergence, transcript: Transcript) -> Divergence:
    """Name the agent that acted last in the turn."""
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    by = [message.by for turn, message in pairs if turn == found.turn and message.by]
    return found.model_copy(update={"agent": by[-1]}) if by else found


def _departures(result: Result, transcript: Transcript) -> Iterator[Divergence]:
    expected = [call for call in result.calls if call.expected is not None]
    for place, call in enumerate(expected):
        if call.status == "not_attempted":
            following = (later.turn for later in expected[place + 1 :] if later.turn is not None)
            turn = next(following, None) or last_turn(transcript)
            if turn:
                yield _departure(turn, call)
    for call in result.calls:
        if call.status in _WRONG and call.turn is not None:
            yield _departure(call.turn, call)


def _departure(turn: int, call: CallExplanation) -> Divergence:
    return Divergence(turn=turn, reason=explained(call, UNICODE), against="expected calls", agent=call.by or "")


def last_turn(transcript: Transcript) -> int:
    """Give the agent's last turn, 0 where it has none."""
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    return max((turn for turn, message in pairs if message.role == "assistant"), default=0)


def _calls_by_turn(transcript: Transcript) -> list[tuple[int, list[ToolCall]]]:
    turns: dict[int, list[ToolCall]] = {}
    for turn, message in zip(transcript.turns, transcript.messages, strict=True):
        if message.role == "assistant":
            turns.setdefault(turn, []).extend(message.tool_calls)
    return list(turns.items())


def _bare(call: ToolCall) -> tuple[str, str]:
    return call.name, digest(call.arguments if call.raw is None else call.raw)


def _listed(calls: list[ToolCall]) -> str:
    if not calls:
        return "no call"
    return ", ".join(call_text(call.name, call.arguments, UNICODE, width=120) for call in calls[:3]) + (
        f" and {len(calls) - 3} more" if len(calls) > 3 else ""
    )
