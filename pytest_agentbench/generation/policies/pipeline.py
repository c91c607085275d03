"""Scenarios from policies, stage after stage: policies, graph, sets, drafts, scenarios (IntellAgent §3.1, Table 3).

What was read and proposed before is asked of no model again: people may have reviewed it.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import count
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.suite import GenerateSpec, Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.policies.analyst import Analyst, Dropped, Facts, facts_of
from pytest_agentbench.generation.policies.data_types import (
    ExtractedPolicy,
    Extraction,
    PolicyGraph,
    PolicySet,
    covered_pairs,
    exercised,
)
from pytest_agentbench.generation.policies.extraction import STRUCTURE, PolicyDocument, extract, extract_by_model
from pytest_agentbench.generation.policies.graph import (
    learn_weights,
    model_graph,
    other_challenges,
    policies_of_results,
    policy_tools,
    results_in,
    shared_graph,
)
from pytest_agentbench.generation.policies.identity import diff, invalidated
from pytest_agentbench.generation.policies.review import edited, read_forms, review
from pytest_agentbench.generation.policies.sampling import LIKELY, overshoot
from pytest_agentbench.generation.policies.source import levels_of, policy_source, sets_of
from pytest_agentbench.generation.produce import Production
from pytest_agentbench.generation.recipe import Outcome, Told, hashes_of, recipe_of
from pytest_agentbench.generation.recipe_folder import Store
from pytest_agentbench.generation.report import CoverageRow, document_of, lines_of
from pytest_agentbench.generation.roles import RoleModels
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.llm.protocols import Chat

POLICIES, GRAPH, SETS = "policies.json", "graph.json", "sets.json"
FOUND = "policies.yaml"
"""Policies that were read from a document, as a suite names them."""


class Roles(RoleModels):
    """The roles of this pipeline that a model can play, in its order."""

    known = ("extractor", "analyst", "weigher", "rower", "writer", "critic")


class PolicyFolder:
    """The folder of a recipe: policies, graph and sets as JSON, each made from what stands before it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def found(self) -> Path:
        """Where the policies of a document are, as a suite reads them."""
        return self.path / FOUND

    def extraction(self) -> Extraction | None:
        """Read the policies as they were written last; None where there are none that can be read."""
        try:
            return Extraction.model_validate_json((self.path / POLICIES).read_text(encoding="utf-8"), strict=False)
        except (OSError, ValueError):
            return None

    def save_extraction(self, extraction: Extraction) -> None:
        """Write the policies; `review.py` writes the file in which people read them."""
        self._write(POLICIES, extraction.model_dump(mode="json", exclude_defaults=True))

    def save_graph(self, graph: PolicyGraph) -> None:
        """Write the edges; the nodes stand with the policies."""
        edges = [dumps([one.source, one.target, one.weight, list(one.via)]) for one in graph.edges]
        self._write(GRAPH, {"weights": graph.weights, "edges": list[JsonValue](edges)})

    def save_sets(self, sets: Sequence[PolicySet], made_from: str) -> None:
        """Write the sets that became scenarios."""
        self._write(SETS, {"made_from": made_from, "sets": [one.model_dump(mode="json") for one in sets]})

    def _write(self, name: str, content: JsonValue) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path / name, dumps(content, indent=1) + "\n")


class PoliciesRead(Model):
    """The policies of a recipe, the suite that states them, and lines to print."""

    extraction: Extraction
    suite: Suite
    lines: tuple[str, ...] = ()


async def read_policies(suite: Suite, toolset: Toolset, roles: Roles, folder: PolicyFolder) -> PoliciesRead:
    """Read the policies of the document, or the suite's own; propose rules; bring the file for review up to date.

    Raise `SuiteFaultError` where there is no policy, and `SuiteError` where the file for review cannot be read.
    """
    recipe = recipe_of(suite)
    before = folder.extraction() if recipe.document is not None else None
    found = await _extracted(recipe, recipe.document, roles, before) if recipe.document else of_suite(suite)
    if not found.policies:
        raise SuiteFaultError(f"{suite.path}: no policies were found in {found.document or 'the suite'}")
    if recipe.document is None:
        folder.save_extraction(found)
        return PoliciesRead(extraction=found, suite=suite)
    forms = read_forms(folder.found) or []
    written_last = before.policies if before else ()
    proposed, dropped = await _proposed(
        suite, toolset, roles, _carried(found, written_last), edited(forms, written_last)
    )
    policies, notes = review(folder.found, written_last, proposed.policies, document=found.document)
    folder.save_extraction(proposed)
    extraction = proposed.model_copy(update={"policies": policies})
    lines = (*_changes(proposed, before, suite), *notes, *_counts(extraction, dropped))
    known = {str(form["id"]): form for form in forms}
    return PoliciesRead(extraction=extraction, suite=_stating(suite, extraction, known), lines=lines)


def of_suite(suite: Suite) -> Extraction:
    """Give a suite's own policies as if extracted; their category is the flow that they stand in."""
    policies = tuple(
        ExtractedPolicy(**one.model_dump(), flows=(one.category,) if one.category else ()) for one in suite.policies
    )
    return Extraction(document=suite.path.name, by="suite", policies=policies)


async def _extracted(recipe: GenerateSpec, file: Path, roles: Roles, before: Extraction | None) -> Extraction:
    chat = roles.chat("extractor")
    document = PolicyDocument(name=file.name, text=file.read_text(encoding="utf-8"), previous=before)
    by_structure = extract(document)
    is_unchanged = before is not None and before.document_hash == by_structure.document_hash
    # what a model read of the same document stays where a session has none: people may have reviewed it
    if before is not None and is_unchanged and (chat is None or before.by == f"llm:{chat.spec.model}"):
        return before
    if chat is None:
        return by_structure
    return await extract_by_model(document, chat, Random(f"extractor/{recipe.seed}"))  # noqa: S311 - a nonce


def _carried(found: Extraction, before: Iterable[ExtractedPolicy]) -> Extraction:
    """Give policies what was proposed for them before, as far as their texts are the same."""
    old = {(one.id, one.text): one for one in before}
    fields = {"challenge", "rule", "tools", "source", "note"}
    policies = (
        one.model_copy(update=old.get((one.id, one.text), one).model_dump(include=fields)) for one in found.policies
    )
    return found.model_copy(update={"policies": tuple(policies)})


async def _proposed(
    suite: Suite, toolset: Toolset, roles: Roles, found: Extraction, theirs: Collection[str]
) -> tuple[Extraction, tuple[Dropped, ...]]:
    """Propose rules for policies that have no proposal yet; without a model, the tools that their texts name.

    `theirs` are written by people, and nothing is proposed for them.
    """
    chat, specs = roles.chat("analyst"), toolset.of("assistant")
    dropped: tuple[Dropped, ...] = ()
    if chat is None:
        new = {
            one.id: one.model_copy(update={"tools": one.tools or policy_tools(one, specs)}) for one in found.policies
        }
    elif fresh := [one for one in found.policies if one.challenge is None and one.id not in theirs]:
        has_tools = toolset or suite.environment.tools  # a server tells its own when it runs
        facts = await facts_of(world_of(suite, toolset=toolset), suite.now) if has_tools else Facts(now=suite.now)
        analyst = Analyst(chat, facts, Random(f"analyst/{recipe_of(suite).seed}"))  # noqa: S311 - a nonce
        analysis = await analyst(fresh)
        new, dropped = {one.id: one for one in analysis.policies}, analysis.dropped
    else:
        new = {}
    return found.model_copy(update={"policies": tuple(new.get(one.id, one) for one in found.policies)}), dropped


def _stating(suite: Suite, extraction: Extraction, written: Mapping[str, object]) -> Suite:
    """Give the suite with the policies of the file, so that scenarios can name them.

    A policy of the suite's own stays, unless the suite took it from the file as it was before.
    """
    own = {one.id: one for one in suite.policies}
    stays = {
        name: one for name, one in own.items() if name not in written or one != Policy.model_validate(written[name])
    }
    found = {one.id: one.policy() for one in extraction.policies}
    return suite.model_copy(update={"policies": tuple({**own, **found, **stays}.values())})


def _changes(found: Extraction, before: Extraction | None, suite: Suite) -> list[str]:
    """Say what a changed document changed, and which scenarios rest on it."""
    if before is None or before.document_hash == found.document_hash:
        return []
    changes = diff(before, found)
    new, gone = (sum(what in one.what for one in changes) for what in ("new", "gone"))
    changed = sum(one.matters for one in changes) - gone
    resting = invalidated(changes, suite.scenarios)
    return [
        f"{found.document} changed: {new} new, {changed} changed, {gone} gone",
        *(f"  {scenario} rests on it: {'; '.join(reasons)}" for scenario, reasons in resting.items()),
    ]


def _counts(extraction: Extraction, dropped: Sequence[Dropped]) -> list[str]:
    policies = extraction.policies
    ruled = sum(one.rule is not None for one in policies)
    how = "by structure" if extraction.by == STRUCTURE else "by a model"
    read = count(len(policies), "policy", "policies")
    lines = [f"{read} read {how}, {ruled} with a rule, {len(policies) - ruled} for a judge alone"]
    if dropped:
        lines.append(f"{count(len(dropped), 'part')} of proposals did not hold: dropped")
    return [*lines, *(f"  {one.policy}, {one.part}: {one.reason}" for one in dropped)]


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
    tools, weigher = toolset.of("assistant"), roles.chat("weigher")
    nonces = Random(f"weigher/{recipe.seed}")  # noqa: S311 - a nonce
    graph = (
        shared_graph(read.extraction, tools)
        if weigher is None
        else await model_graph(read.extraction, weigher, nonces, tools)
    )
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
    lines = [*read.lines, *learnt, *filter(None, [line]), *([overshoot(first, high)] if recipe.walk == "paper" else [])]
    if not first:
        raise SuiteFaultError(f"generate.levels: no set of policies has a level from {low} to {high}")
    made_from = hashes_of(suite, toolset).all
    if until == "walks":
        folder.save_sets(first, made_from)
        return stopped(*lines, f"{count(len(first), 'set')} in {folder.path}")

    rower = roles.chat("rower")
    source = await policy_source(read.suite, toolset, graph, rower=rower, force=force, told=told)
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
