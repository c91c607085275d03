"""What generated scenarios were made from: the hashes written into them, and whether they still hold.

`agentbench generate` writes the hashes of recipe, tools and policies into the provenance of every scenario; collection
compares them with those of the suite as it is now.
"""

from collections.abc import Callable, Mapping

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import count as counted
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import GenerateSpec, Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.results.document import ReviewRecord

PROVENANCE = "generated"
"""The key of a scenario's provenance under which its hashes stand."""

Told = Callable[[str], None]
"""Hears one line of progress."""

_HOW_REACHED = {"api_key", "api_key_env", "price", "seconds", "retries", "in_flight", "headers"}
"""What changes how a model is asked, and never what it answers."""

_OF_POLICIES = ("levels", "walk", "steps", "validators")
"""What says nothing about scenarios from tools."""

USUAL_LEVELS = (2, 11)
"""The levels of scenarios from policies where a recipe names none and every policy has a challenge."""

_PARTS = ("recipe", "tools", "policies")


class Outcome(Model):
    """What `agentbench generate` did: the lines of its report, scenarios accepted and asked for.

    `until` names the stage that was asked to be the last one; no scenario is due then.
    """

    lines: tuple[str, ...]
    accepted: int = 0
    wanted: int = 0
    until: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether all that was asked for is there."""
        return bool(self.until) or self.accepted >= self.wanted


class Hashes(Model):
    """What scenarios were made from, 16 hex digits each: the recipe, the tools' declarations, the policies."""

    recipe: str
    tools: str
    policies: str

    @property
    def all(self) -> str:
        """One hash over the three."""
        return digest([self.recipe, self.tools, self.policies])

    def differing(self, written: JsonValue) -> frozenset[str]:
        """Name the parts that differ from those found in a scenario's provenance; all where nothing readable is."""
        known = written if isinstance(written, Mapping) else {}
        return frozenset(part for part in _PARTS if known.get(part) != getattr(self, part))


def recipe_of(suite: Suite) -> GenerateSpec:
    """Give the recipe of a suite; raise `SuiteError` where it has none."""
    if suite.generate is None:
        hint = "add `generate: {from: tools, count: 50, seed: 7}`"
        raise SuiteError([Problem(file=suite.path, key="generate", message="the suite has no recipe", hint=hint)])
    return suite.generate


def hashes_of(suite: Suite, toolset: Toolset) -> Hashes:
    """Give the hashes of a suite as it is now; raise `SuiteError` where it has no recipe."""
    policies = [
        policy.model_dump(mode="json", exclude={"tools", "source"})  # these only people read
        for policy in sorted(suite.policies, key=lambda one: one.id)
    ]
    return Hashes(recipe=_recipe_hash(recipe_of(suite)), tools=tools_hash(toolset), policies=digest(policies))


def _recipe_hash(recipe: GenerateSpec) -> str:
    """Give 16 hex digits over a recipe; where it is written, who reviews it, how its model is reached do not count.

    What is as usual does not count either, so that a key which recipes gain makes nothing stale.
    """
    content = recipe.model_dump(
        mode="json",
        exclude={"out": True, "review": True, "traces": True, "document": True, "agents": True, "model": _HOW_REACHED},
        exclude_defaults=True,
    )
    idle = {*(_OF_POLICIES if recipe.source == "tools" else ()), *(["levels"] if recipe.levels == USUAL_LEVELS else [])}
    content = {key: value for key, value in content.items() if key not in idle}
    if recipe.document is not None:
        content["document"] = digest(recipe.document.read_text(encoding="utf-8", errors="replace"))
    content.pop("chains", None)
    if recipe.chains != "walks":  # all recipes had walks before there were others
        content["chains"] = recipe.chains
    if recipe.agents:
        content["agents"] = {name: file.name for name, file in recipe.agents.items()}
    return digest({**content, "traces": [file.name for file in recipe.traces]})


def tools_hash(toolset: Toolset) -> str:
    """Give 16 hex digits over the declarations of the agent's tools, in whatever order they stand."""
    specs = sorted(toolset.of("assistant"), key=lambda spec: spec.name)
    return digest([[spec.name, spec.description, spec.parameters] for spec in specs])


def staleness(suite: Suite, toolset: Toolset) -> str:
    """Say why generated scenarios of a suite no longer match it, or give "" where they do or there are none.

    An accepted one is a test of the team's own by now; tools of a server are only told when it is run.
    """
    if suite.generate is None:
        return ""
    current = hashes_of(suite, toolset)
    differing = [
        current.differing(scenario.provenance[PROVENANCE]) - (set() if toolset else {"tools"})
        for scenario in generated_scenarios(suite)
        if scenario.review is None or scenario.review.state != "accepted"
    ]
    count = sum(map(bool, differing))
    if not count:
        return ""
    changed = [part for part in _PARTS if any(part in parts for parts in differing)]
    noun = f"{counted(count, 'generated scenario')} {'does' if count == 1 else 'do'}"
    return (
        f"{suite.path.name}: {noun} not match the suite any more: {' and '.join(changed)} changed since; "
        f"write them anew with: agentbench generate {suite.path.name}"
    )


def reviews_of(suite: Suite) -> ReviewRecord:
    """Give what people said of a suite's generated scenarios, as far as its runs do not tell."""
    states = [(one, one.review.state if one.review else "") for one in suite.scenarios]
    count = sum(
        state != "accepted" and PROVENANCE in one.provenance and not suite.is_pending(one) for one, state in states
    )
    lapsed = tuple(one.id for one, state in states if state == "lapsed")
    return ReviewRecord(rejected=len(suite.rejected), lapsed=lapsed, unreviewed=count)


def generated_scenarios(suite: Suite) -> tuple[Scenario, ...]:
    """Give the scenarios of a suite that `agentbench generate` wrote."""
    return tuple(scenario for scenario in suite.scenarios if PROVENANCE in scenario.provenance)
