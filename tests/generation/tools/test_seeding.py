"""What the suite's own state gives arguments to begin with, under their name and under others."""

import asyncio
from pathlib import Path

from pytest_agentbench.cli import main
from pytest_agentbench.generation.tools.data_types import Cards
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.probing.seed_values import hints_of, state_of, values_of
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.suites.suite_file import load_suite

RIDES = """{"rides": {
  "R1": {"to": "Lyon", "free": 3, "riders": {}, "from": {"town": "Brest", "street": "Quai 1"}},
  "R2": {"to": "Lyon", "free": 1, "riders": {"ben": 2}, "from": {"town": "Nantes", "street": "Quai 1"}},
  "R3": {"to": "Nice", "free": 2, "riders": {"ana": 1}, "from": {"town": "Brest", "street": "Port 4"}}}}
"""
TOOLS = '''
def find_rides(state: dict, destination: str) -> list[str]:
    """Find the rides to a place."""
    return [key for key, ride in state["rides"].items() if ride["to"] == destination]

def book_seat(state: dict, ride_id: str, rider: str, note: str = "") -> str:
    """Book a seat on a ride."""
    state["rides"][ride_id]["riders"][rider] = 1
    return "booked"
'''


def probed(folder: Path) -> tuple[dict[str, tuple[object, ...]], Cards]:
    """Give the values that are known at first, and the cards that probing makes of them."""
    (folder / "rides.json").write_text(RIDES)
    (folder / "ride_tools.py").write_text(TOOLS)
    path = folder / "agentbench.yaml"
    path.write_text(
        "agent: a:b\nenvironment: {tools: ride_tools, state: {json: rides.json}}\n"
        "scenarios: [generated/*.yaml]\ngenerate: {from: tools}\n"
    )
    suite = load_suite(path, environ={}, generating=True)

    async def both() -> tuple[dict[str, tuple[object, ...]], Cards]:
        world = world_of(suite)
        state = await state_of(world)
        hints = hints_of(world.toolset, state, {})
        named = {name: list(values) for name, values in hints.items()}
        return dict(hints), await probe(world_of(suite, hints=named, rows=values_of(state)), seed=7)

    return asyncio.run(both())


def test_names_as_keys_are_values_and_names_of_fields_are_none(tmp_path: Path) -> None:
    """Keys that differ from row to row name things; what stands under another name is tried where a search needs it."""
    hints, cards = probed(tmp_path)

    assert hints["book_seat.rider"] == ("ben", "ana")
    assert hints["book_seat.ride_id"] == ("R1", "R2", "R3")
    assert not any("street" in values for values in hints.values())
    card = cards.get("find_rides")
    assert card is not None
    found = {probe.arguments.get("destination") for probe in card.probes if probe.verdict == "ok"}
    assert found == {"Lyon", "Nice"}


def test_what_a_name_calls_a_secret_is_tried_nowhere() -> None:
    """Cards are committed, and hold what was tried."""
    people = {"p1": {"city": "Lyon", "password": "hunter2"}, "p2": {"city": "Nice", "api_key": "sk-abc"}}

    assert set(values_of({"people": people})) == {"Lyon", "Nice"}


def test_a_recipe_needs_no_agent(tmp_path: Path) -> None:
    """A file beside the suite of a service that only describes its tools says what can be called instead."""
    (tmp_path / "rides.json").write_text(RIDES)
    (tmp_path / "ride_tools.py").write_text(TOOLS)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "environment: {tools: ride_tools, state: {json: rides.json}}\nscenarios: [generated/scenarios/*.yaml]\n"
        "generate: {from: tools, count: 1}\n"
    )

    assert main(["generate", str(recipe)]) == 0

    assert len(list((tmp_path / "generated" / "scenarios").glob("*.yaml"))) == 1
