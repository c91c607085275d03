"""Maximum matching against brute force."""

from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.matching import match_calls
from pytest_agentbench.checks.maximum_matching import fit_in_order, maximum_matching
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import CallRecord

graphs = st.integers(0, 5).flatmap(
    lambda right: st.lists(st.lists(st.integers(0, max(right - 1, 0)), unique=True, max_size=right), max_size=5).map(
        lambda rows: (rows, right)
    )
)


def most_pairs(edges: list[list[int]], right: int) -> int:
    """The size of the largest matching, by trying all."""
    for size in range(min(len(edges), right), 0, -1):
        for lefts in combinations(range(len(edges)), size):
            if any(
                all(r in edges[left] for left, r in zip(lefts, rights, strict=True))
                for rights in permutations(range(right), size)
            ):
                return size
    return 0


@given(graphs)
def test_no_matching_is_larger(graph: tuple[list[list[int]], int]) -> None:
    """The matching uses edges only, each node once, and is as large as any."""
    edges, right = graph
    found = maximum_matching([edges])
    assert all(place in edges[left] for left, place in found.items())
    assert len(set(found.values())) == len(found) == most_pairs(edges, right)


@given(graphs, st.sets(st.integers(0, 4)))
def test_preferred_partners_are_used_as_often_as_possible(
    graph: tuple[list[list[int]], int], preferred: set[int]
) -> None:
    """An earlier stage's right nodes appear as often as they could alone, without costing size."""
    edges, right = graph
    first = [[place for place in row if place in preferred] for row in edges]
    found = maximum_matching([first, edges])
    assert len(found) == most_pairs(edges, right)
    assert sum(place in preferred for place in found.values()) >= most_pairs(first, right)


@given(graphs)
def test_all_fit_in_order_where_some_ordered_pairing_holds_all(graph: tuple[list[list[int]], int]) -> None:
    """Nodes fit in order just where some ascending choice of right nodes pairs each of them."""
    edges, right = graph
    ways = combinations(range(right), len(edges))
    assert fit_in_order(edges) == any(all(r in row for row, r in zip(edges, chosen, strict=True)) for chosen in ways)


names = st.sampled_from(["a", "b"])
arguments = st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 1), max_size=2)


@given(
    st.lists(st.tuples(names, arguments), max_size=5), st.lists(st.tuples(names, arguments), max_size=6), st.randoms()
)
def test_recall_does_not_depend_on_order(
    expected: list[tuple[str, dict[str, int]]], made: list[tuple[str, dict[str, int]]], random: object
) -> None:
    """Shuffling the expected calls and the calls made changes no recall, and strict never exceeds name."""
    wants = [ExpectedCall(name=name, arguments=given) for name, given in expected]
    records = [
        CallRecord(call=ToolCall(name=name, arguments=given), message=index, turn=1)
        for index, (name, given) in enumerate(made)
    ]
    before = match_calls(wants, records)
    random.shuffle(wants)
    random.shuffle(records)
    after = match_calls(wants, records)
    assert (before.name_recall, before.strict_recall) == (after.name_recall, after.strict_recall)
    assert len(before.strict) <= len(before.named) <= min(len(wants), len(records))
