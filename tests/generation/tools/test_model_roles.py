"""A model as prober, taxonomist and weigher over a real connection: it does well, and it does badly."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.generation.tools.graph import build_graph, connector_edges
from pytest_agentbench.generation.tools.probing import probe
from pytest_agentbench.generation.tools.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.taxonomy_llm import typed_by_model
from pytest_agentbench.generation.tools.typing_rules import faults
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION
from pytest_agentbench.generation.tools.weights import row_sums
from pytest_agentbench.generation.tools.weights_llm import rows_from_logprobs, walked_by_model, weighed_by_model
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.testing import ModelRequest, ModelServer
from tests.generation.tools.probed import card, cards_of, written

T = TypeVar("T")


def asked(script: Callable[[ModelRequest], str], scene: Callable[[Chat], Awaitable[T]]) -> tuple[T, list[ModelRequest]]:
    """Play a scene with a model that follows `script`; give its outcome and what was asked."""

    async def play(base_url: str) -> T:
        models = Models(environ={})
        spec = ModelSpec(model="m", base_url=base_url, retries=0)
        try:
            return await scene(models.chat(spec, Caller(role="taxonomist")))
        finally:
            await models.close()

    with ModelServer(script) as server:
        return asyncio.run(play(server.base_url)), server.requests


def given(request: ModelRequest) -> Any:
    """The record that a request holds between its delimiters."""
    text = str(request.messages[1]["content"])
    return json.loads(text[text.index("\n") : text.rindex("\nEND ")])


def test_a_good_taxonomist_names_types_and_evidence_stays() -> None:
    """Its names are taken; what was observed is in the taxonomy whatever it leaves out."""
    cards = cards_of("tickets")
    proven = {(edge.source, edge.target) for edge in connector_edges(build_graph(cards, build_taxonomy(cards)))}
    types = [
        {
            "id": "support_case",
            "parent": "",
            "consumed": ["close_ticket: ticket_id"],
            "produced": ["list_tickets: *.ref"],
        },
        {"id": "note_text", "parent": "", "consumed": ["close_ticket: note"], "produced": []},
    ]

    taxonomy, requests = asked(
        lambda _: json.dumps({"types": types}), lambda chat: typed_by_model(chat, cards, Random(1))
    )

    made = build_graph(cards, taxonomy)
    assert len(requests) == 1
    assert {"support_case", "note_text"} <= {one.id for one in taxonomy.types}
    assert {(edge.source, edge.target) for edge in connector_edges(made)} >= proven


def test_a_bad_taxonomist_is_told_once_and_then_mended() -> None:
    """Names of tools, foreign letters, circles and places that no card has: told, mended or left out."""
    cards = cards_of("tickets")
    tools = [one.tool for one in cards.cards]
    types = [
        {"id": "close_ticket", "parent": "", "consumed": ["close_ticket: ticket_id"], "produced": []},
        {"id": "Numéro", "parent": "b", "consumed": ["close_ticket: nothing", "nowhere: x"], "produced": []},
        {"id": "b", "parent": "b", "consumed": ["create_ticket: title"], "produced": ["create_ticket: "]},
    ]
    heard: list[str] = []

    taxonomy, requests = asked(
        lambda _: json.dumps({"types": types}),
        lambda chat: typed_by_model(chat, cards, Random(1), told=heard.append),
    )

    assert len(requests) == 2
    assert "is the name of a tool" in requests[1].last
    assert faults(taxonomy, tools) == []
    assert any("which no card has" in line for line in heard)


def test_shares_weigh_and_nonsense_leaves_a_row_uniform() -> None:
    """Each node is asked about once; unknown names, negative shares and rows without any are passed over."""
    cards = cards_of("tickets")
    graph = build_graph(cards, build_taxonomy(cards))

    def shares(request: ModelRequest) -> str:
        record = given(request)
        if record["node"] == RUN_CONVERSATION:
            rows = [{"node": "find_person", "share": 90}, {"node": END_OF_SIMULATION, "share": 10}]
        else:
            rows = [{"node": "nowhere", "share": 50}, {"node": RUN_CONVERSATION, "share": -5}]
        return json.dumps({"shares": rows})

    heard: list[str] = []
    weighed, _ = asked(shares, lambda chat: weighed_by_model(chat, graph, cards, Random(1), told=heard.append))

    first = {edge.target: edge.weight for edge in weighed.edges if edge.source == RUN_CONVERSATION}
    assert first["find_person"] > 0.8
    assert min(first.values()) > 0
    assert all(total == pytest.approx(1) for total in row_sums(weighed).values())
    assert any("'nowhere' cannot follow" in line for line in heard)


def test_walks_are_counted_and_impossible_ones_refused() -> None:
    """A hundred walks in ten questions; steps that are no edge do not count."""
    cards = cards_of("tickets")
    graph = build_graph(cards, build_taxonomy(cards))
    good = [RUN_CONVERSATION, "find_person", "get_person", RUN_CONVERSATION, END_OF_SIMULATION]
    bad = [RUN_CONVERSATION, "find_person", "close_ticket", RUN_CONVERSATION, END_OF_SIMULATION]
    heard: list[str] = []

    walked, requests = asked(
        lambda _: json.dumps({"walks": [good] * 9 + [bad]}),
        lambda chat: walked_by_model(chat, graph, cards, Random(1), told=heard.append),
    )

    weights = {(edge.source, edge.target): edge.weight for edge in walked.edges}
    assert weights["find_person", "get_person"] > 0.9
    assert len(requests) == 12
    assert heard[-1] == "weights: 100 of 100 walks were usable"
    assert any("which is no edge" in line for line in heard)


def test_logprobs_of_a_numbered_choice_are_shares() -> None:
    """Numbers count, other tokens do not, and what is not among the likeliest gets the least of them."""
    rows = rows_from_logprobs({"a": ["x", "y", "z"]}, {"a": {"1": -0.1, " 2": -2.5, "The": -3.0, "9": -4.0}})

    assert rows["a"]["x"] > rows["a"]["y"] == rows["a"]["z"] > 0
    assert rows_from_logprobs({"a": ["x"]}, {}) == {}


def test_a_model_proposes_probes_and_policy_and_budget_bound_them(tmp_path: Path) -> None:
    """What it proposes is called and judged like the rest; nonsense is passed over; what may not be called is not."""
    tools = """
def get_secret(word: str) -> str:
    "Get what lies behind a word."
    if word != "xyzzy":
        raise ValueError("unknown word")
    return "a lamp"

def drop_all(word: str) -> str:
    "Drop everything."
    raise AssertionError
"""

    def proposals(request: ModelRequest) -> str:
        calls = [
            {"question": "the known word", "arguments": '{"word": "xyzzy"}'},
            {"question": "none", "arguments": "not json"},
        ]
        return json.dumps({"calls": calls})

    cards, requests = asked(proposals, lambda chat: probe(written(tmp_path, tools), seed=1, chat=chat))

    secret = card(cards, "get_secret")
    assert [one.verdict for one in secret.probes if one.kind == "proposed"] == ["ok"]
    assert secret.partial == ""
    assert card(cards, "drop_all").probes == ()
    assert all("drop_all" not in re.sub(r"\s", "", one.system) for one in requests)
