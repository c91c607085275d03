"""`agentbench validate --refresh`: values that no longer stand where they were taken from."""

import shutil
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from tests.generation.policies.airline import airline
from tests.generation.tools.making import run, suite_in


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the hotel's suite with six scenarios."""
    path = suite_in(tmp_path_factory.mktemp("made"), "hotel", "count: 6, seed: 7")
    run(path)
    return path.parent


@pytest.fixture
def hotel(made: Path, tmp_path: Path) -> Path:
    """A copy of the hotel's suite: its file."""
    shutil.copytree(made, tmp_path / "hotel")
    return tmp_path / "hotel" / "agentbench.yaml"


def test_a_world_as_it_was_is_fresh(hotel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing changed: nothing is stale, and no answer differs."""
    assert main(["validate", "--refresh", str(hotel)]) == 0
    assert "6 generated scenarios: 0 stale, 0 answered otherwise" in capsys.readouterr().out


def test_the_rows_of_a_scenario_itself_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scenarios from policies bring rows of their own (`state`): calls about these are answered as before."""
    path = airline(tmp_path, count=3)
    main(["generate", str(path)])

    status = main(["validate", "--refresh", str(path)])

    assert "3 generated scenarios: 0 stale, 0 answered otherwise" in capsys.readouterr().out
    assert status == 0


def test_a_world_that_changed_makes_values_stale(hotel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Views and prices that the agent must tell are others now: they are named with where they stood."""
    tools = hotel.parent / "hotel_tools.py"
    text = tools.read_text().replace("garden", "meadow").replace("courtyard", "meadow").replace("harbour", "meadow")
    tools.write_text(text.replace('"price": price', '"price": price + 100'))

    status = main(["validate", "--refresh", str(hotel)])

    out = capsys.readouterr().out
    assert status == 1
    assert "stale: communicate" in out
    assert "write them anew with: agentbench generate" in out


def test_a_tool_that_refuses_now_is_named(hotel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Calls that are not answered any more make their scenario stale."""
    state = hotel.parent / "hotel_state.json"
    state.write_text(state.read_text().replace("BK-600", "BK-610"))

    status = main(["validate", "--refresh", str(hotel)])

    assert status == 1
    assert "is not answered any more: Error: " in capsys.readouterr().out
