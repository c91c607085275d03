"""One run that did not pass, as a good assertion reads."""

from collections.abc import Sequence

from pytest_agentbench.checks.verdict import EXCUSE, TOOL_SLIPS, WRITTEN_CALLS
from pytest_agentbench.core.names import count, listing
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, Unmeasured
from pytest_agentbench.report.auditor import FLAGS_TITLE, auditor_flag_text, marked, standing_text
from pytest_agentbench.report.calls import beside, call_text, explained
from pytest_agentbench.report.failures import (
    call_of,
    check_name,
    failed_findings,
    finding_text,
    last_turn,
    no_finding_text,
)
from pytest_agentbench.report.sections import FLAGS_TITLE as VALUE_FLAGS_TITLE
from pytest_agentbench.report.sections import flag_text, value_flags
from pytest_agentbench.report.table import Glyphs, glyphs
from pytest_agentbench.results.audits import auditor_flags
from pytest_agentbench.results.calibration import AuditorStanding
from pytest_agentbench.results.document import PolicyRecord, policy_words

_BEFORE, _AFTER = 2, 1
"""Turns shown around the one where it went wrong."""

_TEXT = 300
_VERBOSE_TEXT = 4000
_MOST_CALLS = 8
_MOST_FINDINGS = 8
_MOST_MESSAGES = 14
_INDENT = "    "

_SPEAKERS = {"assistant": "agent", "user": "user", "tool": "tool", "system": "system"}


def failure_text(
    result: Result,
    transcript: Transcript | None,
    *,
    verbose: bool = False,
    rerun: str = "",
    transcript_path: str = "",
    unicode: bool = True,
    standing: AuditorStanding | None = None,
    policies: Sequence[PolicyRecord] = (),
) -> str:
    """Say why a run did not pass: what was checked, expected beside called, the turn, blame, excerpt, rerun command.

    The excerpt is the turns around the worst finding, of a call that was never made where it was asked for; with
    `verbose` the whole conversation. A text longer than 300 characters (4,000 with `verbose`) is cut; the transcript
    file at `transcript_path` has all of it. `standing` is how the suite's auditor did on labelled runs; of a broken one
    of `policies` the text stands there, and its rule in words.
    """
    marks = glyphs(unicode=unicode)
    failed = failed_findings(result)
    lines = [_headline(result, failed, marks, standing, verbose=verbose)]
    broken = {one.policy for one in failed if one.kind == "policy"} if result.decided else set()
    for policy in policies:
        if policy.id in broken:
            named = f" {policy.id}" if len(broken) > 1 or failed[0].policy != policy.id else ""
            lines += [f"{_INDENT}{marks.plain(line.replace(':', f'{named}:', 1))}" for line in policy_words(policy)]
    if result.not_run is None:
        # what else a run lacks that broke by somebody else's fault says nothing about the agent
        if result.decided or not result.error:
            lines += _section("", _calls(result, failed, marks, verbose=verbose))
            told = failed[0].message if failed else ""
            also = [one for one in failed[1:] if not _is_shown(result, one) and one.message != told]
            if failed and not verbose:
                also = [one for one in also if not _are_alike(one, failed[0])]
            lines += _section("also", _also(result, also, marks, verbose=verbose))
            lines += _section("not measured", [_open(one, marks) for one in result.unmeasured])
        lines += _section("state", _not_scored_state(result, lines, marks, verbose=verbose))
        others = [f"blame {one.blame}: {marks.plain(one.reason)}" for one in result.also]
        lines += _section(_others_heading(result), others)
        lines += _flags(result, marks)
        lines += _section("disputed", [f"{marks.plain(result.disputed)}; the run is scored"] if result.disputed else [])
        rests = result.rests_on_auditor and standing is not None
        lines += _section("rests on the auditor", [standing_text(standing, marks)] if rests and standing else [])
        lines += _advice(result, marks)
        told_end = not failed or not result.decided or any(one.kind == "termination" for one in failed)
        lines += ["", _facts(result, marks, told=told_end)]
        if transcript is not None and transcript.messages:
            turn, asked = _places(result, failed, transcript)
            lines += _section("conversation", _excerpt(transcript, turn, marks, verbose=verbose, asked=asked))
    lines.append("")
    if transcript_path:
        lines.append(f"transcript: {marks.plain(transcript_path)}")
    if rerun:
        lines.append(f"rerun: {marks.plain(rerun)}")
    return "\n".join(lines).rstrip()


def same_text(result: Result, first: str, *, unicode: bool = True) -> str:
    """Say of a run that could not be judged that it broke as another one did, whose node id is `first`."""
    marks = glyphs(unicode=unicode)
    return f"{_named(result, marks)} could not be judged ({_whose(result)}): the same as {marks.plain(first)}"


def conversation_text(
    result: Result,
    transcript: Transcript | None,
    *,
    verbose: bool = False,
    transcript_path: str = "",
    unicode: bool = True,
) -> str:
    """Show a conversation whose run the assertions of a test judge: how it ended, what was said, and its file."""
    marks = glyphs(unicode=unicode)
    lines = [f"termination: {result.termination}"]
    lines += _flags(result, marks)
    if transcript is not None and transcript.messages:
        lines += _section("", _excerpt(transcript, None, marks, verbose=verbose))
    if transcript_path:
        lines += ["", f"transcript: {marks.plain(transcript_path)}"]
    return "\n".join(lines)


def _flags(result: Result, marks: Glyphs) -> list[str]:
    """Give what is worth a look and decides nothing: values from nowhere, and what an auditor saw."""
    return [
        *_section(VALUE_FLAGS_TITLE, [flag_text(one, marks) for one in value_flags(result)]),
        *_section(FLAGS_TITLE, [auditor_flag_text(one, marks) for one in auditor_flags(result)]),
    ]


def _places(result: Result, failed: Sequence[Finding], transcript: Transcript) -> tuple[int | None, int | None]:
    """Give the turn where it went wrong, and the one in which the user said what was wanted there.

    A call that was never made is missing in the agent's last turn. None stands for what no turn tells.
    """
    turn = next((finding.turn for finding in failed if finding.turn is not None), None)
    if not failed:
        return turn, None
    call = call_of(result, failed[0])
    if call is not None:
        return turn, _said(transcript, [sides[0] for sides in call.differing.values()], before=turn, last=True)
    missing = [one for one in result.calls if one.status == "not_attempted" and one.tool == failed[0].tool]
    if failed[0].turn is None and missing:
        values = [value for one in missing for value in (one.expected or {}).values()]
        return last_turn(transcript) or turn, _said(transcript, values)
    return turn, None


def _said(
    transcript: Transcript, values: Sequence[object], *, before: int | None = None, last: bool = False
) -> int | None:
    """Give the turn in which the user says most of `values`, the first or the last such; None where it says none."""
    wanted = {plain(str(value)) for value in values} - {"", plain("None")}
    said = [
        (sum(value in plain(text) for value in wanted), index if last else -index)
        for index, text in transcript.texts("user")
        if before is None or transcript.turns[index] <= before
    ]
    most, place = max(said, default=(0, 0))
    return transcript.turns[abs(place)] if most else None


def _advice(result: Result, marks: Glyphs) -> list[str]:
    """Say what may lie behind a failure: no parser for tool calls, a tool that fails, a script without an answer."""
    written = [one for one in result.findings if one.check == WRITTEN_CALLS]
    advice = [line for one in written for line in ("", f"turn {one.turn}: {marks.plain(one.message)}")]
    advice += [line for one in result.findings if one.check == TOOL_SLIPS for line in ("", marks.plain(one.message))]
    if result.blame is not Blame.USER or not result.players.get("user", "").startswith("scripted"):
        return advice
    answer = "give the user an answer: another line of `says:`, or what it knows in `knows: {word: value}`"
    return [*advice, "", f"{answer}; a goodbye is a line `{{close: …}}`"]


def _named(result: Result, marks: Glyphs) -> str:
    variant = f" [{marks.plain(result.key.label)}]" if result.key.label else ""
    return f"{marks.plain(result.key.scenario)}{variant}"


def _whose(result: Result) -> str:
    return f"blame {result.blame}" if result.blame else "nobody to blame"


def _headline(
    result: Result, failed: list[Finding], marks: Glyphs, standing: AuditorStanding | None, *, verbose: bool
) -> str:
    name = _named(result, marks)
    if result.not_run is not None:
        return f"{name}: {no_finding_text(result, marks)}"
    what = no_finding_text(result, marks)
    if failed and failed[0].kind != "termination":
        what = f"{marks.plain(check_name(failed[0]))}, {finding_text(result, failed[0], marks)}"
        what += "" if verbose else _more_like_it(failed)
    noted = marked(result, standing)
    if result.decided:
        return f"{name} failed{f' ({noted})' if noted else ''}: {what}"
    who = _whose(result) + (f", {noted}" if noted else "")
    excuse = next((marks.plain(one.message) for one in result.findings if one.check == EXCUSE), "")
    if excuse:
        what = excuse
    elif result.error or result.termination is not Termination.FINISHED:
        what = no_finding_text(result, marks)
    return f"{name} could not be judged ({who}, not counted against the agent): {what}"


def _calls(result: Result, failed: list[Finding], marks: Glyphs, *, verbose: bool) -> list[str]:
    """Show what went wrong with calls: the one of the worst finding first, then the others."""
    first = call_of(result, failed[0]) if failed else None
    wrong = [call for call in result.calls if _is_wrong(call) and call is not first]
    rest = [call for call in result.calls if not _is_wrong(call)] if verbose else []
    calls = ([first] if first else []) + wrong
    shown = calls if verbose else calls[:_MOST_CALLS]
    lines = [line for call in shown for line in beside(call, marks)]
    if len(calls) > len(shown):
        lines.append(f"{marks.ellipsis} and {count(len(calls) - len(shown), 'more call')} (-vv)")
    return lines + [f"{_LABELS.get(call.status, 'matched')}{_right(call, marks)}" for call in rest]


_LABELS = {"extra_read": "beside    ", "repeated": "repeated  "}
"""What stands before calls that are not wrong: those that nobody expected may well be needed."""


def _right(call: CallExplanation, marks: Glyphs) -> str:
    if call.status == "matched":
        return f"   {explained(call, marks)}"
    note = f"   {marks.plain(call.note)}" if call.note else ""
    return f"{call_text(call.tool, call.actual or {}, marks)}{note}"


def _is_shown(result: Result, finding: Finding) -> bool:
    """Whether the calls above say what a finding says: a call that differs, was never made, or failed."""
    if call_of(result, finding) is not None:
        return True
    missed = [call for call in result.calls if call.status in ("not_attempted", "substituted", "tool_failed")]
    is_about_calls = finding.kind in ("calls", "state") and finding.expected is None
    return is_about_calls and any(call.tool == finding.tool and call.turn == finding.turn for call in missed)


def _is_wrong(call: CallExplanation) -> bool:
    return call.status not in ("matched", "extra_read", "repeated")


def _not_scored_state(result: Result, told: Sequence[str], marks: Glyphs, *, verbose: bool) -> list[str]:
    """Give how the final state differs where the run is not scored, so that nothing else tells it."""
    if result.decided:
        return []
    differs = [one for one in result.findings if one.kind == "state" and one.required and one.passed is False]
    untold = [one for one in differs if not any(marks.plain(one.message) in line for line in told)]
    return _also(result, untold, marks, verbose=verbose)


def _also(result: Result, findings: list[Finding], marks: Glyphs, *, verbose: bool) -> list[str]:
    groups: list[list[Finding]] = []
    for finding in findings:
        same = None if verbose else next((group for group in groups if _are_alike(group[0], finding)), None)
        if same is None:
            groups.append([finding])
        else:
            same.append(finding)
    shown = groups if verbose else groups[:_MOST_FINDINGS]
    lines = [
        f"{marks.plain(check_name(one[0]))}, {finding_text(result, one[0], marks)}{_more_like_it(one)}" for one in shown
    ]
    if len(groups) > len(shown):
        lines.append(f"{marks.ellipsis} and {sum(map(len, groups[len(shown) :]))} more (-vv)")
    return lines


def _are_alike(one: Finding, other: Finding) -> bool:
    """Whether two calls of one tool broke a policy in one way, so that the second tells nothing but its call."""
    return one.policy is not None and _way(one) == _way(other)


def _way(finding: Finding) -> tuple[str | None, str | None, str]:
    """Give how a policy was broken: what is said of the call that the message begins with, or all that is said."""
    return finding.policy, finding.tool, finding.message.partition(") ")[2] or finding.message


def _more_like_it(findings: Sequence[Finding]) -> str:
    """Count what follows the first of some findings and is like it, with the turns."""
    others = [one for one in findings[1:] if _are_alike(findings[0], one)]
    turns = list(dict.fromkeys(one.turn for one in others if one.turn is not None))
    if not others:
        return ""
    where = f" (turn{'' if len(turns) == 1 else 's'} {listing(map(str, turns))})" if turns else ""
    return f", and {len(others)} more like it{where}"


def _open(part: Unmeasured, marks: Glyphs) -> str:
    cure = f"; {part.cure}" if part.cure else ""
    return marks.plain(f"{part.part}: {part.why.removeprefix('not measured: ')}{cure}")


def _others_heading(result: Result) -> str:
    """Name the faults of others: beside a rule that the agent broke for certain they excuse nothing."""
    return "besides, and not the agent's fault" if result.blame is Blame.AGENT else "not the agent's fault"


def _facts(result: Result, marks: Glyphs, *, told: bool) -> str:
    """Give blame, end, complexity and attempt; `told` says that the headline gave the reason of a bad end already."""
    facts = [f"blame: {result.blame or 'nobody'}"]
    if result.termination is not None:
        told = told and result.termination is not Termination.FINISHED
        told |= any(one.reason == result.stop_reason for one in result.also)
        reason = f" ({marks.plain(result.stop_reason)})" if result.stop_reason and not told else ""
        facts.append(f"termination: {result.termination}{reason}")
    if result.complexity is not None:
        scale = f" ({result.complexity_scale})" if result.complexity_scale else ""
        facts.append(f"complexity: {result.complexity}{scale}")
    if result.key.attempt > 1:
        facts.append(f"attempt: {result.key.attempt}")
    return f" {marks.dot} ".join(facts)


def _section(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    return ["", *([title] if title else []), *(_INDENT + line for line in lines)]


def _excerpt(
    transcript: Transcript, turn: int | None, marks: Glyphs, *, verbose: bool, asked: int | None = None
) -> list[str]:
    """Show the turns around `turn`, and the one in which its user `asked` for what is missing there."""
    turns = transcript.turns
    chosen = _chosen(turns, turn, asked, verbose=verbose)
    lines: list[str] = []
    before = -1
    for place in chosen:
        number = turns[place]
        lines += _left_out(turns, before + 1, place, marks)
        begins = place == chosen[0] or turns[before] != number
        before = place
        label = f"{'>' if number == turn else ' '}{number if begins else '':>3} "
        limit = _VERBOSE_TEXT if verbose else _TEXT
        session = transcript.messages[place].session
        if place and session != transcript.messages[place - 1].session:
            lines.append(f"  session {session}")
        lines += [
            label + line if not index else " " * len(label) + line
            for index, line in enumerate(_message(transcript.messages[place], marks, limit))
        ]
    return [*lines, *_left_out(turns, before + 1, len(turns), marks)]


def _chosen(turns: Sequence[int], turn: int | None, asked: int | None, *, verbose: bool) -> list[int]:
    """Give the places of the messages that are shown."""
    last = turns[-1]
    centre = last if turn is None else min(turn, last)
    low, high = (1, last) if verbose else (centre - _BEFORE, centre + _AFTER)
    chosen = [place for place, number in enumerate(turns) if low <= number <= high]
    if not verbose and len(chosen) > _MOST_MESSAGES:
        # a turn of many calls: what is nearest to the end of the turn in question tells most
        ends = max(place for place in chosen if turns[place] <= centre) + 2
        chosen = [place for place in chosen if place < ends][-_MOST_MESSAGES:]
    return sorted({*chosen, *(place for place, number in enumerate(turns) if number == asked)})


def _left_out(turns: Sequence[int], start: int, end: int, marks: Glyphs) -> list[str]:
    """Say which turns are not shown between two places; of a turn that is shown in part, how many messages."""
    if start >= end:
        return []
    low, high = turns[start], turns[end - 1]
    is_part = (start > 0 and turns[start - 1] == low) or (end < len(turns) and turns[end] == high)
    if low == high and is_part:
        return [f"{marks.ellipsis} {count(end - start, 'message')} of turn {low}"]
    return [f"{marks.ellipsis} turn {low}" if low == high else f"{marks.ellipsis} turns {low}{marks.dash}{high}"]


def _message(message: Message, marks: Glyphs, limit: int) -> list[str]:
    speaker = _SPEAKERS[message.role]
    lines = []
    if message.text.strip() or not message.tool_calls:
        label = f"{speaker} {'rejected' if message.rejected else 'error'}:" if message.error else speaker
        said = message.text.removeprefix("Error: ") if message.error else message.text
        text = "(leaves without a word)" if message.is_wordless else _text(said, marks, limit)
        lines.append(f"{label:6} {text}")
    for call in message.tool_calls:
        shown = call_text(call.name, call.arguments, marks, value_width=limit)
        if call.raw is not None:
            shown = f"{marks.plain(call.name)}({_text(call.raw, marks, limit)})"
        lines.append(f"{speaker:6} {shown}")
    if message.cut_off:
        lines.append(f"{'':6} (cut off at its token limit: raise `max_tokens`)")
    decided = (one for one in message.decisions if one.kind != "respond")
    return lines + [
        f"{speaker:6} {one.kind}s {call_text(one.tool, one.arguments, marks, value_width=limit)}" for one in decided
    ]


def _text(text: str, marks: Glyphs, limit: int) -> str:
    """Put a text on one line; cutting comes first, since tools may answer with megabytes."""
    shown = marks.plain(" / ".join(part.strip() for part in text[: limit * 2].splitlines() if part.strip()))
    cut = marks.cut(shown, limit)
    return f"{cut} ({len(text):,} characters)" if len(text) > limit else cut
