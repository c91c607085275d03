"""One loopback model plays the roles before the words, well and badly: what it says is mended or left out, and told."""

import json
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_agentbench.generation.recipe import Outcome
from pytest_agentbench.generation.run import Asked, generate
from pytest_agentbench.generation.tools.artifacts import GRAPH, TAXONOMY, load
from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Taxonomy
from pytest_agentbench.generation.tools.graph.taxonomy import mended
from pytest_agentbench.generation.tools.walks.weights_llm import WALKS
from pytest_agentbench.testing import ModelServer
from pytest_agentbench.testing.script import ModelRequest
from tests.generation.tools.making import suite_in
from tests.generation.tools.test_graph import row_sums

TOOLS = ("search_books", "get_book", "get_member", "list_loans", "renew_loan", "reserve_book")


class Player:
    """Plays prober, taxonomist and weigher; `wrong` may name what it does badly."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong = wrong
        self.asked: Counter[str] = Counter()
        self.faults: list[str] = []
        self.walks = 0
        self._random = Random(5)

    def __call__(self, request: ModelRequest) -> str:
        openings = {
            "You examine one tool": self.prober,
            "You type the data": self.taxonomist,
            "You play how": self.weigher,
        }
        answer = next(answer for opening, answer in openings.items() if opening in request.system)
        self.asked[answer.__name__] += 1
        again = [str(one["content"]) for one in request.messages if "breaks rules" in str(one["content"])]
        self.faults += again
        found = re.search(r"BEGIN (\w+)\n(.*)\nEND \1", str(request.messages[1]["content"]), re.DOTALL)
        assert found is not None
        return json.dumps(answer(json.loads(found[2]), again))

    def prober(self, data: Any, again: list[str]) -> Any:
        worked = [call["arguments"] for call in data["calls"] if call["verdict"] == "ok"]
        proposed = [json.dumps(one) for one in worked[:1]] + ['{"nonsense": 1}', "no json", "[1]"]
        return {"calls": [{"question": "does it work again?", "arguments": one} for one in proposed]}

    def taxonomist(self, data: Any, again: list[str]) -> Any:
        types = [
            {
                "id": "book_number",
                "consumed": ["get_book: book_id", "reserve_book: book_id"],
                "produced": ["search_books: *.id"],
            },
            {"id": "loan_number", "consumed": ["renew_loan: loan_id"], "produced": ["list_loans: *.loan_id"]},
            {"id": "member_number", "consumed": ["get_member: member_id", "list_loans: member_id"], "produced": []},
        ]
        if self.wrong == "tool type" or (self.wrong == "tool type once" and not again):
            types[0]["id"] = "get_book"
        if self.wrong == "unknown place":
            types[1]["produced"] = ["list_loans: nowhere.at.all", "fly_to_moon: x"]
        return {"types": types}

    def weigher(self, data: Any, again: list[str]) -> Any:
        walks = []
        for _ in range(10):
            nodes = [RUN_CONVERSATION]
            while nodes[-1] != END_OF_SIMULATION and len(nodes) < 12:
                nodes.append(self._random.choice(data["steps"][nodes[-1]]))
            nodes[1:1] = ["fly_to_moon"] if self.wrong == "strange walks" else []
            walks.append([*nodes[:-1], END_OF_SIMULATION] if nodes[-2] == RUN_CONVERSATION else nodes)
        self.walks += len(walks)
        return {"walks": walks}


def played(folder: Path, player: Player, told: list[str]) -> Outcome:
    """Generate with a model in the first roles, weights counted from its walks."""
    with ModelServer(player) as server:
        recipe = (
            "count: 2, seed: 7, nodes: {min: 5, max: 6}, complexity: {simple: 1}, weights: empirical, "
            "roles: [prober, taxonomist, weigher], "
            f"llm: {{model: scripted, base_url: '{server.base_url}'}}"
        )
        return generate(Asked(suite=suite_in(folder, "library", recipe)), environ={}, told=told.append)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("", ""),
        ("tool type once", ""),
        ("tool type", "taxonomy: "),
        ("unknown place", "which no card has"),
        ("strange walks", "0 of 100 walks were usable"),
    ],
)
def test_what_a_model_says_is_held_against_what_was_seen(tmp_path: Path, wrong: str, said: str) -> None:
    """A type named like a tool goes back and is renamed; places and steps that are not there are left out, and told."""
    player = Player(wrong)
    told: list[str] = []

    outcome = played(tmp_path, player, told)

    graph = load(tmp_path / "generated" / GRAPH, Graph)
    types = load(tmp_path / "generated" / TAXONOMY, Taxonomy)
    assert outcome.accepted == 2
    assert set(player.asked) == {"prober", "taxonomist", "weigher"}
    assert player.walks >= WALKS
    assert said in "\n".join(told)
    assert types is not None
    assert mended(types.types, TOOLS)[1] == ()
    assert "fly_to_moon" not in (tmp_path / "generated" / TAXONOMY).read_text()
    assert bool(player.faults) == (wrong in ("tool type once", "tool type", "unknown place"))
    assert graph is not None
    assert graph.weights == "empirical"
    assert all(total == pytest.approx(1) for total in row_sums(graph).values())
