"""The tables of the report: a row per group with rate, interval and gate; policies against complexity and tools."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.scenario import ComplexityScale
from pytest_agentbench.core.text import figure, percentage
from pytest_agentbench.report.table import Glyphs, Layout, Line, Style, natural_width
from pytest_agentbench.results.aggregate import Aggregate, aggregate
from pytest_agentbench.results.document import Document, PolicyRecord
from pytest_agentbench.results.gates import GateVerdict
from pytest_agentbench.results.table import Facts, Row, Table, make_row
from pytest_agentbench.results.trials import grouped

MOST_ROWS = 10
"""Rows of one group that are shown unless asked for all."""

_METRICS = (
    ("R_name", "name_recall", 2),
    ("R_strict", "strict_recall", 2),
    ("complete", "complete", 2),
    ("agent turns", "agent_turns", 1),
    ("calls", "tool_calls", 1),
)


_MEASURED = ("measured", "measured", 2)
"""The column that is shown where something was not measured."""

_FEWER = (_METRICS, _METRICS[:3], _METRICS[:2], ())
"""The columns that are shown, as many as leave the labels whole."""

RECALLS = frozenset({"name_recall", "strict_recall", "complete"})
"""The metrics that say something in the rows `all`, of policies and of complexity alone."""

_Metrics = Sequence[tuple[str, str, int]]


@dataclass(frozen=True, kw_only=True)
class Section:
    """What the runs of one variant of one suite add up to: no figure is over several variants.

    `name` is the variant, `suite` the path of the suite and `called` what it is called; each is "" where there are not
    several.
    """

    name: str
    sums: Aggregate
    runs: Sequence[Result]
    suite: str = ""
    called: str = ""

    @property
    def title(self) -> str:
        """What stands over the rows."""
        parts = [f"suite {self.called}" if self.called else "", f"variant {self.name}" if self.name else ""]
        return ", ".join(filter(None, parts))

    def gates(self, gates: Iterable[GateVerdict]) -> list[GateVerdict]:
        """Give those that are about these runs."""
        return [one for one in gates if self.suite in ("", one.suite) and (not self.name or one.variant == self.name)]

    @property
    def row(self) -> Row:
        """The runs as one row of a table of suites."""
        label = f"{self.suite} [{self.name}]" if self.name else self.suite
        return self.sums.all.model_copy(update={"group": "suite", "label": label})


def sections_of(runs: Sequence[Result], retried: Sequence[Result], facts: Facts) -> list[Section]:
    """Add up the runs of each variant apart."""
    names = list(dict.fromkeys(run.key.variant for run in runs)) or [""]
    if len(names) == 1:
        return [Section(name="", sums=aggregate(runs, retried, facts=facts), runs=runs)]
    found = []
    for name in names:
        mine, earlier = ([run for run in some if run.key.variant == name] for some in (runs, retried))
        found.append(Section(name=name, sums=aggregate(mine, earlier, facts=facts), runs=mine))
    return found


def sections_of_suites(document: Document, runs: Sequence[Result]) -> list[Section]:
    """Add up the runs of each suite, and of each of its variants, apart."""
    found = []
    names = {path: name for path, name in document.suite_names.items() if any(run.key.suite == path for run in runs)}
    if len(names) < 2:
        return sections_of(runs, document.retried, document.facts)
    for path, name in names.items():
        mine, earlier = ([run for run in some if run.key.suite == path] for some in (runs, document.retried))
        sections = sections_of(mine, earlier, document.facts)
        found += [replace(section, suite=path, called=name or path) for section in sections]
    return found


def suites_table(sections: Sequence[Section], gates: Sequence[GateVerdict], layout: Layout) -> list[Line]:
    """Give a row per suite, and per variant of one that played several; no row is over two suites."""
    texts, styles = _rows([("suite", [section.row for section in sections])], gates, layout, _METRICS[:2], first="")
    return layout.table(texts, f"<{'>' * (len(texts[0]) - 2)}{'<' if gates else '>'}", styles)


def sums_of(sections: Sequence[Section], runs: Sequence[Result], retried: Sequence[Result]) -> Aggregate:
    """Add up the runs of all sections: for counts, since a rate over several variants would be that of no agent."""
    return sections[0].sums if len(sections) == 1 else aggregate(runs, retried)


def breakdown(
    section: Section,
    gates: Sequence[GateVerdict],
    layout: Layout,
    *,
    brief: bool,
    tests: Sequence[Row] = (),
) -> list[Line]:
    """Lay out a section; `brief` leaves out the groups that only say again that everything passed.

    `tests` are the rows of the user's own tests, which stand apart from the suites and their gates. Intervals of rows
    below `all` stand where a gate is about the row, or where everything is asked for.
    """
    listed = groups_of(section.sums, brief=brief)
    if not layout.verbose:  # rows without a figure: their names follow the table
        listed = [(heading, rows) for heading, rows in listed if heading != "policy (listed)"]
    groups = [*listed, *([("tests of your own", tests)] if tests else [])]
    partly = any((row.mean("measured") or 1) < 1 for _, rows in groups for row in rows)
    mine = section.gates(gates)
    for columns in _FEWER:
        metrics = (*columns, _MEASURED) if partly else columns
        texts, styles = _rows(groups, mine, layout, metrics, first=section.title)
        if natural_width(texts) <= layout.width:
            break
    right = ">" * (len(texts[0]) - 2)
    return layout.table(texts, f"<{right}{'<' if mine else '>'}", styles)


def _rows(
    groups: Sequence[tuple[str, Sequence[Row]]],
    gates: Sequence[GateVerdict],
    layout: Layout,
    metrics: _Metrics,
    *,
    first: str,
) -> tuple[list[list[str]], list[Style]]:
    """Give the header and all rows as cells, with a style for each."""
    glyphs = layout.marks
    unscored = any(row.unscored for _, rows in groups for row in rows)
    header = [glyphs.plain(first), "n", "passed", "", "95 % CI"]
    header += (["unscored"] if unscored else []) + [title for title, _, _ in metrics] + (["gate"] if gates else [])
    texts = [header]
    styles: list[Style] = ["head"]
    for heading, rows in groups:
        shown = worst_rows_first(heading, rows)
        hidden = 0 if layout.verbose else max(len(shown) - MOST_ROWS, 0)
        if heading:
            texts.append([heading, *[""] * (len(header) - 1)])
            styles.append("head")
        for row in shown[: len(shown) - hidden]:
            indent = "  " if heading else ""
            cells, style = _cells(row, gates, layout, metrics, unscored=unscored, indent=indent)
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
    apart = (sums.first_attempts, sums.pending, sums.quarantined)
    top = [sums.all, *(row for row in apart if row is not None)]
    groups: list[tuple[str, Sequence[Row]]] = [("", top)]
    groups += [("suite", sums.suites)] if len(sums.suites) > 1 else []
    if not brief:
        groups += [("policy (exercised)", sums.policies_exercised), ("policy (listed)", sums.policies_listed)]
        groups.append(("category", sums.categories))
        for heading in dict.fromkeys(row.group for row in sums.complexities):
            groups.append((heading, [row for row in sums.complexities if row.group == heading]))
        # one agent, or one language, alone says again what `all` says
        groups += [("tool", sums.tools), ("agent", sums.agents if len(sums.agents) > 1 else ()), ("tag", sums.tags)]
        groups.append(("language", sums.languages if len(sums.languages) > 1 else ()))
    return [(heading, rows) for heading, rows in groups if rows]


def worst_rows_first(heading: str, rows: Sequence[Row]) -> Sequence[Row]:
    """Put the worst first where the rows have no order of their own."""
    if not heading.startswith(("policy", "category", "tool", "agent", "tag", "language")):
        return rows
    return sorted(rows, key=lambda row: (math.inf if row.rate is None else row.rate, -row.n, row.label))


def shows(row: Row, metric: str) -> bool:
    """Whether a metric says something in a row; recalls do not of tools, tags and the like."""
    return metric not in RECALLS or row.group.startswith(("all", "policy", "complexity"))


def _cells(
    row: Row, gates: Sequence[GateVerdict], layout: Layout, metrics: _Metrics, *, unscored: bool, indent: str
) -> tuple[list[str], Style]:
    glyphs = layout.marks
    mine = list(gates_of(row, gates))
    told = layout.verbose or not indent or any(verdict.near_miss is not None for verdict in mine)
    interval = layout.percents(row.low, row.high) if told else ""
    # no run told what became of a policy: zero of zero would say that it was never exercised
    counts = [glyphs.dash] * 2 if row.unmeasured and not row.n else [str(row.n), str(row.passed)]
    cells = [indent + glyphs.plain(row.label), *counts, percent(row.rate, glyphs), interval]
    if unscored:
        cells.append(str(row.unscored) if row.unscored else "")
    for _, metric, digits in metrics:
        mean = row.mean(metric)
        cells.append("" if not shows(row, metric) else glyphs.dash if mean is None else figure(mean, digits))
    if not gates:
        return cells, ""
    failed = any(verdict.failed for verdict in mine)
    limits = dict.fromkeys(figure(verdict.threshold) for verdict in mine if verdict.threshold is not None)
    decided = "FAILED" if failed else "ok" if any(verdict.passed for verdict in mine) else "not evaluated"
    cells.append(f"{'/'.join(limits)} {decided}".strip() if mine else "")
    return cells, "bad" if failed else ""


def gates_of(row: Row, gates: Sequence[GateVerdict]) -> Iterable[GateVerdict]:
    """Give the gates that are about the rate of this row; `gates` are those of its section."""
    group, _, scale = row.group.partition(" ")
    one_suite = len({verdict.suite for verdict in gates}) == 1
    for verdict in gates:
        gate = verdict.parsed
        if gate is None:
            continue
        named = gate.metric == group and gate.argument == row.label
        named = named and (group != "complexity" or verdict.label.endswith(scale) or "(" not in verdict.label)
        overall = gate.metric == "success" and (
            (row.group == row.label == "all" and one_suite) or (group == "suite" and verdict.suite == row.label)
        )
        if named or overall:
            yield verdict


def gate_label(verdict: GateVerdict, document: Document) -> str:
    """Name a gate, and its suite where gates of several were evaluated: by its path where two have the same name."""
    if len({one.suite for one in document.gates}) < 2:
        return verdict.label
    return f"{document.suite_names.get(verdict.suite) or verdict.suite}: {verdict.label}"


def rows_by(document: Document, columns: Sequence[str], layout: Layout) -> list[Line]:
    """Give a row per combination of labels that runs have; variants stand apart, since no figure is over several."""
    runs = document.counted.results
    wanted = list(dict.fromkeys(columns))
    if "variant" not in wanted and len({run.key.variant for run in runs}) > 1:
        wanted.append("variant")
    rows = Table(runs=runs, facts=document.facts).by(*wanted)
    if not rows:
        return [Line(f"no run has a value in {' and '.join(wanted)}", "warn")]
    cells = [[", ".join(wanted), "n", "passed", "", "95 % CI", "unscored"]]
    cells += [
        [layout.marks.plain(row.label), *map(str, _figures(row, layout)), str(row.unscored or "")] for row in rows
    ]
    return layout.table(cells, "<>>>>>")


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
    more = f", {count(cut, 'more column')} in the values" if cut else ""
    size_of = len(found.rows) * len(found.columns)
    if numbered:
        legend = f"  {marks.dot} ".join(f"{number} {name}" for number, name in zip(heads, names, strict=True))
        lines += layout.wrapped(f"  {legend}")
    return [*lines, Line(f"  {found.holes} of {count(size_of, 'cell')} without a run ({marks.dash}){more}")]


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
