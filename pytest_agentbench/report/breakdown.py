"""The table of the report: a row per group with n, passed, rate, interval, means and its gate."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.text import figure, percentage
from pytest_agentbench.report.glyphs import Glyphs, Line, Style
from pytest_agentbench.report.table import Layout, natural_width
from pytest_agentbench.results.aggregate import Aggregate, aggregate
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.gates import GateVerdict
from pytest_agentbench.results.table import Facts, Row, Table, make_row

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


def suite_names(document: Document) -> dict[str, str]:
    """Give what each suite is called, by its path: its name, and the path itself where two have the same name."""
    names = [suite.name for suite in document.suites]
    return {suite.path: suite.name if names.count(suite.name) == 1 else suite.path for suite in document.suites}


def sections_of_suites(document: Document, runs: Sequence[Result]) -> list[Section]:
    """Add up the runs of each suite, and of each of its variants, apart."""
    found = []
    names = {path: name for path, name in suite_names(document).items() if any(run.key.suite == path for run in runs)}
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
    return f"{suite_names(document).get(verdict.suite) or verdict.suite}: {verdict.label}"


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
    for row in rows:
        figures = [str(row.n), str(row.passed), percent(row.rate, layout.marks), layout.percents(row.low, row.high)]
        cells.append([layout.marks.plain(row.label), *figures, str(row.unscored or "")])
    return layout.table(cells, "<>>>>>")
