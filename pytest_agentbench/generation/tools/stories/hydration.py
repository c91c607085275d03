"""Hydration: a walk becomes a story, arc by arc, by real calls made in one fresh environment in the order of the story.

An argument comes from the pool of verified calls or from an earlier result, never from anywhere else, and each says
which (tool-to-scenario §4.4, Annex E). A pool entry is used once a story, and so are propagated arguments. What cannot
be hydrated is tried again with other entries; the calls that failed are not tried again.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from random import Random

from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.stories.attempt import Attempt
from pytest_agentbench.generation.tools.stories.lasting import lost_values
from pytest_agentbench.generation.tools.stories.narrator import Narrator
from pytest_agentbench.generation.tools.stories.searching import Memory
from pytest_agentbench.generation.tools.stories.telling import Faults, HydrationError, Telling, WordingError
from pytest_agentbench.generation.tools.stories.usage import Usage
from pytest_agentbench.generation.tools.values import (
    Story,
    Walk,
)
from pytest_agentbench.generation.tools.wording.tongue import Code

ATTEMPTS = 6
"""Times that a walk is hydrated before it is lost."""
PATIENCE = 24
"""The same where no model is asked, so that attempts cost calls of tools alone."""
EXHAUSTED = frozenset((
    "no verified call left", "nothing to propagate", "verified calls fail in the story", "a change fails in the story",
))  # fmt: skip
"""Reasons that say that a walk asks more of a tool than the world bears."""
OF_ONE = "values that are others in each environment"
"""Reason for which a story is lost that would hold on the day it was made."""


async def hydrate(
    walk: Walk,
    stock: Stock,
    narrator: Narrator,
    *,
    language: Code,
    random: Random,
    attempts: int = ATTEMPTS,
    history: Faults | None = None,
    critique: Sequence[str] = (),
    memory: Memory | None = None,
    usage: Usage | None = None,
) -> Story:
    """Give the story of a walk; raise `HydrationError` where no attempt comes to its end.

    `history` says what the narrator's answers to earlier walks were refused for, `critique` what a reader of earlier
    stories did not believe; it is told both. `memory` is what attempts learn. What `usage`
    counts least is offered first.

    `ProviderError` and its like of a model-backed narrator pass through: nothing stands in for it.
    """
    memory = memory or Memory()
    memory.lost |= stock.lost
    for operation, faults in (history or {}).items():
        memory.faults[operation] += faults
    last: HydrationError | None = None
    furthest, badly_worded = -1, 0
    for attempt in range(1, attempts + 1):
        try:
            memory.reached = 0
            async with AsyncExitStack() as stack:
                opened = await stack.enter_async_context(stock.world.open())
                telling = Telling(narrator, stock.cards, language=language, faults=memory.faults, critique=critique)
                played = Attempt(stock, narrator, opened, telling, random, memory, usage or Usage())
                steps = await played.run(walk)
            if lost := await lost_values(steps, stock):
                memory.lost |= lost
                raise HydrationError(
                    OF_ONE, ", ".join(f"{one} -> {other} ({path})" for one, other, path in sorted(lost))
                )
        except HydrationError as error:
            if memory.reached >= furthest:
                last, furthest = error, memory.reached
            if isinstance(error, WordingError):
                badly_worded += 1
                memory.faults[error.operation].append(str(error))
            if badly_worded > 1 or memory.is_over:  # other calls will not make a narrator keep to what is known
                break
            continue
        return Story(id=walk.id, walk=walk, language=language, steps=tuple(steps), attempts=attempt)
    assert last is not None  # noqa: S101 - at least one attempt was made, and it failed
    raise last
