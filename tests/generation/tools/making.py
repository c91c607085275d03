"""Suites of this folder's own services, and the stages of the pipeline run on them."""

import asyncio
import contextlib
import shutil
from pathlib import Path
from random import Random
from typing import Any

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import Outcome
from pytest_agentbench.generation.tools.graph.graph import build_graph
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.pipeline import Pipeline
from pytest_agentbench.generation.tools.probing.probing import probe
from pytest_agentbench.generation.tools.probing.seeding import hints_of, state_of
from pytest_agentbench.generation.tools.recruiting.recruiting import Recruiter
from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.stories.hydration import hydrate
from pytest_agentbench.generation.tools.stories.narrator import Narrator, TemplateNarrator
from pytest_agentbench.generation.tools.stories.telling import HydrationError
from pytest_agentbench.generation.tools.values import Graph, Story, Walk
from pytest_agentbench.generation.tools.walks.sampling import Shape, sample
from pytest_agentbench.generation.tools.wording.tongue import Code
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.suites.suite_file import load_suite

SERVICES = Path(__file__).parents[1] / "services"

PARCELS = "values: {code: [D12, D15, D18], numero: [FR1041, FR1042, FR1077, FR1090], motif: [retard, casse, perte]}"
"""What the recipe of the French service names: its state holds nothing to begin with."""


def suite_in(folder: Path, service: str, recipe: str = "count: 5, seed: 7") -> Path:
    """Write the suite of a service with a recipe; give its file."""
    for file in SERVICES.glob(f"{service}_*"):
        shutil.copy(file, folder)
    path = folder / "agentbench.yaml"
    path.write_text(
        f"agent: {service}_agent:build\n"
        f"environment: {{tools: {service}_tools, state: {{json: {service}_state.json}}}}\n"
        "scenarios: [generated/scenarios/*.yaml]\n"
        f"generate: {{from: tools, {recipe}}}\n",
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
    """Give what stories of a suite are made of, and its graph."""
    suite = read(path)
    plain = world_of(suite)
    hints = hints_of(plain.toolset, await state_of(plain), suite.generate.values if suite.generate else {})
    world = world_of(suite, hints={name: list(values) for name, values in hints.items()})
    cards = await probe(world, seed=7)
    taxonomy = build_taxonomy(cards)
    graph = build_graph(cards, taxonomy)
    pool, _ = await Recruiter(world=world, cards=cards, taxonomy=taxonomy).recruit(graph.tools)
    return Stock(world=world, cards=cards, taxonomy=taxonomy, pool=pool), graph


async def story_of(
    stock: Stock, nodes: tuple[str, ...], narrator: Narrator | None = None, seed: int = 1, language: Code = "en"
) -> Story:
    """Hydrate one walk."""
    random = Random(seed)
    walk = Walk(id="w0", nodes=nodes)
    return await hydrate(walk, stock, narrator or TemplateNarrator(random), language=language, random=random)


async def stories(stock: Stock, graph: Graph, count: int, *, language: Code = "en") -> list[Story]:
    """Hydrate walks of a graph; give the stories of those that the world bears."""
    capacity = {tool: (len(stock.pool.of(tool)) + 1) // 2 for tool in graph.tools}
    walks = sample(graph, count, Shape(capacity=capacity, shares={"simple": 1.0}), seed=3)
    found: list[Story] = []
    for place, walk in enumerate(walks):
        with contextlib.suppress(HydrationError):  # a world may not bear a walk: rooms are booked
            found.append(await story_of(stock, walk.nodes, seed=place, language=language))
    return found
