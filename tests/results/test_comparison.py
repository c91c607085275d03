"""Two sessions compared: what is paired, what is set apart, and what counts as a loss."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.run import PolicyOutcome
from pytest_agentbench.results.comparison import compare_results, losses_against
from pytest_agentbench.results.correlate import correlate
from pytest_agentbench.results.gates import evaluate_gates
from pytest_agentbench.results.significance import compare_paired
from tests.results.make import SUITE, mcnemar_exact, result
from tests.tables import each

ROOT = Path(__file__).parents[2]


def session(passed, n=10, *, trials=1, **fields):
    """A session of `n` scenarios, those numbered in `passed` pass."""
    return [
        result(f"s{place:02}", "passed" if place in passed else "failed", trial=trial, **fields)
        for place in range(n)
        for trial in range(1, trials + 1)
    ]


def only(first, second, **options):
    """The one comparison of two sessions of one suite and variant."""
    (found,) = compare_results(first, second, **options)
    return found


def apart(found):
    """What is set apart, by reason."""
    return {one.why: one.scenarios for one in found.apart}


def test_success_is_compared_by_mcnemars_test_and_flips_are_named():
    """Seven lost and one won of thirty."""
    before, after = session(range(20), 30), session([*range(7, 20), 25], 30)

    paired = only(before, after).paired

    assert (paired.success.first, paired.success.second) == (20 / 30, 14 / 30)
    assert paired.success.p == pytest.approx(mcnemar_exact(7, 1))
    assert [flip.scenario for flip in paired.lost] == [f"s{n:02}" for n in range(7)]
    assert [flip.scenario for flip in paired.won] == ["s25"]


def test_what_changed_came_or_went_is_set_apart():
    """A scenario that says something else now is compared with nothing, nor is one on one side alone."""
    before = [result("same"), result("changed", scenario_hash="a"), result("gone")]
    after = [result("same"), result("changed", scenario_hash="b"), result("new")]

    found = only(before, after)

    assert apart(found) == {"changed": ("changed",), "added": ("new",), "removed": ("gone",)}
    assert found.paired.scenarios == 1


def test_what_was_not_selected_is_not_gone():
    """A selection says nothing of what it left out."""
    found = only(session(range(3), 3), session(range(1), 1), partial=True)

    assert apart(found) == {}
    assert "2 of the first results' scenarios were not selected" in found.notes


def test_runs_of_other_players_are_not_compared_but_other_agents_are():
    """Another user makes another test; another agent is what is being compared."""
    before = [result("a", players={"agent": "x:build", "user": "scripted"}), result("b", players={"user": "scripted"})]
    after = [result("a", players={"agent": "y:build", "user": "scripted"}), result("b", players={"user": "llm:m"})]

    found = only(before, after)

    assert apart(found) == {"players": ("b",)}
    assert found.apart[0].detail == "user was scripted, is llm:m"
    assert found.paired.scenarios == 1


def test_runs_that_are_not_scored_are_no_evidence():
    """A provider that failed is neither a pass nor a loss."""
    found = only([result("a"), result("b")], [result("a"), result("b", "error", "provider")])

    assert apart(found) == {"unscored": ("b",)}
    assert found.paired.lost == ()


def test_a_changed_suite_is_said():
    """Another environment or policy may be why runs differ."""
    found = only([result("a", suite_hash="1")], [result("a", suite_hash="2")])

    assert any(note.startswith("the suite changed too") for note in found.notes)


def test_policies_and_numbers_are_corrected_for_each_other():
    """Two policies and several numbers: only what changed beyond chance stays significant."""

    def runs(kept, calls):
        return [
            result(
                f"s{n}",
                policies=(
                    PolicyOutcome(policy="ask", exercised=True, kept=kept),
                    PolicyOutcome(policy="calm", exercised=True, kept=n > 1),
                ),
                metrics={"tool_calls": calls + n % 3, "agent_turns": 2.0 + n % 2},
            )
            for n in range(12)
        ]

    paired = only(runs(True, 4.0), runs(False, 6.0 + 0.0)).paired

    ask, calm = paired.policies
    assert (ask.name, ask.is_significant, calm.is_significant) == ("ask", True, False)
    assert ask.p_holm == pytest.approx(2 * ask.p)
    changed = {change.name: change.is_significant for change in paired.numbers}
    assert changed == {"tool_calls": True, "agent_turns": False, "seconds": False}


def test_policies_that_were_not_measured_are_not_compared():
    """The verdicts of the runs that list one say nothing about it."""
    unknown = (PolicyOutcome(policy="polite", exercised=True),)
    before = session(range(8), 8, listed_policies=("polite",), policies=unknown)
    after = session([], 8, listed_policies=("polite",))

    assert only(before, after).paired.policies == ()


def test_variants_are_compared_each_with_itself_and_a_lone_one_whatever_its_name():
    """Names match where there are several; two lone variants are what somebody wants compared."""
    both = [result("a", variant=variant) for variant in ("x", "y")]

    assert [one.variant for one in compare_results(both, both)] == ["x", "y"]
    found = only([result("a", variant="old")], [result("a", variant="new", suite="other.yaml")])
    assert (found.variant, found.second_variant, found.second_suite) == ("old", "new", "other.yaml")


def test_a_loss_that_chance_explains_is_none():
    """Five flips of a hundred are nothing, eight are."""
    before = session(range(100), 100)

    little = losses_against(before, session(range(5, 100), 100))[""]
    much = losses_against(before, session(range(8, 100), 100))[""]

    assert little.value == 0.0
    assert much.value == pytest.approx(0.08)
    assert much.p < 0.05


@each(("text", "passed"), [("regression <= 0", False), ("regression <= 0.10", True)])
def test_the_gate_allows_as_much_as_it_says(text, passed):
    """A loss of eight points that is beyond doubt passes a gate of ten."""
    verdict = evaluate_gates(SUITE, [text], session(range(8, 100), 100), baseline=session(range(100), 100))[0]

    assert (verdict.passed, verdict.n) == (passed, 100)
    assert verdict.reason.endswith(f"(p = {mcnemar_exact(8, 0):.2g})")


def test_without_a_baseline_the_gate_is_not_exercised():
    """A gate that measured nothing does not hold."""
    verdict = evaluate_gates(SUITE, ["regression <= 0"], session(range(3), 3))[0]

    assert (verdict.passed, verdict.n, verdict.value) == (False, 0, None)


@pytest.mark.slow
def test_a_seeded_regression_is_flagged_and_an_a_a_comparison_is_not():
    """100 scenarios x 3 trials: the gate fails for nearly all losses of 10 points, hardly ever without one."""
    out = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/regression_power.py"), "--repeats", "60"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    ).stdout  # fmt: skip
    found = dict(re.findall(r"^(.*?)  +([\d.]+) %", out, re.MULTILINE))

    assert float(found["A/A: gate regression <= 0 fails"]) <= 7
    assert float(found["10 points: gate regression <= 0 fails"]) >= 70


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_comparing_the_other_way_round_turns_the_signs(seed, trials):
    """What was lost one way is won the other, with the same p-value; order of results does not matter."""
    rng = random.Random(seed)
    first = [result(f"s{n}", rng.choice(("passed", "failed")), trial=t) for n in range(8) for t in range(trials)]
    second = [result(f"s{n}", rng.choice(("passed", "failed")), trial=t) for n in range(8) for t in range(trials)]
    shuffled = rng.sample(first, len(first))

    there, back = compare_paired(first, second), compare_paired(second, shuffled)

    assert [one.scenario for one in there.lost] == [one.scenario for one in back.won]
    assert there.success.p == pytest.approx(back.success.p)
    assert there.success.difference.low == pytest.approx(-back.success.difference.high)


def test_variants_of_two_suites_are_correlated():
    """Three variants that both order alike; two are too few."""
    first = [
        result(f"s{n}", "passed" if n < k else "failed", variant=v)
        for v, k in zip("abc", (2, 5, 8), strict=True)
        for n in range(10)
    ]
    second = [
        result(f"s{n}", "passed" if n < k else "failed", variant=v)
        for v, k in zip("abc", (1, 6, 9), strict=True)
        for n in range(10)
    ]

    found = correlate(first, second)

    assert [point.first for point in found.points] == [0.2, 0.5, 0.8]
    assert found.pearson.value > 0.98
    assert found.spearman.value == pytest.approx(1.0)


def test_a_correlation_that_cannot_be_is_refused_in_words():
    """Too few variants, or a metric that no run has."""
    runs = [result("a", variant="x")]

    with pytest.raises(Exception, match="needs 3 variants"):
        correlate(runs, runs)
    with pytest.raises(Exception, match="did you mean 'strict_recall'"):
        correlate(runs, runs, metric="strict_recal")
