"""Probing: every tool called with what it should and should not take, within bounds, and a card made of what it did.

Order: calls that work, reads first; what they refuse; what other tools' results bring; effects. What destroys comes
last. Who proposes values and calls is code, and a model on top where one plays the prober.
"""

from collections.abc import Callable

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.names import count
from pytest_agentbench.generation.recipe import tools_hash
from pytest_agentbench.generation.tools.data_types import Cards
from pytest_agentbench.generation.tools.graph.observed_flows import flows_of
from pytest_agentbench.generation.tools.probing.cards import card_of
from pytest_agentbench.generation.tools.probing.challenge import challenge
from pytest_agentbench.generation.tools.probing.effects import effects_of, try_effects
from pytest_agentbench.generation.tools.probing.hand_on import hand_on
from pytest_agentbench.generation.tools.probing.model import ModelProber
from pytest_agentbench.generation.tools.probing.openers import find_opened
from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.safety import Policy, permission
from pytest_agentbench.generation.tools.probing.search import Search, ordered
from pytest_agentbench.generation.tools.probing.session import Budget, ProbedTool, ProbeSession
from pytest_agentbench.generation.tools.world import World
from pytest_agentbench.llm.protocols import Chat

_VERSION = 5
"""Of cards: those that an earlier one saved are made anew."""


async def probe(
    world: World,
    *,
    seed: int = 0,
    policy: Policy | None = None,
    budget: Budget | None = None,
    chat: Chat | None = None,
    told: Callable[[str], None] = lambda _: None,
    without: frozenset[str] = frozenset(),
) -> Cards:
    """Probe all tools of the agent and give their cards, in declared order, with what flows between them.

    Never raises for what a tool does. `policy` says what may be called (default: reads, and everything where the
    environment can be reset), `budget` how often and how long. With a `chat` a model proposes values and calls, which
    the same policy and budget bound. `told` hears a line per tool and step: calls, what was learnt, what is left.
    `without` names strategies that are switched off. Raise `EnvironmentFaultError` where no environment can be opened,
    and what the model's access raises.
    """
    await world.described()
    session = ProbeSession(world, seed=seed, policy=policy or Policy(), budget=budget or Budget(), without=without)
    if not session.tools:
        return Cards()
    for tool in session.tools.values():
        if not tool.permission.called:
            told(f"{tool.name}: {tool.permission.why}")
    log = ReplayLog(session)
    session.reviver = log.revive
    examination = _Examination(log, ModelProber(log, chat, seed, told) if chat is not None else None, told)
    async with session:
        every = list(session.tools.values())
        last = [tool for tool in every if tool.destroys]
        first = [tool for tool in every if tool not in last]
        if first:
            await examination.of(first, earlier=[])
        if last:
            await examination.of(last, earlier=first)
        await find_opened(session, ordered(every))
    cards = tuple(card_of(tool, effects_of(tool, examination.unstable[tool.name])) for tool in every)
    flows, unfit, repeated = flows_of(session)
    return Cards(cards=cards, flows=flows, unfit=unfit, repeated=repeated)


class _Examination:
    """Examines group after group of tools, each in an environment in which the groups before it worked."""

    def __init__(self, log: ReplayLog, model: ModelProber | None, told: Callable[[str], None]) -> None:
        self.unstable: dict[str, frozenset[str]] = {}
        self._log = log
        self._model = model
        self._told = told

    async def of(self, several: list[ProbedTool], *, earlier: list[ProbedTool]) -> None:
        """Examine a group, after `earlier` ones."""
        log, session = self._log, self._log.session
        if earlier:
            await log.restore()
        search = Search(session, log)
        await search.search(several)
        if self._model is not None and any(tool.base is None for tool in several):
            await self._model.propose_values(several)
            await search.search(several)
        works = sum(tool.base is not None for tool in several)
        self._told(f"{works} of {count(len(several), 'tool')} with a call that works; {count(_calls(several), 'call')}")
        for place, tool in enumerate(ordered(several), 1):
            await challenge(log, tool)
            refused = sum(one.verdict in ("refused", "broken", "empty") for one in tool.records)
            self._progress(
                tool, f"{count(refused, 'call')} refused or empty", len(several) - place, "to try with invalid input"
            )
        await log.restore()
        left = [tool for tool in ordered(several) if tool.base is None]
        await search.search(several)
        for tool in left:
            if tool.base is not None:
                await challenge(log, tool)
        tools = ordered(several)  # reads first, which leave everything as it is
        for place, tool in enumerate(tools, 1):
            before = len(tool.works())
            await hand_on(log, [tool])
            taken = len(tool.works()) - before
            self._progress(
                tool, f"{count(taken, 'value')} of other tools accepted", len(tools) - place, "to try with them"
            )
        await log.restore()
        if self._model is not None:
            for tool in ordered(several):
                await self._model.propose_calls(tool)
            await log.restore()
        for tool in ordered(several):
            self.unstable[tool.name] = await try_effects(session, tool)
        self._told(f"{count(len(several), 'tool')} examined; {count(_calls(several), 'call')}")

    def _progress(self, tool: ProbedTool, learnt: str, left: int, what: str) -> None:
        self._told(f"{tool.name}: {count(len(tool.records), 'call')}, {learnt}; {count(left, 'tool')} left {what}")


def _calls(several: list[ProbedTool]) -> int:
    return sum(len(tool.records) for tool in several)


def probing_hash(world: World, *, seed: int, policy: Policy, budget: Budget, model: str = "") -> str:
    """Give what must be equal for saved cards to be used again: declarations, seed, what was allowed, how much, who."""
    specs = world.toolset.of("assistant")
    called = {spec.name: permission(spec, policy, resettable=world.resets(spec)).called for spec in specs}
    allowed = [policy.writes, sorted(policy.allow), called, world.resettable]
    counts = [budget.nominal, budget.challenges, budget.observed, budget.effects, budget.gentle]
    return digest(
        [_VERSION, tools_hash(world.toolset), seed, allowed, counts, world.hints, world.rows, world.samples, model]
    )
