"""Goals: a scripted model plays the right agent; code records its calls, and holds them against rows and rules."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.generation.recipe import Outcome
from pytest_agentbench.generation.report import COST
from pytest_agentbench.generation.run import Asked, generate
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.testing import ModelServer
from pytest_agentbench.testing.script import ModelRequest
from tests.generation.tools.making import suite_in

POLICIES = """policies:
  - {id: identify, text: Look the member up first., rule: {before: {calls: writes, first: [get_member]}}}
  - {id: confirm, text: Ask before a change., rule: {confirm_before: {calls: [renew_loan]}}}
"""


def call(tool: str, **arguments: Any) -> dict[str, str]:
    """Give a call as a model writes it."""
    return {"tool": tool, "arguments": json.dumps(arguments)}


class Player:
    """Looks the person up, then renews its first loan or reserves a book; `wrong` names what it does badly."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong = wrong
        self.seen: list[dict[str, Any]] = []

    def __call__(self, request: ModelRequest) -> str:
        found = re.search(r"<data-(\w+)>\n(.*)\n</data-\1>", str(request.messages[-1]["content"]), re.DOTALL)
        assert found is not None
        data = json.loads(found[2])
        self.seen.append(data)
        (member,) = data["person"].values()
        answers = {one["tool"]: json.loads(one["answer"]) for one in data["made"]}
        step: dict[str, Any] = {"goal": f"You want your loans looked after, number {len(self.seen)}."}
        if self.wrong == "invents" or (self.wrong == "invents once" and "faults" not in data):
            step["calls"] = [call("get_member", member_id="M99"), call("fly_to_moon"), call("get_book", id="B100")]
        elif self.wrong == "goes round":
            step["calls"] = [call("get_member", member_id=member)]
        elif not answers:
            step["calls"] = [call("get_member", member_id=member), call("list_loans", member_id=member)]
        elif "renew_loan" not in answers:
            step["calls"] = [call("renew_loan", loan_id=answers["list_loans"][0]["loan_id"], weeks=1)]
        else:
            step.update(
                calls=[call("get_book", book_id=answers["list_loans"][0]["book_id"])], asks_anew=True, done=True
            )
        return json.dumps(step)


def played(folder: Path, server: ModelServer, recipe: str = "count: 3") -> Outcome:
    """Have the model of a server pursue goals of the library's members."""
    llm = f"{{model: scripted, base_url: '{server.base_url}'}}"
    suite = suite_in(folder, "library", f"{recipe}, seed: 7, chains: goals, roles: [player], llm: {llm}", POLICIES)
    return generate(Asked(suite=suite), environ={}, told=lambda _: None)


def test_what_a_model_plays_becomes_scenarios(tmp_path: Path) -> None:
    """Each is one person's, points at what answers give, and decides the rules; a session anew asks nothing again."""
    player = Player()

    with ModelServer(player) as server:
        assert played(tmp_path, server).accepted == 3
        first, asked = [file.read_bytes() for file in sorted(tmp_path.glob("generated/scenarios/*"))], len(player.seen)
        (tmp_path / "generated/drafts.jsonl").unlink()
        assert played(tmp_path, server).accepted == 3

    assert len(player.seen) == asked
    assert [file.read_bytes() for file in sorted(tmp_path.glob("generated/scenarios/*"))] == first
    assert main(["validate", str(tmp_path / "agentbench.yaml"), "--no-mutants"]) == 0
    scenarios = load_suite(tmp_path / "agentbench.yaml", environ={}).scenarios
    tools = ["get_member", "list_loans", "renew_loan", "get_book"]
    for one in scenarios:
        assert [made.name for made in one.expected_calls] == tools
        *shown, request, answer, last = [line.act for line in one.says]
        assert ([request, answer, last], shown in ([], ["request"])) == (["request", "confirm", "request"], True)
        assert one.provenance["goal"].startswith("You want your loans looked after")
        assert one.provenance["calls"][2]["arguments"] == {"loan_id": {"call": 1, "path": "0.loan_id"}, "weeks": "user"}
        assert {name: why.partition(":")[0] for name, why in one.provenance["decided_by"].items()} == {
            "identify": "decided",
            "confirm": "decided",
        }
    assert {len(one.says) for one in scenarios} == {3, 4}  # one of several loans is pointed at once they are shown
    assert len({one.provenance["owner"]["key"] for one in scenarios}) == 3
    assert {len(data["aims"]) for data in player.seen} == {1, 3}
    most, tokens = COST["goals"]
    assert asked <= most * 3
    assert sum(len(json.dumps(data)) for data in player.seen) / 4 <= tokens * 3
    assert any("Look the member up first." in aim for data in player.seen for aim in data["aims"])
    report = json.loads((tmp_path / "generated" / "report.json").read_text(encoding="utf-8"))
    (edges,) = [one for one in report["coverage"] if one["what"] == "edges"]
    assert edges["covered"] == 2  # that to the book, too, which is asked for in a request of its own


def test_a_play_counts_no_more_where_the_world_answers_otherwise(tmp_path: Path) -> None:
    """Its expectations were made of the old answers, which no right agent gets any more."""
    player = Player()

    with ModelServer(player) as server:
        assert played(tmp_path, server).accepted == 3
        asked, tools = len(player.seen), tmp_path / "library_tools.py"
        before = [file.read_text() for file in sorted(tmp_path.glob("generated/scenarios/*"))]
        authors = ("Tom Hale", "Lena Fischer", "Anna Berg", "Ivo Novak")
        told = next(name for name in authors if any(name in text for text in before))
        tools.write_text(tools.read_text().replace(told, "Zed Nobody"))
        (tmp_path / "generated/drafts.jsonl").unlink()
        generate(Asked(suite=tmp_path / "agentbench.yaml"), environ={}, told=lambda _: None)

    assert len(player.seen) > asked
    assert not any(told in file.read_text() for file in tmp_path.glob("generated/scenarios/*"))


@pytest.mark.parametrize(
    ("wrong", "accepted", "said"),
    [
        ("invents once", 2, ""),
        ("invents", 0, "the model makes calls that cannot be made"),
        ("goes round", 0, "the model came to too few calls"),
    ],
)
def test_calls_that_cannot_be_made_go_back_once(tmp_path: Path, wrong: str, accepted: int, said: str) -> None:
    """A tool, an argument or an identifier from nowhere is named to the model; six answers are the most."""
    player = Player(wrong)

    with ModelServer(player) as server:
        outcome = played(tmp_path, server, "count: 2")

    assert outcome.accepted == accepted
    assert said in "\n".join(outcome.lines)
    faults = [fault for data in player.seen for fault in data.get("faults", ())]
    assert ("there is no tool 'fly_to_moon', or no call of it works" in faults) == wrong.startswith("invents")
    assert ("get_member: member_id 'M99' stands in no row and no answer" in faults) == wrong.startswith("invents")
    assert len(player.seen) <= 6 * (outcome.wanted + 25)


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("from: tools, chains: goals", "'goals' needs a model that plays the player"),
        ("from: policies, chains: goals", "chains are made of tools, and the recipe is from policies"),
    ],
)
def test_goals_without_a_model_or_tools_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recipe: str, said: str
) -> None:
    suite = suite_in(tmp_path, "library", "count: 2", POLICIES)
    suite.write_text(suite.read_text(encoding="utf-8").replace("from: tools", recipe), encoding="utf-8")

    assert main(["generate", str(suite)])

    assert said in capsys.readouterr().err
