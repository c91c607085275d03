"""Saved stages of a recording, taken over by the pipeline as it is now, whatever it would make of the tools today."""

import json
import re
from pathlib import Path

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import recipe_of
from pytest_agentbench.generation.tools.probing.laboratory import Budget
from pytest_agentbench.generation.tools.probing.probing import probing_hash
from pytest_agentbench.generation.tools.probing.safety import Policy
from pytest_agentbench.generation.tools.probing.seeding import hints_of
from pytest_agentbench.generation.tools.saved import CARDS, GRAPH, TAXONOMY, hash_of, load
from pytest_agentbench.generation.tools.values import Cards, Graph, Taxonomy
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.suites.suite_file import load_suite

POOL = "pool.jsonl"


def adopt(path: Path) -> None:
    """Write into the saved cards, taxonomy, graph and pool of a suite what they would have been made from today.

    A stage that is not there is left to be made; a graph and a pool are adopted once there is a taxonomy.
    """
    suite = load_suite(path, environ={}, generating=True)
    recipe, out = recipe_of(suite), recipe_of(suite).out
    _mark(out / CARDS, _probing(suite))
    cards = load(out / CARDS, Cards)
    if (out / TAXONOMY).exists():
        taxonomist = recipe.model.model if recipe.model and "taxonomist" in recipe.roles else ""
        _mark(out / TAXONOMY, hash_of(cards, taxonomist))
        taxonomy = load(out / TAXONOMY, Taxonomy)
        _mark(out / GRAPH, hash_of(cards, taxonomy, recipe.weights, "", []))
        graph = load(out / GRAPH, Graph)
        assert graph is not None
        _mark(out / POOL, hash_of(cards, taxonomy, graph.tools, recipe.pool, recipe.seed, ""))


def _probing(suite: Suite) -> str:
    toolset = load_toolset(suite.environment, suite.root)
    recipe = recipe_of(suite)
    hints = {name: list(values) for name, values in hints_of(toolset, None, recipe.values).items()}
    world = world_of(suite, toolset=toolset, hints=hints)
    return probing_hash(world, seed=recipe.seed, policy=Policy(writes=recipe.allow_writes), budget=Budget())


def _mark(file: Path, made_from: str) -> None:
    text = file.read_text(encoding="utf-8")
    marked, count = re.subn(r'"made_from": ?"\w+"', f'"made_from": {json.dumps(made_from)}', text, count=1)
    assert count == 1
    file.write_text(marked, encoding="utf-8")
