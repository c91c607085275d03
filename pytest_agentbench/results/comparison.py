"""Two results files, compared: what is of the same scenario is paired, what changed is set apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.significance import Paired, adjusted, compare_paired
from pytest_agentbench.results.trials import scenarios_of

Why = Literal["changed", "added", "removed", "players", "unscored"]
"""Why a scenario is set apart: it says something else, is on one side only, had other players, or was not scored."""

AGENT = "agent"
"""The role that may well differ between results that are compared."""


class Apart(Model):
    """Scenarios that are not compared, and why; `detail` names the players that differ."""

    why: Why
    scenarios: tuple[str, ...]
    detail: str = ""


class Comparison(Model):
    """What became of a suite under one variant (and fault) from the first results to the second.

    `second_suite` and `second_variant` are named where they differ. `paired.success.p_holm` allows for the other
    variants of the suite. `notes` say what else to know when reading them.
    """

    suite: str
    variant: str = ""
    fault: str = ""
    second_suite: str = ""
    second_variant: str = ""
    paired: Paired
    apart: tuple[Apart, ...] = ()
    notes: tuple[str, ...] = ()


def compare_results(
    first: Sequence[Result], second: Sequence[Result], *, seed: int = 0, partial: bool = False
) -> tuple[Comparison, ...]:
    """Compare the results of two sessions, suite by suite and variant by variant.

    Where either holds one suite alone, or one variant of it, the names need not agree. `partial` says that the second
    results are a selection, so that what is missing there was not removed.
    """
    suites = _matched({run.key.suite for run in first}, {run.key.suite for run in second})
    comparisons: list[Comparison] = []
    for one, two in suites:
        comparisons += compare_runs(
            [run for run in first if run.key.suite == one],
            [run for run in second if run.key.suite == two],
            seed=seed,
            partial=partial,
        )
    return tuple(comparisons)


def compare_runs(
    first: Sequence[Result],
    second: Sequence[Result],
    *,
    seed: int = 0,
    partial: bool = False,
    success_only: bool = False,
) -> tuple[Comparison, ...]:
    """Compare the runs of one suite, variant by variant; Holm's correction over the variants' success."""
    comparisons = []
    for fault in sorted({run.key.fault for run in first} & {run.key.fault for run in second}):
        ones = [run for run in first if run.key.fault == fault]
        twos = [run for run in second if run.key.fault == fault]
        for one, two in _matched({run.key.variant for run in ones}, {run.key.variant for run in twos}):
            comparisons.append(
                _compare(
                    [run for run in ones if run.key.variant == one],
                    [run for run in twos if run.key.variant == two],
                    seed=seed,
                    partial=partial,
                    success_only=success_only,
                )
            )
    return _corrected(comparisons)


def _compare(
    first: Sequence[Result], second: Sequence[Result], *, seed: int, partial: bool, success_only: bool
) -> Comparison:
    ones, twos = scenarios_of(first), scenarios_of(second)
    apart: list[Apart] = []
    both = sorted(ones.keys() & twos.keys())
    changed = [name for name in both if _hashes(ones[name]) != _hashes(twos[name])]
    same = [name for name in both if name not in set(changed)]
    other: dict[str, list[str]] = {}
    for name in same:
        if detail := _other_players(ones[name], twos[name]):
            other.setdefault(detail, []).append(name)
    replaced = {name for names in other.values() for name in names}
    fair = [name for name in same if name not in replaced]
    idle = [name for name in fair if not (_is_scored(ones[name]) and _is_scored(twos[name]))]
    compared = set(fair) - set(idle)
    added, removed = sorted(twos.keys() - ones.keys()), sorted(ones.keys() - twos.keys())
    for why, names in (("changed", changed), ("added", added), ("removed", [] if partial else removed)):
        apart += [Apart(why=why, scenarios=tuple(names))] if names else []  # type: ignore[arg-type]  # of `Why`
    apart += [Apart(why="players", scenarios=tuple(names), detail=detail) for detail, names in sorted(other.items())]
    apart += [Apart(why="unscored", scenarios=tuple(idle))] if idle else []
    key, second_key = first[0].key, second[0].key
    return Comparison(
        suite=key.suite,
        variant=key.variant,
        fault=key.fault,
        second_suite=second_key.suite if second_key.suite != key.suite else "",
        second_variant=second_key.variant if second_key.variant != key.variant else "",
        paired=compare_paired(
            [run for run in first if run.key.scenario in compared],
            [run for run in second if run.key.scenario in compared],
            seed=seed,
            success_only=success_only,
        ),
        apart=tuple(apart),
        notes=tuple(_notes(first, second, partial=partial, missing=len(removed))),
    )


def _corrected(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    successes = iter(adjusted([one.paired.success for one in comparisons if one.paired.success is not None]))
    paired = [
        one.paired.model_copy(update={"success": next(successes)}) if one.paired.success is not None else one.paired
        for one in comparisons
    ]
    return tuple(one.model_copy(update={"paired": each}) for one, each in zip(comparisons, paired, strict=True))


def _matched(first: Iterable[str], second: Iterable[str]) -> list[tuple[str, str]]:
    ones, twos = sorted(first), sorted(second)
    if len(ones) == len(twos) == 1:
        return [(ones[0], twos[0])]
    return [(name, name) for name in ones if name in twos]


def _hashes(runs: Iterable[Result]) -> set[str]:
    return {run.scenario_hash for run in runs}


def _is_scored(runs: Iterable[Result]) -> bool:
    return any(run.scored for run in runs)


def _other_players(first: Iterable[Result], second: Iterable[Result]) -> str:
    """Say which role but the agent's had another player; the empty string where none had."""
    ones, twos = _players(first), _players(second)
    differing = [
        f"{role} was {' and '.join(sorted(ones[role]))}, is {' and '.join(sorted(twos[role]))}"
        for role in sorted(ones.keys() & twos.keys())
        if ones[role] != twos[role]
    ]
    differing += [f"{role} played on one side only" for role in sorted(ones.keys() ^ twos.keys()) if ones and twos]
    return "; ".join(differing)


def _players(runs: Iterable[Result]) -> dict[str, set[str]]:
    players: dict[str, set[str]] = {}
    for run in runs:
        for role, player in run.players.items():
            if role != AGENT:
                players.setdefault(role, set()).add(player)
    return players


def _notes(first: Sequence[Result], second: Sequence[Result], *, partial: bool, missing: int) -> Iterable[str]:
    if {run.suite_hash for run in first} != {run.suite_hash for run in second}:
        yield "the suite changed too (agent, variants, environment, policies or limits), and may be why runs differ"
    if partial and missing:
        yield f"{missing} of the first results' scenarios were not selected"
    if any(run.stops_early for run in (*first, *second)):
        yield "trials were stopped early: rates are corrected for it"


@dataclass(frozen=True, kw_only=True)
class Loss:
    """The success lost, 0..1, over `n` compared scenarios: 0 where the exact paired test does not show a loss."""

    value: float
    n: int
    p: float


def losses_against(baseline: Sequence[Result], runs: Sequence[Result]) -> dict[str, Loss]:
    """Give the loss of each variant of a suite; those of which no scenario could be compared are left out.

    A loss is shown where success fell and the two-sided p-value, corrected for the other variants, is below 5 %: so a
    session in which nothing changed fails in at most 2.5 % of cases. With faults the worst of them counts.
    """
    losses: dict[str, Loss] = {}
    for one in compare_runs(baseline, runs, success_only=True):
        success = one.paired.success
        if success is None:
            continue
        fell = max(0.0, -success.difference.value) if success.is_significant else 0.0
        variant = one.second_variant or one.variant
        before = losses.get(variant)
        if before is None or fell > before.value:
            losses[variant] = Loss(value=fell, n=one.paired.scenarios, p=success.p_holm)
    return losses
