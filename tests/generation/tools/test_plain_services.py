"""Edges of plain Python services, against graphs that were labelled by hand before probing saw them."""

import asyncio
import json
from pathlib import Path

from pytest_agentbench.generation.tools.data_types import Cards
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.probing.seed_values import hints_of, state_of, values_of
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.tools.probed import edges_of
from tests.tables import each

HERE = Path(__file__).parents[1]


def cards_of(service: str) -> Cards:
    """Probe a service with what its state holds, as `agentbench generate` does."""
    suite = load_suite(HERE / "services" / f"{service}.agentbench.yaml", environ={}, generating=True)

    async def probed() -> Cards:
        world = world_of(suite)
        state = await state_of(world)
        known = {name: list(values) for name, values in hints_of(world.toolset, state, {}).items()}
        return await probe(world_of(suite, hints=known, rows=values_of(state)))

    return asyncio.run(probed())


@each("service", ["hotel", "library", "colis"])
def test_edges_are_found_and_none_is_made_up(service: str) -> None:
    """Most edges are found, in English and French, and nearly all that is found is one."""
    truth = json.loads((HERE / "truth" / f"{service}_edges.json").read_text())
    wanted = {tuple(pair) for pair in truth["edges"]}
    beside = {tuple(pair) for pair in truth.get("not_counted", [])}

    found = edges_of(cards_of(service)) - beside

    assert len(found & wanted) >= 0.8 * len(wanted)
    assert len(found & wanted) >= 0.85 * len(found)
