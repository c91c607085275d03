"""One loopback model plays every role, the 100 walks too, well and badly: what is written is grounded or refused."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_agentbench.generation.recipe import Outcome
from pytest_agentbench.generation.running import Asked, generate
from pytest_agentbench.generation.tools.graph.typing_rules import faults
from pytest_agentbench.generation.tools.roles import ROLES
from pytest_agentbench.generation.tools.stage_files import GRAPH, TAXONOMY, load
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Taxonomy
from pytest_agentbench.generation.tools.walks.weights import row_sums
from pytest_agentbench.generation.tools.walks.weights_llm import WALKS
from pytest_agentbench.testing import ModelServer
from pytest_agentbench.testing.request import ModelRequest
from tests.generation.tools.making import suite_in
from tests.generation.tools.test_model_roles import Player, check_grounded, written

TOOLS = ("search_books", "get_book", "get_member", "list_loans", "renew_loan", "reserve_book")


class Everybody(Player):
    """Plays the first roles too; `wrong` may name what it does badly there."""

    def __init__(self, wrong: str = "", *, sometimes: bool = False) -> None:
        super().__init__(wrong, sometimes=sometimes)
        self._random = Random(5)
        self.walks = 0

    def __call__(self, request: ModelRequest) -> str:
        openings = {
            "You examine one tool": self.prober,
            "You type the data": self.taxonomist,
            "You play how": self.walker,
        }
        for opening, answer in openings.items():
            if opening in request.system:
                name = {"walker": "weigher"}.get(answer.__name__, answer.__name__)
                self.asked[name] += 1
                again = [one["content"] for one in request.messages if "breaks rules" in str(one["content"])]
                self.faults += again
                found = re.search(r"BEGIN (\w+)\n(.*)\nEND \1", str(request.messages[1]["content"]), re.DOTALL)
                assert found is not None
                return json.dumps(answer(json.loads(found[2]), again))
        return super().__call__(request)

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
            {
                "id": "loan_number",
                "consumed": ["renew_loan: loan_id"],
                "produced": ["list_loans: *.loan_id"],
            },
            {"id": "member_number", "consumed": ["get_member: member_id", "list_loans: member_id"], "produced": []},
        ]
        if self.wrong == "tool type" or (self.wrong == "tool type once" and not again):
            types[0]["id"] = "get_book"
        if self.wrong == "unknown place":
            types[1]["produced"] = ["list_loans: nowhere.at.all", "fly_to_moon: x"]
        return {"types": types}

    def walker(self, data: Any, again: list[str]) -> Any:
        walks = []
        for _ in range(10):
            nodes = [RUN_CONVERSATION]
            while nodes[-1] != END_OF_SIMULATION and len(nodes) < 12:
                nodes.append(self._random.choice(data["steps"][nodes[-1]]))
            nodes[1:1] = ["fly_to_moon"] if self.wrong == "strange walks" else []
            walks.append([*nodes[:-1], END_OF_SIMULATION] if nodes[-2] == RUN_CONVERSATION else nodes)
        self.walks += len(walks)
        return {"walks": walks}


def played(folder: Path, player: Everybody, *, count: int = 2, told: list[str] | None = None) -> Outcome:
    """Generate with a model that plays every role, weights counted from its walks."""
    lines = told if told is not None else []
    with ModelServer(player) as server:
        recipe = (
            f"count: {count}, seed: 7, nodes: {{min: 5, max: 6}}, complexity: {{simple: 1}}, weights: empirical, "
            f"llm: {{model: scripted, base_url: '{server.base_url}'}}"
        )
        return generate(Asked(suite=suite_in(folder, "library", recipe)), environ={}, told=lines.append)


def taxonomy_of(folder: Path) -> Taxonomy:
    """The types that were written."""
    found = load(folder / "generated" / TAXONOMY, Taxonomy)
    assert found is not None
    return found


def test_a_model_plays_every_role_from_the_first_probe_to_the_persona(tmp_path: Path) -> None:
    """Each role was asked, at least 100 walks were counted, and all that was written is grounded."""
    player = Everybody()

    outcome = played(tmp_path, player)

    graph = load(tmp_path / "generated" / GRAPH, Graph)
    assert outcome.accepted == 2
    assert set(player.asked) == set(ROLES)
    assert player.walks >= WALKS
    assert graph is not None
    assert graph.weights == "empirical"
    assert all(total == pytest.approx(1) for total in row_sums(graph).values())
    assert faults(taxonomy_of(tmp_path), list(TOOLS)) == []
    check_grounded(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("tool type once", ""),
        ("tool type", "taxonomy: "),
        ("unknown place", "which no card has"),
        ("strange walks", "0 of 100 walks were usable"),
    ],
)
def test_what_the_first_roles_do_badly_is_mended_or_refused_with_the_reason(
    tmp_path: Path, wrong: str, said: str
) -> None:
    """A type named like a tool goes back and is renamed; places and steps that are not there are left out, and told."""
    player = Everybody(wrong)
    told: list[str] = []

    outcome = played(tmp_path, player, count=1, told=told)

    graph = load(tmp_path / "generated" / GRAPH, Graph)
    types = taxonomy_of(tmp_path).types
    assert outcome.accepted == 1
    assert not {one.id for one in types} & set(TOOLS)
    assert any(fault for fault in player.faults) == (wrong != "strange walks")
    assert said in "\n".join(told)
    assert "fly_to_moon" not in (tmp_path / "generated" / TAXONOMY).read_text()
    assert graph is not None
    assert all(total == pytest.approx(1) for total in row_sums(graph).values())
    check_grounded(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "reason"), [("index", "index out of range"), ("value", "invented value"), ("hedged", "hedged")]
)
def test_later_faults_of_a_model_that_plays_everything_write_nothing(tmp_path: Path, wrong: str, reason: str) -> None:
    """An index out of range, an invented value, a hedged summary: the walk is lost for that reason and no file is."""
    outcome = played(tmp_path, Everybody(wrong), count=1)

    assert outcome.accepted == 0
    assert reason in "\n".join(outcome.lines)
    assert written(tmp_path) == []
