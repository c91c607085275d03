"""The policy graph: what policies share, models in blocks, and networkx."""

import json
from random import Random

import pytest

from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy, Extraction
from pytest_agentbench.generation.policies.extraction import PolicyDocument, extract
from pytest_agentbench.generation.policies.graph import (
    BLOCK,
    as_networkx,
    model_graph,
    shared_graph,
)
from tests.generation.policies.graphs import graph
from tests.tables import each
from tests.users.llm.chat import PlayedChat

DESK = """\
# Desk

Always be polite.

## Refunds

- Refund a parcel with `refund_parcel` only within 30 days.
- Pay by refund_parcel to the card in card_number of the parcel.

## Rooms

- Book by bookRoom for adults only, and check card_number.
- Cancel a meeting room at most one day before.
"""

TOOLS = (
    ToolSpec(name="refund_parcel", parameters={"type": "object", "properties": {"card_number": {"type": "string"}}}),
    ToolSpec(name="bookRoom"),
    ToolSpec(name="list_staff"),
)


def desk():
    """The graph of the document above."""
    return shared_graph(extract(PolicyDocument(text=DESK)), TOOLS)


def weight(net, one, other):
    """Give the weight of a pair."""
    return next(edge.weight for edge in net.edges if {edge.source, edge.target} == {one, other})


def test_policies_that_share_headings_tools_and_columns_weigh_more():
    """What a pair shares adds up and is named; rules for every conversation lie between."""
    net = desk()
    polite, refund, card, room, late = (policy.id for policy in net.policies)

    assert weight(net, refund, card) > weight(net, polite, refund) > weight(net, refund, room)
    assert weight(net, room, late) > weight(net, card, late)
    assert weight(net, card, room) > weight(net, refund, room)
    assert next(edge.via for edge in net.edges if {edge.source, edge.target} == {card, room}) == ("column card_number",)
    assert net.tools == {refund: ("refund_parcel",), card: ("refund_parcel",), room: ("bookRoom",)}
    assert all(0 < edge.weight <= 10 for edge in net.edges)


def test_tools_and_columns_of_rules_count():
    """A rule names what its policy is about, whatever the text says."""
    rule = {"before": {"calls": ["bookRoom"], "first": ["list_staff"], "same": ["card_number"]}}
    ruled = ExtractedPolicy(id="staff", text="Ask first.", rule=rule)
    named = ExtractedPolicy(id="card", text="Check it.", tools=("refund_parcel",))
    paid = ExtractedPolicy(
        id="paid", text="Pay it.", rule={"never": {"calls": ["refund_parcel"], "where": {"card_number": "x"}}}
    )
    net = shared_graph(Extraction(policies=(ruled, named, paid)), TOOLS)

    assert net.tools == {"staff": ("bookRoom", "list_staff"), "card": ("refund_parcel",), "paid": ("refund_parcel",)}
    assert {edge.target: edge.via for edge in net.edges if edge.source == "staff"} == {
        "card": (),
        "paid": ("column card_number",),
    }
    assert [edge.via for edge in net.edges if edge.source == "card"] == [("tool refund_parcel",)]


def test_networkx_has_challenges_and_no_zeros():
    """The graph as networkx has it leaves pairs out that never meet."""
    made = as_networkx(graph([2, 3, 1], {(0, 1): 4, (0, 2): 0}))

    assert made.nodes["p1"]["challenge"] == 3
    assert list(made.edges(data="weight")) == [("p0", "p1", 4)]


@each("text", ["", "Never lie."])
def test_tiny_documents_have_tiny_graphs(text):
    """No policy or one policy gives a graph without edges."""
    net = shared_graph(extract(PolicyDocument(text=text)))

    assert net.edges == ()


def rows(first, second, score):
    """Answer a block of pairs."""
    return json.dumps(
        {
            "rows": [
                {"number": one, "scores": [-1 if one == other else score(one, other) for other in second]}
                for one in first
            ]
        }
    )


async def test_a_model_scores_blocks_of_pairs():
    """Twenty policies take three questions instead of 190, and each pair has its score."""
    extraction = extract(PolicyDocument(text="\n".join(f"- Never sell item {chr(97 + at)}x{at}." for at in range(20))))
    blocks = [list(range(1, BLOCK + 1)), list(range(BLOCK + 1, 21))]
    chat = PlayedChat(
        *(
            rows(one, other, lambda left, right: (left + right) % 11)
            for one, other in ((blocks[0], blocks[0]), (blocks[0], blocks[1]), (blocks[1], blocks[1]))
        )
    )

    net = await model_graph(extraction, chat, Random(0))

    assert len(chat.asked) == 3
    assert len(net.edges) == 190
    assert weight(net, net.policies[0].id, net.policies[19].id) == 21 % 11


async def test_a_model_that_scores_wrongly_is_corrected_once_and_then_refused():
    """Missing rows, missing scores and scores beyond 10 are told to the model once."""
    extraction = extract(PolicyDocument(text="- Never lie.\n- Never steal.\n"))
    right = rows([1, 2], [1, 2], lambda *_: 7)

    chat = PlayedChat(rows([1, 2], [1, 2], lambda *_: 70), right)
    net = await model_graph(extraction, chat, Random(0))

    assert weight(net, net.policies[0].id, net.policies[1].id) == 7
    assert "70 is not 0 to 10" in chat.asked[1][-1]["content"]
    wrong = PlayedChat(*[rows([1], [1, 2], lambda *_: 1)] * 2)
    with pytest.raises(UnusableAnswerError, match="refused twice"):
        await model_graph(extraction, wrong, Random(0))
