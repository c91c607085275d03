"""What a session adds up to: the groupings of its table of runs that are shown, terminations and blame.

Nothing here depends on the order of the results.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.results.table import NO_FACTS, NOT_RUN, Facts, Row, Table, make_row

DISPUTED = "disputed"
"""The label of attempts that counted, and were played again since their user may have been at fault."""


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

    Nothing counts the runs of scenarios that nobody reviewed, or that are in quarantine, but `pending` and
    `quarantined`, a row of theirs, None where there are none. `plain` counts runs of plainly worded scenarios, whose
    lines name the tools. `first_attempts` is what `all` would be had no attempt been run again; None when none was.
    `policies_listed` are those that no run measured. `partly` counts
    runs that passed with something not measured, `unmeasured` says what; `idle` are the names of runs that passed since
    their scenarios ask for nothing. Of the `asked` parts that runs were asked for,
    `open_parts` were not measured.
    """

    all: Row
    partly: int = 0
    idle: tuple[str, ...] = ()
    unmeasured: tuple[Open, ...] = ()
    asked: int = 0
    open_parts: int = 0
    pending: Row | None = None
    quarantined: Row | None = None
    plain: int = 0
    first_attempts: Row | None = None
    suites: tuple[Row, ...] = ()
    policies_exercised: tuple[Row, ...] = ()
    policies_listed: tuple[Row, ...] = ()
    categories: tuple[Row, ...] = ()
    complexities: tuple[Row, ...] = ()
    tools: tuple[Row, ...] = ()
    agents: tuple[Row, ...] = ()
    tags: tuple[Row, ...] = ()
    languages: tuple[Row, ...] = ()
    terminations: dict[str, int] = {}
    blames: tuple[BlameCount, ...] = ()


def aggregate(results: Iterable[Result], retried: Iterable[Result] = (), *, facts: Facts = NO_FACTS) -> Aggregate:
    """Add up the deciding result of each run; `retried` holds the attempts that were run again."""
    everything = list(results)
    runs, earlier = ([run for run in some if not run.set_aside] for some in (everything, list(retried)))
    table = Table(runs=runs, facts=facts)
    whole = [run for run in runs if run.metrics.get("measured") is not None]
    return Aggregate(
        all=make_row("all", "all", runs),
        partly=sum(1 for run in runs if run.passed and run.not_run is None and run.unmeasured),
        idle=tuple(sorted({run.key.scenario for run in runs if run.asks_nothing})),
        unmeasured=open_parts(whole),
        asked=sum(run.asked for run in whole),
        open_parts=sum(len(run.unmeasured) for run in whole),
        pending=apart_row("pending review", (run for run in everything if run.pending)),
        quarantined=apart_row("quarantine", (run for run in everything if run.quarantine and not run.pending)),
        plain=sum(run.plain for run in runs),
        first_attempts=make_row("all", "first attempts", _first(runs, earlier)) if earlier else None,
        suites=table.by("suite"),
        policies_exercised=table.policies(),
        policies_listed=table.listed_policies(),
        categories=table.by("category") if any(facts.categories.values()) else (),
        complexities=table.by("complexity"),
        tools=table.by("tool"),
        agents=table.by("agent"),
        tags=table.by("tag"),
        languages=table.by("language"),
        terminations=_terminations(runs),
        blames=_blames(runs, earlier),
    )


def apart_row(label: str, runs: Iterable[Result]) -> Row | None:
    """Add up runs that are set aside as if they counted, None where there are none."""
    counted = [run.as_counted for run in runs]
    return make_row(label, label, counted) if counted else None


def open_parts(runs: Iterable[Result]) -> tuple[Open, ...]:
    """Give what runs left undecided, in most runs first; those that broke off by others' faults are not among them.

    What one cure mends in a part is told once, by the reason of most runs.
    """
    reasons: dict[tuple[str, str, str], Counter[str]] = {}
    for one in (one for run in runs for one in run.unmeasured):
        reasons.setdefault((one.part, one.cure, "" if one.cure else one.why), Counter())[one.why] += 1
    found = []
    for (part, cure, _), whys in reasons.items():
        why = min(whys, key=lambda one: (-whys[one], one))
        more = f", and {len(whys) - 1} more such reason{'s' if len(whys) > 2 else ''}" if len(whys) > 1 else ""
        found.append(Open(part=part, why=f"{why}{more}", cure=cure, runs=whys.total()))
    return tuple(sorted(found, key=lambda one: (-one.runs, one.part, one.why, one.cure)))


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
