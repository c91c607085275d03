"""Sampling is exact: the level asked for, policies that may meet, cells evenly filled, no set twice without need."""

import time
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.generation.policies.data_types import covered_pairs, exercised
from pytest_agentbench.generation.policies.sampling import LIKELY, overshoot, paper_sample, sample
from pytest_agentbench.suites.intellagent.reader import read_intellagent
from tests.generation.policies.graphs import all_sets, graph, of_foreign, random_graph
from tests.shared_data import SHARED, needs_shared
from tests.tables import each


@st.composite
def small_graphs(draw):
    """Draw a graph of up to seven policies."""
    challenges = draw(st.lists(st.integers(1, 5), min_size=1, max_size=7))
    pairs = list(combinations(range(len(challenges)), 2))
    weights = draw(st.lists(st.sampled_from([0, 0, 1, 3, 10]), min_size=len(pairs), max_size=len(pairs)))
    return graph(challenges, dict(zip(pairs, weights, strict=True)))


@settings(max_examples=30, deadline=None)
@given(small_graphs(), st.integers(1, 40), st.integers(1, 6), st.integers(0, 8), st.integers(0, 3))
def test_sampling_agrees_with_brute_force(net, count, low, width, seed):
    """Levels are hit and even, first policies as well; a set repeats only when it must."""
    found = sample(net, count, low, low + width, seed=seed)
    sets = {level: all_sets(net, level) for level in range(low, low + width + 1)}
    feasible = {(name, level) for level, several in sets.items() for one in several for name in one}
    cells = Counter((one.first, one.requested) for one in found)

    assert all(one.realised == one.requested and frozenset(one.policies) in sets[one.requested] for one in found)
    assert all(one.policies[0] == one.first for one in found)
    assert len(found) == (count if feasible else 0)
    if feasible:
        levels = Counter(one.requested for one in found)
        possible = {level for _, level in feasible}
        assert max(levels[level] for level in possible) - min(levels[level] for level in possible) <= 1
        for level in possible:
            firsts = [cells[cell] for cell in feasible if cell[1] == level]
            assert max(firsts) - min(firsts) <= 1
    used = Counter(frozenset(one.policies) for one in found)
    for one in found:
        if one.repeat:
            assert all(used[other] for other in sets[one.requested] if one.first in other)
    assert sum(one.repeat > 0 for one in found) == len(found) - len(used)


def test_rows_and_columns_have_their_share():
    """Each level and each first policy gets its share of the cells, rounded up or down."""
    net = random_graph(35, 0.9)

    found = sample(net, 200, 5, 10)

    levels = Counter(one.requested for one in found)
    firsts = Counter(one.first for one in found)
    assert max(levels.values()) - min(levels.values()) <= 1
    assert max(firsts.values()) - min(firsts.values()) <= 1


def test_the_next_policy_is_drawn_by_its_weight_with_all_before():
    """Two neighbours of weights 1 and 3 come in one to three, and one that excludes an earlier choice never."""
    net = graph([2, 3, 3], {(0, 1): 1, (0, 2): 3})
    chain = graph([1, 1, 1, 1], {(0, 1): 10, (1, 2): 10, (0, 3): 1, (1, 3): 1})

    drawn = Counter()
    for seed in range(400):
        # the first allocated cell alone decides, so that no set is taken yet
        one = sample(net, 1, 5, 5, seed=seed, cover=False)[0]
        if one.first == "p0":
            drawn[one.policies[1]] += 1
    threes = {frozenset(one.policies) for one in sample(chain, 30, 3, 3)}

    assert drawn["p2"] / sum(drawn.values()) == pytest.approx(0.75, abs=0.09)
    assert threes == {frozenset({"p0", "p1", "p3"})}


def test_a_second_sample_goes_on_behind_the_first():
    """Sets of an earlier sample are not given again, and ids go on."""
    net = graph([1, 1, 1, 1], dict.fromkeys(combinations(range(4), 2), 5))
    alone = graph([3], {})

    first = sample(net, 2, 2, 2)
    more = sample(net, 2, 2, 2, seed=1, taken=first)
    again = sample(alone, 1, 3, 3, taken=sample(alone, 1, 3, 3))

    together = [frozenset(one.policies) for one in (*first, *more)]
    assert len(set(together)) == 4
    assert [one.id for one in more] == ["c2-3", "c2-4"]
    assert again[0].repeat == 1


def test_levels_and_first_policies_are_even_over_a_batch():
    """Ten sets over six levels and thirty-five policies: no level twice more than another, no first policy twice."""
    net = random_graph(35, 1.0, seed=2)

    found = sample(net, 10, 5, 10, seed=4)

    levels = Counter(one.requested for one in found)
    assert set(levels.values()) == {1, 2}
    assert len({one.first for one in found}) == 10


def test_the_paper_s_walk_draws_neighbours_of_the_first_policy_until_nothing_is_left():
    """Algorithm 1 to the letter: the first policy is not drawn, weights decide, the last one may go beyond."""
    net = graph([1, 2, 2, 5], {(0, 1): 1, (0, 2): 3, (1, 3): 10})

    found = paper_sample(net, 600, 3, 3, seed=5)

    of_first = [one for one in found if one.first == "p0"]
    begins = Counter(one.policies[0] for one in of_first)
    assert {name for one in of_first for name in one.policies} == {"p1", "p2"}
    assert begins["p2"] / len(of_first) == pytest.approx(0.75, abs=0.09)
    assert Counter(one.first for one in found)["p3"] / 600 == pytest.approx(0.25, abs=0.06)
    assert all(one.realised == 2 for one in found if one.first == "p3")
    assert {one.realised for one in found if one.first == "p1"} > {5}
    assert "200 overshoot, 400 fall short" in overshoot(found, 3)
    assert found == paper_sample(net, 600, 3, 3, seed=5)
    assert paper_sample(graph([1], {}), 5, 1, 2) == ()


def test_policies_without_a_challenge_count_one_each():
    """Where no policy has a challenge, a level is a number of policies."""
    net = graph([None, None, None], dict.fromkeys(combinations(range(3), 2), 5))

    found = sample(net, 6, 1, 3)

    assert {len(one.policies) for one in found} == {1, 2, 3}
    assert all(one.realised == len(one.policies) for one in found)


def test_ways_of_walking_differ():
    """The highest weights alone give the tightest sets, even draws the loosest, weights something between."""
    net = random_graph(30, 1.0, seed=3)
    weight = {frozenset((edge.source, edge.target)): edge.weight for edge in net.edges}
    means = {}
    for walk in ("uniform", "weighted", "max"):
        sets = sample(net, 200, 6, 12, walk=walk, cover=False)
        pairs = [frozenset(pair) for one in sets for pair in combinations(one.policies, 2)]
        means[walk] = sum(weight[pair] for pair in pairs) / len(pairs)

    assert means["uniform"] + 0.5 < means["weighted"] < means["max"] - 0.5


def test_policies_and_likely_pairs_are_covered_first():
    """With coverage fewer sets reach every policy and every likely pair than without."""
    net = random_graph(30, 1.0, seed=1)
    likely = {tuple(sorted((edge.source, edge.target))) for edge in net.edges if edge.weight >= LIKELY}

    covering = sample(net, 60, 5, 10)
    free = sample(net, 60, 5, 10, cover=False)

    assert len(exercised(covering[:12])) > len(exercised(free[:12]))
    assert len(covered_pairs(covering) & likely) > 1.2 * len(covered_pairs(free) & likely)


@each(
    ("net", "levels"),
    [
        (graph([], {}), (1, 5)),
        (graph([3], {}), (4, 9)),
        (graph([2, 2], {(0, 1): 0}), (3, 4)),
        (graph([1, 1], {(0, 1): 5}), (50, 60)),
    ],
    ids=["no policies", "one policy", "all weights zero", "out of reach"],
)
def test_without_a_level_that_can_be_reached_there_are_no_sets(net, levels):
    """Where no policies add up to a level, nothing is sampled."""
    assert sample(net, 5, *levels) == ()


def test_one_policy_repeats_and_says_so():
    """One policy can only be sampled alone; repeats are counted."""
    found = sample(graph([3], {}), 4, 3, 3)

    assert [one.repeat for one in found] == [0, 1, 2, 3]


@each("wrong", [(-1, 1, 2), (3, 5, 4), (3, 0, 4)])
def test_senseless_numbers_are_refused(wrong):
    """A negative count, an empty range and a level below 1 are errors."""
    with pytest.raises(ValueError, match="need count"):
        sample(graph([1], {}), *wrong)


@pytest.mark.slow
def test_a_large_graph_takes_seconds_and_gives_the_same_again():
    """1,000 sets of 500 policies are drawn in seconds, the same for the same seed and others for another."""
    net = random_graph(500, 0.5)
    sparse = random_graph(500, 0.05)

    began = time.process_time()
    first = sample(net, 1000, 2, 11, seed=7)
    seconds = time.process_time() - began

    assert seconds < 10
    assert len(first) == 1000
    assert not any(one.repeat for one in first)
    found = sample(sparse, 250, 2, 11, seed=7)
    assert found == sample(sparse, 250, 2, 11, seed=7)
    assert found != sample(sparse, 250, 2, 11, seed=8)


def test_levels_that_take_too_long_are_left_out_and_the_rest_is_sampled():
    """Where it is hard to tell whether a level can be reached, it is left out instead of taking minutes."""
    net = random_graph(100, 0.5)

    found = sample(net, 50, 30, 45)

    assert len(found) == 50
    assert all(one.realised == one.requested for one in found)


@needs_shared
@pytest.mark.parametrize("name", ["airline_run_0_graph.json", "airline_run_1_graph.json"])
@pytest.mark.parametrize("levels", [(5, 10), (2, 11)])
def test_shipped_graphs_are_sampled_exactly(name, levels):
    """On the graphs that IntellAgent ships every set has the requested level and no pair that never meets."""
    net = of_foreign(read_intellagent(SHARED / "data" / "intellagent" / name).graph)
    weight = {frozenset((edge.source, edge.target)): edge.weight for edge in net.edges}

    found = sample(net, 200, *levels)

    assert all(one.realised == one.requested for one in found)
    assert all(weight[frozenset(pair)] > 0 for one in found for pair in combinations(one.policies, 2))
    assert exercised(found) == {policy.id for policy in net.policies}
