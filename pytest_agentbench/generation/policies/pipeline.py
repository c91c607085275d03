"""Scenarios from policies, stage after stage: policies, graph, sets, events, scenarios (IntellAgent §3.1, Table 3)."""

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.suite import GenerateSpec, Suite
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.generation.policies.events.assembly import scenario_form
from pytest_agentbench.generation.policies.events.events import EventMaker, RejectedEventError
from pytest_agentbench.generation.policies.events.preparing import extraction_of, maker_of
from pytest_agentbench.generation.policies.extraction.extraction import PolicyDocument, extract
from pytest_agentbench.generation.policies.extraction.extraction_model import ModelExtractor
from pytest_agentbench.generation.policies.graph.graph import GraphInput, ToolWords, shared_graph
from pytest_agentbench.generation.policies.graph.graph_model import ModelWeights
from pytest_agentbench.generation.policies.reporting import Made, document_of, lines_of
from pytest_agentbench.generation.policies.roles import Roles
from pytest_agentbench.generation.policies.sampling.sampling import sample
from pytest_agentbench.generation.policies.storing import PolicyFolder
from pytest_agentbench.generation.policies.values import (
    Event,
    EventRejection,
    Extraction,
    Infeasible,
    PolicyGraph,
    PolicySet,
)
from pytest_agentbench.generation.recipe import Hashes, Outcome, Told, hashes_of, recipe_of
from pytest_agentbench.generation.tools.making import languages_of
from pytest_agentbench.generation.tools.wording.phrasing import language_of
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.scenario_form import form_to_scenario
from pytest_agentbench.validation.scenario import Shared, validate_scenario

_ROUNDS = 6
"""Times that sets are drawn for those that became no scenario."""


async def run(
    suite: Suite,
    toolset: Toolset,
    *,
    chats: Callable[[str], Chat] | None = None,
    until: str = "",
    force: bool = False,  # noqa: ARG001 - both pipelines are started alike
    told: Told = lambda _: None,
    now: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Run the recipe of a suite; raise `SuiteFaultError` where there is nothing to work on.

    `force` makes no difference: without a model everything is made anew in seconds, and a model's answers are in the
    cassette.
    """
    pipeline = _Pipeline(suite=suite, toolset=toolset, roles=Roles(recipe_of(suite), chats), told=told, now=now)
    return await pipeline.run(until)


@dataclass(kw_only=True)
class _Pipeline:
    """One recipe at work."""

    suite: Suite
    toolset: Toolset
    roles: Roles
    told: Told
    now: Callable[[], float]
    accepted: list[tuple[Event, dict[str, JsonValue]]] = field(default_factory=list)
    rejections: list[EventRejection] = field(default_factory=list)
    sets: list[PolicySet] = field(default_factory=list)

    async def run(self, until: str) -> Outcome:
        recipe = recipe_of(self.suite)
        folder = PolicyFolder(recipe.out)
        extraction = await self._extracted(recipe)
        if not extraction.policies:
            raise SuiteFaultError(f"{self.suite.path}: no policies were found in {extraction.document or 'the suite'}")
        suite = self._with_policies(extraction)
        folder.save_extraction(extraction, found=recipe.document is not None)
        if until == "cards":
            return _stopped(until, f"{len(extraction.policies)} policies in {folder.path}")
        graph = await self._graph(extraction)
        folder.save_graph(graph)
        if until == "graph":
            return _stopped(until, f"{len(graph.policies)} policies, {len(graph.edges)} edges in {folder.path}")
        low, high = recipe.levels
        first = sample(graph, recipe.count, low, high, seed=recipe.seed)
        hashes = hashes_of(self.suite, self.toolset)
        if until == "walks":
            folder.save_sets(first.sets, hashes.all)
            return _stopped(until, f"{len(first.sets)} sets in {folder.path}")
        if not first.sets:
            raise SuiteFaultError(f"generate.levels: no set of policies has a level from {low} to {high}")
        maker = await maker_of(suite, self.toolset, extraction, seed=recipe.seed, validators=recipe.validators)
        maker.writers = self.roles
        await self._all(maker, graph, first.sets, hashes, suite)
        folder.save_sets([event.set for event, _ in self.accepted], hashes.all)
        folder.save_scenarios(form for _, form in self.accepted)
        made = self._made(maker, graph, first.infeasible)
        folder.save_report(document_of(made))
        lines = [*lines_of(made), *self._to_add(folder, suite)]
        return Outcome(lines=tuple(lines), accepted=len(self.accepted), wanted=recipe.count)

    async def _all(
        self, maker: EventMaker, graph: PolicyGraph, sets: Sequence[PolicySet], hashes: Hashes, suite: Suite
    ) -> None:
        """Make events of sets, and draw others for those that became none."""
        recipe = recipe_of(self.suite)
        described = language_of(spec.description for spec in self.toolset.of("assistant"))
        languages = languages_of(recipe.languages, described, has_model=bool(self.roles.player("narrator")))
        low, high = recipe.levels
        with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
            isolation = IsolationGate(Path(directory))
            shared = Shared(isolation=isolation, now=self.now, seed=recipe.seed, mutate=False)
            for round_ in range(_ROUNDS):
                for one in sets:
                    self.sets.append(one)
                    await self._one(maker, one, languages[len(self.sets) % len(languages)], hashes, shared, suite)
                missing = recipe.count - len(self.accepted)
                if missing <= 0:
                    return
                seed = recipe.seed + round_ + 1
                sets = sample(graph, missing, low, high, seed=seed, taken=self.sets).sets
                if not sets:
                    return

    async def _one(  # noqa: PLR0917 - all of it is what a scenario is made with
        self, maker: EventMaker, one: PolicySet, language: str, hashes: Hashes, shared: Shared, suite: Suite
    ) -> None:
        recipe = recipe_of(self.suite)
        for by_key in (False, True):
            try:
                event = await maker.make(one, language=language, by_key=by_key)
                form = scenario_form(event, maker.oracle.samples, hashes=hashes, seed=recipe.seed)
                await self._validated(one, form, shared, suite)
                break
            except RejectedEventError as error:
                if error.rejection.reason == "unreachable" and not by_key:
                    continue  # nothing leads there from the names that people use: keys are said instead
                self.rejections.append(error.rejection)
                self.told(f"{one.id} lost: {error}")
                return
        self.accepted.append((event, form))
        self.told(f"scenario {len(self.accepted)} of {recipe.count}")

    async def _validated(self, one: PolicySet, form: dict[str, JsonValue], shared: Shared, suite: Suite) -> None:
        """Ask what `agentbench validate` asks of one scenario; wrong runs are left to that command."""
        found = form_to_scenario(form, ())
        if isinstance(found, list):
            raise _lost(one, "assembly", "not a scenario", "; ".join(str(misfit) for misfit in found[:3]))
        scenario = found.model_copy(update={"file": str(suite.path)})
        alone = suite.model_copy(update={"scenarios": (scenario,)})
        problems = check_calls(alone.model_copy(update={"policies": ()}), self.toolset)
        if problems:
            raise _lost(one, "validation", "static", str(problems[0]))
        variant = next(iter(alone.variants), "")
        plan = RunPlan(suite=alone, suite_key=str(alone.path), scenario=scenario, variant=variant, toolset=self.toolset)
        report = await validate_scenario(plan, shared)
        if not report.is_valid:
            raise _lost(one, "validation", report.issues[0].kind, report.issues[0].message)

    async def _extracted(self, recipe: GenerateSpec) -> Extraction:
        if recipe.document is None:
            return extraction_of(self.suite.policies, self.suite.path.name)
        document = PolicyDocument(name=recipe.document.name, text=recipe.document.read_text(encoding="utf-8"))
        chat = self.roles.chat("extractor")
        if chat is None:
            return extract(document)
        return await ModelExtractor(chat, random=Random(f"extractor/{recipe.seed}"))(document)  # noqa: S311 - a nonce

    async def _graph(self, extraction: Extraction) -> PolicyGraph:
        recipe = recipe_of(self.suite)
        words = tuple(ToolWords(name=one.name, description=one.description) for one in self.toolset.of("assistant"))
        given = GraphInput(extraction=extraction, tools=words)
        chat = self.roles.chat("weigher")
        if chat is None:
            return shared_graph(given)
        return await ModelWeights(chat, random=Random(f"weigher/{recipe.seed}"))(given)  # noqa: S311 - a nonce

    def _with_policies(self, extraction: Extraction) -> Suite:
        """Give the suite with the policies that were found beside its own, so that scenarios can name them."""
        own = {one.id for one in self.suite.policies}
        found = tuple(one.policy() for one in extraction.policies if one.id not in own)
        return self.suite.model_copy(update={"policies": (*self.suite.policies, *found)})

    def _to_add(self, folder: PolicyFolder, suite: Suite) -> list[str]:
        """Say what the suite's file needs, where its scenarios name policies that it does not list."""
        if len(suite.policies) == len(self.suite.policies):
            return []
        found = os.path.relpath(folder.found, self.suite.root)
        return [f"add `policies: {found}` to {self.suite.path.name}: its scenarios name policies that it does not list"]

    def _made(self, maker: EventMaker, graph: PolicyGraph, infeasible: Sequence[Infeasible]) -> Made:
        recipe = recipe_of(self.suite)
        return Made(
            name=self.suite.name,
            recipe=recipe,
            events=[event for event, _ in self.accepted],
            rejections=self.rejections,
            infeasible=list(infeasible),
            policies=[one.id for one in graph.policies],
            bound=sorted(maker.oracle.bound),
            challenges={one.id: one.challenge for one in graph.policies},
            calls=self.roles.calls,
            players=self.roles.players,
        )


def _stopped(until: str, line: str) -> Outcome:
    return Outcome(lines=(f"agentbench generate: from policies · until {until}", line), until=until)


def _lost(one: PolicySet, stage: str, reason: str, detail: str) -> RejectedEventError:
    told = shorten(printable(detail), 300)
    return RejectedEventError(
        EventRejection.model_validate({"set": one.id, "stage": stage, "reason": reason, "detail": told})
    )
