"""Probing: every tool called with what it should and should not take, within bounds, and a card made of what it did.

Order: calls that work, reads first, then what they refuse, then what other tools' results bring, then effects; tools
that move what others know come next, those that destroy last.
"""

from collections.abc import Callable
from random import Random

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.recipe import tools_hash
from pytest_agentbench.generation.tools.graph.enabling import enablings_of
from pytest_agentbench.generation.tools.graph.flowing import flows_of, unfit_of
from pytest_agentbench.generation.tools.probing.cards import card_of
from pytest_agentbench.generation.tools.probing.challenge import challenge
from pytest_agentbench.generation.tools.probing.crossing import confirm, cross, try_making
from pytest_agentbench.generation.tools.probing.effects import Effect, effects_of, try_effects
from pytest_agentbench.generation.tools.probing.explore import Explorer
from pytest_agentbench.generation.tools.probing.laboratory import Budget, Laboratory, Subject
from pytest_agentbench.generation.tools.probing.ordering import needs_others, ordered
from pytest_agentbench.generation.tools.probing.react import propose
from pytest_agentbench.generation.tools.probing.replaying import Script
from pytest_agentbench.generation.tools.probing.safety import Policy, permission
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
) -> Cards:
    """Probe all tools of the agent and give their cards, in declared order, with what flows between them.

    Never raises for what a tool does. `policy` says what may be called (default: reads, and everything where the
    environment can be reset), `budget` how often. With a `chat` a model proposes further probes, which the same policy
    and budget bound. `told` hears one line of progress per step. Raise `EnvironmentFaultError` where no environment
    can be opened, and what the model's access raises.
    """
    await world.described()
    lab = Laboratory(world, seed=seed, policy=policy or Policy(), budget=budget or Budget())
    if not lab.subjects:
        return Cards(tools_hash=tools_hash(world.toolset))
    subjects = list(lab.subjects.values())
    gentle = [subject for subject in subjects if not subject.destroys and not subject.moves]
    moving = [subject for subject in subjects if subject.moves]
    destructive = [subject for subject in subjects if subject.destroys]
    for subject in subjects:
        if not subject.permission.called:
            told(f"{subject.name}: {subject.permission.why}")
    script = Script(lab)
    lab.reviver = script.revive
    examination = _Examination(script, chat, seed, told)
    async with lab:
        for several in (gentle, moving, destructive):
            if several:
                await examination.of(several, leave_others=several is destructive)
    unstable = examination.unstable
    cards = tuple(card_of(subject, _effects(subject, unstable)) for subject in subjects)
    return Cards(
        cards=cards,
        tools_hash=tools_hash(world.toolset),
        flows=flows_of(lab),
        enablings=enablings_of(lab),
        unfit=unfit_of(lab),
    )


class _Examination:
    """Examines group after group of tools, each in an environment in which the groups before it worked."""

    def __init__(self, script: Script, chat: Chat | None, seed: int, told: Callable[[str], None]) -> None:
        self.unstable: dict[str, frozenset[str]] = {}
        self._script = script
        self._chat = chat
        self._seed = seed
        self._told = told
        self._earlier: list[Subject] = []

    async def of(self, several: list[Subject], *, leave_others: bool) -> None:
        """Examine a group; unless the others are to be left alone, they are tried with what it gives as well."""
        script, told = self._script, self._told
        if self._earlier:
            await script.restore()
        explorer = Explorer(script.lab, script)
        told(f"calls that work, of {len(several)} tools")
        await explorer.explore(several)
        if self._chat is not None:
            await self._unlock(explorer, several, self._chat)
        for subject in ordered(several):
            await challenge(script, subject)
        await self._explore_again(explorer, several)
        told("values of other tools' results")
        await cross(script, ordered(several))
        if self._earlier and not leave_others:
            await cross(script, self._earlier, {subject.name for subject in several})
        await try_making(script, ordered(several))
        await confirm(script, [*([] if leave_others else self._earlier), *ordered(several)])
        self._earlier += ordered(several)
        await script.restore()
        if self._chat is not None:
            for subject in ordered(several):
                told(f"{subject.name}: probes that the model proposes")
                await propose(script, subject, self._chat, _random(self._seed, subject), told=told)
            await script.restore()
        for subject in ordered(several):
            self.unstable[subject.name] = await try_effects(script.lab, subject)
            told(f"{subject.name}: {len(subject.trials)} probes")

    async def _explore_again(self, explorer: Explorer, several: list[Subject]) -> None:
        """Look again where only what worked was done, then elsewhere; challenge tools that work now."""
        await self._script.restore()
        for look in (explorer.explore, explorer.unhindered, explorer.start_over, explorer.go_on):
            left = [subject for subject in ordered(several) if subject.base is None]
            await look(several)
            for subject in left:
                if subject.base is not None:
                    await challenge(self._script, subject)

    async def _unlock(self, explorer: Explorer, several: list[Subject], chat: Chat) -> None:
        """Ask the model about tools that nothing is known to work for; what it finds may be what others wait for."""
        names = [subject.name for subject in several]
        for subject in sorted(ordered(several), key=lambda one: needs_others(one, names)):
            if subject.base is not None or not subject.permission.called:
                continue
            self._told(f"{subject.name}: the model looks for a call that works")
            made = await propose(self._script, subject, chat, _random(self._seed, subject), told=self._told)
            if any(trial.ok for trial in made):
                await explorer.explore(several)


def _random(seed: int, subject: Subject) -> Random:
    return Random(f"{seed}{subject.name}")  # noqa: S311 - no secret hangs on it


def _effects(subject: Subject, unstable: dict[str, frozenset[str]]) -> dict[str, Effect]:
    return effects_of(subject, unstable.get(subject.name, frozenset()))


def _specs(world: World) -> list[tuple[str, ToolSpec]]:
    return [(spec.name, spec) for spec in world.toolset.of("assistant")]


def probing_hash(world: World, *, seed: int, policy: Policy, budget: Budget, model: str = "") -> str:
    """Give what must be equal for saved cards to be used again: declarations, seed, what was allowed, how much, who."""
    told = {name: permission(spec, policy, resettable=world.resets(spec)).called for name, spec in _specs(world)}
    allowed = [policy.writes, sorted(policy.allow), told, world.resettable]
    counts = [budget.nominal, budget.challenges, budget.observed, budget.effects, budget.gentle]
    return digest([tools_hash(world.toolset), seed, allowed, counts, world.hints, model])
