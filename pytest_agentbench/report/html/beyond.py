"""What the page says beyond one session's rates: changes since a baseline, several trials, faults at the tools."""

from collections.abc import Sequence

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.report.before import flip_text, name_of
from pytest_agentbench.report.comparison import p_text
from pytest_agentbench.report.html.shown import number, shown
from pytest_agentbench.results.audits import fault_rows
from pytest_agentbench.results.comparison import Comparison
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.intervals import Interval
from pytest_agentbench.results.paired import Change, Flip
from pytest_agentbench.results.trials import trials_report

MOST_FLIPS = 100


def changes(comparisons: Sequence[Comparison], document: Document) -> list[JsonValue]:
    """Give what became of each suite and variant since the baseline."""
    return [
        {
            "name": shown(name_of(one, document), 200),
            "scenarios": one.paired.scenarios,
            "success": None if one.paired.success is None else _change(one.paired.success),
            "policies": [_change(change) for change in one.paired.policies if change.is_significant],
            "lost": [_flip(flip) for flip in one.paired.lost[:MOST_FLIPS]],
            "won": [_flip(flip) for flip in one.paired.won[:MOST_FLIPS]],
            "more": max(len(one.paired.lost) - MOST_FLIPS, 0) + max(len(one.paired.won) - MOST_FLIPS, 0),
            "apart": [[apart.why, len(apart.scenarios), shown(apart.detail, 200)] for apart in one.apart],
        }
        for one in comparisons
    ]


def trials(runs: Sequence[Result], document: Document) -> JsonValue:
    """Give pass@k, pass^k and the flaky scenarios; None where every scenario was played once."""
    report = trials_report(runs, left_out=sum(suite.stopped for suite in document.suites))
    if report is None:
        return None
    return {
        "passes": [[one.k, one.n, _ends(one.at_least_one), _ends(one.all)] for one in report.passes],
        "flaky": [
            [shown(one.scenario, 200), shown(one.name, 200), one.passed, one.n] for one in report.flaky[:MOST_FLIPS]
        ],
        "scenarios": report.scenarios,
        "left_out": report.left_out,
    }


def faults(runs: Sequence[Result]) -> list[JsonValue]:
    """Give, per fault, how often it struck and what the agent did about it; None where that could not be seen."""
    return [
        {
            "name": shown(row.fault, 200),
            "runs": row.runs,
            "met": row.met,
            "passed": row.passed,
            "handled": [row.recovered, row.given_up, row.made_up] if row.shows else None,
            "unseen": row.unseen,
        }
        for row in fault_rows(runs)
    ]


def _change(change: Change) -> dict[str, JsonValue]:
    return {
        "title": shown(change.title, 200),
        "first": number(change.first),
        "second": number(change.second),
        "difference": _ends(change.difference),
        "p": p_text(change.p_holm),
        "significant": change.is_significant,
    }


def _flip(flip: Flip) -> list[JsonValue]:
    return [shown(flip.scenario, 200), flip_text(flip)]


def _ends(interval: Interval) -> list[JsonValue]:
    return [number(interval.value), number(interval.low), number(interval.high)]
