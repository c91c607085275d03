"""Policies against complexity, tools and each other: where an agent fails, and what no run has tried.

IntellAgent (§3.3, Figures 2 and 3) reports success by challenge level and by policy category. Here every figure has its
interval, cells that no run filled are shown as holes, and what scenarios planned is set against what runs exercised.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from operator import eq, ge

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.scenario import ComplexityScale
from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.glyphs import Glyphs, Line
from pytest_agentbench.report.table import Layout
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.grouping import kept
from pytest_agentbench.results.intervals import wilson

NO_CATEGORY = "(none)"

MOST_COLUMNS = 10
"""Columns of a matrix that the terminal shows; the values have all of them."""

MOST_PAIRS = 8

_LABEL = 30


class Share(Model):
    """`passed` of `n` scored runs with the 95 % Wilson interval, 0..1; `n` 0 is a hole: no run tells."""

    n: int = 0
    passed: int = 0
    low: float | None = None
    high: float | None = None

    @property
    def rate(self) -> float | None:
        """The share, or None for a hole."""
        return self.passed / self.n if self.n else None


class Named(Model):
    """A share and what it is of."""

    label: str
    share: Share


class Matrix(Model):
    """Rows by columns; `cells[row][column]` counts runs of both."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Share, ...], ...]

    @property
    def holes(self) -> int:
        """Count the cells that no run filled."""
        return sum(not cell.n for row in self.cells for cell in row)


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

    A policy's share counts the runs that exercised it and kept it; a run in which nothing could tell is in no share.
    `at_least` has one entry per level: runs of this complexity and above, on one `scale`: the
    sum of challenges where runs have it, else what scenarios were given. `untried` are pairs of policies that no
    scenario plans together, `unmet` those planned together that no run exercised together, as far as checks can tell.
    """

    suite: str
    scale: ComplexityScale = "policies"
    policies: tuple[Named, ...] = ()
    categories: tuple[Named, ...] = ()
    complexities: tuple[Named, ...] = ()
    at_least: tuple[Named, ...] = ()
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
            found.append(of_suite(suite.name or suite.path, stated, results))
    return tuple(found)


def of_suite(name: str, stated: Sequence[Policy], results: Sequence[Result]) -> PolicyMatrices:
    """Work out the matrices of one suite from the policies that it states and its runs."""
    runs = [one for one in results if one.scored]
    names = [policy.id for policy in stated]
    categories = {policy.id: policy.category or NO_CATEGORY for policy in stated}
    verdicts = {
        policy: {at: holds for at, run in enumerate(runs) if (holds := kept(run, policy)) is not None}
        for policy in names
    }
    scale: ComplexityScale = "policies" if any(run.complexity_scale == "policies" for run in runs) else "given"
    rated = {at: run.complexity for at, run in enumerate(runs) if run.complexity_scale == scale and run.complexity}
    levels = sorted(set(rated.values()))
    tools = sorted({tool for run in runs for tool in run.tools})
    pairs = list(combinations(sorted(names), 2))
    planned = _pairs_of(one.listed_policies for one in results)
    told = _pairs_of([outcome.policy for outcome in run.policies if outcome.exercised is not None] for run in runs)
    met = _pairs_of([outcome.policy for outcome in run.policies if outcome.exercised] for run in runs)
    return PolicyMatrices(
        suite=name,
        scale=scale,
        policies=tuple(Named(label=policy, share=_share(verdicts[policy].values())) for policy in names),
        categories=tuple(
            Named(label=label, share=_share(kept for policy in own for kept in verdicts[policy].values()))
            for label, own in sorted(_by_category(names, categories).items())
        ),
        complexities=_levels(runs, rated, eq),
        at_least=_levels(runs, rated, ge),
        by_complexity=_matrix(
            names, [str(level) for level in levels], verdicts, lambda at: [str(rated[at])] if at in rated else []
        ),
        by_tool=_matrix(names, tools, verdicts, lambda at: runs[at].tools),
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
        (f"complexity ({found.scale}) at least", found.at_least),
    ):
        if rows:
            figures = [(one.label, _figures(one.share, layout)) for one in rows]
            lines += _list([heading, "n", "passed", "", "95 % CI"], figures, layout)
    lines += _grid(f"policy {marks.times} complexity", found.by_complexity, found.policies, layout)
    lines += _grid(f"policy {marks.times} tool", found.by_tool, found.policies, layout)
    titles = ["planned and exercised", "planned", "exercised", "not told", "unplanned"]
    plans = [(one.policy, [one.planned, one.exercised, one.unknown, one.unplanned]) for one in found.plans]
    lines += _list(titles, plans, layout)
    lines += _pairs("pairs that no scenario plans", found.untried, found.pairs, layout)
    lines += _pairs("pairs planned and never exercised together", found.unmet, found.pairs, layout)
    return lines


def _stated_by(results: Iterable[Result]) -> tuple[Policy, ...]:
    """Give the policies that runs name, for results that say nothing of their suites' policies."""
    names = {policy for one in results for policy in one.listed_policies}
    return tuple(Policy(id=name) for name in sorted(names))


def _by_category(names: Sequence[str], categories: dict[str, str]) -> dict[str, list[str]]:
    return {label: [name for name in names if categories[name] == label] for label in set(categories.values())}


def _share(kept: Iterable[bool]) -> Share:
    values = list(kept)
    interval = wilson(sum(values), len(values))
    low, high = interval or (None, None)
    return Share(n=len(values), passed=sum(values), low=low, high=high)


def _levels(runs: Sequence[Result], rated: dict[int, int], holds: Callable[[int, int], bool]) -> tuple[Named, ...]:
    return tuple(
        Named(label=str(level), share=_share(runs[at].passed for at, own in rated.items() if holds(own, level)))
        for level in sorted(set(rated.values()))
    )


def _matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    verdicts: dict[str, dict[int, bool]],
    columns_of: Callable[[int], Sequence[str]],
) -> Matrix:
    cells = []
    for row in rows:
        groups: dict[str, list[bool]] = {column: [] for column in columns}
        for at, is_kept in verdicts[row].items():
            for column in columns_of(at):
                if column in groups:
                    groups[column].append(is_kept)
        cells.append(tuple(_share(groups[column]) for column in columns))
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


def _figures(share: Share, layout: Layout) -> list[object]:
    return [share.n, share.passed, percent(share.rate, layout.marks), layout.percents(share.low, share.high)]


def _list(heading: list[str], rows: Sequence[tuple[str, Sequence[object]]], layout: Layout) -> list[Line]:
    laid = [heading, *([f"  {layout.marks.plain(label)}", *map(str, cells)] for label, cells in rows)]
    return [Line(""), *layout.table(laid, "<>>>>", [""] * len(laid))]


def _grid(heading: str, found: Matrix, totals: Sequence[Named], layout: Layout) -> list[Line]:
    if not found.columns or not found.rows:
        return []
    marks, shown = layout.marks, _columns(found)
    names = [marks.plain(found.columns[at]) for at in shown]
    size = max((layout.width - _LABEL - 20) // len(shown) - 2, 5)
    numbered = any(len(name) > size for name in names)
    heads = [str(number) for number in range(1, len(names) + 1)] if numbered else names
    laid = [[heading, *heads, "all", "95 % CI"]]
    for row, cells, total in zip(found.rows, found.cells, totals, strict=True):
        texts = [_cell(cell, marks) for cell in (*(cells[at] for at in shown), total.share)]
        interval = layout.percents(total.share.low, total.share.high)
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
    runs = [sum(row[at].n for row in found.cells) for at in range(len(found.columns))]
    return sorted(sorted(range(len(runs)), key=lambda at: (-runs[at], at))[:MOST_COLUMNS])


def _cell(share: Share, marks: Glyphs) -> str:
    return f"{share.passed}/{share.n}" if share.n else marks.dash


def _pairs(heading: str, pairs: Sequence[tuple[str, str]], number: int, layout: Layout) -> list[Line]:
    if not pairs:
        return []
    shown = ", ".join(f"{one} + {other}" for one, other in pairs[:MOST_PAIRS])
    more = f", {layout.marks.ellipsis}" if len(pairs) > MOST_PAIRS else ""
    return [Line(""), *layout.wrapped(f"{heading}: {len(pairs)} of {number}: {shown}{more}")]
