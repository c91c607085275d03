"""Servers whose tools are none, one, or not what they declare: a clear card or error, and nothing destroyed."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.generation.tools.data_types import Card, Cards
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.probing.session import Budget
from pytest_agentbench.generation.tools.world import world_of
from tests.generation.tools.making import read, run

pytest.importorskip("mcp")

SERVER = Path(__file__).with_name("odd_server.py")
FEW = Budget(nominal=6, challenges=8, observed=6, effects=4)


def suite(folder: Path, mode: str, place: str = "{run_dir}") -> Path:
    """Write the suite of the odd server; give its file."""
    command = [sys.executable, str(SERVER), mode, str(folder / "log.txt"), place]
    path = folder / "agentbench.yaml"
    path.write_text(
        f"agent: nowhere:build\nenvironment: {{tools: {{mcp: {{command: {json.dumps(command)}}}}}}}\n"
        "scenarios: [generated/scenarios/*.yaml]\ngenerate: {from: tools, count: 2, seed: 7, trust_annotations: true}\n"
    )
    return path


def cards_of(folder: Path, mode: str, budget: Budget = FEW) -> Cards:
    """Probe the odd server with few calls."""
    world = world_of(read(suite(folder, mode)))

    async def probed() -> Cards:
        await world.described()
        return await probe(world, seed=3, budget=budget)

    return asyncio.run(probed())


def only(cards: Cards, tool: str) -> Card:
    """Give a card that must be there."""
    card = cards.get(tool)
    assert card is not None
    return card


def test_a_server_without_tools_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says that there is nothing to make scenarios from, and ends with status 2."""
    status = main(["generate", str(suite(tmp_path, "none")), "--until", "cards"])

    assert status == 2
    assert "names no tools to make scenarios from" in capsys.readouterr().err


def test_a_server_of_one_tool_has_one_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One tool is probed as any."""
    status = main(["generate", str(suite(tmp_path, "one")), "--until", "cards"])

    assert status == 0
    assert "1 card in" in capsys.readouterr().out


def test_two_tools_of_one_name_are_an_error(tmp_path: Path) -> None:
    """Nobody could say which of them an agent calls."""
    with pytest.raises(AgentBenchError, match="two tools are named 'get_word'"):
        run(suite(tmp_path, "twice"), until="cards")


def test_a_schema_that_lies_about_a_type_is_a_divergence(tmp_path: Path) -> None:
    """An integer that is accepted as text alone: no value of the declared type is, and the card says so."""
    card = only(cards_of(tmp_path, "lies"), "get_row")

    row = card.parameters[0]
    told = [one for one in card.divergences if one.parameter == "row"]
    assert all(isinstance(value, str) for value in row.accepted)
    assert not any(probe.verdict == "ok" and isinstance(probe.arguments.get("row"), int) for probe in card.probes)
    assert told or card.partial, card
    assert "must be a text" in json.dumps(card.model_dump(mode="json"))


def test_a_schema_that_refers_to_itself_is_probed(tmp_path: Path) -> None:
    """A server's recursive reference ends as deep as arguments are probed."""
    card = only(cards_of(tmp_path, "recursive"), "get_tree")

    assert card.partial == ""
    assert 1 <= len(card.parameters) < 10


def test_a_server_that_ends_in_a_call_has_a_card_that_says_so(tmp_path: Path) -> None:
    """The call that ends it is given up; the other tool is probed in a server of its own."""
    cards = cards_of(tmp_path, "crash")

    assert "broke off" in only(cards, "get_out").partial
    assert only(cards, "get_word").partial == ""


def test_nothing_is_destroyed_where_environments_do_not_open_anew(tmp_path: Path) -> None:
    """On a folder that outlives the run, no call is made that might change it; the cards say why."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "letter.txt").write_text("dear")

    run(suite(tmp_path, "files", str(precious)), until="cards")

    calls = {line.split()[0] for line in (tmp_path / "log.txt").read_text().splitlines()}
    cards = {card["tool"]: card for card in json.loads((tmp_path / "generated/cards.json").read_text())["cards"]}
    assert calls == {"list_files"}
    assert [file.name for file in precious.iterdir()] == ["letter.txt"]
    for tool in ("write_file", "remove_file", "tidy"):
        assert cards[tool]["partial"].startswith("not called")


def test_what_destroys_is_called_in_folders_of_runs_alone(tmp_path: Path) -> None:
    """In folders that are made for a run and removed after it, everything is tried; none of them is left."""
    run(suite(tmp_path, "files"), until="cards")

    lines = [line.split(maxsplit=1) for line in (tmp_path / "log.txt").read_text().splitlines()]
    folders = {Path(folder) for _, folder in lines}
    assert {"write_file", "remove_file", "tidy"} <= {tool for tool, _ in lines}
    assert all(folder.name.startswith("agentbench-") for folder in folders)
    assert not any(folder.exists() for folder in folders)
    assert not any(folder in tmp_path.parents or folder == tmp_path for folder in folders)
