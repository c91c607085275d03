"""The report as short Markdown, beside its baseline, for the summary of a CI job or a comment on a pull request.

Whatever a suite, an agent, a tool or a model wrote stands in code spans: there nothing is a link, a mention, an image,
an element or the end of a table.
"""

import html
import re
from collections.abc import Callable, Iterable, Sequence

from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.report.auditor import audit_rows, mark_of_gate, marks_of
from pytest_agentbench.report.breakdown import (
    Section,
    gate_label,
    gates_of,
    groups_of,
    own_rows,
    percent,
    sections_of,
    sections_of_suites,
    sums_of,
    worst_rows_first,
)
from pytest_agentbench.report.comparison import compared, p_text, points
from pytest_agentbench.report.failures import (
    by_check,
    cause,
    check_name,
    failed_findings,
    policy_of,
    rerun_of,
    whose_fault,
    worst_first,
)
from pytest_agentbench.report.sections import (
    aside_counts,
    partly_text,
    quarantine_texts,
    review_texts,
    share_text,
    value_flags,
)
from pytest_agentbench.report.table import UNICODE
from pytest_agentbench.report.terminal import NONE_DECIDED
from pytest_agentbench.results.aggregate import Aggregate
from pytest_agentbench.results.audits import auditor_flags
from pytest_agentbench.results.comparison import Comparison
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.gates import GateVerdict
from pytest_agentbench.results.run_directory import Transcripts
from pytest_agentbench.results.significance import Flip
from pytest_agentbench.results.table import Row


def name_of(one: Comparison, document: Document) -> str:
    """Name what is compared: the suite where the session has several, the variant and the fault."""
    path = one.second_suite or one.suite
    suite = next((suite.name for suite in document.suites if suite.path == path), "") or path
    label = "-".join(part for part in (one.second_variant or one.variant, one.fault) if part)
    parts = [suite if len(document.suites) > 1 else "", f"[{label}]" if label else ""]
    return " ".join(part for part in parts if part)


def flip_text(flip: Flip) -> str:
    """Say how often a scenario passed before and after."""
    return f"{flip.first_passed}/{flip.first_n} → {flip.second_passed}/{flip.second_n}"


def conversations_before(baseline: Document | None, found: Transcripts) -> Callable[[Result], Transcript | None]:
    """Give what finds the conversation that a run had in the baseline; None where its scenario says something else.

    A baseline of one variant of one suite is what runs of any other variant are held against.
    """
    runs = baseline.results if baseline is not None else ()
    alone = len({(run.key.suite, run.key.variant) for run in runs}) == 1
    held = {_place(run, alone=alone): run for run in runs}

    def conversation(run: Result) -> Transcript | None:
        before = held.get(_place(run, alone=alone))
        return found.read(before) if before is not None and before.scenario_hash == run.scenario_hash else None

    return conversation


def _place(run: Result, *, alone: bool) -> tuple[str, str, str, str, int]:
    suite, scenario, variant, fault, trial = run.key.without_attempt
    return ("", scenario, "", fault, trial) if alone else (suite, scenario, variant, fault, trial)


MOST_CHARACTERS = 60_000
"""GitHub takes 65,536 characters in a comment (and 1 MiB in a job's summary)."""

MOST_FAILURES = 15
MOST_ROWS = 20
MOST_FLIPS = 20

_WIDTH = 240
_NAME = 120


def markdown_report(document: Document, *, baseline: Document | None = None, limit: int = MOST_CHARACTERS) -> str:
    """Give the report in at most `limit` characters, the worst first; whole sections are left out from the end.

    With a `baseline` it says what changed.
    """
    known = {suite.path for suite in document.suites}
    everything, document = document, document.counted
    runs = [run for run in everything.results if run.key.suite in known]
    own = [run for run in everything.results if run.key.suite not in known]
    apart = sections_of_suites(everything, runs) if runs else sections_of(own, everything.retried, everything.facts)
    sums = sums_of(apart, runs or own, everything.retried)
    sections = [
        _head(everything, sums, apart),
        _gates(document),
        *(_change(one, document) for one in compared(baseline, document)),
        _worst(document),
        _reviews(everything),
        _unscored(document),
        _unmeasured(sums),
        _flags(document),
        _audits(document),
        *(table for one in apart for table in _tables(document, one)),
        *_folded("tests of your own", own_rows(own) if runs else (), ()),
    ]
    left_out = "\n_The rest is left out to fit; the HTML report and the results file have it._\n"
    text = ""
    for section in sections:
        if section and len(text) + len(section) + 1 > limit - len(left_out):
            return text + left_out
        text += f"{section}\n" if section else ""
    return text


def code(text: str, width: int = _WIDTH, *, in_table: bool = True) -> str:
    """Give `text` as a code span on one line, which no table cell and no markup can break out of.

    `in_table` escapes bars, as a cell needs them and other places show them. Backslashes before a bar, which would undo
    that, become look-alikes.
    """
    shown = shorten(printable(text[: 4 * width]), width).strip()
    if not shown:
        return ""
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    if in_table:
        shown = re.sub(r"\\*\|", lambda found: found[0].replace("\\", "\u2216").replace("|", r"\|"), shown)
    return f"{ticks}{space}{shown}{space}{ticks}"


def _head(document: Document, sums: Aggregate, apart: Sequence[Section]) -> str:
    names = ", ".join(code(suite.name or suite.path, 60, in_table=False) for suite in document.suites[:3])
    rate, decided = sums.all, document.decided
    open_suites = {suite.path for suite in document.suites} - decided
    left = (run for run in document.results if run.key.suite in open_suites or not document.suites)
    bad = any(verdict.failed for verdict in document.gates) or any(not (run.passed or run.set_aside) for run in left)
    is_waiting = bool(sums.pending or sums.quarantined) and not rate.n and not rate.unscored
    sign = "❌" if bad or not (rate.n or is_waiting) else "✅"
    partly = partly_text(sums)
    # a rate over several variants would be that of no agent
    shown = f" ({percent(rate.rate, UNICODE)}, 95 % CI {_interval(rate)})" if len(apart) == 1 else ""
    result = (
        f"{rate.passed} of {rate.n} passed{partly}{shown}"
        if rate.n
        else f"every run is {'pending review' if sums.pending else 'in quarantine'}"
        if is_waiting
        else "nothing was scored"
    )
    scored = {run.key.suite for run in document.counted.results if run.scored}
    silent = [
        code(suite.name or suite.path, 60, in_table=False) for suite in document.suites if suite.path not in scored
    ]
    if rate.n and silent:
        result += f", nothing was scored in {', '.join(silent[:3])}{' and others' if len(silent) > 3 else ''}"
    facts = [count(len({(run.key.suite, run.key.scenario) for run in document.results}), "scenario")]
    variants = dict.fromkeys(run.key.variant for run in document.results if run.key.variant)
    if variants:
        named = ", ".join(code(name, 40, in_table=False) for name in variants)
        facts.append(f"{'variants' if len(variants) > 1 else 'variant'} {named}")
    facts.append(f"{document.seconds:.1f} s")
    if rate.unscored:
        facts.append(f"{rate.unscored} not scored")
    facts += aside_counts(sums)
    if sums.plain:
        facts.append(f"{count(sums.plain, 'run')} of plainly worded scenarios")
    if not document.complete:
        facts.append("**cut short**")
    return f"### {sign} agentbench{f' {names}' if names else ''}: {result}\n\n{' · '.join(facts)}\n"


def _gates(document: Document) -> str:
    rows = [
        [
            "❌" if verdict.failed else "✅" if verdict.passed else "–",
            code(gate_label(verdict, document), _NAME),
            code(verdict.reason, _NAME) + (f" **{noted}**" if (noted := mark_of_gate(verdict, document)) else ""),
            str(verdict.n),
            percent(verdict.near_miss, UNICODE),
        ]
        for verdict in sorted(document.gates, key=lambda verdict: not verdict.failed)
    ]
    evaluated = {verdict.suite for verdict in document.gates} - document.decided
    names = (
        code(suite.name or suite.path, _NAME, in_table=False) for suite in document.suites if suite.path in evaluated
    )
    told = "".join(f"\n{name}: {NONE_DECIDED}.\n" for name in names)
    return _table(["", "gate", "measured", "n", "fails by luck"], rows) + told if rows else ""


def _change(one: Comparison, document: Document) -> str:
    """Say what became of success since the baseline, and name the scenarios that flipped, losses first."""
    named = name_of(one, document)
    title = f"#### Against the baseline{f': {code(named, _NAME, in_table=False)}' if named else ''}\n\n"
    change = one.paired.success
    if change is None:
        return f"{title}No scenario could be compared.\n"
    low, high = (points(end) for end in (change.difference.low, change.difference.high))
    verdict = " ❌ **worse**" if change.is_significant and change.second < change.first else ""
    over = count(one.paired.scenarios, "scenario")
    text = (
        f"{percent(change.first, UNICODE)} → {percent(change.second, UNICODE)} over {over} "
        f"({points(change.difference.value)} points, 95 % CI {low} to {high}, p {p_text(change.p_holm)}){verdict}\n\n"
    )
    flips = [*one.paired.lost, *one.paired.won]
    rows = [
        ["worse" if flip.is_loss else "better", code(flip.scenario, _NAME), flip_text(flip)]
        for flip in flips[:MOST_FLIPS]
    ]
    return title + text + (_table(["", "scenario", "passed"], rows) if rows else "") + _more(len(flips) - MOST_FLIPS)


def _worst(document: Document) -> str:
    failures = worst_first(document.results)
    if not failures:
        return ""
    rows = []
    for run in failures[:MOST_FAILURES]:
        found = failed_findings(run)
        rows.append(
            [
                code(_name(run), _NAME),
                "–" if run.complexity is None else str(run.complexity),
                whose_fault(run),
                code(check_name(found[0]) if found else "termination", 60),
                code(cause(run, UNICODE, _WIDTH))
                + (f" (+{len(found) - 1} more)" if len(found) > 1 else "")
                + _noted(run, document),
            ]
        )
    section = _broken(document, failures) + _section(
        f"Worst first ({len(failures)} failed)",
        ["scenario", "complexity", "whose fault", "check", "what happened"],
        rows,
        len(failures),
    )
    return f"{section}\nRun the first one again: {code(rerun_of(failures[0], document), 600, in_table=False)}\n"


def _broken(document: Document, failures: Sequence[Result]) -> str:
    """Quote the policies that were broken, with what their rules ask for."""
    lines: list[str] = []
    for (suite, name), runs in by_check(failures).items():
        policy = policy_of(document, suite, name)
        if policy is not None and policy.text and len(lines) < MOST_FAILURES:
            rule = f" Rule: {code(policy.rule, in_table=False)}" if policy.rule else ""
            told = code(policy.text, in_table=False)
            lines.append(f"- **{code(name, _NAME, in_table=False)}**, {count(len(runs), 'run')}: {told}{rule}\n")
    return f"#### Broken policies\n\n{''.join(lines)}\n" if lines else ""


def _reviews(document: Document) -> str:
    """Say what waits for a reviewer, and what counts without one."""
    texts = [*review_texts(document), *quarantine_texts(document)]
    missed = worst_first(document.pending.results)
    names = ", ".join(code(_name(run), _NAME, in_table=False) for run in missed[:MOST_FAILURES])
    told = f"\nMissed among them: {names}{' …' if len(missed) > MOST_FAILURES else ''}\n" if missed else ""
    listed = "".join(f"- {code(text, 600, in_table=False)}\n" for text in texts)
    return f"#### Review\n\n{listed}{told}" if texts else ""


def _unscored(document: Document) -> str:
    runs = [run for run in document.results if not run.scored]
    if not runs:
        return ""
    runs.sort(key=lambda run: (run.not_run is not None, str(run.key)))
    alike: dict[tuple[str, str], list[Result]] = {}
    for run in runs:
        alike.setdefault((whose_fault(run) or "not run", code(cause(run, UNICODE)) + _noted(run, document)), []).append(
            run
        )
    rows = [
        [code(_name(same[0]), _NAME) + (f" and {len(same) - 1} more" if len(same) > 1 else ""), who, why]
        for (who, why), same in alike.items()
    ]
    title = f"Not scored, and not counted against the agent ({len(runs)})"
    return _section(title, ["scenario", "whose fault", "why"], rows)


def _unmeasured(sums: Aggregate) -> str:
    """List the parts that were not measured, and what would measure them."""
    rows = [
        [code(one.part, _NAME), str(one.runs), code(one.why.removeprefix("not measured: ")), code(one.cure)]
        for one in sums.unmeasured
    ]
    title = f"Not measured (–, in no rate): {share_text(sums)}"
    return _section(title, ["part", "runs", "why", "what would measure it"], rows)


def _flags(document: Document) -> str:
    """List what agents stated and had from nowhere."""
    rows = [
        [code(_name(run), _NAME), str(flag.turn), code(flag.value, _NAME), code(flag.quote)]
        for run in document.results
        for flag in value_flags(run)
    ]
    title = "Stated, and found nowhere (flags: they decide nothing)"
    return _section(title, ["scenario", "turn", "value", "words"], rows)


def _audits(document: Document) -> str:
    """Say what auditors saw, and list their flags."""
    rows = [[name, told] for name, told in audit_rows(document, UNICODE)]
    if not rows:
        return ""
    flags = [
        [code(_name(run), _NAME), flag.kind, str(flag.turn or "–"), code(flag.message or flag.value), code(flag.quote)]
        for run in document.results
        for flag in auditor_flags(run)
    ]
    text = _section("Auditor", ["", "seen"], rows)
    if not flags:
        return text
    table = _table(["scenario", "about", "turn", "seen", "words"], flags[:MOST_FAILURES])
    return f"{text}\nFlags decide nothing.\n\n{table}{_more(len(flags) - MOST_FAILURES)}"


def _tables(document: Document, section: Section) -> Iterable[str]:
    """Give one folded table per way to group the runs of a section, policies first."""
    sums = section.sums
    groups = [(title, rows) for title, rows in groups_of(sums) if title]
    groups += [(one.label, [one]) for one in (sums.pending, sums.quarantined) if one]
    if section.title:
        groups.append(("all runs", [sums.all]))
    groups.sort(key=lambda group: not group[0].startswith("policy"))
    gates = section.gates(document.gates)
    for title, rows in groups:
        yield from _folded(title, rows, gates, of=section.title)


def _folded(title: str, rows: Sequence[Row], gates: Sequence[GateVerdict], *, of: str = "") -> Iterable[str]:
    """Give the table of a group, folded but for policies; nothing without rows."""
    if not rows:
        return
    shown = worst_rows_first(title, rows)
    cells = []
    for row in shown[:MOST_ROWS]:
        missed = any(verdict.failed for verdict in gates_of(row, gates))
        rate = percent(row.rate, UNICODE)
        cells.append(
            [
                code(row.label, _NAME),
                f"{row.passed} / {row.n}" if row.n or not row.unmeasured else f"– ({row.unmeasured} not measured)",
                f"**{rate}** ❌" if missed else rate,
                _interval(row),
            ]
        )
    table = _table([title.partition(" ")[0], "passed", "rate", "95 % CI"], cells)
    named = f"{title}, {html.escape(printable(of))}" if of else title
    yield (
        f"<details{' open' if title.startswith('policy (exercised)') else ''}><summary>By {named}</summary>\n\n"
        f"{table}{_more(len(shown) - MOST_ROWS)}\n</details>\n"
    )


def _section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], count: int = 0) -> str:
    """Give a titled table of the first rows, of `count` where the others are not among them; "" without rows."""
    if not rows:
        return ""
    table = _table(header, rows[:MOST_FAILURES])
    return f"#### {title}\n\n{table}{_more((count or len(rows)) - MOST_FAILURES)}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _interval(row: Row) -> str:
    return "–" if row.low is None or row.high is None else f"{row.low * 100:.0f}–{row.high * 100:.0f} %"


def _noted(run: Result, document: Document) -> str:
    """Give what stands beside a verdict that rests on an auditor, or that a user may have spoilt."""
    noted = marks_of(run, document)
    return f" **{noted}**" if noted else ""


def _more(count: int) -> str:
    return f"\n… and {count} more\n" if count > 0 else ""


def _name(run: Result) -> str:
    label = f"[{run.key.label}]" if run.key.label else ""
    return f"{run.key.scenario}{label}{f' trial {run.key.trial}' if run.key.trial > 1 else ''}"
