"""Worlds to probe: the small services of this folder, and modules of tools that a test writes."""

import asyncio
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from pytest_agentbench.generation.tools.data_types import Card, Cards
from pytest_agentbench.generation.tools.graph.graph import build_graph
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.probing.safety import Policy
from pytest_agentbench.generation.tools.probing.session import Budget
from pytest_agentbench.generation.tools.world import World, world_of
from pytest_agentbench.suites.suite_file import load_suite

SERVICES = Path(__file__).parent / "services"
NAMES = ("tickets", "library", "journal", "sensors")

Pair = tuple[str, str]


@cache
def cards_of(service: str) -> Cards:
    """Probe one of the services, once for all tests of a process."""
    suite = load_suite(SERVICES / service / "agentbench.yaml", environ={}, generating=True)
    return asyncio.run(probe(world_of(suite), seed=3))


def truth(service: str, what: str) -> Any:
    """Read what is true of a service."""
    return json.loads((SERVICES / service / f"{what}.json").read_text())


def edges_of(cards: Cards) -> set[Pair]:
    """Give the edges that evidence makes between tools."""
    graph = build_graph(cards, build_taxonomy(cards))
    return {(edge.source, edge.target) for edge in graph.edges if edge.via}


def written(
    folder: Path,
    tools: str,
    state: dict[str, Any] | None = None,
    *,
    reads: Sequence[str] | None = None,
    writes: Sequence[str] = (),
    **options: Any,
) -> World:
    """Write a module of tools, with a state where one is given, and give its world.

    `reads` and `writes` are what the suite declares; without a state, by default what begins with these verbs reads.
    """
    (folder / "tools.py").write_text(tools)
    environment: dict[str, Any] = {"tools": "tools"}
    if reads is None and state is None:
        reads = re.findall(r"^(?:async )?def ((?:get|list|show|find|read|search|check)_\w+)", tools, re.MULTILINE)
    environment |= {key: list(names) for key, names in (("reads", reads), ("writes", writes)) if names}
    if state is not None:
        (folder / "state.json").write_text(json.dumps(state))
        environment["state"] = {"json": "state.json"}
    suite = {
        "agent": "nowhere:build",
        "environment": environment,
        "scenarios": [{"id": "unused", "says": ["Hello."]}],
    }
    (folder / "agentbench.yaml").write_text(yaml.safe_dump(suite))
    return world_of(load_suite(folder / "agentbench.yaml", environ={}, generating=True), **options)


def probed(world: World, *, policy: Policy | None = None, budget: Budget | None = None, **options: Any) -> Cards:
    """Probe a world."""
    return asyncio.run(probe(world, seed=3, policy=policy, budget=budget, **options))


def card(cards: Cards, tool: str) -> Card:
    """Give the card of a tool that must be there."""
    found = cards.get(tool)
    assert found is not None
    return found
