"""One page for who does not read tests: ship or not and why, broken promises, trend, cost, what was not measured."""

from collections.abc import Iterator, Sequence

from pytest_agentbench.core.names import count, listing
from pytest_agentbench.core.run import Result
from pytest_agentbench.report.breakdown import Section, percent, sections_of
from pytest_agentbench.report.failures import (
    MOST_FAILURES,
    MOST_LINES,
    by_check,
    cause,
    check_name,
    failed_findings,
    policy_of,
    run_name,
    whose_fault,
    worst_first,
)
from pytest_agentbench.report.sections import pending_lines, quarantine_lines, share_text
from pytest_agentbench.report.table import UNICODE, Layout, Line, Style
from pytest_agentbench.report.terminal import MOST_NAMES, NONE_DECIDED, why_not_evaluated
from pytest_agentbench.results.document import Document, Session, SuiteRecord, cost_of
from pytest_agentbench.results.gates import GateVerdict, decided_by_own

MOST_PROMISES = 3
MOST_SESSIONS = 8
_MOST_NAMED = 5


def summary_lines(document: Document, sessions: Sequence[Session], layout: Layout) -> list[Line]:
    """Give the page: a part per suite and variant."""
    counted = document.counted
    lines: list[Line] = []
    for suite in document.suites:
        runs = [run for run in counted.results if run.key.suite == suite.path]
        for section in sections_of(runs, (), document.facts):
            lines += [Line("")] if lines else []
            lines += _part(suite, section, document, sessions, layout)
    if not document.suites:
        return [Line("these results are of no suite: nothing can be said of it", "warn")]
    return [*lines, *pending_lines(document, layout), *quarantine_lines(document, layout)]


def _part(
    suite: SuiteRecord, section: Section, document: Document, sessions: Sequence[Session], layout: Layout
) -> Iterator[Line]:
    title = suite.name or suite.path
    name = f"{title}, variant {section.name}" if section.name else title
    answer, why, style = _decision(suite, section, document)
    yield from layout.wrapped(f"{name}: {answer}", style=style)
    for reason in why:
        yield from layout.wrapped(reason, start="  ")
    yield from _promises(suite, section, document, layout)
    yield from _not_passed(section.runs, layout)
    yield from _trend(suite, section, sessions, layout)
    yield from layout.wrapped(_cost(section.runs))
    yield from _not_measured(section, layout)


def _decision(suite: SuiteRecord, section: Section, document: Document) -> tuple[str, list[str], Style]:
    """Say whether to ship, and why: gates decide where there are any, else every conversation has to pass."""
    row = section.sums.all
    rate = f"{row.passed} of {count(row.n, 'conversation')} passed ({percent(row.rate, UNICODE)})"
    aside = [f"{count(row.unscored, 'conversation')} not scored: not the agent's fault, or not played"]
    others = aside if row.unscored else []
    if not row.n:
        return "not decided", ["no conversation was scored", *others], "warn"
    if not suite.gates:
        if not document.complete or suite.selected < suite.total:
            return "not decided", [rate, "not every conversation of the suite was played", *others], "warn"
        if row.passed < row.n or row.unscored:
            return "do not ship", [rate, *others, "the suite has no gates: every conversation has to pass"], "bad"
        return "ship", [rate], "good"
    gates = [one for one in document.gates if one.suite == suite.path and section.name in ("", one.variant)]
    if not gates:
        why = why_not_evaluated(suite, document)
        return "not decided", [rate, f"its gates were not evaluated ({why})", *others], "warn"
    failed = [one for one in gates if one.failed]
    shown = [_gate(one) for one in failed]
    if failed:
        return "do not ship", [rate, *shown, *others], "bad"
    undecided = [_gate(one) for one in gates if one.passed is None]
    if not decided_by_own(suite.path, suite.gates, gates):
        if row.passed < row.n or row.unscored:
            return "do not ship", [rate, *undecided, *others, f"the suite: {NONE_DECIDED}"], "bad"
        return "not decided", [rate, "no gate of its own was decided", *undecided, *others], "warn"
    if not document.complete or suite.selected < suite.total:
        return "not decided", [rate, "not every conversation of the suite was played", *undecided, *others], "warn"
    return "ship", [rate, f"{_all(len(gates) - len(undecided))} met", *undecided, *others], "good"


def _all(number: int) -> str:
    return "its one gate is" if number == 1 else f"all {number} gates are"


def _gate(verdict: GateVerdict) -> str:
    if verdict.passed is None:
        return f"{verdict.gate}: {verdict.reason}"
    chance = verdict.near_miss
    misses = f"; an agent exactly this good fails it by luck in {percent(chance, UNICODE)} of sessions"
    unsure = misses if chance is not None else ""
    return f"{verdict.gate} is not met: {verdict.reason} (n {verdict.n}{unsure})"


def _promises(suite: SuiteRecord, section: Section, document: Document, layout: Layout) -> Iterator[Line]:
    """Name what was broken most, in the policies' own words."""
    kinds = by_check(worst_first(section.runs))
    rows = {row.label: row for row in section.sums.policies_exercised}
    ranked = sorted((row for row in rows.values() if row.n and row.passed < row.n), key=lambda row: (row.rate, -row.n))
    others = [(name, len(runs)) for (_, name), runs in kinds.items() if name not in rows]
    if not ranked and not others:
        return
    yield Line("promises that were broken", "head")
    for row in ranked[:MOST_PROMISES]:
        policy = policy_of(document, suite.path, row.label)
        text = " ".join(policy.text.split()) if policy is not None and policy.text else row.label
        yield from layout.wrapped(f"{text} Kept in {row.passed} of {row.n} ({row.label}).", start="  ")
    for name, number in others[: max(MOST_PROMISES - len(ranked), 0)]:
        yield from layout.wrapped(f"{_WORDS.get(name, name)}: {count(number, 'conversation')}.", start="  ")


def _not_passed(runs: Sequence[Result], layout: Layout) -> Iterator[Line]:
    """Give a line for each conversation that did not pass: whose fault it is, and the cause; what is alike in one."""
    marks = layout.marks
    alike: dict[str, list[str]] = {}
    for run in [*worst_first(runs), *(run for run in runs if not run.scored)]:
        who = f"{whose}: " if (whose := whose_fault(run)) else ""
        found = failed_findings(run) if run.scored else ()
        what = f"{check_name(found[0])}, " if found else ""
        alike.setdefault(f"{who}{what}{cause(run, marks, layout.width // 2)}", []).append(run_name(run, marks))
    if not alike:
        return
    yield Line("conversations that did not pass", "head")
    shown, rest = layout.listed([*alike.items()], MOST_FAILURES)
    for why, names in shown:
        yield from layout.wrapped(f"{listing(names, MOST_NAMES)}  {why}", "    ", start="  ")[:MOST_LINES]
    if rest:
        yield Line(f"  {rest}")


_WORDS = {
    "wrong write": "It changed something it should not have changed, or with wrong values",
    "state": "It left the data in another state than asked for",
    "calls": "It did not do all that it should",
    "communicate": "It did not tell what it should",
    "termination": "It did not bring the conversation to its end",
}


def _trend(suite: SuiteRecord, section: Section, sessions: Sequence[Session], layout: Layout) -> Iterator[Line]:
    """Give the share that passed in the last sessions that played all of the suite."""
    variant = section.runs[0].key.variant if section.runs else ""
    found = [
        (session.created, one)
        for session in sessions
        for one in session.standings
        if one.suite == suite.path and one.variant == variant and one.is_whole and one.n
    ]
    if len(found) < 2:
        yield from layout.wrapped("trend: not known, fewer than two whole sessions are in the history")
        return
    found = found[-MOST_SESSIONS:]
    same_size = len({one.n for _, one in found}) == 1  # else the suite was another one
    rates = [percent(one.passed / one.n, UNICODE) + ("" if same_size else f" of {one.n}") for _, one in found]
    times = _times([created for created, _ in found])
    yield from layout.wrapped(f"trend: {layout.joined(map(' '.join, zip(times, rates, strict=True)))}")


def _times(created: Sequence[str]) -> list[str]:
    """Give the days of sessions; where some are of one day, the times as well, each day named once."""
    days = [one[:10] for one in created]
    if len(set(days)) == len(days):
        return days
    before = ["", *days[:-1]]
    pairs = zip(created, days, before, strict=True)
    return [one[11:16] if day == last else f"{day} {one[11:16]}" for one, day, last in pairs]


def _cost(runs: Sequence[Result]) -> str:
    """Say what a resolved conversation cost: what the agent's models took in all, by those that passed."""
    scored = [run for run in runs if run.scored]
    passed = sum(run.passed for run in scored)
    total = cost_of(scored)
    if total is None:
        why = (
            "answers were replayed" if any(_is_replayed(run) for run in scored) else "no price, or no calls, were seen"
        )
        return f"cost per resolved conversation: not known ({why})"
    if not passed:
        return f"cost per resolved conversation: none was resolved, {total:.3g} USD were spent"
    return f"cost per resolved conversation: {total / passed:.3g} USD ({total:.3g} USD, {passed} resolved)"


def _is_replayed(run: Result) -> bool:
    usage = run.usage.get("agent")
    return usage is not None and bool(usage.replayed)


def _not_measured(section: Section, layout: Layout) -> Iterator[Line]:
    sums = section.sums
    if not sums.unmeasured:
        if sums.all.n:
            yield from layout.wrapped("all that was asked for was measured")
        return
    parts = list(dict.fromkeys(one.part for one in sums.unmeasured))
    rest = f" and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    yield from layout.wrapped(f"not measured: {share_text(sums)}: {', '.join(parts[:_MOST_NAMED])}{rest}")
