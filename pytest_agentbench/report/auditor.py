"""What the auditor saw, as reports show it: its figures, its flags, and *uncalibrated* beside what rests on it."""

from collections.abc import Sequence

from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.verdict import Flag
from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.table import Glyphs, Layout, Line
from pytest_agentbench.results.audits import (
    AuditSums,
    CritiqueSide,
    CritiqueSums,
    auditor_flags,
    audits_of,
    critique_of,
)
from pytest_agentbench.results.calibration import LEAST_RUNS, AuditorStanding
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.gates import GateVerdict

UNCALIBRATED = "uncalibrated"
"""What stands beside a verdict that rests on an auditor whose false alarms nobody has counted, or that has some."""

FLAGS_TITLE = "flags of the auditor (they decide nothing)"

_QUOTE = 160
_NAME = 60


def marks_of(run: Result, document: Document) -> str:
    """Give what stands beside a verdict, `uncalibrated` and `disputed`, joined by commas; "" for most."""
    return ", ".join(_marks(run, _standing(run, document)))


def mark_of_gate(verdict: GateVerdict, document: Document) -> str:
    """Give `uncalibrated` where what a gate measured rests on an auditor that is not, else ""."""
    gate = verdict.parsed
    if gate is None:
        return ""
    runs = [run for run in document.counted.results if run.key.suite == verdict.suite]
    if gate.metric == "policy":
        seen = (run for run in runs for one in (run.audit.policies if run.audit else ()) if one.policy == gate.argument)
    else:
        seen = (run for run in runs if run.rests_on_auditor and gate.kind == "rate")
    return UNCALIBRATED if any(not _standing(run, document).is_calibrated for run in seen) else ""


def marked(run: Result, standing: AuditorStanding | None) -> str:
    """Give the same for a run of a suite whose auditor is known."""
    return ", ".join(_marks(run, standing or AuditorStanding()))


def standing_text(standing: AuditorStanding, marks: Glyphs) -> str:
    """Say how far an auditor can be trusted, with the upper bound of its false alarm rate."""
    if not standing.runs:
        return f"{UNCALIBRATED}: `agentbench calibrate` has not compared it with labelled runs"
    alarms = "no false alarm" if not standing.false_alarms else count(standing.false_alarms, "false alarm")
    bound = f"at most {percent(standing.upper, marks)}, 95 %"
    told = f"{alarms} on {count(standing.runs, 'labelled run')} ({bound})"
    if standing.is_calibrated:
        return f"calibrated: {told}"
    lacks = [f"{LEAST_RUNS} are needed"] if standing.runs < LEAST_RUNS else []
    lacks += [f"it was {marks.cut(marks.plain(standing.other), _NAME)} then"] if standing.other else []
    return "; ".join([f"{UNCALIBRATED}: {told}", *lacks])


def audit_rows(document: Document, marks: Glyphs) -> list[tuple[str, str]]:
    """Give name and figure of all that auditors saw, and of what the critique of endings took; none without either."""
    sums = audits_of(document.results, document.retried)
    rows = [*_audit_rows(sums, document, marks)] if sums.runs else []
    if sums.disputed or sums.replayed:
        again = f" {marks.dot} {sums.replayed} played again" if sums.replayed else ""
        why = "scored; the user may be at fault"
        rows.append(("disputed", f"{count(sums.disputed, 'run')} ({why}){again}"))
    critique = critique_of([*document.results, *document.retried])
    return [*rows, *([("critique", _critique(critique, marks))] if critique.runs else [])]


def audit_lines(document: Document, layout: Layout) -> list[Line]:
    """Give the rows as lines, then the kinds of flags with the first of each; with `verbose` all flags."""
    marks, rows = layout.marks, audit_rows(document, layout.marks)
    if not rows:
        return []
    lines = [Line("")]
    indent = " " * (max(len(name) for name, _ in rows) + 2)
    for name, told in rows:
        lines += layout.wrapped(f"{name.ljust(len(indent))}{told}", indent)
    found = [(run.key.name, flag) for run in document.results for flag in auditor_flags(run)] if layout.verbose else []
    texts = [f"{marks.plain(name)}  {auditor_flag_text(flag, marks)}" for name, flag in found]
    texts = texts if layout.verbose else kind_texts(document, marks)
    lines += [Line(FLAGS_TITLE, "head")] if texts else []
    return lines + [line for text in texts for line in layout.wrapped(text, "    ", start="  ")]


def kind_texts(document: Document, marks: Glyphs) -> list[str]:
    """Say of each kind of flag how many there are, in how many runs, and which is the first."""
    sums = audits_of(document.results)
    return [
        f"{one.kind} {one.flags} in {count(one.runs, 'run')}, the first: {marks.plain(one.name)}, "
        f"{_place(one.first)}{_words(one.first, marks)}"
        for one in sums.flags
    ]


def auditor_flag_text(flag: Flag, marks: Glyphs) -> str:
    """Give kind, turn, what was observed, and the words."""
    return f"{flag.kind}, {_place(flag)}{_words(flag, marks)}"


def _audit_rows(sums: AuditSums, document: Document, marks: Glyphs) -> Sequence[tuple[str, str]]:
    runs = len([run for run in document.results if run.not_run is None])
    dot = f" {marks.dot} "
    facts = [f"{sums.runs} of {count(runs, 'run')}", f"{sums.decided} rest on it"]
    facts += [f"{count(sums.dropped, 'observation')} without words left out"] if sums.dropped else []
    standings = {
        standing_text(suite.auditor, marks)
        for suite in document.suites
        if suite.auditor is not None and any(run.audit and run.key.suite == suite.path for run in document.results)
    }
    rows = [("auditor", dot.join([*facts, *sorted(standings)]))]
    rows.append(
        ("satisfied yet failed", f"{sums.satisfied_failed} of {count(sums.satisfied, 'run')} with a satisfied user")
    )
    share = percent(sums.plays_agent / sums.runs, marks)
    rows.append(
        ("plays_agent", f"{sums.plays_agent} of {count(sums.runs, 'run')} ({share}): the user spoke as the agent")
    )
    if sums.consents_unclear:
        rows.append(("unclear", f"{count(sums.consents_unclear, 'consent')}: label and auditor disagree"))
    return rows


def _critique(sums: CritiqueSums, marks: Glyphs) -> str:
    unchecked = [f"{count(sums.unchecked, 'ending')} could not be checked"] if sums.unchecked else []
    facts = (
        f"{sums.resumed.runs} of {count(sums.runs, 'run')} went on ({sums.times} times in all)",
        *unchecked,
        *(f"{name}: {_side(one)}" for name, one in (("these", sums.resumed), ("others", sums.others)) if one.runs),
    )
    return f" {marks.dot} ".join(facts)


def _side(side: CritiqueSide) -> str:
    """Say what became of runs, and how many calls one of them took, with those of the critique and without."""
    calls = f"{side.calls / side.runs:.1f} model calls a run, {(side.calls - side.asking) / side.runs:.1f} without it"
    return f"{side.unscored} of {side.runs} not scored, {calls}"


def _standing(run: Result, document: Document) -> AuditorStanding:
    found = next((suite.auditor for suite in document.suites if suite.path == run.key.suite), None)
    return found or AuditorStanding()


def _marks(run: Result, standing: AuditorStanding) -> list[str]:
    rests = [UNCALIBRATED] if run.rests_on_auditor and not standing.is_calibrated else []
    return [*rests, *(["disputed"] if run.disputed else [])]


def _place(flag: Flag) -> str:
    return f"turn {flag.turn}: " if flag.turn else ""


def _words(flag: Flag, marks: Glyphs) -> str:
    quote = f'"{marks.cut(marks.plain(flag.quote), _QUOTE)}"' if flag.quote else ""
    return ", ".join(part for part in (marks.plain(flag.message or flag.value), quote) if part)
