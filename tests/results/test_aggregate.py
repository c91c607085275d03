"""What results add up to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.run import PolicyOutcome
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Unmeasured
from pytest_agentbench.results.aggregate import aggregate
from pytest_agentbench.results.table import Table
from tests.results.make import result, support_runs, wrong_refund


def outcome(policy, exercised, kept=None):
    """Make a policy outcome."""
    return PolicyOutcome(policy=policy, exercised=exercised, kept=kept)


def rows(some):
    """Reduce rows to (label, passed, n)."""
    return [(row.label, row.passed, row.n) for row in some]


def test_unscored_runs_are_not_in_the_denominator():
    """Runs that are not the agent's fault, or not run, stand beside the rate."""
    total = aggregate(support_runs()).all
    assert (total.n, total.passed, total.unscored) == (24, 22, 2)
    assert total.rate == 22 / 24
    assert (total.low, total.high) == pytest.approx((0.7415, 0.9768), abs=1e-4)


def test_nothing_scored_has_no_rate():
    """Without a scored run there is neither rate nor interval nor mean, not zero."""
    total = aggregate([result("a", "error", "provider")]).all
    assert (total.rate, total.low, total.mean("name_recall"), total.unscored) == (None, None, None, 1)


def test_means_count_only_runs_that_measured():
    """A metric that is None in a run is left out of its mean, and n says so."""
    runs = [result("a", metrics={"name_recall": 0.5}), result("b", metrics={"name_recall": None}), result("c")]
    mean = aggregate(runs).all.means["name_recall"]
    assert (mean.value, mean.n) == (0.75, 2)


def test_policies_with_a_rule_count_only_runs_that_exercised_them():
    """A ruled policy's rate is kept / exercised, whatever the verdict; one never exercised has a row with n = 0."""
    runs = [
        result("a", "failed", policies=(outcome("p", True, True),)),
        result("b", policies=(outcome("p", True, False), outcome("idle", False))),
        result("c", policies=(outcome("p", False),)),
        result("d", "error", "user", policies=(outcome("p", True, False),)),
    ]
    exercised = aggregate(runs).policies_exercised
    assert rows(exercised) == [("idle", 0, 0), ("p", 1, 2)]
    assert exercised[1].unscored == 1


def test_policies_that_no_run_measured_are_a_group_of_their_own_without_a_rate():
    """A listed policy that nothing decided is counted and has no rate; one that a run measured never appears there."""
    runs = [
        result("a", listed_policies=("ruled", "prose"), policies=(outcome("ruled", False), outcome("prose", None))),
        result("b", "failed", listed_policies=("ruled", "prose"), policies=(outcome("ruled", None),)),
    ]
    sums = aggregate(runs)
    assert rows(sums.policies_listed) == [("prose", 0, 0)]
    assert (sums.policies_listed[0].rate, sums.policies_listed[0].unmeasured) == (None, 2)
    assert rows(sums.policies_exercised) == [("ruled", 0, 0)]
    assert sums.policies_exercised[0].unmeasured == 1


def test_an_outcome_of_which_nobody_knows_whether_it_was_kept_is_in_no_rate():
    """The trigger occurred and what the rule reads was not there: counted as not measured, beside those that were."""
    runs = [
        result("a", policies=(outcome("p", True, True),)),
        result("b", policies=(outcome("p", True),)),
        result("c", policies=(outcome("q", True),)),
    ]
    sums = aggregate(runs)
    assert [(row.label, row.passed, row.n, row.unmeasured) for row in sums.policies_exercised] == [("p", 1, 1, 1)]
    assert [(row.label, row.n, row.unmeasured) for row in sums.policies_listed] == [("q", 0, 1)]


def test_what_was_not_measured_is_counted_and_listed_by_part():
    """The share is a mean over runs, also of those that it kept from being scored; others' faults do not count."""
    open_part = Unmeasured(part="policy p", why="not measured: it has no rule", cure="give it one")
    runs = [
        result("a", asked=2, metrics={"measured": 1.0}),
        result("b", asked=2, unmeasured=(open_part,), metrics={"measured": 0.5}),
        result("c", "failed", asked=2, unmeasured=(open_part,), metrics={"measured": 0.5}),
        result("d", "error", "scenario", asked=1, unmeasured=(open_part,), metrics={"measured": 0.0}),
        result("e", "error", "provider", asked=1, unmeasured=(open_part,), metrics={"measured": None}),
    ]
    sums = aggregate(runs)
    assert sums.partly == 1
    assert sums.all.means["measured"].model_dump() == {"value": 0.5, "n": 4}
    assert [(one.part, one.runs, one.cure) for one in sums.unmeasured] == [("policy p", 3, "give it one")]
    assert (sums.open_parts, sums.asked) == (3, 7)


def test_what_one_cure_mends_is_told_once_with_its_count():
    """Three runs that name three calls for one reason are one entry; what has no cure, or another, stays apart."""
    whys = ["cancel (no label)", "cancel (no label)", "book (no label)", "set (no label)"]
    parts = [Unmeasured(part="policy ask", why=why, cure="label it") for why in whys]
    parts += [Unmeasured(part="policy ask", why=why) for why in ("x", "y")]
    runs = [
        result(f"r{number}", asked=1, unmeasured=(part,), metrics={"measured": 0.0})
        for number, part in enumerate(parts)
    ]

    found = [(one.why, one.runs) for one in aggregate(runs).unmeasured]

    assert found == [("cancel (no label), and 2 more such reasons", 4), ("x", 1), ("y", 1)]


def test_complexity_scales_are_never_mixed():
    """Each scale has rows of its own; up to six values are shown exactly, more in ranges of three."""
    runs = [result(f"p{value}", complexity=value, complexity_scale="policies") for value in range(2, 11)]
    runs += [result(f"c{value}", complexity=value, complexity_scale="calls") for value in (0, 5)]
    assert [(row.group, row.label, row.n) for row in aggregate(runs).complexities] == [
        ("complexity (policies)", "2–4", 3),
        ("complexity (policies)", "5–7", 3),
        ("complexity (policies)", "8–10", 3),
        ("complexity (calls)", "0", 1),
        ("complexity (calls)", "5", 1),
    ]


def test_tools_tags_variants_and_suites_have_rows():
    """A run counts once in the row of each of its tools and tags."""
    runs = [
        result("a", variant="x", tools=("f", "g", "f"), tags=("t",)),
        result("a", "failed", variant="y", tools=("g",), suite="other.yaml"),
    ]
    sums = aggregate(runs)
    assert rows(sums.tools) == [("f", 1, 1), ("g", 1, 2)]
    assert rows(sums.tags) == [("t", 1, 1)]
    assert rows(Table(runs=runs).by("variant")) == [("x", 1, 1), ("y", 0, 1)]
    assert rows(Table(runs=runs).by("tool", "variant")) == [("f · x", 1, 1), ("g · x", 1, 1), ("g · y", 0, 1)]
    assert rows(sums.suites) == [("bench/agentbench.yaml", 1, 1), ("other.yaml", 0, 1)]


def test_blame_tells_unscored_flagged_and_retried_apart():
    """Unscored runs, passes with another's fault, and attempts run again are counted per culprit."""
    runs = [
        result("a", attempt=2),
        result("b", "error", "user", attempt=2),
        result("c", "passed", "user"),
        result("d", "error", termination=None, not_run="not run: budget"),
        result("e", "failed"),
    ]
    retried = [result("a", "error", "user"), result("b", "error", "environment")]
    sums = aggregate(runs, retried)
    found = {blame.blame: (blame.unscored, blame.passed, blame.retried, blame.recovered) for blame in sums.blames}
    assert found == {"environment": (0, 0, 1, 0), "not run": (1, 0, 0, 0), "user": (1, 1, 1, 1)}
    assert sums.terminations == {"FINISHED": 4, "not run": 1}
    assert (sums.first_attempts.passed, sums.first_attempts.n) == (1, 2)


runs_of_any_kind = st.lists(
    st.builds(
        lambda number, verdict, blame, recall, complexity, scale, termination: result(
            f"s{number}",
            verdict,
            blame,
            metrics={"name_recall": recall},
            complexity=complexity,
            complexity_scale=scale,
            termination=termination,
            tools=(f"t{number % 3}",),
            policies=(outcome("p", bool(number % 2), number % 4 == 1),),
            listed_policies=("p", "q"),
        ),
        st.integers(0, 50),
        st.sampled_from(["passed", "failed", "error"]),
        st.sampled_from([None, "agent", "user"]),
        st.none() | st.floats(0, 1),
        st.none() | st.integers(0, 30),
        st.sampled_from(["policies", "calls", "given"]),
        st.sampled_from(list(Termination)),
    ),
    max_size=25,
    unique_by=lambda run: run.key,
)


@given(runs_of_any_kind.flatmap(lambda runs: st.tuples(st.just(runs), st.permutations(runs))))
def test_order_does_not_matter(pair):
    """Any permutation of the results adds up to the same, to the last bit."""
    given_runs, shuffled = pair
    assert aggregate(shuffled) == aggregate(given_runs)


@given(runs_of_any_kind)
def test_rows_of_a_partition_add_up(runs):
    """Complexity rows cover each run that has one exactly once, and passed never exceeds n."""
    sums = aggregate(runs)
    rated = [run for run in runs if run.complexity is not None]
    assert sum(row.n + row.unscored for row in sums.complexities) == len(rated)
    every = [sums.all, *sums.tools, *sums.policies_exercised, *sums.policies_listed, *sums.complexities]
    assert all(0 <= row.passed <= row.n for row in every)


def test_severity_is_not_the_aggregate():
    """A failed run counts once, however many findings it has."""
    assert aggregate([wrong_refund()]).all.n == 1
