"""Variants side by side: numbers, differences from the first, tags, an agent's own scores."""

import random

import pytest

from pytest_agentbench.core.model import Usage
from pytest_agentbench.results.trials import rate_of, trials_report
from pytest_agentbench.results.variants import compare_variants, variants_reports
from tests.results.make import SUITE, document, mcnemar_exact, result
from tests.tables import each


def ablation(n=40, seed=1):
    """Runs of two variants and a third that fails all of one class, with tokens and scores of the agent's own."""
    rng = random.Random(seed)
    runs = []
    for variant, rate in (("base", 0.5), ("same", 0.5), ("full", 1.0)):
        for place in range(n):
            kind = "S1" if place % 2 else "S2"
            passes = rng.random() < rate and not (variant == "same" and kind == "S2")
            runs.append(
                result(
                    f"s{place:02}", "passed" if passes else "failed", variant=variant, tags=(f"class:{kind}", "short"),
                    reported={"self_score": 0.9 if passes else 0.4, "tokens": 900.0 if variant == "full" else 3000.0},
                    metrics={"agent_turns": float(rng.randint(1, 3)), "complete": float(passes)}, seconds=place / 10,
                )
            )  # fmt: skip
    return runs


def report():
    """The report on the ablation."""
    (found,) = variants_reports(document(ablation()))
    return found


def test_each_variant_has_its_numbers_with_n_and_interval():
    """Success, means over scenarios, quantiles of time, how runs ended."""
    rows = {row.variant: row for row in report().rows}

    assert list(rows) == ["base", "same", "full"]
    assert rows["full"].success.value == 1.0
    assert rows["full"].number("tokens").mean.value == 900
    assert rows["full"].number("complete").mean.n == 40
    assert rows["base"].median.value == pytest.approx(1.95)
    assert rows["base"].p95.high > 3.7
    assert rows["base"].terminations == {"FINISHED": 40}


def test_differences_are_paired_with_the_first_variant_and_corrected_over_variants():
    """Exact test and flips as between sessions; Holm over the two comparisons."""
    same, full = report().against
    lost, won = len(full.paired.lost), len(full.paired.won)

    assert (same.variant, full.variant) == ("same", "full")
    assert lost == 0
    assert full.paired.success.p == pytest.approx(mcnemar_exact(lost, won))
    assert full.paired.success.p_holm == pytest.approx(min(1, 2 * min(full.paired.success.p, 1)))
    tokens = next(change for change in full.paired.numbers if change.name == "tokens" or change.title == "tokens")
    assert (tokens.difference.value, tokens.is_significant) == (-2100, True)


def test_tags_that_begin_alike_are_one_table():
    """Classes stand together, other tags apart; a class in which a variant fails shows."""
    classes, tags = report().breakdowns

    assert (classes.prefix, [row.label for row in classes.rows]) == ("class", ["S1", "S2"])
    assert (tags.prefix, [row.label for row in tags.rows]) == ("tag", ["short"])
    assert [part.success.value for part in classes.rows[1].parts][1:] == [0.0, 1.0]
    assert classes.rows[0].parts[0].change is None
    assert classes.rows[1].parts[2].change.p_holm >= classes.rows[1].parts[2].change.p


def test_an_agents_own_score_is_held_against_the_checks():
    """A score that tells passes from failures agrees fully; where all passed nothing is known."""
    rows = {row.variant: row.agreement[0] for row in report().rows}

    assert rows["base"].chance.value == 1.0
    assert rows["full"].chance is None
    assert rows["full"].mean == pytest.approx(0.9)


def test_tokens_come_from_what_was_observed_before_what_the_agent_says():
    """Observed calls win; replayed calls have tokens and no cost."""
    usage = {"agent": Usage(calls=1, input_tokens=70, output_tokens=30, cost_usd=0.01)}
    replayed = {"agent": Usage(replayed=1, input_tokens=5, output_tokens=5)}
    runs = [
        *(result(f"s{n}", variant="a", usage=usage, reported={"tokens": 1.0}) for n in range(3)),
        *(result(f"s{n}", variant="b", usage=replayed) for n in range(3)),
    ]

    first, second = compare_variants(SUITE, ("a", "b"), runs).rows

    assert (first.number("tokens").mean.value, first.number("cost_usd").mean.value) == (100, 0.01)
    assert (second.number("tokens").mean.value, second.number("cost_usd").mean) == (10, None)


def test_same_results_same_report_in_any_order():
    """Nothing depends on the order in which runs ended."""
    runs = ablation()

    shuffled = random.Random(3).sample(runs, len(runs))

    names = ("base", "same", "full")
    assert compare_variants(SUITE, names, runs) == compare_variants(SUITE, names, shuffled)


def test_one_variant_has_no_report():
    """There is nothing to compare."""
    assert variants_reports(document([result("a", variant="x")])) == ()


def test_flaky_scenarios_are_named_least_reliable_first():
    """Those that pass sometimes, with their counts; pass^k as τ² computes it."""
    runs = [
        *(result("steady", trial=t) for t in (1, 2, 3)),
        *(result("rare", "passed" if t == 1 else "failed", trial=t) for t in (1, 2, 3)),
        *(result("often", "failed" if t == 1 else "passed", trial=t) for t in (1, 2, 3)),
    ]

    found = trials_report(runs)

    assert [(one.name, one.passed, one.n) for one in found.flaky] == [("rare", 1, 3), ("often", 2, 3)]
    assert [round(one.all.value, 4) for one in found.passes] == [
        round(2 / 3, 4),
        round((1 + 0 + 1 / 3) / 3, 4),
        round(1 / 3, 4),
    ]
    assert trials_report([result("a"), result("b")]) is None


def test_after_an_early_stop_scenarios_count_alike_and_rates_are_corrected():
    """A scenario with eight trials weighs no more than one with four; pass^k is not given."""
    early = {"trials": 8, "stops_early": True}
    runs = [
        *(result("good", trial=t, **early) for t in range(1, 5)),
        *(result("bad", "failed", trial=t, **early) for t in range(1, 3)),
    ]

    found = trials_report(runs, left_out=10)

    assert rate_of(runs).value == 0.5
    assert (found.passes, found.left_out, found.early_stop) == ((), 10, True)


@each("name", ["consent_unclear", "resumed", "agent_turns"])
def test_the_interval_of_a_count_ends_at_zero(name):
    """There is no run with fewer than none of something."""
    runs = [
        result(f"s{place}", "passed", variant=variant, metrics={name: float(place == 0)})
        for variant in ("one", "two")
        for place in range(6)
    ]
    (found,) = variants_reports(document(runs))

    assert {row.number(name).mean.low for row in found.rows} == {0.0}
