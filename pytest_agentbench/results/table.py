"""The table of runs: a run is a line, and every figure by policy, tool, level or variant is a grouping of it.

A run stands once under each label that it has in a column. Nothing here depends on the order of the runs.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.scenario import ComplexityScale
from pytest_agentbench.results.trials import grouped, rate_of

METRICS = (
    "name_recall", "strict_recall", "complete", "agent_turns", "tool_calls",
    "tool_errors", "errors_then_retried", "calls_ratio", "echo_rate", "measured",
)  # fmt: skip
"""The metrics that rows average."""

SCALES: tuple[ComplexityScale, ...] = ("policies", "calls", "given")
"""The scales of complexity; no row mixes two."""

NOT_RUN = "not run"
"""The label of runs that never started, among terminations and blame."""

NO_CATEGORY = "(none)"
"""The label of policies without a category."""

_MOST_EXACT = 6
_CRITERION = "rubric:"


class Mean(Model):
    """The mean of a metric over the `n` scored runs where it was measured; None when there is none."""

    value: float | None = None
    n: int = 0


class Row(Model):
    """One line of a grouping: `passed` of `n` scored runs, the rate with its 95 % interval (`rate_of`), 0..1.

    `unscored` runs belong to the row but not to `n`; of a policy's row, `unmeasured` scored runs left it undecided.
    `means` has an entry per metric of `METRICS`; that of `measured` counts runs of which nothing was measured, too.
    """

    group: str
    label: str
    n: int = 0
    passed: int = 0
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    unscored: int = 0
    unmeasured: int = 0
    means: dict[str, Mean] = {}

    def mean(self, metric: str) -> float | None:
        """Give the mean of `metric`, or None where no run measured it."""
        return self.means.get(metric, Mean()).value


Holds = Callable[[Result], bool | None]
"""What passing is in a row; None leaves the run out of it."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What suites say that their runs do not: `categories` by suite and policy, `owners` by suite."""

    categories: Mapping[tuple[str, str], str] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)


NO_FACTS = Facts()


@dataclass(frozen=True, kw_only=True)
class Table:
    """Runs, with what their suites say of them."""

    runs: Sequence[Result]
    facts: Facts = NO_FACTS

    def by(self, *columns: str) -> tuple[Row, ...]:
        """Give a row per label of a column, or per combination of labels; raise `ResultsError` for an unknown column.

        Rows stand in the order of their labels, complexities by value. Where a column is about policies, a row counts
        the scored runs that exercised one of its policies, and those of them that kept all; else it counts passes. A
        policy stands with its own category alone.
        """
        for name in columns:
            if name not in COLUMNS:
                raise ResultsError(
                    f"there is no column {name!r} to group by; {suggestion(name, COLUMNS) or listing(COLUMNS)}"
                )
        if len(columns) == 1 and columns[0] == "complexity":
            return self._complexities()
        keyed = {name: COLUMNS[name](self) for name in columns}

        def labels_of(run: Result) -> Iterable[tuple[str, ...]]:
            each = product(*(labels(run) for labels in keyed.values()))
            return (one for one in each if self._fits(run, dict(zip(columns, one, strict=True))))

        found = grouped(self.runs, labels_of)
        order = [_order(name) for name in columns]
        rows = []
        for labels in sorted(found, key=lambda key: [place(part) for place, part in zip(order, key, strict=True)]):
            holds = self._holds(dict(zip(columns, labels, strict=True)))
            rows.append(make_row(" × ".join(columns), " · ".join(labels), found[labels], holds))
        return tuple(rows)

    def policies(self, only: str | None = None) -> tuple[Row, ...]:
        """Give a row per policy (or `only` one) that some run measured: kept / exercised, over its scored runs."""
        named = sorted(name for name in _measured(self.runs) if only in (None, name))
        counting = {row.label: row for row in self.by("policy")}
        return tuple(
            (counting.get(name) or make_row("", name, [])).model_copy(
                update={"group": "policy (exercised)", "unmeasured": self._undecided(name)}
            )
            for name in named
        )

    def listed_policies(self) -> tuple[Row, ...]:
        """Give a row without a rate per policy that runs list or leave open, and that none measured."""
        names = {policy for run in self.runs for policy in run.listed_policies}
        names |= {outcome.policy for run in self.runs for outcome in run.policies if not outcome.is_measured}
        return tuple(
            Row(group="policy (listed)", label=policy, unmeasured=self._undecided(policy))
            for policy in sorted(names - _measured(self.runs))
        )

    def levels(self) -> tuple[Row, ...]:
        """Give a row per level of complexity and scale: the runs at this level and above it."""
        rows = []
        for scale in SCALES:
            mine = [run for run in self.runs if run.complexity_scale == scale and run.complexity is not None]
            for level in sorted({run.complexity for run in mine if run.complexity is not None}):
                above = [run for run in mine if run.complexity is not None and run.complexity >= level]
                rows.append(make_row(f"complexity ({scale}) from", str(level), above))
        return tuple(rows)

    def cross(self, runs_of: Mapping[str, Sequence[Result]]) -> dict[str, dict[str, Row]]:
        """Give the rows of policies within groups of the runs: {group: {policy: row}}."""
        return {
            label: {row.label: row for row in self.narrowed(mine).policies() if row.n}
            for label, mine in runs_of.items()
        }

    def narrowed(self, runs: Sequence[Result]) -> "Table":
        """Give the table of other runs of the same suites."""
        return Table(runs=runs, facts=self.facts)

    def category(self, run: Result, policy: str) -> str:
        """Give the category of a policy of a run's suite."""
        return self.facts.categories.get((run.key.suite, policy), "") or NO_CATEGORY

    def _complexities(self) -> tuple[Row, ...]:
        """Give a row per complexity of each scale: exact values up to six, else ranges of three (…, 2–4, 5–7, …)."""
        groups = complexity_groups(self.runs)
        return tuple(make_row(f"complexity ({scale})", label, mine) for (scale, label), mine in groups.items())

    def _fits(self, run: Result, about: Mapping[str, str]) -> bool:
        """Whether labels that belong together do: a category is that of the policy."""
        return not {"policy", "category"} <= about.keys() or self.category(run, about["policy"]) == about["category"]

    def _holds(self, about: Mapping[str, str]) -> Holds | None:
        """Say what passing is: to keep the row's policies where a column is about them, else the run's own verdict."""
        if "policy" in about:
            return lambda run: kept(run, about["policy"])
        if "category" in about:
            return lambda run: kept(run, *self._in_category(run, about["category"]))
        if "rubric" in about:
            return lambda run: criteria_of(run).get(about["rubric"])
        return None

    def _in_category(self, run: Result, category: str) -> list[str]:
        return [one.policy for one in run.policies if self.category(run, one.policy) == category]

    def _undecided(self, policy: str) -> int:
        """Count the scored runs that leave open what became of a policy that is theirs."""
        return sum(run.scored and leaves_open(run, policy) for run in self.runs)


_Labels = Callable[[Result], Iterable[str]]


def _variants(runs: Sequence[Result]) -> _Labels:
    """Label runs by variant; beside others, those of a suite without variants keep their place."""
    nameless = ["(none)"] if any(run.key.variant for run in runs) else []
    return lambda run: [run.key.variant] if run.key.variant else nameless


COLUMNS: dict[str, Callable[[Table], _Labels]] = {
    "suite": lambda _: lambda run: [run.key.suite],
    "owner": lambda table: lambda run: [table.facts.owners.get(run.key.suite) or "(none)"],
    "variant": lambda table: _variants(table.runs),
    "scenario": lambda _: lambda run: [run.key.scenario],
    "policy": lambda _: lambda run: [one.policy for one in run.policies if one.counts],
    "category": lambda table: lambda run: [table.category(run, one.policy) for one in run.policies if one.counts],
    "complexity": lambda _: (
        lambda run: [] if run.complexity is None else [f"{run.complexity} ({run.complexity_scale})"]
    ),
    "tool": lambda _: lambda run: run.tools,
    "agent": lambda _: lambda run: run.agents,
    "tag": lambda _: lambda run: run.tags,
    "language": lambda _: lambda run: [run.language] if run.language else [],
    "fault": lambda _: lambda run: [run.key.fault] if run.key.fault else [],
    "trial": lambda _: lambda run: [str(run.key.trial)],
    "termination": lambda _: lambda run: [NOT_RUN if run.termination is None else run.termination.value],
    "rubric": lambda _: criteria_of,
}
"""The labels of a run in each column that rows and gates may be about."""


def _order(column: str) -> Callable[[str], tuple[float, str]]:
    if column in ("complexity", "trial"):
        return lambda label: (float(label.split()[0]), label)
    return lambda label: (0.0, label)


def complexity_groups(runs: Sequence[Result]) -> dict[tuple[ComplexityScale, str], list[Result]]:
    """Give the runs of each scale and level, as `Table.by` shows them."""
    groups: dict[tuple[ComplexityScale, str], list[Result]] = {}
    for scale in SCALES:
        mine = [run for run in runs if run.complexity_scale == scale]
        values = grouped(mine, lambda run: [] if run.complexity is None else [run.complexity])
        for value in sorted(values):
            label = str(value) if len(values) <= _MOST_EXACT else _range(value)
            groups.setdefault((scale, label), []).extend(values[value])
    return groups


def make_row(group: str, label: str, runs: Sequence[Result], holds: Holds | None = None) -> Row:
    """Add up `runs` as one row; `holds` says what passing is where it is not the run's verdict."""
    scored = [run for run in runs if run.scored and (holds is None or holds(run) is not None)]
    passed = sum(bool(run.passed if holds is None else holds(run)) for run in scored)
    interval = rate_of(scored, None if holds is None else lambda run: bool(holds(run)))
    return Row(
        group=group,
        label=label,
        n=len(scored),
        passed=passed,
        rate=interval.value if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        unscored=sum(not run.scored for run in runs),
        means={**{metric: mean_of(metric, scored) for metric in METRICS}, "measured": mean_of("measured", runs)},
    )


def mean_of(metric: str, runs: Iterable[Result]) -> Mean:
    """Give the mean of `metric` over the runs that measured it.

    Plainly worded scenarios name their tools. Where worded ones are there too, these alone tell of `name_recall`.
    """
    counted = list(runs)
    if metric == "name_recall" and any(not run.plain for run in counted):
        counted = [run for run in counted if not run.plain]
    values = (run.metrics.get(metric) for run in counted)
    finite = [value for value in values if value is not None and math.isfinite(value)]
    # fsum rounds once, so the order of the runs cannot show
    return Mean(value=math.fsum(finite) / len(finite), n=len(finite)) if finite else Mean()


def kept(run: Result, *policies: str) -> bool | None:
    """Whether a run that exercised one of the policies kept all; None where it does not count for them."""
    outcomes = [outcome for outcome in run.policies if outcome.policy in policies and outcome.counts]
    return all(outcome.kept for outcome in outcomes) if outcomes else None


def leaves_open(run: Result, policy: str) -> bool:
    """Whether a run lists a policy, or judged it, and does not tell what became of it."""
    outcomes = [outcome for outcome in run.policies if outcome.policy == policy]
    return bool(policy in run.listed_policies or outcomes) and not any(one.is_measured for one in outcomes)


def criteria_of(run: Result) -> dict[str, bool]:
    """Give what became of the criteria of a run's rubric, as far as they were decided: True is good."""
    found = (one for one in run.findings if one.check.startswith(_CRITERION) and one.passed is not None)
    return {one.check.removeprefix(_CRITERION): bool(one.passed) for one in found}


def _measured(runs: Iterable[Result]) -> set[str]:
    """Give the policies that some run measured."""
    return {outcome.policy for run in runs for outcome in run.policies if outcome.is_measured}


def _range(value: int) -> str:
    # ranges start at fixed values, so that two results files have the same rows
    low = (value - 2) // 3 * 3 + 2
    return f"{max(low, 0)}–{low + 2}" if value >= 0 else f"{low}–{low + 2}"
