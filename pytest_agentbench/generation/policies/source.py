"""The source of drafts `from: policies`: sets of exactly a level, each of which becomes one event or is refused."""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.suite import GenerateSpec, Suite
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.generation.policies.data_types import PolicyGraph, PolicySet
from pytest_agentbench.generation.policies.events.events import EventMaker
from pytest_agentbench.generation.policies.events.planner import UNPLANNED, Planner
from pytest_agentbench.generation.policies.events.requests import Request, ToolArguments
from pytest_agentbench.generation.policies.events.right_run import RightRuns
from pytest_agentbench.generation.policies.events.rows import ModelRows, RowMaker
from pytest_agentbench.generation.policies.events.rulebook import Rulebook
from pytest_agentbench.generation.policies.events.samples import Samples
from pytest_agentbench.generation.policies.events.schema import Validator, rows_of, schema_of
from pytest_agentbench.generation.policies.events.seen_columns import ArgumentColumns, Seen, columns_in
from pytest_agentbench.generation.policies.sampling import paper_sample, sample
from pytest_agentbench.generation.recipe import USUAL_LEVELS, Told, recipe_of
from pytest_agentbench.generation.tools.artifacts import resumed
from pytest_agentbench.generation.tools.kind_report import left_alone
from pytest_agentbench.generation.tools.probing.prober import probe, probing_hash
from pytest_agentbench.generation.tools.probing.safety import Permission, permission, policy_of
from pytest_agentbench.generation.tools.probing.seed_values import hints_of, samples_of, values_of
from pytest_agentbench.generation.tools.probing.session import Budget
from pytest_agentbench.generation.tools.world import World, how_to_reset, world_of
from pytest_agentbench.llm.protocols import Chat

_ROUNDS = 6
"""Times that sets are drawn for those that became no scenario."""

_TRIED = 24
"""Calls by which it is found out what a tool does that does not say it."""


_NO_REQUEST = "no request that these rows allow sets its rule off"
_UNBROKEN = (
    "no wrong run of a request that these rows allow breaks it; add rows of which it forbids something, or values that "
    "it forbids under `generate.values`"
)
"""Why a policy is in no set whose rule is set off."""

COLUMNS = "columns.json"
"""Which columns arguments take, as probing saw it, in the recipe's folder, where names do not tell."""

SIZES = (1, 3)
"""Policies in a set, where policies have no challenge and so sets no level."""


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
        f"no challenge for {count(len(bare), 'policy', 'policies')}{others}: {low} to {high} in a set, complexity is "
        "the expected calls"
    )


def sets_of(
    recipe: GenerateSpec,
    graph: PolicyGraph,
    count: int,
    *,
    seed: int,
    taken: Sequence[PolicySet] = (),
    lost: Collection[str] = (),
) -> tuple[PolicySet, ...]:
    """Draw sets as the recipe says; `taken` were drawn before, and those in `lost` became no scenario."""
    (low, high), is_size = levels_of(recipe, graph)
    if is_size:  # a level is a number of policies or a sum of challenges, never some of both
        bare = tuple(one.model_copy(update={"challenge": None}) for one in graph.policies)
        graph = graph.model_copy(update={"policies": bare})
    if recipe.walk == "paper":
        return paper_sample(graph, count, low, high, seed=seed, steps=recipe.steps, taken=taken)
    return sample(graph, count, low, high, seed=seed, walk=recipe.steps, taken=taken, lost=lost)


@dataclass(kw_only=True)
class PolicySource:
    """Gives a draft for each set of policies, and draws others for those that were lost.

    `left_out` says of policies why no set has them, `not_called` which tools no event calls, and what would have them
    called; `sets` are those that were drawn, of which `passed_over` have no request that decides all their policies.
    """

    maker: EventMaker
    graph: PolicyGraph
    recipe: GenerateSpec
    languages: Sequence[str]
    left_out: dict[str, str]
    not_called: Sequence[str]
    sets: list[PolicySet] = field(default_factory=list)
    passed_over: int = 0
    _accepted: set[str] = field(default_factory=set)

    async def drafts(self) -> AsyncIterator[Draft | Loss]:
        """Give drafts until as many as asked for are accepted, or nothing is left to draw."""
        wanted, begun = self.recipe.count, 0
        for round_ in range(_ROUNDS):
            # what the last sets lost is tried in others once more; what is lost again may have no event
            lost = {one.id for one in self.sets[begun:]} - self._accepted
            begun, seed = len(self.sets), self.recipe.seed + round_
            drawn = sets_of(self.recipe, self.graph, wanted, seed=seed, taken=self.sets, lost=lost)
            for one in drawn:
                language = self.languages[len(self.sets) % len(self.languages)]
                self.sets.append(one)
                made = await self.maker.make(one, language=language)
                if isinstance(made, Loss) and made.reason == UNPLANNED:
                    self.passed_over += 1  # no call was made for it, and another one is drawn
                else:
                    yield made
            wanted = self.recipe.count - len(self._accepted)
            if wanted <= 0 or not drawn:
                return

    def accepted(self, draft: Draft) -> None:
        """Note a draft that became a scenario."""
        self._accepted.add(draft.id)

    def lost(self, loss: Loss) -> None:
        """A set that was lost is not drawn again with the same number: others are."""


async def policy_source(
    suite: Suite,
    toolset: Toolset,
    graph: PolicyGraph,
    *,
    rower: Chat | None = None,
    force: bool = False,
    told: Told = lambda _: None,
) -> PolicySource:
    """Give the source of a suite's drafts; raise `SuiteFaultError` where tools or rows are missing.

    `rower` is the model that fills fresh rows in; without one they are copies with fresh keys and names. `force` probes
    anew, where probing is needed.
    """
    recipe, planner = recipe_of(suite), await planner_of(suite, toolset)
    bare = [one for one in suite.policies if one.rule is None]
    tools = {spec.name for spec in toolset.of("assistant")}
    named = {one.id: frozenset((*one.tools, *graph.tools.get(one.id, ()))) & tools for one in bare}
    left_out = await _left_out(suite, planner, named, graph)
    if any(why.startswith(_NO_REQUEST) for why in left_out.values()):  # names do not lead to all of them
        probed = await planner_of(suite, toolset, await _seen(suite, toolset, planner, force, told))
        still = await _left_out(suite, probed, named, graph)
        if len(still) < len(left_out):
            planner, left_out = probed, still
    checks = [cast("Validator", load_object(path, suite.root)) for path in recipe.validators]
    rows = RowMaker(samples=planner.runs.samples, validators=checks)
    maker = EventMaker(
        planner=planner,
        rows=rows,
        seed=recipe.seed,
        tools_of={policy: names for policy, names in named.items() if policy not in left_out},
        model_rows=ModelRows(rower, rows.samples, rows.checker) if rower is not None else None,
    )
    kept = tuple(one for one in graph.policies if one.id not in left_out)
    edges = [
        one
        for one in graph.edges
        if one.source not in left_out
        and one.target not in left_out
        and await planner.go_together(one.source, one.target, maker.tools_of)
    ]
    return PolicySource(
        maker=maker,
        graph=graph.model_copy(update={"policies": kept, "edges": tuple(edges)}),
        recipe=recipe,
        languages=recipe.languages or (suite.language,),
        left_out=left_out,
        not_called=left_alone(_permissions(suite, toolset, planner.runs.world), suite.environment),
    )


async def _seen(suite: Suite, toolset: Toolset, planner: Planner, force: bool, told: Told) -> Seen:
    """Probe the tools, and find the columns whose values their arguments take."""
    recipe, state = recipe_of(suite), planner.runs.initial
    hints = {name: list(one) for name, one in hints_of(toolset, state, recipe.values).items()}
    world = world_of(suite, toolset=toolset, hints=hints, rows=values_of(state), samples=samples_of(state))
    policy, budget = policy_of(suite), Budget()
    made_from = probing_hash(world, seed=recipe.seed, policy=policy, budget=budget, model="")

    async def make() -> ArgumentColumns:
        told("probing the tools, since names do not tell which columns arguments take")
        cards = await probe(world, seed=recipe.seed, policy=policy, budget=budget, told=told)
        return columns_in(cards, planner.runs.samples)

    return (await resumed(recipe.out / COLUMNS, ArgumentColumns, made_from, make, force=force)).seen


async def _left_out(
    suite: Suite, planner: Planner, named: dict[str, frozenset[str]], graph: PolicyGraph
) -> dict[str, str]:
    """Say why policies are in no set: nothing that an event does could be about them."""
    reached, called = await planner.decidable(), await planner.tools_reached()
    found: dict[str, str] = {}
    for one in suite.policies:
        if one.rule is not None and one.id not in reached:
            why = await _unasked(planner, graph.tools.get(one.id, ()))
            found[one.id] = f"{_NO_REQUEST}{why}"
        elif one.rule is not None and not reached[one.id]:
            why = _enforced(planner, one.id) or _UNBROKEN
            found[one.id] = f"its rule is set off, and {why}"
        elif one.rule is None and not named[one.id]:
            found[one.id] = "it has no rule and names no tool"
        elif one.rule is None and not named[one.id] & called:
            found[one.id] = "it has no rule, and no request that these rows allow calls a tool that it names"
    return found


def _enforced(planner: Planner, policy: str) -> str:
    """Say that the tools which a policy limits refuse by themselves what is too much, "" where they do not."""
    for tool, refusal in sorted(planner.runs.not_twice.items()):
        if tool in planner.runs.book.limited(policy):
            said = shorten(printable(refusal), 100)
            return f"enforced by the tool: {tool} refuses the same call made twice ({said})"
    return ""


async def _unasked(planner: Planner, tools: Iterable[str]) -> str:
    """Say of the first of a rule's tools that nobody can ask for what stands in the way."""
    for tool in sorted(set(tools) & planner.runs.arguments.specs.keys()):
        tried = [one for one in planner.runs.tried if one.request.tool == tool]
        if not tried:
            return (
                f": no call of {tool} can be made of them; name its arguments like the columns that hold the values, "
                "or list these under `generate.values`"
            )
        if all(one.refused for one in tried) and (made := await planner.runs.executed(tried[0].request)):
            answer = shorten(printable(made.answer.content), 100)
            return f": {tool} refuses each call that was tried ({answer}); add rows that it accepts to the state"
    return "; add rows to the state that it is about"


def _permissions(suite: Suite, toolset: Toolset, world: World) -> list[Permission]:
    """Say of each tool whether events may call it: what cannot be undone is called only where the recipe allows it."""
    policy = policy_of(suite)
    return [permission(spec, policy, resettable=world.resets(spec)) for spec in toolset.of("assistant")]


async def planner_of(suite: Suite, toolset: Toolset, seen: Seen | None = None) -> Planner:
    """Read the rows that every environment starts from, and give what events are planned with.

    `seen` are the columns whose values arguments were seen to take.
    """
    world = world_of(suite, toolset=toolset)
    wrong = ""
    if suite.environment.state is None or not world.toolset:
        wrong = (
            "scenarios from policies need tools that can be called and a state with rows; "
            "add `environment: {tools: …, state: …}`"
        )
    elif suite.environment.state.kind == "tools":
        wrong = (
            "scenarios from policies begin with rows of their own, and `state: {tools: …}` can only read, so nothing "
            "could put them there; write `from: tools`, or `state: {own: …}`, whose `open` gets the rows"
        )
    elif any(part.remote for part in suite.environment.tools) and not world.resettable:
        wrong = f"calls are made for real, and nothing here can be reset: {how_to_reset(suite.environment)}"
    if wrong:
        raise SuiteFaultError(f"{suite.path}: {wrong}")
    async with world.open() as opened:
        state = await opened.snapshot()
    if not state:
        raise SuiteFaultError(
            f"{suite.path}: the state cannot be read, or is empty; events are made of rows like its own"
        )
    schema = schema_of(suite, state)
    rows = rows_of(state, with_keys=not schema.ddl)
    samples = Samples(schema=schema, rows=rows)
    called = {one.tool for one in _permissions(suite, toolset, world) if one.called}
    tools = {
        spec.name: spec if spec.kind != "unknown" else await _with_kind(spec, suite, samples, world)
        for spec in toolset.of("assistant")
        if spec.name in called
    }
    specs = tuple(tools.get(one.name, one) if one.requestor == "assistant" else one for one in toolset)
    book = Rulebook(suite.policies, toolset.model_copy(update={"specs": specs}), suite.now)
    arguments = ToolArguments(list(tools.values()), suite.policies, samples, recipe_of(suite).values, seen)
    if (proven := arguments.proven()) | (asked := arguments.asked()):
        samples = Samples(schema=schema, rows=rows, proven=proven, asked=asked)
        arguments = ToolArguments(list(tools.values()), suite.policies, samples, recipe_of(suite).values, seen)
    planner = Planner(runs=RightRuns(world=world, samples=samples, arguments=arguments, book=book, initial=state))
    if not planner.roots:
        raise SuiteFaultError(
            f"{suite.path}: the state has no rows to make events like; give it some (environment.state)"
        )
    return planner


async def _with_kind(spec: ToolSpec, suite: Suite, samples: Samples, world: World) -> ToolSpec:
    """Give a tool as one that writes or reads, as far as calls of it that succeed show."""
    kind = "unknown"
    for request in islice(_tries(spec, suite, samples), _TRIED):
        async with world.open() as opened:
            answer = await opened.call(spec.name, request.arguments({}, samples))
        if not (answer.error or answer.crashed or answer.hung) and answer.wrote is not None:
            kind = "write" if answer.wrote else "read"
        if kind == "write":
            break
    return spec.model_copy(update={"kind": kind})


def _tries(spec: ToolSpec, suite: Suite, samples: Samples) -> Iterator[Request]:
    for as_if in ("read", "write"):
        tool = spec.model_copy(update={"kind": as_if})
        arguments = ToolArguments([tool], suite.policies, samples, recipe_of(suite).values)
        for root in [(table, at) for table in samples.roots[:1] for at in range(len(samples.rows.get(table, ())))]:
            for focus in samples.focuses(root, arguments.subject(spec.name, root[0]))[:2]:
                rows = {place: samples.row(place) for place in samples.cluster(root, focus).rows}
                yield from arguments.requests(spec.name, root, focus, rows)[:2]
