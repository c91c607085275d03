"""The policy graph: what policies share, models in blocks, real conversations, earlier results, and drawings."""

import json
from random import Random

import pytest

from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.run import PolicyOutcome
from pytest_agentbench.core.tool import ToolCall, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.generation.drawing import draw
from pytest_agentbench.generation.policies.extraction import PolicyDocument, extract
from pytest_agentbench.generation.policies.graph import (
    BLOCK,
    GraphInput,
    as_networkx,
    drawing_of,
    learn_weights,
    model_graph,
    policies_of_results,
    policies_of_transcripts,
    reestimate_challenges,
    shared_graph,
)
from pytest_agentbench.generation.policies.values import ExtractedPolicy, Extraction
from tests.generation.policies.graphs import graph
from tests.results.make import result
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
    return shared_graph(GraphInput(extraction=extract(PolicyDocument(text=DESK)), tools=TOOLS))


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
    net = shared_graph(GraphInput(extraction=Extraction(policies=(ruled, named, paid)), tools=TOOLS))

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
    net = shared_graph(GraphInput(extraction=extract(PolicyDocument(text=text))))

    assert net.edges == ()
    assert draw(drawing_of(net), "mermaid").startswith("flowchart")


@each("language", ["dot", "mermaid"])
def test_drawings_keep_hostile_labels_inside_their_quotes(language):
    """A policy cannot end its label and add nodes, and equal graphs are drawn alike."""
    net = shared_graph(GraphInput(extraction=extract(PolicyDocument(text='Never say "]; evil [label="x\\" -- `end`.'))))

    text = draw(drawing_of(net), language)

    assert text == draw(drawing_of(net), language)
    assert sum(line.lstrip().startswith("n0") for line in text.splitlines()) == 1
    unescaped = text.replace("\\\\", "").replace('\\"', "")
    assert unescaped.count('"]') == (2 if language == "mermaid" else 1)


def test_conversations_correct_weights_without_making_anything_impossible():
    """Pairs seen together gain, pairs seen apart lose, both the more the more is seen; nothing unseen becomes zero."""
    net = graph([1, 1, 1], {(0, 1): 4, (0, 2): 4, (1, 2): 4})

    few = learn_weights(net, [("p0", "p1")] * 3)
    many = learn_weights(net, [("p0", "p1"), ("p0", "p1", "unknown")] * 30 + [("p2",)] * 60)

    assert 4 < weight(few, "p0", "p1") < weight(many, "p0", "p1") < 10
    assert 0 < weight(many, "p0", "p2") < 4
    assert weight(few, "p0", "p2") == 4


def test_transcripts_tell_policies_by_tools():
    """A conversation is about a policy when its tool is called."""
    net = desk()
    talk = Transcript(
        messages=(
            Message(role="user", content="I want a meeting room"),
            Message(role="assistant", tool_calls=(ToolCall(id="1", name="bookRoom"),)),
            Message(role="tool", content="booked", tool_call_id="1"),
        )
    )

    (found,) = policies_of_transcripts(net, [talk])

    assert found == (net.policies[3].id,)


def test_challenges_follow_failures_as_far_as_runs_tell():
    """A rule that is always broken becomes hard, one that is always kept easy, one never exercised stays."""
    net = graph([3, 3, 3], {})
    outcomes = (
        PolicyOutcome(policy="p0", exercised=True, kept=False),
        PolicyOutcome(policy="p1", exercised=True, kept=True),
        PolicyOutcome(policy="p2", exercised=False),
    )
    runs = [result(f"s{number}", "failed", policies=outcomes) for number in range(30)]
    spoilt = [result("x", "error", "environment", policies=outcomes[:1])] * 100

    found = reestimate_challenges(net, [*runs, *spoilt])

    assert [policy.challenge for policy in found.policies] == [5, 1, 3]
    assert [policy.challenge for policy in reestimate_challenges(net, runs[:1]).policies] == [4, 3, 3]
    assert policies_of_results(runs[:1]) == [("p0", "p1")]


def test_runs_that_count_nowhere_teach_no_weights():
    """Pending ones, those that others spoilt and those that were not run say nothing of conversations."""
    outcomes = tuple(PolicyOutcome(policy=name, exercised=True, kept=True) for name in ("p0", "p1"))
    counted = result("a", "passed", policies=outcomes)
    others = [
        result("b", "passed", policies=outcomes, pending=True),
        result("c", "error", "environment", policies=outcomes),
        result("d", "passed", policies=outcomes, not_run="the budget is spent"),
    ]

    assert policies_of_results([counted, *others]) == [("p0", "p1")]


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

    net = await model_graph(GraphInput(extraction=extraction), chat, Random(0))

    assert len(chat.asked) == 3
    assert len(net.edges) == 190
    assert weight(net, net.policies[0].id, net.policies[19].id) == 21 % 11


async def test_a_model_that_scores_wrongly_is_corrected_once_and_then_refused():
    """Missing rows, missing scores and scores beyond 10 are told to the model once."""
    extraction = extract(PolicyDocument(text="- Never lie.\n- Never steal.\n"))
    right = rows([1, 2], [1, 2], lambda *_: 7)

    chat = PlayedChat(rows([1, 2], [1, 2], lambda *_: 70), right)
    net = await model_graph(GraphInput(extraction=extraction), chat, Random(0))

    assert weight(net, net.policies[0].id, net.policies[1].id) == 7
    assert "70 is not 0 to 10" in chat.asked[1][-1]["content"]
    wrong = PlayedChat(*[rows([1], [1, 2], lambda *_: 1)] * 2)
    with pytest.raises(UnusableAnswerError, match="refused twice"):
        await model_graph(GraphInput(extraction=extraction), wrong, Random(0))
