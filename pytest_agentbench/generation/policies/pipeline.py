"""Scenarios from policies, stage after stage: policies, graph, sets, drafts, scenarios (IntellAgent §3.1, Table 3)."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from random import Random

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.policies.data_types import PolicyGraph, PolicySet, covered_pairs, exercised
from pytest_agentbench.generation.policies.graph import GraphInput, model_graph, shared_graph
from pytest_agentbench.generation.policies.loader import PoliciesRead, PolicyFolder, Roles, read_policies
from pytest_agentbench.generation.policies.run_evidence import (
    learn_weights,
    other_challenges,
    policies_of_results,
    results_in,
)
from pytest_agentbench.generation.policies.sampling import LIKELY, overshoot
from pytest_agentbench.generation.policies.source import levels_of, policy_source, sets_of
from pytest_agentbench.generation.produce import Production
from pytest_agentbench.generation.recipe import Outcome, Told, hashes_of, recipe_of
from pytest_agentbench.generation.recipe_folder import Store
from pytest_agentbench.generation.report import CoverageRow, document_of, lines_of
from pytest_agentbench.llm.protocols import Chat


def _today() -> date:
    return datetime.now(UTC).date()


async def run(
    suite: Suite,
    toolset: Toolset,
    *,
    chats: Callable[[str], Chat] | None = None,
    until: str = "",
    force: bool = False,
    told: Told = lambda _: None,
    now: Callable[[], float] = time.monotonic,
    today: Callable[[], date] = _today,
) -> Outcome:
    """Run the recipe of a suite; raise `SuiteFaultError` where there is nothing to work on."""
    recipe = recipe_of(suite)
    roles, folder = Roles(recipe, chats), PolicyFolder(recipe.out)

    def stopped(*lines: str) -> Outcome:
        return Outcome(lines=(f"agentbench generate: from policies · until {until}", *lines), until=until)

    read = await read_policies(suite, toolset, roles, folder)
    if until == "cards":
        return stopped(*read.lines, f"{count(len(read.extraction.policies), 'policy', 'policies')} in {folder.path}")
    inputs, weigher = GraphInput(extraction=read.extraction, tools=toolset.of("assistant")), roles.chat("weigher")
    nonces = Random(f"weigher/{recipe.seed}")  # noqa: S311 - a nonce
    graph = shared_graph(inputs) if weigher is None else await model_graph(inputs, weigher, nonces)
    learnt: list[str] = []
    if recipe.traces:
        results = results_in(recipe.traces)
        conversations = policies_of_results(results)
        graph = learn_weights(graph, conversations)
        several = "s" * (len(conversations) != 1)
        learnt = [f"weights corrected by {len(conversations)} run{several}", *other_challenges(graph, results)]
    folder.save_graph(graph)
    if until == "graph":
        return stopped(
            *read.lines,
            *learnt,
            f"{count(len(graph.policies), 'policy', 'policies')}, {count(len(graph.edges), 'edge')}",
        )
    (low, high), line = levels_of(recipe, graph)
    first = sets_of(recipe, graph, recipe.count, seed=recipe.seed)
    lines = [*read.lines, *learnt, *filter(None, [line]), *([overshoot(first)] if recipe.walk == "paper" else [])]
    if not first.sets:
        raise SuiteFaultError(f"generate.levels: no set of policies has a level from {low} to {high}")
    made_from = hashes_of(suite, toolset).all
    if until == "walks":
        folder.save_sets(first.sets, made_from)
        return stopped(*lines, f"{count(len(first.sets), 'set')} in {folder.path}")

    source = await policy_source(read.suite, toolset, graph, rower=roles.chat("rower"))
    production = Production(
        suite=read.suite,
        toolset=toolset,
        source=source,
        store=Store(recipe.out),
        made_from=hashes_of(read.suite, toolset).all,
        today=today(),
        state=source.maker.runs.initial,
        roles=roles,
        force=force,
        told=told,
        now=now,
    )
    report = await production.run()
    used = {draft.id for draft in report.accepted}
    sets = [one for one in source.sets if one.id in used]
    folder.save_sets(sets, production.made_from)
    left = [f"{policy} is in no set: {reason}" for policy, reason in source.left_out.items()]
    if source.passed_over:
        left.append(
            f"{count(source.passed_over, 'set')} passed over: no person's requests are about all their policies"
        )
    all_lines = (*lines, *source.not_called, *left, *_to_add(read, suite, folder))
    report = replace(report, coverage=_coverage(source.graph, sets), lines=all_lines)
    production.store.save_report(document_of(report))
    return Outcome(lines=tuple(lines_of(report)), accepted=len(report.accepted), wanted=recipe.count)


def _to_add(read: PoliciesRead, suite: Suite, folder: PolicyFolder) -> list[str]:
    """Say what the suite's file needs, where its scenarios name policies that it does not list."""
    if len(read.suite.policies) == len(suite.policies):
        return []
    found = os.path.relpath(folder.found, suite.root)
    return [f"add `policies: {found}` to {suite.path.name}: its scenarios name policies that it does not list"]


def _coverage(graph: PolicyGraph, sets: Sequence[PolicySet]) -> list[CoverageRow]:
    """Say which policies and which likely pairs of them are in some set."""
    seen, pairs = exercised(sets), covered_pairs(sets)
    likely = {(min(one.source, one.target), max(one.source, one.target)) for one in graph.edges if one.weight >= LIKELY}
    missing = tuple((one.id, "in no scenario") for one in graph.policies if one.id not in seen)
    return [
        CoverageRow(what="policies", covered=len(seen), total=len(graph.policies), missing=missing),
        CoverageRow(what="likely pairs", covered=len(likely & pairs), total=len(likely)),
    ]
