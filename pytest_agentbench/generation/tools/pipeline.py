"""Scenarios from tools, stage after stage: cards, taxonomy, graph, pool, walks, drafts, scenarios.

Tool-to-scenario §3.3. Every stage leaves a file in the recipe's folder with the hash of what it was made from, and is
not made again as long as that holds; a session that was broken off goes on where it stood. Same seed, same files.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from random import Random
from typing import Literal

from pytest_agentbench.core.errors import EnvironmentFaultError, SuiteFaultError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import EnvironmentSpec, GenerateSpec, Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.language.plain import phrases_of
from pytest_agentbench.generation.produce import Production
from pytest_agentbench.generation.recipe import Outcome, Told, hashes_of, recipe_of
from pytest_agentbench.generation.recipe_folder import Store
from pytest_agentbench.generation.report import document_of, lines_of
from pytest_agentbench.generation.roles import Chats, RoleModels
from pytest_agentbench.generation.tools.agents import agents_of
from pytest_agentbench.generation.tools.artifacts import (
    CARDS,
    GOALS,
    GRAPH,
    POOL,
    SCORES,
    TAXONOMY,
    WALKS,
    PoolFile,
    WalkFile,
    hash_of,
    load,
    resumed,
    save,
)
from pytest_agentbench.generation.tools.data_types import Cards, Graph, Taxonomy
from pytest_agentbench.generation.tools.deeds import DeedSource
from pytest_agentbench.generation.tools.goals import PLAYER, GoalFile, GoalSource
from pytest_agentbench.generation.tools.graph.graph import build_graph, with_repeats, without_repeats
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.generation.tools.hydration.stock import Stock
from pytest_agentbench.generation.tools.kind_report import kinds_told, left_alone, seen_writing
from pytest_agentbench.generation.tools.probing.prober import probe, probing_hash
from pytest_agentbench.generation.tools.probing.safety import policy_of
from pytest_agentbench.generation.tools.probing.seed_values import hints_of, samples_of, state_of, values_of
from pytest_agentbench.generation.tools.probing.session import Budget
from pytest_agentbench.generation.tools.recruiting.pool import distinct
from pytest_agentbench.generation.tools.recruiting.recruiter import Recruiter
from pytest_agentbench.generation.tools.source import WalkSource, why_lost
from pytest_agentbench.generation.tools.walks.coverage import coverage
from pytest_agentbench.generation.tools.walks.plausibility import Scores, scored_by_chain, scored_by_model
from pytest_agentbench.generation.tools.walks.rehearsal import Rehearsed, rehearse
from pytest_agentbench.generation.tools.walks.walk_sampling import CLASSES, SHARES, Sampler, Shape, drawn
from pytest_agentbench.generation.tools.walks.weights import Conditioned, weigh
from pytest_agentbench.generation.tools.world import World, world_of
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.suites.seen_writes import note_seen

Until = Literal["cards", "graph", "walks", ""]
"""The last stage that is asked for; "" is all."""

_Source = WalkSource | DeedSource | GoalSource

_BY_MODEL = ("prompting", "empirical")
"""Weights that only a model gives."""

ROLES = ("prober", "taxonomist", "weigher", PLAYER, "writer", "critic")
"""The roles that a model can play, in pipeline order."""


@dataclass
class Roles(RoleModels):
    """Who plays which of them."""

    known = ROLES
    successors = {"recruiter": "prober", "narrator": "writer", "persona": "writer"}

    def chat(self, role: str) -> Chat | None:
        """Give the model that plays a role; nobody plays goals where chains are walks."""
        return None if role == PLAYER and self.recipe.chains != "goals" else super().chat(role)

    def check_languages(self, languages: Sequence[str]) -> None:
        """Raise `SuiteFaultError` for a language that has no plain phrases, where no model words the scenarios."""
        for language in languages if self.chat("writer") is None else ():
            phrases_of(language)


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(kw_only=True)
class Pipeline:
    """One recipe at work. `told` hears of progress; `force` makes every stage anew; `today` may be asked once.

    `environ` are the variables that the suites of other agents may name.
    """

    suite: Suite
    toolset: Toolset
    chats: Chats | None = None
    told: Told = lambda _: None
    force: bool = False
    now: Callable[[], float] = time.monotonic
    today: Callable[[], date] = _today
    environ: Mapping[str, str] = field(default_factory=dict)

    async def run(self, until: Until = "") -> Outcome:
        """Run the stages; raise `SuiteFaultError` or `EnvironmentFaultError` where there is nothing to work on."""
        self._recipe = recipe_of(self.suite)
        self._roles = Roles(self._recipe, self.chats)
        await self._find_tools()
        self._check_recipe()
        self._agents = await agents_of(self.suite, self.toolset, self.environ)
        state = await state_of(world_of(self.suite, toolset=self.toolset))
        hints = hints_of(self.toolset, state, self._recipe.values)
        named = {name: list(one) for name, one in hints.items()}
        world = world_of(
            self.suite, toolset=self.toolset, hints=named, rows=values_of(state), samples=samples_of(state)
        )
        cards = await self._cards(world)
        if until == "cards":
            partial = [f"partial: {card.tool}: {card.partial}" for card in cards.cards if card.partial]
            return self._stopped(
                until,
                [
                    f"{count(len(cards.cards), 'card')} in {self._recipe.out}",
                    *left_alone(cards.cards, self.suite.environment),
                    *partial,
                ],
            )
        self._learn_kinds(cards)
        world.toolset = self.toolset
        taxonomy = await self._taxonomy(cards)
        graph = await self._graph(cards, taxonomy)
        if not graph.tools:
            raise EnvironmentFaultError(
                f"no call of any tool was answered as it should:\n{_reasons(cards, self.suite.environment)}"
            )
        if until == "graph":
            typed = sum(bool(edge.via) for edge in graph.edges)
            counted = f"{count(len(graph.tools), 'tool')}, {count(len(graph.edges), 'edge')}, {typed} of them by types"
            return self._stopped(
                until, [f"{counted}, in {self._recipe.out}", *left_alone(cards.cards, self.suite.environment)]
            )
        made = await self._pool(world, cards, taxonomy, graph, state)
        if not made.pool.entries:
            reasons = [f"  {tool}: {reason}" for tool, reason in made.why.items()]
            listed = "\n".join([*reasons, *left_alone(cards.cards, self.suite.environment)])
            raise EnvironmentFaultError(f"no call of any tool was answered as it should:\n{listed}")
        stock = Stock(
            world=world,
            cards=cards,
            taxonomy=taxonomy,
            pool=made.pool,
            rules=SuiteRules(self.suite.policies, self.toolset, self.suite.now),
            state=state,
            conditioned=self._recipe.weights == "conditioned",
            once=self._recipe.shape == "react",
        )
        self.told("rehearsing the edges")
        rehearsed = await rehearse(graph, stock, seed=self._recipe.seed)
        why = _why(cards, made, rehearsed)
        if (player := self._roles.chat(PLAYER)) and not until:
            goals = self._goals(player, graph, stock, rehearsed)
            return await self._scenarios(goals, graph, made, why, state)
        recipe = self._recipe
        source: WalkSource | DeedSource
        if recipe.chains == "deeds":
            source = DeedSource(
                graph=graph,
                stock=stock,
                seed=recipe.seed,
                closed=rehearsed.closed,
                unfit=rehearsed.unfit,
                enriched=recipe.enriched,
                languages=self._languages,
                left=rehearsed.left,
            )
        else:
            draws = await self._draws(graph, stock, rehearsed)
            source = WalkSource(draws, stock, recipe.seed, self._languages, left=rehearsed.left, agents=self._agents)
        offered = [card.tool for card in cards.cards]
        if until == "walks":
            walks = tuple(source.chosen(recipe.count))
            save(recipe.out / WALKS, WalkFile(walks=walks), hash_of(graph, recipe.seed))
            rows = coverage(graph, walks, why, offered=offered, leading=_leading(source))
            covered = [f"{row.what}: {row.covered} of {row.total}" for row in rows]
            left = [rehearsed.left] if rehearsed.left else []
            return self._stopped(until, [count(len(walks), "walk"), *covered, *left])
        return await self._scenarios(source, graph, made, why, state)

    def _goals(self, chat: Chat, graph: Graph, stock: Stock, rehearsed: Rehearsed) -> GoalSource:
        """Give the source in which a model pursues goals; what it played before with the same is read again."""
        recipe, file = self._recipe, self._recipe.out / GOALS
        hashes = hashes_of(self.suite, self.toolset)
        parts = (stock.cards, stock.taxonomy, graph, hashes.tools, hashes.policies, recipe.shape, self._languages)
        made_from = hash_of(*parts)  # a larger count plays on
        known = None if self.force else load(file, GoalFile, made_from)
        return GoalSource(
            chat=chat,
            graph=graph,
            stock=stock,
            seed=recipe.seed,
            wanted=recipe.count,
            closed=frozenset(rehearsed.closed),
            languages=self._languages,
            agents=self._agents,
            once=recipe.shape == "react",
            left=rehearsed.left,
            played=known or GoalFile(),
            keep=lambda played: save(file, played, made_from),
        )

    async def _scenarios(
        self, source: _Source, graph: Graph, made: PoolFile, why: dict[str, str], state: State | None
    ) -> Outcome:
        """Have the drafts of walks worded, accepted and written; give the report."""
        recipe, stock, roles = self._recipe, source.stock, self._roles
        players = [roles.player(role) for role in ROLES if role != PLAYER or recipe.chains == "goals"]
        made_from = hash_of(hashes_of(self.suite, self.toolset), stock.cards, stock.taxonomy, graph, made, players)
        production = Production(
            suite=self.suite,
            toolset=self.toolset,
            source=source,
            store=Store(recipe.out),
            made_from=made_from,
            today=self.today(),
            state=state,
            # where each environment is a process of its own, starting it is what takes long
            at_once=2 if stock.world.stands_alone else 1,
            force=self.force,
            told=self.told,
            now=self.now,
            roles=roles,
        )
        report = await production.run()
        walks = [source.walks[draft.id] for draft in report.accepted]
        save(recipe.out / WALKS, WalkFile(walks=tuple(walks)), hash_of(graph, recipe.seed))
        offered = [card.tool for card in stock.cards.cards]
        vain = source.vain if isinstance(source, DeedSource) else {}
        why = {**why_lost(report.losses, source.walks), **vain, **why}
        rows = coverage(graph, walks, why, offered=offered, drafts=report.accepted, leading=_leading(source))
        kinds = kinds_told(self.toolset.of("assistant"), stock.cards, stock.pool) if state is None else []
        named = {name for row in rows for name, _ in row.missing}
        rest = [f"no verified call of {tool}: {reason}" for tool, reason in made.why.items() if tool not in named]
        left = [source.left] if source.left else []
        left += self._few_refusals(report.accepted)
        report = replace(
            report,
            coverage=rows,
            lines=(*left_alone(stock.cards.cards, self.suite.environment), *kinds, *left, *sorted(rest)),
        )
        production.store.save_report(document_of(report))
        return Outcome(lines=tuple(lines_of(report)), accepted=len(report.accepted), wanted=recipe.count)

    def _few_refusals(self, drafts: Sequence[Draft]) -> list[str]:
        """Say where a tool refuses in fewer scenarios than the recipe wants."""
        found, wanted = sum("failure" in draft.tags for draft in drafts), int(self._recipe.enriched * len(drafts))
        if found >= wanted or self._recipe.chains == "goals":
            return []
        return [f"refusals: {found} of the {wanted} that `enriched` wants; no more were found that a user may run into"]

    @property
    def _languages(self) -> tuple[str, ...]:
        return tuple(self._recipe.languages) or (self.suite.language,)

    async def _find_tools(self) -> None:
        """Ask the environment for its tools where only a running server can tell them."""
        if not self.toolset and any(part.remote for part in self.suite.environment.tools):
            async with world_of(self.suite).open() as opened:
                self.toolset = opened.tools

    def _check_recipe(self) -> None:
        recipe = self._recipe
        described = [part.target for part in self.suite.environment.tools if part.kind == "schema"]
        if not self.toolset.of("assistant"):
            raise SuiteFaultError(
                f"{self.suite.path}: the suite names no tools to make scenarios from; "
                "add `environment: {tools: …}`, or use `generate: {from: policies}`"
            )
        if described:
            raise SuiteFaultError(
                f"{self.suite.path}: the tools are only described ({described[0]}); scenarios are made of real calls, "
                "so name tools that can be called"
            )
        if unknown := [name for name in recipe.complexity if name not in CLASSES]:
            raise SuiteFaultError(
                f"generate.complexity: there is no class {unknown[0]!r}; there are {', '.join(CLASSES)}"
            )
        if recipe.weights in _BY_MODEL and self._roles.chat("weigher") is None:
            raise SuiteFaultError(
                f"generate.weights: {recipe.weights!r} needs a model that plays the weigher: name one under `llm`"
            )
        if recipe.chains == "goals" and self._roles.chat(PLAYER) is None:
            raise SuiteFaultError(
                "generate.chains: 'goals' needs a model that plays the player: name one under `llm`, "
                "and `player` among the `roles` where there are any"
            )
        if recipe.weights == "traces" and not recipe.traces:
            raise SuiteFaultError("generate.weights: 'traces' needs recorded conversations under `traces`")
        self._roles.check_languages(self._languages)

    def _learn_kinds(self, cards: Cards) -> None:
        """Take tools that were seen to write for writes, now and in later sessions."""
        seen = seen_writing(self.toolset.of("assistant"), cards)
        told = {"kind": "write", "kind_from": "seen"}
        self.toolset = Toolset(
            specs=tuple(spec.model_copy(update=told) if spec.name in seen else spec for spec in self.toolset)
        )
        with contextlib.suppress(OSError):  # a folder that cannot be written keeps nothing
            note_seen(self.suite.path, seen)

    async def _cards(self, world: World) -> Cards:
        recipe, roles = self._recipe, self._roles
        policy, budget, seed, chat = policy_of(self.suite), Budget(), recipe.seed, roles.chat("prober")
        made_from = probing_hash(world, seed=seed, policy=policy, budget=budget, model=roles.player("prober"))

        async def make() -> Cards:
            self.told("probing the tools")
            return await probe(world, seed=seed, policy=policy, budget=budget, chat=chat, told=self.told)

        return await resumed(recipe.out / CARDS, Cards, made_from, make, force=self.force)

    async def _taxonomy(self, cards: Cards) -> Taxonomy:
        chat = self._roles.chat("taxonomist")

        async def make() -> Taxonomy:
            self.told("typing what flows between the tools")
            if chat is None:
                return build_taxonomy(cards)
            from pytest_agentbench.generation.tools.graph.taxonomy_llm import typed_by_model  # noqa: PLC0415 - with a model

            return await typed_by_model(chat, cards, _random(self._recipe.seed, "taxonomy"), told=self.told)

        made_from = hash_of(cards, self._roles.player("taxonomist"))
        return await resumed(self._recipe.out / TAXONOMY, Taxonomy, made_from, make, force=self.force)

    async def _graph(self, cards: Cards, taxonomy: Taxonomy) -> Graph:
        recipe = self._recipe

        react = recipe.shape == "react"

        async def make() -> Graph:
            self.told("building the graph")
            graph = await self._weighed(build_graph(cards, taxonomy, react=react, agents=self._agents), cards)
            return with_repeats(graph, cards, taxonomy)

        read = [file.read_text(encoding="utf-8") for file in recipe.traces]
        more = [*["react"] * react, *([sorted(self._agents.items())] if self._agents else [])]
        made_from = hash_of(cards, taxonomy, recipe.weights, self._roles.player("weigher"), read, *more)
        return without_repeats(await resumed(recipe.out / GRAPH, Graph, made_from, make, force=self.force))

    async def _weighed(self, graph: Graph, cards: Cards) -> Graph:
        recipe, chat = self._recipe, self._roles.chat("weigher")
        if recipe.weights in _BY_MODEL and chat is not None:
            from pytest_agentbench.generation.tools.walks import weights_llm  # noqa: PLC0415 - with a model

            ask = weights_llm.weighed_by_model if recipe.weights == "prompting" else weights_llm.walked_by_model
            return await ask(chat, graph, cards, _random(recipe.seed, "weights"), told=self.told)
        return weigh(graph, traces=recipe.traces if recipe.weights == "traces" else ())

    async def _pool(
        self, world: World, cards: Cards, taxonomy: Taxonomy, graph: Graph, state: State | None
    ) -> PoolFile:
        """Make verified calls; give them, and why tools have none."""
        recipe = self._recipe

        async def make() -> PoolFile:
            self.told("making verified calls")
            recruiter = Recruiter(
                world=world,
                cards=cards,
                taxonomy=taxonomy,
                state=state,
                size=recipe.pool,
                may_write=recipe.allow_writes,
                allowed=frozenset(recipe.allow),
                told=self.told,
            )
            pool, why = await recruiter.recruit(graph.tools)
            for card in cards.cards:
                if card.tool not in graph.tools:
                    why[card.tool] = card.partial or "it is not in the graph"
            return PoolFile(entries=pool.entries, why=why)

        made_from = hash_of(cards, taxonomy, graph.tools, recipe.pool, recipe.seed)
        return await resumed(recipe.out / POOL, PoolFile, made_from, make, force=self.force)

    async def _draws(self, graph: Graph, stock: Stock, rehearsed: Rehearsed) -> Sampler:
        """Give what draws the walks; first those that a judge chose among many, where the recipe asks for it."""
        recipe = self._recipe
        chain = Conditioned(graph, stock.taxonomy, {tool: len(distinct(stock.pool.of(tool))) for tool in graph.tools})
        shape = _shape(recipe, graph, stock, rehearsed)
        sampler = Sampler(graph, shape, seed=recipe.seed, weigh=chain.row if stock.conditioned else None)
        if recipe.candidates <= 1:
            return sampler
        self.told("judging walks")
        walks = drawn(sampler, recipe.count * recipe.candidates)
        chat = self._roles.chat("weigher")

        async def make() -> Scores:
            if chat is None:
                return scored_by_chain(chain, walks)
            return await scored_by_model(chat, recipe.seed, stock.cards, walks)

        made_from = hash_of([walk.nodes for walk in walks], stock.cards, stock.taxonomy, self._roles.player("weigher"))
        scores = await resumed(recipe.out / SCORES, Scores, made_from, make, force=self.force)
        sampler.choose(recipe.count, walks, scores.scores)
        return sampler

    def _stopped(self, until: Until, lines: Sequence[str]) -> Outcome:
        return Outcome(lines=(f"agentbench generate: {self.suite.name} · until {until}", *lines), until=until)


def _shape(recipe: GenerateSpec, graph: Graph, stock: Stock, rehearsed: Rehearsed) -> Shape:
    """Say what walks are like: none along closed edges, or with more calls of a tool than there are."""
    pool = stock.pool
    most = {tool: stock.most_of_one(tool) or len(distinct(pool.behind(tool))) for tool in graph.tools}
    capacity = {tool: 0 if tool in rehearsed.unfit else count for tool, count in most.items()}
    return Shape(
        shortest=recipe.shortest,
        longest=recipe.longest,
        shares=recipe.complexity or SHARES,
        capacity=capacity,
        enriched=recipe.enriched,
        closed=frozenset(rehearsed.closed),
        plannable={tool: "failure" for tool in graph.tools if pool.failures(tool)},
        behind={tool: pool.sources(tool) for tool in graph.tools if pool.behind(tool) and not pool.of(tool)},
    )


def _leading(source: _Source) -> set[str] | None:
    """Give the tools that lead to deeds, None where chains are no deeds."""
    return source.leading if isinstance(source, DeedSource) else None


def _why(cards: Cards, made: PoolFile, rehearsed: Rehearsed) -> dict[str, str]:
    """Say why tools, and steps between them, cannot be covered."""
    closed = {f"{source} -> {target}": reason for (source, target), reason in rehearsed.closed.items()}
    partial = {card.tool: card.partial for card in cards.cards if card.partial}
    return {**partial, **made.why, **rehearsed.unfit, **closed}


def _reasons(cards: Cards, environment: EnvironmentSpec) -> str:
    why = [f"  {card.tool}: {card.partial or 'nothing was tried'}" for card in cards.cards]
    return "\n".join([*why, *left_alone(cards.cards, environment)])


def _random(seed: int, what: str) -> Random:
    return Random(f"{what}/{seed}")  # noqa: S311 - a choice, no secret
