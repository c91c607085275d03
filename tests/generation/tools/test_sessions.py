"""Services that want one call first in each conversation, and answer about whom it named from then on."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.cli import main
from tests.generation.tools.probed import card, edges_of, probed, written

PLOTS = '''
_present = {}


def enter(gate_card: str, word: str, *, state: dict) -> dict:
    """Let a gardener in; all that follows is about their own plots."""
    gardener = state["gardeners"].get(gate_card)
    if gardener is None or gardener["word"] != word:
        raise PermissionError("card and word do not match")
    _present["card"] = gate_card
    return {"welcome": gardener["name"]}


def opening_hours() -> dict:
    """When the gate is open, for anybody."""
    return {"from": "07:30", "until": "21:15"}


def list_plots(*, state: dict) -> list[dict]:
    """The plots of the gardener."""
    return [{"plot": key, "square_metres": one["size"]} for key, one in _own(state).items()]


def plot_details(plot_no: str, *, state: dict) -> dict:
    """What grows on a plot."""
    plots = _own(state)
    if plot_no not in plots:
        raise LookupError(f"no plot {plot_no} of yours")
    return {"crop": plots[plot_no]["crop"], "size": plots[plot_no]["size"]}


def water_plot(plot_no: str, litres: int, *, state: dict) -> dict:
    """Order water for a plot."""
    plot_details(plot_no, state=state)
    state["orders"].append({"plot": plot_no, "litres": litres})
    return {"ordered": litres}


def _own(state: dict) -> dict:
    if "card" not in _present:
        raise PermissionError("the gate is closed to strangers")
    return {key: one for key, one in state["plots"].items() if one["card"] == _present["card"]}
'''

STATE: dict[str, Any] = {
    "gardeners": {
        "GC-41": {"name": "Ines Marlow", "word": "thyme77"},
        "GC-58": {"name": "Tomas Reil", "word": "sorrel12"},
    },
    "plots": {
        "PL-301": {"card": "GC-41", "size": 80, "crop": "leeks"},
        "PL-305": {"card": "GC-41", "size": 120, "crop": "squash"},
        "PL-412": {"card": "GC-58", "size": 95, "crop": "beans"},
        "PL-418": {"card": "GC-58", "size": 60, "crop": "currants"},
    },
    "orders": [],
}
READS = ["enter", "opening_hours", "list_plots", "plot_details"]
PEOPLE = {"gate_card": ["GC-41", "GC-58"], "word": ["thyme77", "sorrel12"]}


def test_what_opens_a_session_is_found_and_all_else_is_probed_in_it(tmp_path: Path) -> None:
    """Nothing is handed on from the first call; what tools say before it tells nothing of their values."""
    cards = probed(written(tmp_path, PLOTS, STATE, reads=READS, writes=["water_plot"], hints=PEOPLE))

    opened = {"list_plots", "plot_details", "water_plot"}
    assert {one.tool for one in cards.cards if one.opener == "enter"} == opened
    assert {("list_plots", "plot_details"), ("list_plots", "water_plot")} <= edges_of(cards)
    assert all("strangers" not in probe.content for probe in card(cards, "plot_details").probes)


def test_each_scenario_begins_with_the_session_of_its_one_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No rule of the suite says it; who is let in owns all that is asked for, and anybody may ask for the hours."""
    suite = {
        "agent": "plots_agent:build",
        "environment": {"tools": "plots", "state": {"json": "state.json"}, "reads": READS, "writes": ["water_plot"]},
        "scenarios": ["generated/scenarios/*.yaml"],
        "generate": {"from": "tools", "count": 10, "seed": 7, "values": PEOPLE},
    }
    (tmp_path / "plots.py").write_text(PLOTS, encoding="utf-8")
    (tmp_path / "state.json").write_text(json.dumps(STATE), encoding="utf-8")
    path = tmp_path / "agentbench.yaml"
    path.write_text(yaml.safe_dump(suite), encoding="utf-8")

    main(["generate", str(path)])

    said = capsys.readouterr().out
    forms = [yaml.safe_load(one.read_text()) for one in sorted((tmp_path / "generated/scenarios").glob("*.yaml"))]
    assert len(forms) >= 6, said
    seen = set()
    for form in forms:
        calls = [(one["name"], one.get("arguments", {})) for one in form["expect"]]
        people = [arguments["gate_card"] for name, arguments in calls if name == "enter"]
        plots = [arguments["plot_no"] for _, arguments in calls if "plot_no" in arguments]
        assert len(people) == any(name != "opening_hours" for name, _ in calls)
        assert {STATE["plots"][plot]["card"] for plot in plots} <= set(people)
        seen |= set(people)
    assert seen == set(PEOPLE["gate_card"])
