"""The table of the report: a row per group with n, passed, rate, interval, means and its gate."""

import math
from collections.abc import Iterable, Sequence

from pytest_agentbench.core.gates import parse_gate
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.text import percentage
from pytest_agentbench.report.glyphs import Glyphs, Line, Style
from pytest_agentbench.report.table import Layout, natural_width
from pytest_agentbench.results.aggregate import Aggregate, Row, make_row
from pytest_agentbench.results.gates import GateVerdict

MOST_ROWS = 10
"""Rows of one group that are shown unless asked for all."""

_METRICS = (
    ("R_name", "name_recall", 2),
    ("R_strict", "strict_recall", 2),
    ("turns", "agent_turns", 1),
    ("calls", "tool_calls", 1),
)


_MEASURED = ("measured", "measured", 2)
"""The column that is shown where something was not measured."""

_FEWER = (_METRICS, _METRICS[:2], ())
"""The columns that are shown, as many as leave the labels whole."""

_Metrics = Sequence[tuple[str, str, int]]


def breakdown(
    sums: Aggregate,
    gates: Sequence[GateVerdict],
    glyphs: Glyphs,
    *,
    width: int,
    verbose: bool,
    brief: bool,
    tests: Sequence[Row] = (),
) -> list[Line]:
    """Lay out the aggregate; `brief` leaves out the groups that only say again that everything passed.

    `tests` are the rows of the user's own tests, which stand apart from the suites and their gates.
    """
    groups = [*groups_of(sums, brief=brief), *([("tests of your own", tests)] if tests else [])]
    partly = any((row.mean("measured") or 1) < 1 for _, rows in groups for row in rows)
    for columns in _FEWER:
        metrics = (*columns, _MEASURED) if partly else columns
        texts, styles = _rows(groups, gates, glyphs, metrics, verbose=verbose)
        if natural_width(texts) <= width:
            break
    right = ">" * (len(texts[0]) - 2)
    return Layout(glyphs, width).table(texts, f"<{right}{'<' if gates else '>'}", styles)


def _rows(
    groups: Sequence[tuple[str, Sequence[Row]]],
    gates: Sequence[GateVerdict],
    glyphs: Glyphs,
    metrics: _Metrics,
    *,
    verbose: bool,
) -> tuple[list[list[str]], list[Style]]:
    """Give the header and all rows as cells, with a style for each."""
    unscored = any(row.unscored for _, rows in groups for row in rows)
    header = ["", "n", "passed", "", "95 % CI"]
    header += (["unscored"] if unscored else []) + [title for title, _, _ in metrics] + (["gate"] if gates else [])
    texts = [header]
    styles: list[Style] = ["head"]
    for heading, rows in groups:
        shown = worst_rows_first(heading, rows)
        hidden = 0 if verbose else max(len(shown) - MOST_ROWS, 0)
        if heading:
            texts.append([heading, *[""] * (len(header) - 1)])
            styles.append("head")
        for row in shown[: len(shown) - hidden]:
            indent = "  " if heading else ""
            cells, style = _cells(row, gates, glyphs, metrics, unscored=unscored, indent=indent)
            texts.append(cells)
            styles.append(style)
        if hidden:
            texts.append([f"  {glyphs.ellipsis} and {hidden} more (-v)", *[""] * (len(header) - 1)])
            styles.append("")
    return texts, styles


def own_rows(runs: Sequence[Result]) -> tuple[Row, ...]:
    """Give a row per test file of the user's that simulates."""
    files = dict.fromkeys(sorted(run.key.suite for run in runs))
    return tuple(make_row("test", file, [run for run in runs if run.key.suite == file]) for file in files)


def percent(rate: float | None, glyphs: Glyphs) -> str:
    """Show a rate as `92 %`, and none as a dash."""
    return glyphs.dash if rate is None else percentage(rate)


def groups_of(sums: Aggregate, *, brief: bool = False) -> list[tuple[str, Sequence[Row]]]:
    """Give the groups of rows with their headings, empty ones left out; `brief` as in `breakdown`."""
    top = [sums.all, *(row for row in (sums.first_attempts, sums.pending) if row is not None)]
    groups: list[tuple[str, Sequence[Row]]] = [("", top)]
    groups += [
        (heading, rows) for heading, rows in (("suite", sums.suites), ("variant", sums.variants)) if len(rows) > 1
    ]
    if not brief:
        groups += [("policy (exercised)", sums.policies_exercised), ("policy (listed)", sums.policies_listed)]
        for heading in dict.fromkeys(row.group for row in sums.complexities):
            groups.append((heading, [row for row in sums.complexities if row.group == heading]))
        # one agent alone says again what `all` says
        groups += [("tool", sums.tools), ("agent", sums.agents if len(sums.agents) > 1 else ()), ("tag", sums.tags)]
    return [(heading, rows) for heading, rows in groups if rows]


def worst_rows_first(heading: str, rows: Sequence[Row]) -> Sequence[Row]:
    """Put the worst first where the rows have no order of their own."""
    if not heading.startswith(("policy", "tool", "agent", "tag")):
        return rows
    return sorted(rows, key=lambda row: (math.inf if row.rate is None else row.rate, -row.n, row.label))


def _cells(
    row: Row, gates: Sequence[GateVerdict], glyphs: Glyphs, metrics: _Metrics, *, unscored: bool, indent: str
) -> tuple[list[str], Style]:
    interval = Layout(glyphs, 0).percents(row.low, row.high)
    # no run told what became of a policy: zero of zero would say that it was never exercised
    counts = [glyphs.dash] * 2 if row.unmeasured and not row.n else [str(row.n), str(row.passed)]
    cells = [indent + glyphs.plain(row.label), *counts, percent(row.rate, glyphs), interval]
    if unscored:
        cells.append(str(row.unscored) if row.unscored else "")
    for _, metric, digits in metrics:
        mean = row.mean(metric)
        cells.append(glyphs.dash if mean is None else _number(mean, digits))
    if not gates:
        return cells, ""
    mine = list(gates_of(row, gates))
    failed = any(verdict.failed for verdict in mine)
    limits = dict.fromkeys(f"{parse_gate(verdict.gate).threshold:.2f}" for verdict in mine)
    decided = "FAILED" if failed else "ok" if any(verdict.passed for verdict in mine) else "not evaluated"
    cells.append(f"{'/'.join(limits)} {decided}" if mine else "")
    return cells, "bad" if failed else ""


def _number(value: float, digits: int) -> str:
    """Round, but never up to a perfect 1."""
    text = f"{value:.{digits}f}"
    return f"{1 - 10**-digits:.{digits}f}" if digits == 2 and value < 1 and text == "1.00" else text


def gates_of(row: Row, gates: Sequence[GateVerdict]) -> Iterable[GateVerdict]:
    """Give the gates that are about the rate of this row."""
    group = row.group.partition(" ")[0]
    one_suite = len({verdict.suite for verdict in gates}) == 1
    for verdict in gates:
        gate = parse_gate(verdict.gate)
        named = gate.metric == group and gate.argument == row.label
        overall = gate.metric == "success" and (
            (row.group == row.label == "all" and one_suite)
            or (group == "suite" and verdict.suite == row.label)
            or (group == "variant" and verdict.variant == row.label)
        )
        if named or overall:
            yield verdict
