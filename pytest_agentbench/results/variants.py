"""Variants of one agent side by side: what each does, what differs from the first, and where."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.intervals import Interval, mean_interval, quantile_interval
from pytest_agentbench.results.numbers import REPORTED, Number, numbers_of, scenario_means, value_of
from pytest_agentbench.results.significance import Change, Paired, adjusted, compare_paired, concordance
from pytest_agentbench.results.table import NOT_RUN
from pytest_agentbench.results.trials import PassK, rate_of, trials_report


class Measured(Model):
    """The mean of a number over scenarios, or None where no scored run has it; `digits` are shown."""

    name: str
    title: str
    digits: int
    mean: Interval | None


class Agreement(Model):
    """How well an agent's own number in 0..1 tells its passes from its failures; None without both.

    `chance` is that of a passed run having the higher number: 0.5 tells nothing.
    """

    name: str
    mean: float
    chance: Interval | None


class VariantRow(Model):
    """One variant: its success with a 95 % interval, its numbers, how its runs ended, and how long they took.

    `success.n` counts scored runs, the `n` of a number the scenarios that have it. The quantiles are over runs.
    `all_pass` is pass^k for the largest k that its trials reach, None where each scenario was played once.
    """

    variant: str
    runs: int
    unscored: int
    success: Interval | None
    numbers: tuple[Measured, ...]
    median: Interval | None
    p95: Interval | None
    terminations: dict[str, int]
    agreement: tuple[Agreement, ...] = ()
    all_pass: PassK | None = None

    def number(self, name: str) -> Measured | None:
        """Find a number by name."""
        return next((one for one in self.numbers if one.name == name), None)

    def mean(self, name: str) -> Interval | None:
        """Find the mean of a number by name."""
        found = self.number(name)
        return found.mean if found else None


class Against(Model):
    """A variant paired with the first one by scenario; p-values allow for the other variants."""

    variant: str
    paired: Paired


class Part(Model):
    """One variant's runs with one tag; `change` compares their success with the first variant's."""

    variant: str
    success: Interval | None
    numbers: tuple[Measured, ...]
    change: Change | None = None

    def mean(self, name: str) -> Interval | None:
        """Find the mean of a number by name."""
        return next((one.mean for one in self.numbers if one.name == name), None)


class TagRow(Model):
    """A tag with what every variant made of its scenarios, in the order of the report's variants."""

    label: str
    scenarios: int
    parts: tuple[Part, ...]


class Breakdown(Model):
    """The tags that begin alike (`class:…`), or those without a colon under the name "tag"."""

    prefix: str
    rows: tuple[TagRow, ...]


class VariantsReport(Model):
    """The variants of a suite, the first of which the others are compared with."""

    suite: str
    name: str = ""
    variants: tuple[str, ...]
    rows: tuple[VariantRow, ...]
    against: tuple[Against, ...]
    breakdowns: tuple[Breakdown, ...] = ()


def variants_reports(document: Document, *, seed: int = 0) -> tuple[VariantsReport, ...]:
    """Give a report for each suite of which several variants were run, in the suite's own order."""
    reports = []
    for suite in document.suites:
        runs = [run for run in document.results if run.key.suite == suite.path]
        present = {run.key.variant for run in runs if run.not_run is None}
        declared = [name for name in suite.variants if name in present]
        variants = (*declared, *sorted(present - set(declared)))
        if len(variants) > 1:
            found = compare_variants(suite.path, variants, runs, seed=seed)
            reports.append(found.model_copy(update={"name": suite.name}))
    return tuple(reports)


def compare_variants(suite: str, variants: Sequence[str], runs: Sequence[Result], *, seed: int = 0) -> VariantsReport:
    """Compare the runs of a suite by variant; the first of `variants` is what the others are held against.

    Holm's correction is over the variants, for success, each policy and each number apart. The same bytes for the same
    `seed`.
    """
    groups = {variant: [run for run in runs if run.key.variant == variant] for variant in variants}
    numbers = numbers_of(runs)
    first = groups[variants[0]]
    against = [
        Against(variant=variant, paired=compare_paired(first, groups[variant], seed=seed)) for variant in variants[1:]
    ]
    return VariantsReport(
        suite=suite,
        variants=tuple(variants),
        rows=tuple(variant_row(variant, groups[variant], numbers) for variant in variants),
        against=_corrected(against),
        breakdowns=_breakdowns(groups, numbers),
    )


def variant_row(variant: str, runs: Sequence[Result], numbers: Sequence[Number]) -> VariantRow:
    """Give what one variant's runs come to: success, each of `numbers`, endings, time, the agent's own scores."""
    scored = [run for run in runs if run.scored]
    seconds = [run.seconds for run in scored]
    endings = Counter(NOT_RUN if run.termination is None else run.termination.value for run in runs)
    trials = trials_report(runs)
    return VariantRow(
        variant=variant,
        runs=len(runs),
        unscored=len(runs) - len(scored),
        success=rate_of(scored),
        numbers=_measured(scored, numbers),
        median=quantile_interval(seconds, 0.5),
        p95=quantile_interval(seconds, 0.95),
        terminations=dict(sorted(endings.items())),
        agreement=tuple(_agreements(scored, numbers)),
        all_pass=trials.passes[-1] if trials is not None and trials.passes else None,
    )


def _measured(runs: Sequence[Result], numbers: Sequence[Number]) -> tuple[Measured, ...]:
    return tuple(
        Measured(
            name=number.name,
            title=number.title,
            digits=number.digits,
            mean=mean_interval(
                list(scenario_means(runs, partial(value_of, name=number.name)).values()), bounds=number.bounds
            ),
        )
        for number in numbers
    )


def _agreements(runs: Sequence[Result], numbers: Sequence[Number]) -> list[Agreement]:
    """Look at the agent's own numbers that lie in 0..1, as scores of itself do."""
    found = []
    for number in numbers:
        values = [(value, run.passed) for run in runs if (value := value_of(run, number.name)) is not None]
        if not values or not (number.is_share and number.name.startswith(REPORTED)):
            continue
        passed, failed = ([value for value, held in values if held is side] for side in (True, False))
        average = sum(value for value, _ in values) / len(values)
        found.append(Agreement(name=number.title, mean=average, chance=concordance(passed, failed)))
    return found


def _corrected(against: Sequence[Against]) -> tuple[Against, ...]:
    """Correct each thing's p-values for as many variants as it was looked at in."""
    kinds = ("success", "policies", "numbers")

    def changes(paired: Paired, kind: str) -> tuple[Change, ...]:
        held = getattr(paired, kind)
        return held if isinstance(held, tuple) else (held,) if held else ()

    places: dict[tuple[str, str], dict[int, Change]] = {}
    for number, one in enumerate(against):
        for kind in kinds:
            for change in changes(one.paired, kind):
                places.setdefault((kind, change.name), {})[number] = change
    fixed = {key: dict(zip(held, adjusted([*held.values()]), strict=True)) for key, held in places.items()}
    done = []
    for number, one in enumerate(against):
        new = {kind: tuple(fixed[kind, it.name][number] for it in changes(one.paired, kind)) for kind in kinds}
        fields = {**new, "success": next(iter(new["success"]), None)}
        done.append(one.model_copy(update={"paired": one.paired.model_copy(update=fields)}))
    return tuple(done)


def _breakdowns(groups: dict[str, list[Result]], numbers: Sequence[Number]) -> tuple[Breakdown, ...]:
    tags = sorted({tag for runs in groups.values() for run in runs for tag in run.tags})
    prefixes: dict[str, list[str]] = {}
    for tag in tags:
        prefix, colon, _ = tag.partition(":")
        prefixes.setdefault(prefix if colon else "tag", []).append(tag)
    return tuple(
        Breakdown(prefix=prefix, rows=_tag_rows(prefix, held, groups, numbers)) for prefix, held in prefixes.items()
    )


def _tag_rows(
    prefix: str, tags: Sequence[str], groups: dict[str, list[Result]], numbers: Sequence[Number]
) -> tuple[TagRow, ...]:
    """Break the runs down by tag; p-values allow for all cells of the table."""
    variants = list(groups)
    rows: list[tuple[str, list[Part]]] = []
    for tag in tags:
        tagged = {variant: [run for run in groups[variant] if tag in run.tags] for variant in variants}
        parts = []
        for variant, runs in tagged.items():
            scored = [run for run in runs if run.scored]
            is_first = variant == variants[0]
            change = None if is_first else compare_paired(tagged[variants[0]], runs, success_only=True).success
            parts.append(
                Part(variant=variant, success=rate_of(scored), numbers=_measured(scored, numbers), change=change)
            )
        rows.append((tag, parts))
    corrected = iter(adjusted([part.change for _, parts in rows for part in parts if part.change is not None]))
    return tuple(
        TagRow(
            label=tag.removeprefix(f"{prefix}:"),
            scenarios=len({run.key.scenario for runs in groups.values() for run in runs if tag in run.tags}),
            parts=tuple(one.model_copy(update={"change": next(corrected)}) if one.change else one for one in parts),
        )
        for tag, parts in rows
    )
