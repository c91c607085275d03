"""What the page says about all runs together: facts, gates, rows with intervals, heat map, variants, endings."""

from collections.abc import Iterable, Sequence

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.run import Result
from pytest_agentbench.report.auditor import audit_rows, kind_texts, mark_of_gate
from pytest_agentbench.report.breakdown import (
    Section,
    gate_label,
    gates_of,
    groups_of,
    own_rows,
    sections_of,
    shows,
    sums_of,
    worst_rows_first,
)
from pytest_agentbench.report.comparison import p_text
from pytest_agentbench.report.failures import by_check, policy_of, worst_first
from pytest_agentbench.report.html.shown import ends, number, share, shown
from pytest_agentbench.report.html.variants import figures
from pytest_agentbench.report.markdown import flip_text, name_of
from pytest_agentbench.report.sections import aside_counts, idle_text, quarantine_texts, review_texts
from pytest_agentbench.report.table import UNICODE
from pytest_agentbench.results.aggregate import Aggregate, BlameCount, aggregate
from pytest_agentbench.results.audits import fault_rows
from pytest_agentbench.results.comparison import Comparison
from pytest_agentbench.results.document import Document, policy_words
from pytest_agentbench.results.gates import GateVerdict
from pytest_agentbench.results.significance import Change, Flip
from pytest_agentbench.results.table import Facts, Row, Table, complexity_groups, make_row
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
        "passes": [[one.k, one.n, ends(one.at_least_one), ends(one.all)] for one in report.passes],
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
        "difference": ends(change.difference),
        "p": p_text(change.p_holm),
        "significant": change.is_significant,
    }


def _flip(flip: Flip) -> list[JsonValue]:
    return [shown(flip.scenario, 200), flip_text(flip)]


MEANS = ("name_recall", "strict_recall", "agent_turns", "tool_calls")
"""The metrics that rows of the page show, as in the terminal."""

_MOST_DIFFERING = 200

_MOST_PARTS = 50
"""Parts that were not measured, and are listed."""


def overview(document: Document) -> dict[str, JsonValue]:
    """Give the figures of the first page; rates are 0..1, and None where nothing was measured."""
    known = {suite.path for suite in document.suites}
    runs = [run for run in document.results if run.key.suite in known]
    own = [run for run in document.results if run.key.suite not in known]
    apart = sections_of(runs or own, document.retried, document.facts)
    sums = sums_of(apart, runs or own, document.retried)
    everything, document = document, document.counted
    groups = [one for section in apart for one in _groups(section, document.gates)]
    groups += [_group("tests of your own", own_rows(own))] if runs and own else []
    groups += [_group(one.label, [one]) for one in (sums.pending, sums.quarantined) if one]
    runs, own = ([run for run in some if not run.set_aside] for some in (runs, own))
    told = [*filter(None, [idle_text(sums)]), *review_texts(everything)]
    return {
        "facts": _facts(everything, runs),
        "reviews": [shown(text, 600) for text in (*told, *quarantine_texts(everything))],
        "partly": sums.partly,
        "unmeasured": [
            [shown(one.part, 200), one.runs, shown(one.why.removeprefix("not measured: "), 400), shown(one.cure, 400)]
            for one in sums.unmeasured[:_MOST_PARTS]
        ],
        "audits": [[name, shown(told, 400)] for name, told in audit_rows(document, UNICODE)],
        "seen": [shown(text, 400) for text in kind_texts(document, UNICODE)],
        "broken": _broken(document),
        # a gate is one suite's, and never about runs of several
        "all": {**_row(sums.all, document.gates if len(document.suites) == 1 else ()), "pooled": len(apart) > 1},
        "groups": groups,
        "gates": [_gate(verdict, document) for verdict in document.gates],
        "ungated": [
            suite.name or suite.path
            for suite in document.suites
            if suite.gates and suite.path not in {verdict.suite for verdict in document.gates}
        ],
        "heat": [one for section in apart for one in _heat(section, document.facts)],
        "variants": _variants(runs),
        "trials": trials(runs, document),
        "faults": faults(document.results),
        "terminations": [[label, count] for label, count in sums.terminations.items()],
        "blames": [_blame(blame) for blame in sums.blames],
        "blameless": _blameless(sums),
    }


def _facts(document: Document, runs: Sequence[Result]) -> dict[str, JsonValue]:
    return {
        "names": [shown(suite.name or suite.path, 80) for suite in document.suites],
        "created": document.created,
        "run": document.run,
        "command": shown(" ".join(("pytest", *document.command)), 400) if document.command else "",
        "seconds": number(document.seconds),
        "seed": document.seed,
        "complete": document.complete,
        "cassette": document.cassette,
        "scenarios": len({(run.key.suite, run.key.scenario) for run in runs}),
        "runs": len(document.results),
        "selected": sum(suite.selected for suite in document.suites),
        "players": {shown(role, 40): [shown(one, 200) for one in played] for role, played in document.players.items()},
        "versions": {shown(name, 40): shown(version, 40) for name, version in document.versions.items()},
    }


def _row(row: Row, gates: Sequence[GateVerdict] = ()) -> dict[str, JsonValue]:
    mine = list(gates_of(row, gates))
    return {
        "label": shown(row.label, 200),
        "n": row.n,
        "passed": row.passed,
        "unscored": row.unscored,
        "unmeasured": row.unmeasured,
        "rate": number(row.rate),
        "low": number(row.low),
        "high": number(row.high),
        "means": [number(row.mean(metric)) if shows(row, metric) else None for metric in MEANS],
        "gates": [number(verdict.threshold) for verdict in mine if verdict.threshold is not None],
        "missed": any(verdict.failed for verdict in mine),
    }


def _gate(verdict: GateVerdict, document: Document) -> dict[str, JsonValue]:
    return {
        "label": shown(gate_label(verdict, document), 200),
        "reason": shown(", ".join(filter(None, (verdict.reason, mark_of_gate(verdict, document)))), 200),
        "n": verdict.n,
        "passed": verdict.passed,
        "failed": verdict.failed,
        "near": number(verdict.near_miss),
    }


def _broken(document: Document) -> list[JsonValue]:
    """Give what was broken, worst first: of a policy its own text, and its rule in words."""
    listed: list[JsonValue] = []
    for (suite, name), runs in by_check(worst_first(document.results)).items():
        policy = policy_of(document, suite, name)
        told = policy_words(policy) if policy is not None else []
        listed.append([shown(name, 200), len(runs), [shown(text, 600) for text in told]])
    return listed[:_MOST_PARTS]


def _groups(section: Section, gates: Sequence[GateVerdict]) -> list[dict[str, JsonValue]]:
    """Give the groups of one variant's rows."""
    mine = section.gates(gates)
    return [_group(title, rows, mine, variant=section.name) for title, rows in groups_of(section.sums) if title]


def _group(
    title: str, rows: Sequence[Row], gates: Sequence[GateVerdict] = (), *, variant: str = ""
) -> dict[str, JsonValue]:
    return {
        "title": title,
        "variant": shown(variant, 80),
        "rows": [_row(row, gates) for row in worst_rows_first(title, rows)],
    }


def _heat(section: Section, facts: Facts) -> Iterable[dict[str, JsonValue]]:
    """Give a policy × complexity table per scale: how often a policy was kept where it was exercised."""
    table = Table(runs=[run for run in section.runs if not run.set_aside], facts=facts)
    columns: dict[str, dict[str, list[Result]]] = {}
    for (scale, label), group in complexity_groups(table.runs).items():
        columns.setdefault(scale, {})[label] = group
    for name, buckets in columns.items():
        rows: list[tuple[str, list[Row | None]]] = [("", [make_row("all", "all", group) for group in buckets.values()])]
        found = table.cross(buckets).values()
        rows += [(policy.label, [one.get(policy.label) for one in found]) for policy in section.sums.policies_exercised]
        yield {
            "scale": name,
            "variant": shown(section.name, 80),
            "columns": list(buckets),
            "rows": [
                {"label": shown(policy, 200), "all": not place, "cells": [share(row) for row in cells]}
                for place, (policy, cells) in enumerate(rows)
                if any(row is not None and row.n for row in cells)
            ],
        }


def _variants(runs: Sequence[Result]) -> JsonValue:
    """Put variants side by side, and list the scenarios that they do not all end alike; None for fewer than two."""
    names = list(dict.fromkeys(run.key.variant for run in runs if run.key.variant))
    if len(names) < 2:
        return None
    groups = [[run for run in runs if run.key.variant == name] for name in names]
    sums = [aggregate(group) for group in groups]
    policies = dict.fromkeys(row.label for one in sums for row in (*one.policies_exercised, *one.policies_listed))
    return {
        "names": [shown(name, 80) for name in names],
        "rows": [_row(one.all) for one in sums],
        "figures": figures(names, groups),
        "endings": [[[label, count] for label, count in one.terminations.items()] for one in sums],
        "policies": [
            {
                "label": shown(policy, 200),
                "cells": [
                    share(next((r for r in (*one.policies_exercised, *one.policies_listed) if r.label == policy), None))
                    for one in sums
                ],
            }
            for policy in sorted(policies)
        ],
        "differing": _differing(runs, names),
    }


def _differing(runs: Sequence[Result], names: Sequence[str]) -> JsonValue:
    by_scenario: dict[tuple[str, str], dict[str, list[Result]]] = {}
    for run in runs:
        by_scenario.setdefault((run.key.suite, run.key.scenario), {}).setdefault(run.key.variant, []).append(run)
    listed: list[JsonValue] = []
    for (_, scenario), variants in by_scenario.items():
        cells = [_passed_of(variants.get(name, ())) for name in names]
        shares = {cell[0] / cell[1] for cell in cells if cell is not None}
        if len(shares) > 1:
            listed.append({"label": shown(scenario, 200), "cells": [list(cell) if cell else None for cell in cells]})
    return {"rows": listed[:_MOST_DIFFERING], "more": max(len(listed) - _MOST_DIFFERING, 0)}


def _passed_of(runs: Sequence[Result]) -> tuple[int, int] | None:
    scored = [run for run in runs if run.scored]
    return (sum(run.passed for run in scored), len(scored)) if scored else None


def _blame(blame: BlameCount) -> dict[str, JsonValue]:
    return {
        "label": shown(blame.blame, 80),
        "unscored": blame.unscored,
        "passed": blame.passed,
        "retried": blame.retried,
        "recovered": blame.recovered,
    }


def _blameless(sums: Aggregate) -> str:
    """Give what stands where nobody but the agent failed; runs that count nowhere are not spoken for."""
    if not sums.all.n + sums.all.unscored:
        return ""
    aside = ", ".join(aside_counts(sums))
    told = "Nothing: user, environment, judge and provider did their part"
    return f"{told} in the runs that count. Not counted: {aside}." if aside else f"{told}."
