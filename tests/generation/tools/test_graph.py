"""The taxonomy and the graph: rules, policies, other kinds of agents, and what is drawn of them."""

import re
from typing import Any

import networkx
import pytest

from pytest_agentbench.generation.tools.data_types import (
    END_OF_SIMULATION,
    RUN_CONVERSATION,
    Card,
    Cards,
    Flow,
    Graph,
    ParameterCard,
    Place,
    Probe,
    SemanticType,
)
from pytest_agentbench.generation.tools.graph.graph import build_graph, to_networkx
from pytest_agentbench.generation.tools.graph.taxonomy import MOST, build_taxonomy, mended
from tests.generation.tools.probed import NAMES, cards_of
from tests.tables import each


def row_sums(graph: Graph) -> dict[str, float]:
    """The sum of each node's outgoing weights."""
    sums: dict[str, float] = {}
    for edge in graph.edges:
        sums[edge.source] = sums.get(edge.source, 0.0) + edge.weight
    return sums


def flow(source: str, target: str, path: str = "order_id") -> Flow:
    """A value that `source` gave and `target` took."""
    return Flow(source=source, source_path=path, target=target, target_path=path, values=("W1",), refused=("W9",))


def cards(*tools: str, flows: tuple[Flow, ...] = (), content: str = '{"x": 1}') -> Cards:
    """Cards of tools that work."""
    probe = Probe(kind="nominal", arguments={}, content=content)
    made = tuple(Card(tool=tool, probes=(probe,), parameters=(ParameterCard(path="order_id"),)) for tool in tools)
    return Cards(cards=made, flows=flows)


def graph(given: Cards, **options: Any) -> Graph:
    """The graph of cards."""
    return build_graph(given, build_taxonomy(given), **options)


@each("service", NAMES)
def test_a_taxonomy_keeps_the_rules(service: str) -> None:
    """Ids are concepts in ASCII snake_case, parents a forest, and no tool has more than six types."""
    given = cards_of(service)
    tools = [card.tool for card in given.cards]

    taxonomy = build_taxonomy(given)

    assert mended(taxonomy.types, tools)[1] == ()
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", one.id) for one in taxonomy.types)
    for tool in tools:
        mine = [one for one in taxonomy.types if tool in {place.tool for place in (*one.produced, *one.consumed)}]
        assert 1 <= len(mine) <= max(MOST, sum(one.is_connector for one in mine))
    assert all(one.evidence for one in taxonomy.types if one.is_connector)


def test_types_that_break_the_rules_are_mended_and_it_is_said() -> None:
    """Names of tools, foreign letters, circles, lost parents, double ids and unknown tools."""
    types = [
        SemanticType(id="get_order", produced=(Place(tool="get_order", path="id"),)),
        SemanticType(id="Coordonnées GPS", parent="b", consumed=(Place(tool="get_order", path="x"),)),
        SemanticType(id="a", parent="b", consumed=(Place(tool="get_order", path="y"),)),
        SemanticType(id="b", parent="a", consumed=(Place(tool="nowhere", path="z"), Place(tool="get_order", path="w"))),
        SemanticType(id="a", parent="gone", produced=(Place(tool="get_order", path="v"),)),
    ]

    taxonomy, changes = mended(types, ["get_order"])

    assert mended(taxonomy.types, ["get_order"])[1] == ()
    assert {one.id for one in taxonomy.types} == {"get_order_value", "coordonnee_gps", "a", "b"}
    assert len(changes) >= 4


def test_more_than_six_types_of_a_tool_are_too_many_unless_they_connect() -> None:
    """What connects nothing leaves first."""
    idle = [SemanticType(id=f"t{n}", consumed=(Place(tool="a", path=f"p{n}"),)) for n in range(9)]
    link = SemanticType(id="link", consumed=(Place(tool="a", path="l"),), produced=(Place(tool="b", path="l"),))

    taxonomy, _ = mended([*idle, link], ["a", "b"])

    assert len(taxonomy.types) == MOST
    assert "link" in {one.id for one in taxonomy.types}


def test_every_tool_is_reached_from_the_user_and_leads_back() -> None:
    """The user's turn is a wildcard, and only it leads to the end."""
    made = graph(cards("a", "b", flows=(flow("a", "b"),)))

    pairs = {(edge.source, edge.target) for edge in made.edges}
    assert pairs == {
        (RUN_CONVERSATION, "a"), (RUN_CONVERSATION, "b"), (RUN_CONVERSATION, END_OF_SIMULATION),
        ("a", RUN_CONVERSATION), ("b", RUN_CONVERSATION), ("a", "b"),
    }  # fmt: skip
    assert [edge.via for edge in made.edges if edge.via] == [("order_id",)]
    assert all(total == pytest.approx(1) for total in row_sums(made).values())


def test_closing_tools_lead_to_the_end_and_nowhere_else() -> None:
    """A hand-over ends the conversation."""
    made = graph(cards("a", "transfer_to_human_agents", flows=(flow("transfer_to_human_agents", "a"),)))

    assert made.closing == ("transfer_to_human_agents",)
    assert {edge.target for edge in made.edges if edge.source == "transfer_to_human_agents"} == {END_OF_SIMULATION}


def test_results_that_must_be_read_lead_everywhere() -> None:
    """A tool that answers questions with long prose is a wildcard, as retrieval is."""
    prose = "The order may be sent back within thirty days of its arrival, unless it was opened. " * 6
    asked = cards("search_handbook", "b", content=prose)
    question = asked.cards[0].model_copy(update={"parameters": (ParameterCard(path="query"),)})
    found = graph(Cards(cards=(question, asked.cards[1])))

    assert found.wildcards == ("search_handbook",)
    assert ("search_handbook", "b") in {(edge.source, edge.target) for edge in found.edges}


def test_self_loops_are_left_out() -> None:
    """A tool that takes what it gives is paging at best."""
    given = cards("a", "b", flows=(flow("a", "a"), flow("b", "a")))

    assert ("a", "a") not in {(edge.source, edge.target) for edge in graph(given).edges}


def test_an_agent_of_one_turn_ends_after_its_calls() -> None:
    """Without further turns of the user, each call may be the last."""
    made = graph(cards("a", "b", flows=(flow("a", "b"),)), react=True)

    assert not [edge for edge in made.edges if edge.target == RUN_CONVERSATION]
    assert {edge.source for edge in made.edges if edge.target == END_OF_SIMULATION} == {"a", "b"}


def test_an_agent_in_the_place_of_a_tool_is_entered_and_left_as_one() -> None:
    """What leads to the agent leads to its tools; a turn that it took over goes on with them, or ends."""
    flows = (flow("a", "x"), flow("x", "y"), flow("y", "b"), flow("y", "z"), flow("b", "a"))
    agents = {"x": "desk", "y": "desk", "z": "bank"}

    made = graph(cards("a", "b", "x", "y", "z", flows=flows), agents=agents)

    pairs = {(edge.source, edge.target) for edge in made.edges}
    assert {(RUN_CONVERSATION, "x"), ("a", "x"), ("x", "y"), ("b", "a"), ("y", RUN_CONVERSATION)} <= pairs
    assert pairs.isdisjoint({("y", "a"), ("y", "b"), ("y", "z")})
    assert made.agents == agents
    assert all(total == pytest.approx(1) for total in row_sums(made).values())


def test_tools_that_never_worked_are_in_no_walk() -> None:
    """A tool of which no call was accepted is left out of the graph."""
    broken = Card(tool="broken", probes=(Probe(kind="nominal", arguments={}, verdict="broken"),))

    assert graph(Cards(cards=(broken, *cards("a").cards))).tools == ("a",)


def test_the_graph_is_a_networkx_graph_too() -> None:
    """Nodes have kinds, edges their weights; the end can be reached from everywhere."""
    made = to_networkx(graph(cards_of("tickets")))

    assert made.nodes[RUN_CONVERSATION]["kind"] == "user"
    assert all(networkx.has_path(made, node, END_OF_SIMULATION) for node in made.nodes)
    assert all(0 < data["weight"] <= 1 for _, _, data in made.edges(data=True))
