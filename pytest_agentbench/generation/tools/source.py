"""The source of drafts from tools: walks through the tool graph, each hydrated by real calls.

Cards, semantic types, the graph and the pool come before it (`pipeline`). A walk that the world does not bear ends
where it stood; one that is lost is drawn anew, aiming at what it would have covered, and no later one takes the step
that failed after the same changes.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.draft import Draft, Loss, Owner, Turn
from pytest_agentbench.generation.owned_rows import records_of
from pytest_agentbench.generation.ownership import ownership_of, people_of
from pytest_agentbench.generation.tools.agents import handoffs_of, path_of
from pytest_agentbench.generation.tools.data_types import RUN_CONVERSATION, Walk
from pytest_agentbench.generation.tools.hydration.hydrate import hydrate
from pytest_agentbench.generation.tools.hydration.stock import HydrationError, Stock, Usage
from pytest_agentbench.generation.tools.hydration.turns import unsteady_values
from pytest_agentbench.generation.tools.walks.coverage import covered_by
from pytest_agentbench.generation.tools.walks.walk_sampling import SIMPLE, Sampler, drawn

UNHEARD = "A tool refuses the first request; what the agent says of it decides nothing, unless a judge reads it."
"""The note of a scenario with a refusal: the calls are the same, whether the agent owns up to it or not."""


@dataclass
class WalkSource:
    """Gives drafts of walks (`draft.Source`), the same for the same seed and the same answers about them.

    `left` says what was not rehearsed before they were drawn, `agents` which tools other agents have.
    """

    draws: Sampler
    stock: Stock
    seed: int
    languages: Sequence[str] = ("en",)
    left: str = ""
    agents: Mapping[str, str] = field(default_factory=dict)
    walks: dict[str, Walk] = field(default_factory=dict)
    _usage: Usage = field(default_factory=Usage)

    def chosen(self, count: int) -> tuple[Walk, ...]:
        """Draw walks, as long as nothing is known of their drafts."""
        return drawn(self.draws, count)

    async def drafts(self) -> AsyncIterator[Draft | Loss]:
        """Give the drafts of walks, and the walks that the world does not bear, until no new walk is found."""
        while (walk := self.draws.draw()) is not None:
            self.walks[walk.id] = walk
            try:
                draft = await self._draft(walk)
            except HydrationError as error:
                self._learn(walk, error)
                if (shorter := await self._shorter(walk, error.turns)) is not None:
                    yield shorter
                    continue
                detail = shorten(printable(error.detail), 300)
                yield Loss(draft=walk.id, stage="hydration", reason=error.reason, detail=detail)
                continue
            yield draft

    def accepted(self, draft: Draft) -> None:
        """Use what this draft names less in later ones."""
        self._usage.note(draft)

    def lost(self, loss: Loss) -> None:
        """Aim at what the walk would have covered again."""
        if loss.draft in self.walks:
            self.draws.lost(self.walks[loss.draft])

    async def _draft(self, walk: Walk) -> Draft:
        random = Random(f"{self.seed}/{walk.id}")  # noqa: S311 - a choice, no secret
        return self._of_turns(walk, await hydrate(walk, self.stock, random, usage=self._usage))

    async def _shorter(self, walk: Walk, turns: tuple[Turn, ...]) -> Draft | None:
        """Give the draft of the turns before the one that the world did not bear, None where they make no scenario."""
        if not turns or await unsteady_values(turns, self.stock):
            return None
        if (cut := self.draws.shortened(walk, len(turns))) is None:
            return None
        self.walks[walk.id] = cut
        try:
            return self._of_turns(cut, turns)
        except HydrationError:
            return None

    def _of_turns(self, walk: Walk, turns: tuple[Turn, ...]) -> Draft:
        language = self.languages[len(self.walks) % len(self.languages)]
        draft = draft_of(walk, turns, self.stock, self.agents)
        return draft.model_copy(update={"language": language})

    def _learn(self, walk: Walk, error: HydrationError) -> None:
        """Have no later walk take the step that failed after all changes before it: rooms are booked."""
        source, _, target = error.detail.partition(": ")[0].rpartition(" -> ")
        step = (source or RUN_CONVERSATION, target)
        places = [place for place, several in enumerate(pairwise(walk.nodes), start=1) if several == step]
        if places:
            before = [node for node in walk.nodes[: places[-1]] if node != RUN_CONVERSATION]
            changes = [node for node in before if self.stock.card(node).writes is not False]
            self.draws.bar(Counter(changes or before), step)  # reads alone bar it where they named somebody else


def why_lost(losses: Sequence[Loss], walks: Mapping[str, Walk]) -> dict[str, str]:
    """Say of each tool, and each step between two, why the first draft with it was lost."""
    found: dict[str, str] = {}
    for loss in losses:
        nodes = walks[loss.draft].nodes if loss.draft in walks else ()
        covered = covered_by(nodes)
        for name in (*covered.tools, *(" -> ".join(step) for step in covered.edges)):
            found.setdefault(name, f"a draft with it was lost: {loss.reason}: {shorten(loss.detail, 100)}")
    return found


def draft_of(walk: Walk, turns: tuple[Turn, ...], stock: Stock, agents: Mapping[str, str]) -> Draft:
    """Give the draft of turns with calls that were made, whichever source planned them."""
    calls = records_of(one for turn in turns for one in turn.calls)
    known = stock.ownership.plus(calls)
    owner = known.owner_of(people_of(known, calls))
    if stock.state is not None and not ownership_of([to_json(stock.state)], calls, owner).kinds_of(owner):
        owner = Owner()  # a code that other answers tie to people, and these do not
    return Draft(
        id=walk.id,
        source="tools",
        turns=turns,
        owner=owner,
        tags=(_class_of(turns), *(("failure",) if walk.enriched else ())),
        notes=(UNHEARD,) if walk.enriched else (),
        handoffs=handoffs_of(walk, turns, agents),
        provenance={"path": path_of(walk, agents)},
    )


def _class_of(turns: Sequence[Turn]) -> str:
    """Name the complexity class of what is expected: lookups count, planned failures do not."""
    return "simple" if sum(not call.fails for turn in turns for call in turn.calls) <= SIMPLE[1] else "complex"
