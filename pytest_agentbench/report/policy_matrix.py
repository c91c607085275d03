"""Policies against complexity, tools and each other: where an agent fails, and what no run has tried.

IntellAgent (§3.3, Figures 2 and 3) reports success by challenge level and by policy category. Here every figure has its
interval, cells that no run filled are shown as holes, and what scenarios planned is set against what runs exercised.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.scenario import ComplexityScale
from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.glyphs import Glyphs, Line
from pytest_agentbench.report.table import Layout
from pytest_agentbench.results.document import Document, PolicyRecord
from pytest_agentbench.results.table import Row, Table, make_row
from pytest_agentbench.results.trials import grouped

MOST_COLUMNS = 10
"""Columns of a matrix that the terminal shows; the values have all of them."""

MOST_PAIRS = 8

_LABEL = 30


class Matrix(Model):
    """Rows by columns; `cells[row][column]` counts runs of both, None where no run tells."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Row | None, ...], ...]

    @property
    def holes(self) -> int:
        """Count the cells that no run filled."""
        return sum(cell is None for row in self.cells for cell in row)


class Plan(Model):
    """What became of a policy: in how many scored runs it was planned, and in how many of them it was exercised.

    `unknown` runs have no check that could tell, `unplanned` ones exercised what their scenario does not list.
    """

    policy: str
    planned: int = 0
    exercised: int = 0
    unknown: int = 0
    unplanned: int = 0


class PolicyMatrices(Model):
    """Everything about the policies of one suite.

    A policy's row counts the runs that exercised it and kept it; a run in which nothing could tell is in no row.
    `at_least` has one entry per level: runs of this complexity and above, on one `scale`: the
    sum of challenges where runs have it, else what scenarios were given. `untried` are pairs of policies that no
    scenario plans together, `unmet` those planned together that no run exercised together, as far as checks can tell.
    """

    suite: str
    scale: ComplexityScale = "policies"
    policies: tuple[Row, ...] = ()
    categories: tuple[Row, ...] = ()
    complexities: tuple[Row, ...] = ()
    at_least: tuple[Row, ...] = ()
    by_complexity: Matrix
    by_tool: Matrix
    plans: tuple[Plan, ...] = ()
    pairs: int = 0
    untried: tuple[tuple[str, str], ...] = ()
    unmet: tuple[tuple[str, str], ...] = ()


def matrices(document: Document) -> tuple[PolicyMatrices, ...]:
    """Work out the matrices of each suite that has policies, in the document's order."""
    found = []
    for suite in document.suites:
        results = [one for one in document.results if one.key.suite == suite.path]
        stated = suite.policies or _stated_by(results)
        if stated:
            table = Table(runs=[one for one in results if one.scored], facts=document.facts)
            found.append(_of_suite(suite.name or suite.path, [one.id for one in stated], table, results))
    return tuple(found)


def _of_suite(name: str, names: Sequence[str], table: Table, results: Sequence[Result]) -> PolicyMatrices:
    """Work out the matrices of one suite from the policies that it states and its scored runs, and all its results."""
    runs = table.runs
    scale: ComplexityScale = "policies" if any(run.complexity_scale == "policies" for run in runs) else "given"
    rated = [run for run in runs if run.complexity_scale == scale and run.complexity]
    levels = {str(level): mine for level, mine in sorted(grouped(rated, lambda run: [run.complexity or 0]).items())}
    tools = dict(sorted(grouped(runs, lambda run: run.tools).items()))
    pairs = list(combinations(sorted(names), 2))
    planned = _pairs_of(one.listed_policies for one in results)
    told = _pairs_of([outcome.policy for outcome in run.policies if outcome.exercised is not None] for run in runs)
    met = _pairs_of([outcome.policy for outcome in run.policies if outcome.exercised] for run in runs)
    kept = {row.label: row for row in table.policies()}
    return PolicyMatrices(
        suite=name,
        scale=scale,
        policies=tuple(kept.get(policy) or Row(group="policy", label=policy) for policy in names),
        categories=table.by("category"),
        complexities=tuple(make_row("complexity", level, mine) for level, mine in levels.items()),
        at_least=table.narrowed(rated).levels(),
        by_complexity=_matrix(names, table.cross(levels)),
        by_tool=_matrix(names, table.cross(tools)),
        plans=tuple(_plan(policy, runs) for policy in names),
        pairs=len(pairs),
        untried=tuple(pair for pair in pairs if pair not in planned),
        unmet=tuple(pair for pair in pairs if pair in planned and pair in told and pair not in met),
    )


def matrix_lines(found: PolicyMatrices, marks: Glyphs, *, width: int = 100) -> list[Line]:
    """Lay the matrices out for a terminal; a hole is a dash, and what is cut is counted."""
    layout = Layout(marks, width)
    lines = [Line(""), Line(marks.plain(f"policies of {found.suite}"), "head")]
    for heading, rows in (
        ("category", found.categories),
        (f"complexity ({found.scale})", found.complexities),
        (f"complexity ({found.scale}) from", found.at_least),
    ):
        if rows:
            figures = [(one.label, _figures(one, layout)) for one in rows]
            lines += _list([heading, "n", "passed", "", "95 % CI"], figures, layout)
    lines += _grid(f"policy {marks.times} complexity", found.by_complexity, found.policies, layout)
    lines += _grid(f"policy {marks.times} tool", found.by_tool, found.policies, layout)
    titles = ["planned and exercised", "planned", "exercised", "not told", "unplanned"]
    plans = [(one.policy, [one.planned, one.exercised, one.unknown, one.unplanned]) for one in found.plans]
    lines += _list(titles, plans, layout)
    lines += _pairs("pairs that no scenario plans", found.untried, found.pairs, layout)
    lines += _pairs("pairs planned and never exercised together", found.unmet, found.pairs, layout)
    return lines


def _stated_by(results: Iterable[Result]) -> tuple[PolicyRecord, ...]:
    """Give the policies that runs name, for results that say nothing of their suites' policies."""
    names = {policy for one in results for policy in one.listed_policies}
    return tuple(PolicyRecord(id=name) for name in sorted(names))


def _matrix(rows: Sequence[str], columns: Mapping[str, Mapping[str, Row]]) -> Matrix:
    cells = (tuple(column.get(row) for column in columns.values()) for row in rows)
    return Matrix(rows=tuple(rows), columns=tuple(columns), cells=tuple(cells))


def _plan(policy: str, runs: Sequence[Result]) -> Plan:
    counts: Counter[str] = Counter()
    for run in runs:
        outcomes = [outcome for outcome in run.policies if outcome.policy == policy]
        planned = policy in run.listed_policies
        exercised = any(outcome.exercised for outcome in outcomes)
        counts["planned"] += planned
        counts["exercised"] += planned and exercised
        counts["unknown"] += planned and not any(one.is_measured for one in outcomes)
        counts["unplanned"] += exercised and not planned
    return Plan(policy=policy, **counts)


def _pairs_of(groups: Iterable[Iterable[str]]) -> set[tuple[str, str]]:
    return {pair for group in groups for pair in combinations(sorted(set(group)), 2)}


def _figures(row: Row, layout: Layout) -> list[object]:
    return [row.n, row.passed, percent(row.rate, layout.marks), layout.percents(row.low, row.high)]


def _list(heading: list[str], rows: Sequence[tuple[str, Sequence[object]]], layout: Layout) -> list[Line]:
    laid = [heading, *([f"  {layout.marks.plain(label)}", *map(str, cells)] for label, cells in rows)]
    return [Line(""), *layout.table(laid, "<>>>>", [""] * len(laid))]


def _grid(heading: str, found: Matrix, totals: Sequence[Row], layout: Layout) -> list[Line]:
    if not found.columns or not found.rows:
        return []
    marks, shown = layout.marks, _columns(found)
    names = [marks.plain(found.columns[at]) for at in shown]
    size = max((layout.width - _LABEL - 20) // len(shown) - 2, 5)
    numbered = any(len(name) > size for name in names)
    heads = [str(number) for number in range(1, len(names) + 1)] if numbered else names
    laid = [[heading, *heads, "all", "95 % CI"]]
    for row, cells, total in zip(found.rows, found.cells, totals, strict=True):
        texts = [_cell(cell, marks) for cell in (*(cells[at] for at in shown), total)]
        interval = layout.percents(total.low, total.high)
        laid.append([marks.cut(f"  {marks.plain(row)}", _LABEL), *texts, interval])
    lines = [Line(""), *layout.table(laid, "<" + ">" * (len(shown) + 2), [""] * len(laid))]
    cut = len(found.columns) - len(shown)
    more = f", {cut} more columns in the values" if cut else ""
    size_of = len(found.rows) * len(found.columns)
    if numbered:
        legend = f"  {marks.dot} ".join(f"{number} {name}" for number, name in zip(heads, names, strict=True))
        lines += layout.wrapped(f"  {legend}")
    return [*lines, Line(f"  {found.holes} of {size_of} cells have no run ({marks.dash}){more}")]


def _columns(found: Matrix) -> list[int]:
    """Choose the columns to show, those of most runs, in their own order."""
    runs = [sum(cell.n for row in found.cells if (cell := row[at]) is not None) for at in range(len(found.columns))]
    return sorted(sorted(range(len(runs)), key=lambda at: (-runs[at], at))[:MOST_COLUMNS])


def _cell(row: Row | None, marks: Glyphs) -> str:
    return f"{row.passed}/{row.n}" if row is not None and row.n else marks.dash


def _pairs(heading: str, pairs: Sequence[tuple[str, str]], number: int, layout: Layout) -> list[Line]:
    if not pairs:
        return []
    shown = ", ".join(f"{one} + {other}" for one, other in pairs[:MOST_PAIRS])
    more = f", {layout.marks.ellipsis}" if len(pairs) > MOST_PAIRS else ""
    return [Line(""), *layout.wrapped(f"{heading}: {len(pairs)} of {number}: {shown}{more}")]
