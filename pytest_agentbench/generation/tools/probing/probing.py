"""Probing: every tool called with what it should and should not take, within bounds, and a card made of what it did.

Order: calls that work, reads first; what they refuse; what other tools' results bring; effects. What destroys comes
last. Who proposes values and calls is code, and a model on top where one plays the prober.
"""

from collections.abc import Callable
from random import Random

from pytest_agentbench.core.codec import digest
from pytest_agentbench.generation.recipe import tools_hash
from pytest_agentbench.generation.tools.graph.flowing import flows_of
from pytest_agentbench.generation.tools.probing.cards import card_of
from pytest_agentbench.generation.tools.probing.challenge import challenge
from pytest_agentbench.generation.tools.probing.effects import effects_of, try_effects
from pytest_agentbench.generation.tools.probing.hand_on import hand_on
from pytest_agentbench.generation.tools.probing.model import propose_calls, propose_values
from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.safety import Policy, permission
from pytest_agentbench.generation.tools.probing.search import Search, ordered
from pytest_agentbench.generation.tools.probing.session import Budget, ProbedTool, ProbeSession
from pytest_agentbench.generation.tools.values import Cards
from pytest_agentbench.generation.tools.world import World
from pytest_agentbench.llm.seams import Chat


def _silent(_: str) -> None:
    """Tell nobody."""


async def probe(
    world: World,
    *,
    seed: int = 0,
    policy: Policy | None = None,
    budget: Budget | None = None,
    chat: Chat | None = None,
    told: Callable[[str], None] = _silent,
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
        return Cards(tools_hash=tools_hash(world.toolset))
    for tool in session.tools.values():
        if not tool.permission.called:
            told(f"{tool.name}: {tool.permission.why}")
    log = ReplayLog(session)
    session.reviver = log.revive
    examination = _Examination(log, chat, seed, told)
    async with session:
        every = list(session.tools.values())
        last = [tool for tool in every if tool.destroys]
        for several in ([tool for tool in every if tool not in last], last):
            if several:
                await examination.of(several, leave_others=several is last)
    cards = tuple(card_of(tool, effects_of(tool, examination.unstable.get(tool.name, frozenset()))) for tool in every)
    flows, unfit = flows_of(session)
    return Cards(cards=cards, tools_hash=tools_hash(world.toolset), flows=flows, unfit=unfit)


class _Examination:
    """Examines group after group of tools, each in an environment in which the groups before it worked."""

    def __init__(self, log: ReplayLog, chat: Chat | None, seed: int, told: Callable[[str], None]) -> None:
        self.unstable: dict[str, frozenset[str]] = {}
        self._log = log
        self._chat = chat
        self._seed = seed
        self._told = told
        self._earlier: list[ProbedTool] = []

    async def of(self, several: list[ProbedTool], *, leave_others: bool) -> None:
        """Examine a group; unless the others are to be left alone, they are tried with what it gives as well."""
        log, session = self._log, self._log.session
        if self._earlier:
            await log.restore()
        search = Search(session, log)
        await search.search(several)
        if self._chat is not None:
            await self._ask_values(search, several, self._chat)
        works = sum(tool.base is not None for tool in several)
        self._told(f"{works} of {len(several)} tools have a call that works; {_calls(several)} calls")
        for place, tool in enumerate(ordered(several), 1):
            await challenge(log, tool)
            refused = sum(one.verdict in ("refused", "broken", "empty") for one in tool.records)
            self._progress(tool, f"{refused} calls refused or empty", len(several) - place, "to try with invalid input")
        await log.restore()
        left = [tool for tool in ordered(several) if tool.base is None]
        await search.search(several)
        for tool in left:
            if tool.base is not None:
                await challenge(log, tool)
        await self._hand_on(several)
        if self._earlier and not leave_others:
            await hand_on(log, self._earlier, {tool.name for tool in several})
        self._earlier += ordered(several)
        await log.restore()
        if self._chat is not None:
            for tool in ordered(several):
                await propose_calls(log, tool, self._chat, _random(self._seed, tool.name), self._told)
            await log.restore()
        for tool in ordered(several):
            self.unstable[tool.name] = await try_effects(session, tool)
        self._told(f"{len(several)} tools examined; {_calls(several)} calls")

    async def _hand_on(self, several: list[ProbedTool]) -> None:
        """Try what tools give on the others: reads first, which leave everything as it is."""
        tools = ordered(several)
        for place, tool in enumerate(tools, 1):
            before = len(tool.works())
            await hand_on(self._log, [tool])
            taken = len(tool.works()) - before
            self._progress(tool, f"{taken} values of other tools accepted", len(tools) - place, "to try with them")

    async def _ask_values(self, search: Search, several: list[ProbedTool], chat: Chat) -> None:
        """Ask the model for values where nothing else led to a call that works, and search again with them."""
        if any(tool.base is None for tool in several):
            names = ",".join(tool.name for tool in several)
            await propose_values(self._log.session, several, chat, _random(self._seed, names), self._told)
            await search.search(several)

    def _progress(self, tool: ProbedTool, learnt: str, left: int, what: str) -> None:
        self._told(f"{tool.name}: {len(tool.records)} calls, {learnt}; {left} tools left {what}")


def _calls(several: list[ProbedTool]) -> int:
    return sum(len(tool.records) for tool in several)


def _random(seed: int, name: str) -> Random:
    return Random(f"{seed}{name}")  # noqa: S311 - no secret hangs on it


def probing_hash(world: World, *, seed: int, policy: Policy, budget: Budget, model: str = "") -> str:
    """Give what must be equal for saved cards to be used again: declarations, seed, what was allowed, how much, who."""
    specs = world.toolset.of("assistant")
    told = {spec.name: permission(spec, policy, resettable=world.resets(spec)).called for spec in specs}
    allowed = [policy.writes, sorted(policy.allow), told, world.resettable]
    counts = [budget.nominal, budget.challenges, budget.observed, budget.effects, budget.gentle]
    return digest([tools_hash(world.toolset), seed, allowed, counts, world.hints, model])
