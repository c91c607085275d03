"""Walks: lengths, classes, coverage first, no duplicates, the same seed the same walks, linear time."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Edge, Graph
from pytest_agentbench.generation.tools.walks.coverage import coverage
from pytest_agentbench.generation.tools.walks.walk_sampling import (
    Sampler,
    Shape,
    best_of,
    calls_of,
    class_of,
    sample,
    turns_of,
)


def graph_of(tools: int, steps: tuple[tuple[int, int], ...] = (), weight: float = 0.001) -> Graph:
    """A graph in which every tool is reached from the user; steps between tools are improbable."""
    names = [f"tool{n}" for n in range(tools)]
    edges = [Edge(source=RUN_CONVERSATION, target=END_OF_SIMULATION, weight=0.5)]
    for name in names:
        edges += [
            Edge(source=RUN_CONVERSATION, target=name, weight=1.0),
            Edge(source=name, target=RUN_CONVERSATION, weight=1.0),
        ]
    edges += [Edge(source=names[a], target=names[b], via=("thing",), weight=weight) for a, b in steps]
    return Graph(tools=tuple(names), edges=tuple(edges))


RING = graph_of(5, ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0)))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_every_walk_is_a_path_of_the_asked_length_and_none_comes_twice(seed: int, tools: int) -> None:
    """Each step of a walk is an edge; walks have 6 to 25 nodes, begin with the user and end with the end."""
    graph = graph_of(tools, tuple((n, (n + 1) % tools) for n in range(tools)))
    steps = {(edge.source, edge.target) for edge in graph.edges}

    walks = sample(graph, 30, seed=seed)

    assert len({walk.nodes for walk in walks}) == len(walks) == 30
    for walk in walks:
        assert 6 <= len(walk.nodes) <= 25
        assert walk.nodes[0] == RUN_CONVERSATION
        assert walk.nodes[-1] == END_OF_SIMULATION
        assert set(zip(walk.nodes, walk.nodes[1:], strict=False)) <= steps


def test_what_is_improbable_is_covered_all_the_same() -> None:
    """Every tool and every edge is covered, however small its weight."""
    rows = {row.what: row for row in coverage(RING, sample(RING, 30, seed=1))}

    assert {what: row.covered for what, row in rows.items()} == {what: row.total for what, row in rows.items()}
    assert rows["edges"].total == 5


def test_the_classes_come_in_the_asked_shares() -> None:
    """Simple walks make 2 to 4 calls, complex ones 5 to 13."""
    walks = sample(RING, 40, Shape(shares={"simple": 0.25, "complex": 0.75}), seed=1)

    assert Counter(map(class_of, walks)) == {"simple": 10, "complex": 30}
    assert {len(calls_of(walk)) for walk in walks} <= set(range(2, 14))


def test_the_same_seed_gives_the_same_walks() -> None:
    """Walks follow from the seed."""
    assert sample(RING, 20, seed=5) == sample(RING, 20, seed=5)
    assert sample(RING, 20, seed=5) != sample(RING, 20, seed=6)


def test_no_walk_calls_a_tool_more_often_than_it_has_verified_calls() -> None:
    """A tool with one verified call is called once at most, one with none never."""
    shape = Shape(capacity={"tool0": 0, "tool1": 1})

    walks = sample(RING, 30, shape, seed=2)

    assert all("tool0" not in walk.nodes and walk.nodes.count("tool1") <= 1 for walk in walks)


def test_a_closed_edge_is_not_taken() -> None:
    """What was rehearsed in vain is left out of walks, and told with its reason."""
    walks = sample(RING, 30, Shape(closed=frozenset({("tool0", "tool1")})), seed=2)

    rows = coverage(RING, walks, {"tool0 -> tool1": "tried in vain: nothing to hand on"})

    assert all(("tool0", "tool1") not in zip(walk.nodes, walk.nodes[1:], strict=False) for walk in walks)
    assert ("tool0 -> tool1", "tried in vain: nothing to hand on") in rows[1].missing


def test_a_tool_that_no_walk_can_hold_counts_as_not_covered() -> None:
    """A tool without a verified call is in no graph, and missing all the same, with its reason."""
    walks = sample(RING, 30, seed=2)
    tools = len(RING.tools)

    rows = coverage(RING, walks, {"broken": "nothing was accepted"}, offered=[*RING.tools, "broken"])

    assert (rows[0].covered, rows[0].total) == (tools, tools + 1)
    assert rows[0].missing == (("broken", "nothing was accepted"),)


def test_a_walk_that_the_world_bears_in_part_ends_earlier() -> None:
    """Its first turns stay, and no later walk is the same; one call alone is no walk."""
    sampler = Sampler(RING, Shape(shortest=3), seed=4)
    walks = [walk for _ in range(30) if (walk := sampler.draw()) is not None]
    long = next(walk for walk in walks if len(calls_of(walk)) > 7 and walk.nodes.count(RUN_CONVERSATION) > 3)
    turns = len(turns_of(long)) - 1

    cut = sampler.shortened(long, turns)

    assert cut is not None
    assert long.nodes[: len(cut.nodes) - 2] == cut.nodes[:-2]
    assert cut.nodes[-2:] == (RUN_CONVERSATION, END_OF_SIMULATION)
    assert turns_of(cut) == turns_of(long)[:turns]
    assert sampler.shortened(long, turns) is None
    assert sampler.shortened(long, 0) is None


def test_a_lost_walk_opens_what_it_covered_again() -> None:
    """After a walk was lost, what it alone covered is aimed at once more."""
    sampler = Sampler(RING, Shape(), seed=4)
    walks = [walk for _ in range(30) if (walk := sampler.draw()) is not None]
    last = next(walk for walk in walks if "tool3" in walk.nodes and "tool4" in walk.nodes)

    sampler.lost(last)
    following = sampler.draw()

    assert following is not None
    assert class_of(following) == class_of(last)


def test_one_tool_gives_few_walks_and_no_endless_search() -> None:
    """A graph of one tool has as many walks as it has numbers of calls."""
    walks = sample(graph_of(1), 50, Shape(capacity={"tool0": 6}), seed=1)

    assert sorted(len(calls_of(walk)) for walk in walks) == [2, 3, 4, 5, 6]


def test_a_graph_without_tools_gives_no_walk() -> None:
    """Nothing is drawn where nothing can be called."""
    assert sample(Graph(), 5) == ()


def test_closing_tools_end_the_conversation() -> None:
    """A tool that closes is the last call of a walk."""
    base = graph_of(3)
    closing = Edge(source="tool2", target=END_OF_SIMULATION, weight=1.0)
    graph = base.model_copy(update={"edges": (*base.edges, closing), "closing": ("tool2",)})

    walks = sample(graph, 30, seed=1)

    with_closing = [walk for walk in walks if "tool2" in walk.nodes]
    assert with_closing
    assert all(walk.nodes[-2:] == ("tool2", END_OF_SIMULATION) for walk in with_closing)


def test_planned_failures_are_a_share_of_walks_at_a_turn_of_its_own() -> None:
    """A failure is planned for a tool that has one, on a call that nothing follows in the same turn."""
    walks = sample(RING, 40, Shape(enriched=0.25, plannable={"tool1": "failure", "tool2": "failure"}), seed=1)

    planned = [walk for walk in walks if walk.enriched]
    assert 5 <= len(planned) <= 10
    for walk in planned:
        place = int(walk.enriched.partition(":")[0])
        assert walk.nodes[place] in ("tool1", "tool2")
        assert walk.nodes[place - 1] == walk.nodes[place + 1] == RUN_CONVERSATION


def test_a_judges_scores_do_not_cost_coverage() -> None:
    """Of many walks those with the best scores are kept, and with them all that they cover together."""
    walks = sample(RING, 60, seed=1)
    scores = [1.0 if "tool4" in walk.nodes else 5.0 for walk in walks]

    chosen = best_of(walks, scores, 20)

    before, after = coverage(RING, walks), coverage(RING, chosen)
    assert len(chosen) == 20
    assert [row.covered for row in after[:2]] == [row.covered for row in before[:2]]


def test_a_step_that_failed_is_not_taken_after_the_same_calls() -> None:
    """A contract that was closed is not prolonged; before that it is."""
    sampler = Sampler(RING, Shape(), seed=1)
    sampler.bar({"tool0": 1}, (RUN_CONVERSATION, "tool3"))

    turns = [turns_of(walk) for _ in range(40) if (walk := sampler.draw()) is not None]

    begins = [(place, several) for several in turns for place, turn in enumerate(several) if turn[0] == "tool3"]
    assert begins
    assert all("tool0" not in call for place, several in begins for call in several[:place])
