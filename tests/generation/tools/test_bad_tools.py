"""Tools that hang, crash, flood, lie or cannot be told apart: a clear card or error, and never a hang."""

import time
from pathlib import Path
from typing import Any

from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.generation.tools.data_types import Cards
from pytest_agentbench.generation.tools.graph.graph import build_graph
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.probing.schemas import slots_of
from pytest_agentbench.generation.tools.probing.session import Budget
from tests.generation.tools.probed import card, probed, written


def test_a_tool_that_hangs_is_left_alone_and_the_others_are_not(tmp_path: Path) -> None:
    """Two calls that do not end within the patience of the environment are enough."""
    tools = """
import time

def get_stuck(name: str) -> str:
    "Get nothing, ever."
    time.sleep(60)

def get_word() -> str:
    "Get a word."
    return "yes"
"""
    began = time.monotonic()

    cards = probed(written(tmp_path, tools, patience=0.1))

    assert time.monotonic() - began < 60  # one call alone would take as long
    assert "no answer within 0.1 s" in card(cards, "get_stuck").partial
    assert len(card(cards, "get_stuck").probes) == 2
    assert card(cards, "get_word").partial == ""


def test_a_tool_that_ends_the_process_is_broken(tmp_path: Path) -> None:
    """An exit ends neither probing nor the other tools."""
    tools = """
import sys

def get_out() -> str:
    "Get out."
    sys.exit(3)

def get_word() -> str:
    "Get a word."
    return "yes"
"""

    cards = probed(written(tmp_path, tools))

    assert "calls end the run" in card(cards, "get_out").partial
    assert card(cards, "get_word").partial == ""


def test_a_huge_result_is_cut_off(tmp_path: Path) -> None:
    """Five megabytes take no five megabytes of a card, and no minute."""
    tools = """
def get_flood(size: int = 5) -> list:
    "Get a flood."
    return [{"id": f"row-{n}", "text": "x" * 900} for n in range(5600)]
"""
    began = time.process_time()

    cards = probed(written(tmp_path, tools), budget=Budget(nominal=1, challenges=2, observed=1, effects=1))

    assert time.process_time() - began < 30  # CPU seconds: it takes 3, and what else runs here does not count
    assert all(len(probe.content) < 10_000 for probe in card(cards, "get_flood").probes)
    assert "characters)" in card(cards, "get_flood").probes[0].content


def test_what_is_no_json_is_read_as_it_is(tmp_path: Path) -> None:
    """Binary-looking text, Python literals and broken JSON are answers."""
    tools = r"""
def get_odd(kind: str = "a") -> str:
    "Get something odd."
    return {"a": "\x00\ud800{]", "b": "{'row': [1, (2, 3)]}", "c": '{"cut": '}.get(kind, "")
"""

    cards = probed(written(tmp_path, tools))

    assert card(cards, "get_odd").partial == ""


def test_a_schema_that_refers_to_itself_ends() -> None:
    """Recursive references are followed as deep as arguments are probed."""
    node = {"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/node"}}}
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    loop = {"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}}

    slots = slots_of(ToolSpec(name="walk", parameters=schema))

    assert slots[0].path == "root.name"
    assert 1 < len(slots) < 10
    assert slots_of(ToolSpec(name="loop", parameters=loop))[0].type == "any"


def test_schemas_that_are_none_are_no_reason_to_stop() -> None:
    """Whatever stands where a schema should be, a tool has arguments or it has none."""
    odd: list[dict[str, Any]] = [
        {},
        {"type": "object", "properties": {"a": True, "b": None, "c": 5}},
        {"properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": []}, "c": {"$ref": "elsewhere.json#/x"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": False}}, "required": "a"},
    ]

    assert [len(slots_of(ToolSpec(name="odd", parameters=one))) for one in odd] == [0, 3, 3, 1]


def test_no_tools_give_no_cards_and_an_empty_graph() -> None:
    """Nothing to probe is nothing, not an error."""
    cards = Cards()
    graph = build_graph(cards, build_taxonomy(cards))

    assert graph.tools == ()
    assert [(edge.source, edge.target) for edge in graph.edges] == [("Run_Conversation", "End_of_Simulation")]
    assert not Toolset()


def test_one_tool_is_a_graph(tmp_path: Path) -> None:
    """A single tool has its card and its way from the user and back."""
    cards = probed(written(tmp_path, 'def get_word() -> str:\n    "Get a word."\n    return "yes"\n'))
    graph = build_graph(cards, build_taxonomy(cards))

    assert len(graph.edges) == 3


def test_credentials_that_are_missing_are_the_environments(tmp_path: Path) -> None:
    """A 401 says nothing about the tool: its card is partial, and holds no divergence."""
    tools = """
def get_secret(name: str = "a") -> str:
    "Get a secret."
    raise RuntimeError("HTTP 401: token expired")
"""

    cards = probed(written(tmp_path, tools))

    secret = card(cards, "get_secret")
    assert "the environment is in the way" in secret.partial
    assert secret.divergences == ()
    assert {probe.verdict for probe in secret.probes} == {"environment"}


def test_a_tool_that_always_answers_nothing_is_told(tmp_path: Path) -> None:
    """An answer of `{}` to everything is a divergence, not a success."""
    tools = """
def find_place(q: str) -> dict:
    "Find a place."
    return {}
"""

    place = card(probed(written(tmp_path, tools)), "find_place")

    assert [one.parameter for one in place.divergences] == ["q"]
    assert place.partial.startswith("no call was found that it accepts")
    assert place.partial.endswith("values that exist help: `values: {q: […]}` in the recipe")
