"""Scenarios from policies, stage after stage: policies, graph, sets, drafts, scenarios (IntellAgent §3.1, Table 3)."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.policies.reading import (
    PoliciesRead,
    coverage_of,
    graph_of,
    levels_of,
    lines_of_sets,
    read_policies,
    sets_of,
)
from pytest_agentbench.generation.policies.roles import Roles
from pytest_agentbench.generation.policies.source import policy_source
from pytest_agentbench.generation.policies.storing import PolicyFolder
from pytest_agentbench.generation.policies.values import PolicyGraph
from pytest_agentbench.generation.produce import Production
from pytest_agentbench.generation.recipe import Outcome, Told, hashes_of, recipe_of
from pytest_agentbench.generation.report import document_of, lines_of
from pytest_agentbench.generation.store import Store
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.llm.seams import Chat


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
    pipeline = _Pipeline(
        suite=suite,
        toolset=toolset,
        roles=Roles(recipe_of(suite), chats),
        force=force,
        told=told,
        now=now,
        today=today,
    )
    return await pipeline.run(until)


@dataclass(kw_only=True)
class _Pipeline:
    """One recipe at work."""

    suite: Suite
    toolset: Toolset
    roles: Roles
    force: bool
    told: Told
    now: Callable[[], float]
    today: Callable[[], date]

    async def run(self, until: str) -> Outcome:
        recipe = recipe_of(self.suite)
        folder = PolicyFolder(recipe.out)
        read = await read_policies(self.suite, self.toolset, self.roles, folder)
        if until == "cards":
            return _stopped(until, *read.lines, f"{len(read.extraction.policies)} policies in {folder.path}")
        graph = await graph_of(read, self.toolset, self.roles)
        folder.save_graph(graph)
        if until == "graph":
            return _stopped(until, *read.lines, f"{len(graph.policies)} policies, {len(graph.edges)} edges")
        low, high = levels_of(recipe, graph)[0]
        first = sets_of(recipe, graph, recipe.count, seed=recipe.seed)
        lines = [*read.lines, *lines_of_sets(recipe, graph, first)]
        if not first.sets:
            raise SuiteFaultError(f"generate.levels: no set of policies has a level from {low} to {high}")
        if until == "walks":
            folder.save_sets(first.sets, hashes_of(self.suite, self.toolset).all)
            return _stopped(until, *lines, f"{len(first.sets)} sets in {folder.path}")
        return await self._scenarios(read, graph, lines, folder)

    async def _scenarios(
        self, read: PoliciesRead, graph: PolicyGraph, lines: list[str], folder: PolicyFolder
    ) -> Outcome:
        """Have the drafts of sets worded, accepted and written; give the report."""
        recipe, suite = recipe_of(self.suite), read.suite
        source = await policy_source(
            suite,
            self.toolset,
            graph,
            count=recipe.count,
            draw=partial(sets_of, recipe),
            seed=recipe.seed,
            validators=recipe.validators,
            languages=tuple(recipe.languages) or (suite.language,),
            rower=self.roles.chat("rower"),
        )
        async with world_of(suite, toolset=self.toolset).open() as opened:
            state = await opened.snapshot()
        production = Production(
            suite=suite,
            toolset=self.toolset,
            source=source,
            store=Store(recipe.out),
            made_from=hashes_of(suite, self.toolset).all,
            today=self.today(),
            state=state,
            roles=self.roles,
            force=self.force,
            told=self.told,
            now=self.now,
        )
        report = await production.run()
        used = {draft.id for draft in report.accepted}
        made = [one for one in source.sets if one.id in used]
        folder.save_sets(made, production.made_from)
        left = [f"{policy} is in no set: {reason}" for policy, reason in source.left_out.items()]
        report = replace(
            report,
            coverage=coverage_of(source.graph, made),
            lines=(*lines, *source.not_called, *left, *self._to_add(folder, suite)),
        )
        production.store.save_report(document_of(report))
        return Outcome(lines=tuple(lines_of(report)), accepted=len(report.accepted), wanted=recipe.count)

    def _to_add(self, folder: PolicyFolder, suite: Suite) -> list[str]:
        """Say what the suite's file needs, where its scenarios name policies that it does not list."""
        if len(suite.policies) == len(self.suite.policies):
            return []
        found = os.path.relpath(folder.found, self.suite.root)
        return [f"add `policies: {found}` to {self.suite.path.name}: its scenarios name policies that it does not list"]


def _stopped(until: str, *lines: str) -> Outcome:
    return Outcome(lines=(f"agentbench generate: from policies · until {until}", *lines), until=until)
