"""Scenarios from tools, stage after stage: cards, taxonomy, graph, pool, walks, scenarios (tool-to-scenario §3.3).

Every stage leaves a file in the recipe's folder with the hash of what it was made from, and is not made again as long
as that holds; a session that was broken off goes on where it stood. Same seed, same files.
"""

import contextlib
import itertools
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_agentbench.core.errors import EnvironmentFaultError, SuiteFaultError
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.generation.casting import Chats
from pytest_agentbench.generation.recipe import Outcome, Told, hashes_of, recipe_of
from pytest_agentbench.generation.tools.kinds_told import kinds_told, left_alone, seen_writing
from pytest_agentbench.generation.tools.making import Maker, RejectedError, languages_of
from pytest_agentbench.generation.tools.probing.seeding import hints_of, state_of
from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.roles import ROLES, Roles
from pytest_agentbench.generation.tools.saved import hash_of
from pytest_agentbench.generation.tools.stages import Draws, Stages
from pytest_agentbench.generation.tools.stories.hydration import EXHAUSTED
from pytest_agentbench.generation.tools.storing import SCENARIOS, Finished, Folder
from pytest_agentbench.generation.tools.summary import Session, document_of, lines_of
from pytest_agentbench.generation.tools.values import RUN_CONVERSATION, Cards, Walk
from pytest_agentbench.generation.tools.walks.coverage import coverage, report
from pytest_agentbench.generation.tools.walks.pairs import barred_pairs, most_repeats
from pytest_agentbench.generation.tools.walks.rehearsal import closed_edges
from pytest_agentbench.generation.tools.wording.phrasing import language_of
from pytest_agentbench.generation.tools.wording.tongue import Code
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.results.seen_writes import note_seen
from pytest_agentbench.validation.scenario import Shared

Until = Literal["cards", "graph", "walks", ""]
"""The last stage that is asked for; "" is all."""

_MORE = 3
"""Walks that are tried for each scenario asked for, at most."""
_HOPELESS = 5
"""Walks lost at the beginning after which no further one is tried, five times as many where no model is paid for."""


@dataclass(kw_only=True)
class Pipeline:
    """One recipe at work. `told` hears of progress; `force` makes every stage anew."""

    suite: Suite
    toolset: Toolset
    chats: Chats | None = None
    told: Told = lambda _: None
    force: bool = False
    now: Callable[[], float] = time.monotonic

    async def run(self, until: Until = "") -> Outcome:
        """Run the stages; raise `SuiteFaultError` or `EnvironmentFaultError` where there is nothing to work on."""
        recipe = recipe_of(self.suite)
        roles = Roles(recipe, self.chats)
        await self._find_tools()
        self._check_tools()
        described = language_of(spec.description for spec in self.toolset.of("assistant"))
        languages = languages_of(recipe.languages, described, has_model=bool(roles.player("narrator")))
        plain = world_of(self.suite, toolset=self.toolset)
        state = await state_of(plain)
        world = world_of(self.suite, toolset=self.toolset, hints=_listed(hints_of(self.toolset, state, recipe.values)))
        folder = Folder(recipe.out)
        stages = Stages(recipe=recipe, world=world, roles=roles, folder=folder, told=self.told, force=self.force)
        cards = await stages.cards()
        if until == "cards":
            return self._stopped(
                until, [f"{len(cards.cards)} cards in {folder.path}", *left_alone(cards), *_partial(cards)]
            )
        self._learn_kinds(cards)
        taxonomy = await stages.taxonomy(cards)
        graph = await stages.graph(cards, taxonomy)
        if not graph.tools:
            raise EnvironmentFaultError(f"no call of any tool was answered as it should:\n{_reasons(cards)}")
        if until == "graph":
            typed = sum(bool(edge.via) for edge in graph.edges)
            counted = f"{len(graph.tools)} tools, {len(graph.edges)} edges, {typed} of them by types"
            return self._stopped(until, [f"{counted}, in {folder.path}", *left_alone(cards)])
        pool, unpooled = await stages.pool(cards, taxonomy, graph)
        if not pool.entries:
            told = "\n".join([*(f"  {tool}: {why}" for tool, why in unpooled.items()), *left_alone(cards)])
            raise EnvironmentFaultError(f"no call of any tool was answered as it should:\n{told}")
        conditioned = recipe.weights == "conditioned"
        stock = Stock(world=world, cards=cards, taxonomy=taxonomy, pool=pool, conditioned=conditioned)
        self.told("rehearsing the edges")
        closed = await closed_edges(graph, stock, seed=recipe.seed)
        offered = [card.tool for card in cards.cards]
        uncalled = {card.tool: card.partial for card in cards.cards if card.partial}
        why = {
            **uncalled,
            **unpooled,
            **{f"{source} -> {target}": reason for (source, target), reason in closed.items()},
        }
        barred = await barred_pairs(graph, stock, seed=recipe.seed)
        repeats = await most_repeats(graph, stock, seed=recipe.seed)
        sampler = stages.sampler(graph, taxonomy, cards, pool, closed=frozenset(closed), barred=barred, repeats=repeats)
        draws = await stages.chosen(sampler, graph, taxonomy, cards, pool)
        if until == "walks":
            walks = list(itertools.islice(iter(draws.draw, None), recipe.count))
            folder.save_walks(walks, hash_of(graph, recipe.seed))
            return self._stopped(until, [f"{len(walks)} walks", *report(coverage(graph, walks, why, offered=offered))])
        hashes = hashes_of(self.suite, self.toolset)
        with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
            maker = Maker(
                suite=self.suite,
                toolset=self.toolset,
                stock=stock,
                roles=roles,
                hashes=hashes,
                shared=Shared(isolation=IsolationGate(Path(directory)), now=self.now, seed=recipe.seed, mutate=False),
                seed=recipe.seed,
                personas=recipe.personas,
                state=state,
            )
            made_from = hash_of(hashes, cards, taxonomy, graph, pool, [roles.player(role) for role in ROLES])
            finished, exhausted = await self._scenarios(maker, draws, folder, made_from, languages)
        folder.save_walks([one.walk for one in finished], hash_of(graph, recipe.seed))
        saved = folder.save_scenarios((one.forms for one in finished if one.forms), review=recipe.review)
        accepted = [one.walk for one in finished if one.forms]
        session = Session(
            name=self.suite.name,
            seed=recipe.seed,
            wanted=recipe.count,
            out=recipe.out / SCENARIOS,
            finished=finished,
            coverage=coverage(graph, accepted, why, offered=offered),
            calls=roles.calls,
            players={role: player for role in ROLES if (player := roles.player(role))},
            unpooled=unpooled,
            exhausted=exhausted,
            uncalled=left_alone(cards),
            kinds=kinds_told(self.toolset.of("assistant"), cards, pool) if state is None else (),
        )
        folder.save_report(document_of(session))
        return Outcome(lines=(*lines_of(session), *saved.lines), accepted=len(accepted), wanted=recipe.count)

    async def _scenarios(
        self, maker: Maker, sampler: Draws, folder: Folder, made_from: str, languages: Sequence[Code]
    ) -> tuple[list[Finished], bool]:
        """Make as many scenarios as asked for; give what became of each walk, and whether all are used.

        What was lost is drawn anew, aiming at what it would have covered. Each walk is noted as it is finished, so that
        a session that is broken off here loses one at most.
        """
        recipe = recipe_of(self.suite)
        known = {} if self.force else folder.finished(made_from)
        log = folder.log(made_from, anew=self.force)
        finished: list[Finished] = []
        accepted = 0
        try:
            while accepted < recipe.count and len(finished) < _MORE * recipe.count + 10:
                walk = sampler.draw()
                if walk is None:
                    return finished, True
                one = known.get(walk.id)
                if one is None or one.walk != walk:
                    one = await self._made(maker, walk, languages[len(finished) % len(languages)])
                    log.append(one.model_dump(mode="json"))
                elif one.rejection is not None:
                    maker.history.note(one.rejection)
                finished.append(one)
                if one.forms:
                    accepted += 1
                    if one.story is not None:
                        maker.history.usage.note(one.story)
                    self.told(f"scenario {accepted} of {recipe.count}")
                else:
                    sampler.lost(walk)
                    _learn(sampler, one, maker.stock)
                    if not accepted and len(finished) >= (_HOPELESS if maker.roles.calls else 5 * _HOPELESS):
                        break
        finally:
            log.close()
        return finished, False

    async def _made(self, maker: Maker, walk: Walk, language: Code) -> Finished:
        try:
            made = await maker.make(walk, language)
        except RejectedError as error:
            self.told(f"{walk.id} lost: {error}")
            return Finished(walk=walk, rejection=error.rejection)
        return Finished(walk=walk, story=made.story, forms=made.forms)

    async def _find_tools(self) -> None:
        """Ask the environment for its tools where only a running server can tell them."""
        if not self.toolset and any(part.remote for part in self.suite.environment.tools):
            async with world_of(self.suite).open() as opened:
                self.toolset = opened.tools

    def _learn_kinds(self, cards: Cards) -> None:
        """Take tools that were seen to write for writes, now and in later sessions."""
        seen = seen_writing(self.toolset.of("assistant"), cards)
        told = {"kind": "write", "kind_from": "seen"}
        self.toolset = Toolset(
            specs=tuple(spec.model_copy(update=told) if spec.name in seen else spec for spec in self.toolset)
        )
        with contextlib.suppress(OSError):  # a folder that cannot be written keeps nothing
            note_seen(self.suite.path, seen)

    def _check_tools(self) -> None:
        specs = self.toolset.of("assistant")
        described = [part.target for part in self.suite.environment.tools if part.kind == "schema"]
        if not specs:
            raise SuiteFaultError(
                f"{self.suite.path}: the suite names no tools to make scenarios from; "
                "add `environment: {tools: …}`, or use `generate: {from: policies}`"
            )
        if described:
            raise SuiteFaultError(
                f"{self.suite.path}: the tools are only described ({described[0]}); scenarios are made of real calls, "
                "so name tools that can be called"
            )

    def _stopped(self, until: Until, lines: Sequence[str]) -> Outcome:
        return Outcome(lines=(f"agentbench generate: {self.suite.name} · until {until}", *lines), until=until)


def _learn(sampler: Draws, lost: Finished, stock: Stock) -> None:
    """Have later walks ask less of the world where this one asked too much: rooms are booked, accounts closed.

    No later one calls the tool that ran out as often, or takes the step that failed after all changes before it.
    """
    rejection = lost.rejection
    if rejection is None or rejection.stage != "hydration" or rejection.reason not in EXHAUSTED:
        return
    source, _, target = rejection.detail.partition(": ")[0].rpartition(" -> ")
    sampler.spare(lost.walk, target)
    nodes, step = lost.walk.nodes, (source or RUN_CONVERSATION, target)
    if source:
        sampler.end(lost.walk, step)
    places = [place for place in range(1, len(nodes)) if nodes[place - 1 : place + 1] == step]
    if places:
        changes = (node for node in nodes[: places[-1]] if stock.card(node).writes is not False)
        sampler.bar(Counter(node for node in changes if node != RUN_CONVERSATION), step)


def _listed(hints: dict[str, tuple[object, ...]]) -> dict[str, list[object]]:
    return {name: list(values) for name, values in hints.items()}


def _partial(cards: Cards) -> list[str]:
    return [f"partial: {card.tool}: {card.partial}" for card in cards.cards if card.partial]


def _reasons(cards: Cards) -> str:
    why = [f"  {card.tool}: {card.partial or 'nothing was tried'}" for card in cards.cards]
    return "\n".join([*why, *left_alone(cards)])
