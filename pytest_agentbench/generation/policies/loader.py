"""From a recipe to its policies: read from a document or the suite, proposed for, reviewed, and the folder they are in.

What was read and proposed before is asked of no model again: people may have reviewed it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
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
from pytest_agentbench.generation.policies.analyst import Analyst, Dropped
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy, Extraction, PolicyGraph, PolicySet
from pytest_agentbench.generation.policies.extraction import STRUCTURE, PolicyDocument, extract, extract_by_model
from pytest_agentbench.generation.policies.facts import Facts, facts_of
from pytest_agentbench.generation.policies.graph import policy_tools
from pytest_agentbench.generation.policies.identity import diff, invalidated
from pytest_agentbench.generation.policies.review import edited, read_forms, review
from pytest_agentbench.generation.recipe import recipe_of
from pytest_agentbench.generation.roles import RoleModels
from pytest_agentbench.generation.tools.world import world_of

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
    reviewed = review(folder.found, written_last, proposed.policies, document=found.document)
    folder.save_extraction(proposed)
    extraction = proposed.model_copy(update={"policies": reviewed.policies})
    lines = (*_changes(proposed, before, suite), *reviewed.notes, *_counts(extraction, dropped))
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
