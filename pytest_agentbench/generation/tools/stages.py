"""The stages up to the pool: each made of the one before, saved with the hash of what it was made from."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from random import Random

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.suite import GenerateSpec
from pytest_agentbench.generation.recipe import Told
from pytest_agentbench.generation.tools.graph.graph import build_graph
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.probing.probing import probe, probing_hash
from pytest_agentbench.generation.tools.probing.safety import Policy
from pytest_agentbench.generation.tools.probing.session import Budget
from pytest_agentbench.generation.tools.recruiting.choosing import distinct
from pytest_agentbench.generation.tools.recruiting.pool import FAILURE, Pool
from pytest_agentbench.generation.tools.recruiting.recruiting import Recruiter
from pytest_agentbench.generation.tools.roles import Roles
from pytest_agentbench.generation.tools.saved import CARDS, GRAPH, SCORES, TAXONOMY, hash_of, resumed
from pytest_agentbench.generation.tools.stories.natural import is_natural
from pytest_agentbench.generation.tools.storing import Folder
from pytest_agentbench.generation.tools.values import Cards, Graph, Taxonomy
from pytest_agentbench.generation.tools.walks.conditioned import Conditioned
from pytest_agentbench.generation.tools.walks.judging import Chosen, Scores, WalksGiven, candidates, chosen
from pytest_agentbench.generation.tools.walks.sampling import CLASSES, SHARES, Sampler, Shape
from pytest_agentbench.generation.tools.walks.weights import weigh
from pytest_agentbench.generation.tools.world import World

_SPARED = 0.5
"""Share of the verified calls that walks count on where some tool destroys what others need."""
_BY_MODEL = ("prompting", "empirical")
"""Weights that only a model gives."""


Draws = Sampler | Chosen
"""What gives walks one after the other, and is told which were lost."""


@dataclass(frozen=True, kw_only=True)
class Stages:
    """Makes each stage, or takes it from its file."""

    recipe: GenerateSpec
    world: World
    roles: Roles
    folder: Folder
    told: Told = lambda _: None
    force: bool = False

    async def cards(self) -> Cards:
        """Probe the tools."""
        recipe = self.recipe
        policy = Policy(
            writes=recipe.allow_writes, trust_annotations=recipe.trust_annotations, allow=frozenset(recipe.allow)
        )
        budget = Budget()
        chat = self.roles.chat("prober")
        seed = self.recipe.seed
        made_from = probing_hash(self.world, seed=seed, policy=policy, budget=budget, model=self.roles.player("prober"))

        async def make() -> Cards:
            self.told("probing the tools")
            return await probe(self.world, seed=seed, policy=policy, budget=budget, chat=chat, told=self.told)

        return await resumed(self.folder.path / CARDS, Cards, made_from, make, force=self.force)

    async def taxonomy(self, cards: Cards) -> Taxonomy:
        """Type what flows between the tools."""
        chat = self.roles.chat("taxonomist")

        async def make() -> Taxonomy:
            self.told("typing what flows between the tools")
            if chat is None:
                return build_taxonomy(cards)
            from pytest_agentbench.generation.tools.graph.taxonomy_llm import typed_by_model  # noqa: PLC0415 - with a model

            return await typed_by_model(chat, cards, _random(self.recipe.seed, "taxonomy"), told=self.told)

        made_from = hash_of(cards, self.roles.player("taxonomist"))
        return await resumed(self.folder.path / TAXONOMY, Taxonomy, made_from, make, force=self.force)

    async def graph(self, cards: Cards, taxonomy: Taxonomy) -> Graph:
        """Connect and weigh the tools."""
        recipe = self.recipe
        if recipe.weights in _BY_MODEL and self.roles.chat("weigher") is None:
            raise SuiteFaultError(
                f"generate.weights: {recipe.weights!r} needs a model that plays the weigher: name one under `llm`"
            )
        if recipe.weights == "traces" and not recipe.traces:
            raise SuiteFaultError("generate.weights: 'traces' needs recorded conversations under `traces`")

        async def make() -> Graph:
            self.told("building the graph")
            graph = build_graph(cards, taxonomy)
            return await self._weighed(graph, cards)

        made_from = hash_of(
            cards, taxonomy, recipe.weights, self.roles.player("weigher"), [file.read_text() for file in recipe.traces]
        )
        return await resumed(self.folder.path / GRAPH, Graph, made_from, make, force=self.force)

    async def _weighed(self, graph: Graph, cards: Cards) -> Graph:
        chat = self.roles.chat("weigher")
        if self.recipe.weights in _BY_MODEL and chat is not None:
            from pytest_agentbench.generation.tools.walks import weights_llm  # noqa: PLC0415 - with a model

            random = _random(self.recipe.seed, "weights")
            if self.recipe.weights == "prompting":
                return await weights_llm.weighed_by_model(chat, graph, cards, random, told=self.told)
            return await weights_llm.walked_by_model(chat, graph, cards, random, told=self.told)
        return weigh(graph, traces=self.recipe.traces if self.recipe.weights == "traces" else ())

    async def pool(self, cards: Cards, taxonomy: Taxonomy, graph: Graph) -> tuple[Pool, dict[str, str]]:
        """Make verified calls; give them, and why tools have none."""
        recipe = self.recipe
        made_from = hash_of(cards, taxonomy, graph.tools, recipe.pool, recipe.seed, self.roles.player("recruiter"))
        known = None if self.force else self.folder.pool(made_from)
        if known is not None:
            return known
        self.told("making verified calls")
        recruiter = Recruiter(
            world=self.world,
            cards=cards,
            taxonomy=taxonomy,
            scout=self.roles.scout(recipe.seed),
            size=recipe.pool,
            may_write=recipe.allow_writes,
            allowed=frozenset(recipe.allow),
            told=self.told,
        )
        pool, why = await recruiter.recruit(graph.tools)
        for card in cards.cards:
            if card.tool not in graph.tools:
                why[card.tool] = card.partial or "it is not in the graph"
        self.folder.save_pool(pool, why, made_from)
        return pool, why

    def sampler(
        self,
        graph: Graph,
        taxonomy: Taxonomy,
        cards: Cards,
        pool: Pool,
        *,
        closed: frozenset[tuple[str, str]],
        barred: frozenset[tuple[str, str]],
        repeats: Mapping[str, int],
    ) -> Sampler:
        """Give what draws the walks: none along `closed` edges, with `barred` pairs, or with more `repeats` of a tool.

        Raise `SuiteFaultError` for a complexity class that does not exist.
        """
        recipe = self.recipe
        if unknown := [name for name in recipe.complexity if name not in CLASSES]:
            raise SuiteFaultError(
                f"generate.complexity: there is no class {unknown[0]!r}; there are {', '.join(CLASSES)}"
            )
        counts = Counter(entry.tool for entry in pool.entries if FAILURE not in entry.id)
        # what is destroyed in a story is no longer there for its later calls
        share = _SPARED if any(card.destructive and card.tool in graph.tools for card in cards.cards) else 1.0
        shape = Shape(
            shortest=recipe.shortest,
            longest=recipe.longest,
            shares=recipe.complexity or SHARES,
            capacity={tool: min(ceil(counts[tool] * share), repeats.get(tool, counts[tool])) for tool in graph.tools},
            enriched=recipe.enriched,
            closed=closed,
            barred=barred,
            plannable={
                card.tool: "failure"
                for card in cards.cards
                if any(is_natural(entry, card, pool.of(card.tool)) for entry in pool.failures(card.tool))
            },
            behind={tool: pool.sources(tool) for tool in graph.tools if pool.behind(tool) and not pool.of(tool)},
            destructive=frozenset(card.tool for card in cards.cards if card.destructive),
        )
        row = _chain(graph, taxonomy, pool).row if recipe.weights == "conditioned" else None
        return Sampler(graph, shape, seed=recipe.seed, weigh=row)

    async def chosen(self, sampler: Sampler, graph: Graph, taxonomy: Taxonomy, cards: Cards, pool: Pool) -> Draws:
        """Give what draws the walks: the sampler, or first the walks that a judge chose among those it drew."""
        recipe = self.recipe
        if recipe.candidates <= 1:
            return sampler
        self.told("judging walks")
        walks = candidates(sampler, recipe.count * recipe.candidates)

        async def make() -> Scores:
            judge = self.roles.walk_judge(_chain(graph, taxonomy, pool), recipe.seed)
            return await judge(WalksGiven(walks=tuple(walks), cards=cards))

        made_from = hash_of([walk.nodes for walk in walks], cards, taxonomy, self.roles.player("weigher"))
        scores = await resumed(self.folder.path / SCORES, Scores, made_from, make, force=self.force)
        return chosen(sampler, walks, scores.scores, recipe.count)


def _chain(graph: Graph, taxonomy: Taxonomy, pool: Pool) -> Conditioned:
    return Conditioned(graph, taxonomy, {tool: len(distinct(pool.of(tool))) for tool in graph.tools})


def _random(seed: int, what: str) -> Random:
    return Random(f"{what}/{seed}")  # noqa: S311 - a choice, no secret
