"""What a language model found out by probing, and how it weighed steps: its recorded answers are played again."""

import json
import shutil
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.generation.tools.artifacts import CARDS, GRAPH, load
from pytest_agentbench.generation.tools.data_types import Cards, Graph

RECORDED = Path(__file__).parent / "recorded" / "prober"


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The service of flights, probed and weighed with the recorded answers."""
    folder = tmp_path_factory.mktemp("flights")
    shutil.copytree(RECORDED, folder, dirs_exist_ok=True)

    assert main(["generate", str(folder / "flights.agentbench.yaml"), "--until", "graph", "--cassette", "replay"]) == 0

    return folder / "generated"


def test_a_model_finds_the_calls_that_need_knowledge_of_the_world(probed: Path) -> None:
    """It knows airports by their codes, so that all tools work; without it one of four does."""
    cards = load(probed / CARDS, Cards)

    assert cards is not None
    assert [card.tool for card in cards.cards if not card.partial] == [
        "airport_info", "find_flights", "get_fare", "convert_price",
    ]  # fmt: skip
    assert ("find_flights", "get_fare") in {(flow.source, flow.target) for flow in cards.flows}


def test_a_model_repeats_few_calls_that_were_made(probed: Path) -> None:
    """It is shown the arguments of every call that was made; recorded before that was so, it repeated one in three."""
    exchanges = [json.loads(line) for line in (probed / "cassette.jsonl").read_text().splitlines()[1:]]
    answers = [
        json.loads(one["response"]["choices"][0]["message"]["content"]) for one in exchanges if one["role"] == "prober"
    ]
    proposed = [call["arguments"] for answer in answers for call in answer.get("calls", ())]
    cards = load(probed / CARDS, Cards)

    assert cards is not None
    made = sum(probe.kind == "proposed" for card in cards.cards for probe in card.probes)
    assert (len(answers), len(proposed)) == (5, 24)  # one request for values, and one for the calls of each tool
    assert made >= 0.85 * len(proposed)


def test_a_model_weighs_what_follows(probed: Path) -> None:
    """Its shares are the weights of the rows that have a choice."""
    graph = load(probed / GRAPH, Graph)

    assert graph is not None
    rows = {(edge.source, edge.target): edge.weight for edge in graph.edges}
    assert graph.weights == "prompting"
    assert rows["Run_Conversation", "find_flights"] == pytest.approx(0.41)
    assert rows["find_flights", "get_fare"] == pytest.approx(0.44)
