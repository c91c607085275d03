"""`agentbench validate --refresh`: the calls of generated scenarios made again, and what no longer holds."""

import asyncio
import os
from pathlib import Path

from pytest_agentbench.core.errors import AgentBenchError, Problem, SuiteError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.text import printable
from pytest_agentbench.generation.tools.refresh import Freshness, refreshed
from pytest_agentbench.generation.tools.world import World, world_of
from pytest_agentbench.suites.suite_file import load_suite

STALE = 1


def refresh(suite_file: Path, *, only: tuple[str, ...] = ()) -> tuple[str, int]:
    """Give what is stale, and the exit status: 1 where anything is.

    Raise `SuiteError` where the suite cannot be read or its tools cannot be loaded.
    """
    suite = load_suite(suite_file, environ=os.environ)
    try:
        world: World = world_of(suite)
    except AgentBenchError as error:
        raise SuiteError([Problem(file=suite.path, key="environment", message=str(error))]) from error
    chosen = [scenario for scenario in suite.scenarios if not only or scenario.id in only]
    found = asyncio.run(refreshed(chosen, world))
    lines = [line for one in found for line in _lines(one)]
    stale = sum(bool(one.stale) for one in found)
    differing = sum(bool(one.differing) for one in found)
    lines.append(
        f"{count(len(found), 'generated scenario')}: {stale} stale, {differing} answered otherwise"
        + (f"; write them anew with: agentbench generate {suite_file}" if stale else "")
    )
    return printable("\n".join(lines), newlines=True), STALE if stale else 0


def _lines(one: Freshness) -> list[str]:
    if not one.stale and not one.differing:
        return []
    return [one.id, *(f"  stale: {text}" for text in one.stale), *(f"  {text}" for text in one.differing)]
