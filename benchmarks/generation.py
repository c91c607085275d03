"""What probing finds of a suite's tools, scored against truth that was written by hand and that probing never reads.

    python -m benchmarks.generation SUITE [--divergences TRUTH.json] [--edges TRUTH.json] [--seed 0] [--writes]
        [--resettable] [--hint NAME=VALUE]... [--deny TOOL]... [--show] [--without STRATEGY]... [--worth]

Divergences: a list of {tool, parameter, kind, note}, scored by (tool, last name of parameter); `kind` and `note` are
for people. An entry without a parameter is about the answer as a whole; it counts as found where the divergence is told
of the arguments that lead there, which `also_true` lists. What is listed there besides is neither right nor wrong.
Edges: {"edges": [[source, target], ...]}, or entries with source and target, or from and to; self-loops are not scored,
nor what `not_counted` lists, nor tools outside `tools`, where the file has that. Beside them stands the static
baseline: an edge wherever a field of one tool's results is called like an argument of another.

`generate: values` of the suite are hints. A suite whose service is not installed is skipped, and says which.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_agentbench.core.remote import McpSpec
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.generation.tools.data_types import Cards
from pytest_agentbench.generation.tools.graph.graph import build_graph
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.probing.outputs import output_leaves
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.probing.safety import Policy
from pytest_agentbench.generation.tools.probing.seed_values import hints_of, state_of, values_of
from pytest_agentbench.generation.tools.probing.strategies import STRATEGIES
from pytest_agentbench.generation.tools.world import World, world_of
from pytest_agentbench.suites.suite_file import load_suite

Pair = tuple[str, str]


def scored(found: set[Pair], truth: set[Pair]) -> str:
    """Give recall and precision with the counts behind them."""
    hits = len(found & truth)
    recall = hits / len(truth) if truth else 1.0
    precision = hits / len(found) if found else 1.0
    return f"recall {recall:.2f} ({hits}/{len(truth)})  precision {precision:.2f} ({hits}/{len(found)})"


def last(parameter: str) -> str:
    """Give the last name of a path, by which arguments and fields of results are compared."""
    return next((step for step in reversed(re.split(r"[.\[\]]", parameter)) if step not in ("", "*")), "")


def read_divergences(path: Path) -> tuple[set[Pair], set[Pair]]:
    """Read a truth table of divergences: what is to be found, and what may be told beside it."""
    data = json.loads(path.read_text(encoding="utf-8"))
    rows, beside = (data["divergences"], data.get("also_true", ())) if isinstance(data, dict) else (data, ())
    asked = {(row["tool"], last(row.get("parameter") or "")) for row in rows}
    return asked, {(row["tool"], last(row.get("parameter") or "")) for row in beside} - asked


def as_asked(found: set[Pair], truth: set[Pair], beside: set[Pair]) -> set[Pair]:
    """Give what was found as the truth words it: a fact about the whole answer may be told of the arguments."""
    whole = {(tool, "") for tool, parameter in found & beside if (tool, "") in truth}
    return (found - beside) | whole


def read_edges(path: Path) -> tuple[set[Pair], set[Pair], set[str]]:
    """Read a truth graph: its edges, those that are not counted, and the tools it is about (none: all)."""
    data = json.loads(path.read_text(encoding="utf-8"))
    rows, beside = (data["edges"], data.get("not_counted", ())) if isinstance(data, dict) else (data, ())
    tools = set(data.get("tools", ())) if isinstance(data, dict) else set()
    return _pairs(rows), _pairs(beside), tools


def _pairs(rows: Iterable[Any]) -> set[Pair]:
    pairs = set()
    for row in rows:
        ends = (row.get("source", row.get("from")), row.get("target", row.get("to"))) if isinstance(row, dict) else row
        if ends[0] != ends[1]:
            pairs.add((ends[0], ends[1]))
    return pairs


def found_edges(cards: Cards) -> set[Pair]:
    """Give the edges that evidence makes between tools."""
    graph = build_graph(cards, build_taxonomy(cards))
    return {(edge.source, edge.target) for edge in graph.edges if edge.via}


def baseline(cards: Cards) -> set[Pair]:
    """Give the edges of equal names: a field of the results seen is called like an argument."""
    gives = {card.tool: {path.split(".")[-1] for path, _ in output_leaves(card.output)} for card in cards.cards}
    takes = {card.tool: {one.path.split(".")[-1] for one in card.parameters} - {"*"} for card in cards.cards}
    return {(a, b) for a in gives for b in takes if a != b and (gives[a] - {"*", ""}) & takes[b]}


async def print_worth(suite: Suite, hints: dict[str, list[Any]], arguments: argparse.Namespace) -> None:
    """Print, for each strategy, which edges are found without it."""
    truth, beside, tools = read_edges(arguments.edges)
    for name in STRATEGIES:
        without = frozenset({name})
        cards = await probe(await _world(suite, hints, without, None), seed=arguments.seed, without=without)
        found = {pair for pair in found_edges(cards) - beside if not tools or tools >= set(pair)}
        print(f"  without {name:<12} {scored(found, truth)}")


async def _world(suite: Suite, hints: dict[str, list[Any]], without: frozenset[str], resettable: bool | None) -> World:
    """Open a suite's tools to probing, with what its state holds."""
    world = world_of(suite, hints=hints, resettable=resettable)
    if suite.environment.state is None or "state" in without:
        return world
    given = {name: tuple(values) for name, values in hints.items()}
    state = await state_of(world)
    known = {name: list(values) for name, values in hints_of(world.toolset, state, given).items()}
    return world_of(suite, hints=known, rows=values_of(state), resettable=resettable)


def listed(title: str, pairs: Iterable[Pair], sep: str) -> None:
    """Print pairs, one a line."""
    for one in sorted(pairs):
        print(f"  {title}: {sep.join(one)}")


def not_installed(suite: Suite) -> str:
    """Name the program that a suite's tools need and that is not on the PATH, "" where it is there."""
    remote = next((part.remote for part in suite.environment.tools if part.remote), None)
    command = (
        remote.command if isinstance(remote, McpSpec) else remote.service.command if remote and remote.service else ()
    )
    programs = (
        [command[0], *command[-1:]] if command[:1] == ("sh",) else list(command[:1])
    )  # a script ends with its server
    return next((name for name in programs if name != "{python}" and shutil.which(name) is None), "")


def _silent(_: str) -> None:
    """Tell nobody."""


async def main(arguments: argparse.Namespace) -> None:
    """Probe, score and print."""
    suite = load_suite(arguments.suite, environ=os.environ, generating=True)
    missing = not_installed(suite)
    if missing:
        print(f"{suite.name}: skipped, {missing} is not installed (see the head of {arguments.suite})")
        return
    recipe = suite.generate
    hints: dict[str, list[Any]] = {name: list(values) for name, values in recipe.values.items()} if recipe else {}
    for hint in arguments.hint:
        name, _, value = hint.partition("=")
        hints.setdefault(name, []).append(value)
    without = frozenset(arguments.without)
    world = await _world(suite, hints, without, True if arguments.resettable else None)
    policy = Policy(writes=arguments.writes, deny=frozenset(arguments.deny))
    began = time.monotonic()
    cards = await probe(
        world, seed=arguments.seed, policy=policy, without=without, told=print if arguments.progress else _silent
    )
    seconds = time.monotonic() - began
    calls = sum(len(card.probes) for card in cards.cards)
    print(f"{suite.name}: {len(cards.cards)} tools, {calls} probes, {seconds:.1f} s")
    listed("partial", ((card.tool, card.partial) for card in cards.cards if card.partial), ": ")
    divergences = {(card.tool, last(one.parameter)) for card in cards.cards for one in card.divergences}
    if arguments.divergences:
        truth, beside = read_divergences(arguments.divergences)
        divergences = as_asked(divergences, truth, beside)
        print(f"divergences  {scored(divergences, truth)}")
        listed("missed", truth - divergences, ".")
        listed("invented", divergences - truth, ".")
    edges, static = found_edges(cards), baseline(cards)
    if arguments.edges:
        truth, beside, tools = read_edges(arguments.edges)
        edges, static = ({pair for pair in one - beside if not tools or tools >= set(pair)} for one in (edges, static))
        print(f"edges        {scored(edges, truth)}")
        print(f"equal names  {scored(static, truth)}")
        listed("missed", truth - edges, " -> ")
        listed("invented", edges - truth, " -> ")
        if arguments.worth:
            await print_worth(suite, hints, arguments)
    if arguments.show:
        for card in cards.cards:
            for one in card.divergences:
                print(f"  {card.tool}.{one.parameter} {one.kind}: {one.actual}")
        for flow in cards.flows:
            print(f"  {flow.source}.{flow.source_path} -> {flow.target}.{flow.target_path}: {flow.values[:2]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--divergences", type=Path)
    parser.add_argument("--edges", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--writes", action="store_true", help="allow writes where the environment cannot be reset")
    parser.add_argument("--resettable", action="store_true", help="each opened environment is a fresh, disposable one")
    parser.add_argument("--hint", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--deny", action="append", default=[], metavar="TOOL")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", choices=[*STRATEGIES])
    parser.add_argument("--worth", action="store_true", help="with --edges: what each strategy is worth, one by one")
    parser.add_argument("--progress", action="store_true", help="print what probing tells while it works")
    parser.add_argument("--show", action="store_true", help="print what was found, with its evidence")
    sys.exit(asyncio.run(main(parser.parse_args())))
