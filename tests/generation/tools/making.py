"""Suites of this folder's own services, and the stages of the pipeline run on them."""

import asyncio
import contextlib
import shutil
from pathlib import Path
from random import Random
from typing import Any

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.draft import Turn
from pytest_agentbench.generation.recipe import Outcome
from pytest_agentbench.generation.tools.data_types import Graph, Walk
from pytest_agentbench.generation.tools.graph.graph import build_graph
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.hydration.hydrate import hydrate
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.generation.tools.hydration.stock import HydrationError, Stock
from pytest_agentbench.generation.tools.pipeline import Pipeline
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.probing.seed_values import hints_of, state_of, values_of
from pytest_agentbench.generation.tools.recruiting.recruiter import Recruiter
from pytest_agentbench.generation.tools.walks.walk_sampling import Shape, sample
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.suites.suite_file import load_suite

SERVICES = Path(__file__).parents[1] / "services"

PARCELS = "values: {code: [D12, D15, D18], numero: [FR1041, FR1042, FR1077, FR1090], motif: [retard, casse, perte]}"
"""What the recipe of the French service names: its state holds nothing to begin with."""


def suite_in(folder: Path, service: str, recipe: str = "count: 5, seed: 7", more: str = "") -> Path:
    """Write the suite of a service with a recipe, and `more` keys; give its file."""
    for file in SERVICES.glob(f"{service}_*"):
        shutil.copy(file, folder)
    path = folder / "agentbench.yaml"
    path.write_text(
        f"agent: {service}_agent:build\n"
        f"environment: {{tools: {service}_tools, state: {{json: {service}_state.json}}}}\n"
        "scenarios: [generated/scenarios/*.yaml]\n"
        f"generate: {{from: tools, {recipe}}}\n{more}",
        encoding="utf-8",
    )
    return path


def read(path: Path) -> Suite:
    """Read a suite whose scenarios need not be there."""
    return load_suite(path, environ={}, generating=True)


def run(path: Path, **options: Any) -> Outcome:
    """Run the recipe of a suite."""
    until = options.pop("until", "")
    suite = read(path)
    toolset = load_toolset(suite.environment, suite.root)
    return asyncio.run(Pipeline(suite=suite, toolset=toolset, **options).run(until))


async def stocked(path: Path) -> tuple[Stock, Graph]:
    """Give what walks of a suite are hydrated with, and its graph."""
    suite = read(path)
    plain = world_of(suite)
    state = await state_of(plain)
    hints = hints_of(plain.toolset, state, suite.generate.values if suite.generate else {})
    world = world_of(suite, hints={name: list(one) for name, one in hints.items()}, rows=values_of(state))
    cards = await probe(world, seed=7)
    taxonomy = build_taxonomy(cards)
    graph = build_graph(cards, taxonomy)
    pool, _ = await Recruiter(world=world, cards=cards, taxonomy=taxonomy).recruit(graph.tools)
    rules = SuiteRules(suite.policies, plain.toolset, suite.now)
    return Stock(world=world, cards=cards, taxonomy=taxonomy, pool=pool, rules=rules, state=state), graph


async def turns_of(stock: Stock, nodes: tuple[str, ...], seed: int = 1) -> tuple[Turn, ...]:
    """Hydrate one walk."""
    return await hydrate(Walk(id="w0", nodes=nodes), stock, Random(seed))


async def hydrated(stock: Stock, graph: Graph, count: int) -> list[tuple[Turn, ...]]:
    """Hydrate walks of a graph; give the turns of those that the world bears."""
    capacity = {tool: (len(stock.pool.of(tool)) + 1) // 2 for tool in graph.tools}
    walks = sample(graph, count, Shape(capacity=capacity, shares={"simple": 1.0}), seed=3)
    found: list[tuple[Turn, ...]] = []
    for place, walk in enumerate(walks):
        with contextlib.suppress(HydrationError):  # a world may not bear a walk: rooms are booked
            found.append(await turns_of(stock, walk.nodes, seed=place))
    return found
