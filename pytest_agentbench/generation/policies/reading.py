"""From a recipe to sets of policies: read, analysed, reviewed, joined in a graph, drawn (IntellAgent §3.1.1)."""

from collections.abc import Collection, Sequence
from random import Random

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.suite import GenerateSpec, Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.policies.analysis.analyst import Analyst, Dropped
from pytest_agentbench.generation.policies.analysis.facts import Facts, facts_of
from pytest_agentbench.generation.policies.analysis.review import edited, read_forms, review
from pytest_agentbench.generation.policies.diff import diff, invalidated
from pytest_agentbench.generation.policies.extraction.extraction import STRUCTURE, PolicyDocument, extract
from pytest_agentbench.generation.policies.extraction.extraction_model import ModelExtractor
from pytest_agentbench.generation.policies.graph.graph import GraphInput, policy_tools, shared_graph
from pytest_agentbench.generation.policies.graph.graph_model import ModelWeights
from pytest_agentbench.generation.policies.roles import Roles
from pytest_agentbench.generation.policies.sampling.paper import overshoot, paper_sample
from pytest_agentbench.generation.policies.sampling.sampling import LIKELY, sample
from pytest_agentbench.generation.policies.storing import PolicyFolder
from pytest_agentbench.generation.policies.values import (
    ExtractedPolicy,
    Extraction,
    PolicyGraph,
    PolicySet,
    Sampling,
    covered_pairs,
    exercised,
)
from pytest_agentbench.generation.recipe import USUAL_LEVELS, recipe_of
from pytest_agentbench.generation.report import CoverageRow
from pytest_agentbench.generation.tools.world import world_of

SIZES = (1, 3)
"""Policies in a set, where policies have no challenge and so sets no level."""


class PoliciesRead(Model):
    """The policies of a recipe, the suite that states them, what did not hold of what was proposed, lines to print."""

    extraction: Extraction
    suite: Suite
    dropped: tuple[Dropped, ...] = ()
    lines: tuple[str, ...] = ()


async def read_policies(suite: Suite, toolset: Toolset, roles: Roles, folder: PolicyFolder) -> PoliciesRead:
    """Read the policies of the document, or the suite's own; propose rules; bring the file for review up to date.

    What was read and proposed before is asked of no model again. Raise `SuiteFaultError` where there is no policy, and
    `SuiteError` where the file for review cannot be read.
    """
    recipe = recipe_of(suite)
    before = folder.extraction() if recipe.document is not None else None
    found = await _extracted(recipe, roles, before) if recipe.document else of_suite(suite)
    if not found.policies:
        raise SuiteFaultError(f"{suite.path}: no policies were found in {found.document or 'the suite'}")
    if recipe.document is None:
        folder.save_extraction(found)
        return PoliciesRead(extraction=found, suite=suite)
    forms = read_forms(folder.found) or []
    theirs = edited(forms, before.policies if before else ())
    proposed, dropped = await _proposed(suite, toolset, roles, _carried(found, before), theirs)
    written = {form["id"]: form for form in forms}
    reviewed = review(folder.found, before.policies if before else (), proposed.policies, document=found.document)
    folder.save_extraction(proposed)
    extraction = proposed.model_copy(update={"policies": reviewed.policies})
    lines = [*_told_of(proposed, before, suite), *reviewed.notes, *_counted(extraction, dropped)]
    return PoliciesRead(
        extraction=extraction, suite=_stating(suite, extraction, written), dropped=dropped, lines=tuple(lines)
    )


async def graph_of(read: PoliciesRead, toolset: Toolset, roles: Roles) -> PolicyGraph:
    """Join the policies in a graph, by what they share or by a model."""
    given = GraphInput(extraction=read.extraction, tools=toolset.of("assistant"))
    chat = roles.chat("weigher")
    if chat is None:
        return shared_graph(given)
    seed = recipe_of(read.suite).seed
    return await ModelWeights(chat, random=Random(f"weigher/{seed}"))(given)  # noqa: S311 - a nonce


def levels_of(recipe: GenerateSpec, graph: PolicyGraph) -> tuple[tuple[int, int], str]:
    """Give the levels of sets, and a line where these are numbers of policies; raise `SuiteFaultError` where both fail.

    A level is a sum of challenges, so each policy needs one; without any, and without `levels:`, sets have a size.
    """
    bare = [one.id for one in graph.policies if one.challenge is None]
    if not bare:
        return recipe.levels or USUAL_LEVELS, ""
    if recipe.levels is not None or recipe.walk == "paper":
        key = "levels" if recipe.levels is not None else "walk"
        listed = ", ".join(bare[:10]) + (f" and {len(bare) - 10} more" if len(bare) > 10 else "")
        raise SuiteFaultError(
            f"generate.{key}: a level is a sum of challenges; write `challenge: 1` to 5 for {listed}, "
            f"or let a model propose them (generate.llm, role analyst)"
        )
    low, high = SIZES
    others = "" if len(bare) == len(graph.policies) else "; those of the others do not count"
    return SIZES, (
        f"no challenge for {len(bare)} policies{others}: {low} to {high} in a set, complexity is the expected calls"
    )


def sets_of(
    recipe: GenerateSpec, graph: PolicyGraph, count: int, *, seed: int, taken: Sequence[PolicySet] = ()
) -> Sampling:
    """Draw sets as the recipe says; `taken` were drawn before."""
    (low, high), is_size = levels_of(recipe, graph)
    if is_size:  # a level is a number of policies or a sum of challenges, never some of both
        bare = tuple(one.model_copy(update={"challenge": None}) for one in graph.policies)
        graph = graph.model_copy(update={"policies": bare})
    if recipe.walk == "paper":
        return paper_sample(graph, count, low, high, seed=seed, steps=recipe.steps, taken=taken)
    return sample(graph, count, low, high, seed=seed, walk=recipe.steps, taken=taken)


def lines_of_sets(recipe: GenerateSpec, graph: PolicyGraph, sampling: Sampling) -> list[str]:
    """Say what sets have in place of levels, and how far the paper's walk misses them."""
    _, line = levels_of(recipe, graph)
    return [*([line] if line else []), *([overshoot(sampling)] if recipe.walk == "paper" else [])]


def coverage_of(graph: PolicyGraph, sets: Sequence[PolicySet]) -> list[CoverageRow]:
    """Say which policies and which likely pairs of them are in some set."""
    seen, pairs = exercised(sets), covered_pairs(sets)
    likely = {(min(one.source, one.target), max(one.source, one.target)) for one in graph.edges if one.weight >= LIKELY}
    missing = tuple((one.id, "in no scenario") for one in graph.policies if one.id not in seen)
    return [
        CoverageRow(what="policies", covered=len(seen), total=len(graph.policies), missing=missing),
        CoverageRow(what="likely pairs", covered=len(likely & pairs), total=len(likely)),
    ]


def of_suite(suite: Suite) -> Extraction:
    """Give a suite's own policies as if extracted; their category is the flow that they stand in."""
    policies = tuple(
        ExtractedPolicy(**one.model_dump(), flows=(one.category,) if one.category else ()) for one in suite.policies
    )
    return Extraction(document=suite.path.name, by="suite", policies=policies)


async def _extracted(recipe: GenerateSpec, roles: Roles, before: Extraction | None) -> Extraction:
    assert recipe.document is not None  # noqa: S101 - the caller asked
    text = recipe.document.read_text(encoding="utf-8")
    chat = roles.chat("extractor")
    document = PolicyDocument(name=recipe.document.name, text=text, previous=before)
    by_structure = extract(document)
    is_unchanged = before is not None and before.document_hash == by_structure.document_hash
    # what a model read of the same document stays where a session has none: people may have reviewed it
    if before is not None and is_unchanged and (chat is None or before.by == f"llm:{chat.spec.model}"):
        return before
    if chat is None:
        return by_structure
    return await ModelExtractor(chat, random=Random(f"extractor/{recipe.seed}"))(document)  # noqa: S311 - a nonce


def _carried(found: Extraction, before: Extraction | None) -> Extraction:
    """Give policies what was proposed for them before, as far as their texts are the same."""
    old = {(one.id, one.text): one for one in before.policies} if before else {}
    policies = []
    for one in found.policies:
        known = old.get((one.id, one.text), one)
        update = {name: getattr(known, name) for name in ("challenge", "rule", "tools", "source", "note")}
        policies.append(one.model_copy(update=update))
    return found.model_copy(update={"policies": tuple(policies)})


async def _proposed(
    suite: Suite, toolset: Toolset, roles: Roles, found: Extraction, theirs: Collection[str]
) -> tuple[Extraction, tuple[Dropped, ...]]:
    """Propose rules for policies that have no proposal yet; without a model, the tools that their texts name.

    `theirs` are written by people, and nothing is proposed for them.
    """
    chat = roles.chat("analyst")
    if chat is None:
        specs = toolset.of("assistant")
        policies = [one.model_copy(update={"tools": one.tools or policy_tools(one, specs)}) for one in found.policies]
        return found.model_copy(update={"policies": tuple(policies)}), ()
    fresh = [one for one in found.policies if one.challenge is None and one.id not in theirs]
    if not fresh:
        return found, ()
    has_tools = toolset or suite.environment.tools  # a server tells its own when it runs
    facts = await facts_of(world_of(suite, toolset=toolset), suite.now) if has_tools else Facts(now=suite.now)
    analyst = Analyst(chat, facts, Random(f"analyst/{recipe_of(suite).seed}"))  # noqa: S311 - a nonce
    analysis = await analyst(fresh)
    known = {one.id: one for one in analysis.policies}
    return found.model_copy(update={"policies": tuple(known.get(one.id, one) for one in found.policies)}), (
        analysis.dropped
    )


def _stating(suite: Suite, extraction: Extraction, written: dict[str, dict[str, object]]) -> Suite:
    """Give the suite with the policies of the file, so that scenarios can name them.

    A policy of the suite's own stays, unless the suite took it from the file as it was before.
    """
    own = {one.id: one for one in suite.policies}
    found = {one.id: one.policy() for one in extraction.policies}
    found |= {
        name: policy
        for name, policy in own.items()
        if name not in written or policy != Policy.model_validate(written[name])
    }
    return suite.model_copy(update={"policies": tuple({**own, **found}.values())})


def _told_of(found: Extraction, before: Extraction | None, suite: Suite) -> list[str]:
    """Say what a changed document changed, and which scenarios rest on it."""
    if before is None or before.document_hash == found.document_hash:
        return []
    change = diff(before, found)
    changed = [one for one in change.changed if one.matters]
    line = f"{found.document} changed: {len(change.added)} new, {len(changed)} changed, {len(change.removed)} gone"
    resting = invalidated(change, suite.scenarios)
    return [line, *(f"  {one.scenario} rests on it: {'; '.join(one.reasons)}" for one in resting)]


def _counted(extraction: Extraction, dropped: Sequence[Dropped]) -> list[str]:
    policies = extraction.policies
    ruled = sum(one.rule is not None for one in policies)
    how = "by structure" if extraction.by == STRUCTURE else "by a model"
    lines = [f"{len(policies)} policies read {how}, {ruled} with a rule, {len(policies) - ruled} for a judge alone"]
    parts = [f"  {one.policy}, {one.part}: {one.reason}" for one in dropped]
    if not parts:
        return lines
    counted = "1 part of a proposal did not hold and was" if len(parts) == 1 else f"{len(parts)} parts of proposals did"
    counted += " dropped" if len(parts) == 1 else " not hold and were dropped"
    return [*lines, counted, *parts]
