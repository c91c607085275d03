"""What results add up to: rows per suite, variant, policy, complexity, tool, agent, tag; terminations and blame.

Nothing here depends on the order of the results.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.scenario import ComplexityScale
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.results.grouping import GROUPS, grouped, kept, leaves_open
from pytest_agentbench.results.trials import rate_of

METRICS = (
    "name_recall", "strict_recall", "complete", "agent_turns", "tool_calls",
    "tool_errors", "errors_then_retried", "calls_ratio", "echo_rate", "measured",
)  # fmt: skip
"""The metrics that rows average."""

SCALES: tuple[ComplexityScale, ...] = ("policies", "calls", "given")
"""The scales of complexity; no row mixes two."""

NOT_RUN = "not run"
"""The label of runs that never started, among terminations and blame."""

DISPUTED = "disputed"
"""The label of attempts that counted, and were played again since their user may have been at fault."""

_MOST_EXACT = 6


class Mean(Model):
    """The mean of a metric over the `n` scored runs where it was measured; None when there is none."""

    value: float | None = None
    n: int = 0


class Row(Model):
    """One line of the breakdown: `passed` of `n` scored runs, the rate with its 95 % interval (`rate_of`), 0..1.

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


class BlameCount(Model):
    """How often someone other than the agent, or nobody, was to blame.

    `unscored`: runs that this kept from counting. `passed`: runs that passed nevertheless. `retried`: attempts that
    were run again, `recovered` of which passed in the end.
    """

    blame: str
    unscored: int = 0
    passed: int = 0
    retried: int = 0
    recovered: int = 0


class Open(Model):
    """A part that `runs` runs left undecided, why, and what would measure it."""

    part: str
    why: str
    cure: str = ""
    runs: int = 0


class Aggregate(Model):
    """Everything that the report breaks down. Rows stand in the order of their labels, complexities by value.

    Nothing counts the runs of scenarios that nobody reviewed but `pending`, a row of theirs, None where there are none.
    `first_attempts` is what `all` would be had no attempt been run again; None when none was. `policies_listed` are
    those that no run measured. `partly` counts runs that passed with something not measured, `unmeasured` says what.
    Of the `asked` parts that runs were asked for, `open_parts` were not measured.
    """

    all: Row
    partly: int = 0
    unmeasured: tuple[Open, ...] = ()
    asked: int = 0
    open_parts: int = 0
    pending: Row | None = None
    first_attempts: Row | None = None
    suites: tuple[Row, ...] = ()
    variants: tuple[Row, ...] = ()
    policies_exercised: tuple[Row, ...] = ()
    policies_listed: tuple[Row, ...] = ()
    complexities: tuple[Row, ...] = ()
    tools: tuple[Row, ...] = ()
    agents: tuple[Row, ...] = ()
    tags: tuple[Row, ...] = ()
    terminations: dict[str, int] = {}
    blames: tuple[BlameCount, ...] = ()


def aggregate(results: Iterable[Result], retried: Iterable[Result] = ()) -> Aggregate:
    """Add up the deciding result of each run; `retried` holds the attempts that were run again."""
    everything = list(results)
    runs, earlier = ([run for run in some if not run.pending] for some in (everything, list(retried)))
    whole = [run for run in runs if run.metrics.get("measured") is not None]
    return Aggregate(
        all=make_row("all", "all", runs),
        partly=sum(1 for run in runs if run.passed and run.not_run is None and run.unmeasured),
        unmeasured=open_parts(whole),
        asked=sum(run.asked for run in whole),
        open_parts=sum(len(run.unmeasured) for run in whole),
        pending=pending_row(everything),
        first_attempts=make_row("all", "first attempts", _first(runs, earlier)) if earlier else None,
        suites=_rows("suite", runs),
        variants=_rows("variant", runs),
        policies_exercised=exercised_rows(runs),
        policies_listed=listed_rows(runs),
        complexities=complexity_rows(runs),
        tools=_rows("tool", runs),
        agents=_rows("agent", runs),
        tags=_rows("tag", runs),
        terminations=_terminations(runs),
        blames=_blames(runs, earlier),
    )


def make_row(group: str, label: str, runs: Sequence[Result], holds: Callable[[Result], bool] | None = None) -> Row:
    """Add up `runs` as one row; `holds` says what passing is where it is not the run's verdict."""
    scored = [run for run in runs if run.scored]
    passed = sum(1 for run in scored if (run.passed if holds is None else holds(run)))
    interval = rate_of(scored, holds)
    return Row(
        group=group,
        label=label,
        n=len(scored),
        passed=passed,
        rate=interval.value if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        unscored=len(runs) - len(scored),
        means={**{metric: mean_of(metric, scored) for metric in METRICS}, "measured": mean_of("measured", runs)},
    )


def pending_row(results: Iterable[Result]) -> Row | None:
    """Add up the runs of scenarios that nobody reviewed, None where there are none."""
    runs = [run.model_copy(update={"pending": False}) for run in results if run.pending]
    return make_row("pending", "pending review", runs) if runs else None


def open_parts(runs: Iterable[Result]) -> tuple[Open, ...]:
    """Give what runs left undecided, in most runs first; those that broke off by others' faults are not among them."""
    found = Counter((one.part, one.why, one.cure) for run in runs for one in run.unmeasured)
    listed = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Open(part=part, why=why, cure=cure, runs=count) for (part, why, cure), count in listed)


def mean_of(metric: str, runs: Iterable[Result]) -> Mean:
    """Give the mean of `metric` over the runs that measured it."""
    values = (run.metrics.get(metric) for run in runs)
    finite = [value for value in values if value is not None and math.isfinite(value)]
    # fsum rounds once, so the order of the runs cannot show
    return Mean(value=math.fsum(finite) / len(finite), n=len(finite)) if finite else Mean()


def exercised_rows(runs: Sequence[Result], only: str | None = None) -> tuple[Row, ...]:
    """Give a row per policy (or `only` one) that some run measured: kept / exercised, over the scored runs of it."""
    counting = grouped(runs, lambda run: [outcome.policy for outcome in run.policies if outcome.counts])

    def row(policy: str) -> Row:
        made = make_row("policy (exercised)", policy, counting.get(policy, []), lambda run: kept(run, policy) is True)
        return made.model_copy(update={"unmeasured": _undecided(runs, policy)})

    return tuple(row(policy) for policy in sorted(_measured(runs)) if only in (None, policy))


def listed_rows(runs: Sequence[Result], only: str | None = None) -> tuple[Row, ...]:
    """Give a row without a rate per policy (or of `only` one) that runs list or leave open, and that none measured."""
    names = {policy for run in runs for policy in run.listed_policies}
    names |= {outcome.policy for run in runs for outcome in run.policies if not outcome.is_measured}
    return tuple(
        Row(group="policy (listed)", label=policy, unmeasured=_undecided(runs, policy))
        for policy in sorted(names - _measured(runs))
        if only in (None, policy)
    )


def _undecided(runs: Iterable[Result], policy: str) -> int:
    """Count the scored runs that leave open what became of a policy that is theirs."""
    return sum(run.scored and leaves_open(run, policy) for run in runs)


def complexity_rows(runs: Sequence[Result]) -> tuple[Row, ...]:
    """Give a row per complexity of each scale: exact values up to six, else ranges of three (…, 2–4, 5–7, …)."""
    return tuple(make_row(f"complexity ({scale})", label, group) for scale, label, group in complexity_groups(runs))


def complexity_groups(runs: Sequence[Result]) -> Iterator[tuple[ComplexityScale, str, list[Result]]]:
    """Give (scale, label, runs) of every row of `complexity_rows`."""
    for scale in SCALES:
        mine = [run for run in runs if run.complexity_scale == scale]
        values = grouped(mine, lambda run: [] if run.complexity is None else [run.complexity])
        labelled: dict[str, list[Result]] = {}
        for value in sorted(values):
            label = str(value) if len(values) <= _MOST_EXACT else _range(value)
            labelled.setdefault(label, []).extend(values[value])
        yield from ((scale, label, group) for label, group in labelled.items())


def _range(value: int) -> str:
    # ranges start at fixed values, so that two results files have the same rows
    low = (value - 2) // 3 * 3 + 2
    return f"{max(low, 0)}–{low + 2}" if value >= 0 else f"{low}–{low + 2}"


def _rows(group: str, runs: Iterable[Result]) -> tuple[Row, ...]:
    return tuple(make_row(group, label, mine) for label, mine in sorted(grouped(runs, GROUPS[group]).items()))


def _measured(runs: Iterable[Result]) -> set[str]:
    """Give the policies that some run measured."""
    return {outcome.policy for run in runs for outcome in run.policies if outcome.is_measured}


def _terminations(runs: Iterable[Result]) -> dict[str, int]:
    counts = Counter(NOT_RUN if run.termination is None else run.termination.value for run in runs)
    return {label: counts[label] for label in (*Termination, NOT_RUN) if counts[label]}


def _blames(runs: Sequence[Result], retried: Iterable[Result]) -> tuple[BlameCount, ...]:
    passed = {run.key.without_attempt for run in runs if run.passed}
    counts: Counter[tuple[str, str]] = Counter()
    for run in runs:
        if run.passed and run.blame not in (None, Blame.AGENT):
            counts[_blame_of(run), "passed"] += 1
        elif not run.scored:
            counts[_blame_of(run), "unscored"] += 1
    for attempt in retried:
        counts[_blame_of(attempt), "retried"] += 1
        counts[_blame_of(attempt), "recovered"] += attempt.key.without_attempt in passed
    labels = {label for label, _ in counts}
    fields = ("unscored", "passed", "retried", "recovered")
    return tuple(
        BlameCount(blame=label, **{field: counts[label, field] for field in fields}) for label in sorted(labels)
    )


def _first(runs: Iterable[Result], earlier: Iterable[Result]) -> list[Result]:
    first: dict[tuple[str, str, str, str, int], Result] = {}
    for run in sorted((*runs, *earlier), key=lambda run: run.key.attempt, reverse=True):
        first[run.key.without_attempt] = run
    return list(first.values())


def _blame_of(run: Result) -> str:
    if run.not_run is not None:
        return NOT_RUN
    if run.scored and run.disputed:
        return DISPUTED
    return run.blame.value if run.blame else "unknown"
