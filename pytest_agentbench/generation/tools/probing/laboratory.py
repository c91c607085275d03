"""Where probes are made: one open environment, a budget per tool, every call judged, remembered and never endless."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.graph.names import bare, likeness, words
from pytest_agentbench.generation.tools.probing.oracle import Judged, judge
from pytest_agentbench.generation.tools.probing.reading import Atom, atoms
from pytest_agentbench.generation.tools.probing.safety import Permission, Policy, destroys, permission
from pytest_agentbench.generation.tools.probing.schemas import Slot, build, read_slots, slots_of
from pytest_agentbench.generation.tools.probing.succession import Succession
from pytest_agentbench.generation.tools.values import ProbeKind, Verdict
from pytest_agentbench.generation.tools.world import Answer, Opened, World

_HANGS = 2
"""Hangs after which a tool is left alone that never answered, twice as many for one that did; one exit is enough."""
_REFUSALS_OF_ENVIRONMENT = 4
"""Answers in a row about credentials, limits or the network after which a tool is left alone."""
_MOST_ATOMS = 400
_OPENING = 40
"""Characters of a description that hold its first word."""
_SEEN = 3
_LET_IN = 3
"""Calls that worked, of whatever tools, after which credentials are not what a refusal is about."""
_FORBIDDEN = re.compile(r"\bHTTP 40[13]\b")
_LOOKUP = re.compile(r"\b(?:KeyError|IndexError|StopIteration)\b")


def _after_own(arguments: dict[str, Any], content: str) -> str:
    """Give what an answer says after a value of the call, where it begins with one: `a.txt: Error - no such file`."""
    for value in read_slots(arguments).values():
        head = f"{value}:"
        if isinstance(value, str) and value and content.startswith(head) and "\n" not in content.strip():
            return content[len(head) :].strip()
    return ""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How many calls a tool gets at most. The defaults follow Annex B (6 to 12 probes to see a tool work), and add what
    invalid inputs, effects and handed-on values need; `gentle` holds for tools whose calls cannot be undone.
    """

    nominal: int = 60
    challenges: int = 60
    observed: int = 60
    effects: int = 40
    gentle: int = 4

    @property
    def most(self) -> int:
        """Calls of one tool altogether."""
        return self.nominal + self.challenges + self.observed + self.effects


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A probe that was made; `epoch` counts the calls that had changed state before it, `world` the environments."""

    index: int
    tool: str
    kind: ProbeKind
    arguments: dict[str, Any]
    answer: Answer
    judged: Judged
    epoch: int = 0
    world: int = 0

    @property
    def verdict(self) -> Verdict:
        """What the answer means."""
        return self.judged.verdict

    @property
    def ok(self) -> bool:
        """Whether the call did what the tool is for."""
        return self.judged.verdict == "ok"

    @cached_property
    def values(self) -> dict[str, Any]:
        """The plain arguments by slot path, read once: nobody may change them."""
        return read_slots(self.arguments)


@dataclass
class Subject:
    """A tool under examination: its slots, whether it may be called, and the call that it accepted first.

    `once` says that this call does not work a second time: what it takes, or makes room for, is then used up. `replays`
    are calls that were made again in fresh environments.
    """

    spec: ToolSpec
    slots: tuple[Slot, ...]
    permission: Permission
    base: Trial | None = None
    trials: list[Trial] = field(default_factory=list)
    replays: list[Trial] = field(default_factory=list)
    given_up: str = ""
    once: bool = False
    _looked_at: int = 0
    _wrote: bool = False

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.spec.name

    @property
    def effect(self) -> str:
        """What calls of it do, corrected by what was seen."""
        if self.permission.effect in ("read", "unknown") and self._has_written():
            return "write"
        return self.permission.effect

    def _has_written(self) -> bool:
        """Whether some call changed state; each is looked at once, since this is asked for often."""
        self._wrote = self._wrote or any(trial.answer.wrote for trial in self.trials[self._looked_at :])
        self._looked_at = len(self.trials)
        return self._wrote

    @property
    def is_read(self) -> bool:
        """Whether no call of it changes anything, as far as anybody can tell."""
        return self.effect == "read"

    @property
    def destroys(self) -> bool:
        """Whether its calls take away what others need, so that it comes last."""
        return self.permission.effect == "destructive" and destroys(self.spec)

    @property
    def moves(self) -> bool:
        """Whether its calls move what others know by its name or place, so that it comes after them."""
        said = words(self.name) + words(self.spec.description[:_OPENING])[:1]
        return not self.is_read and not self.destroys and bool({"move", "rename"} & set(said))

    def slot(self, path: str) -> Slot | None:
        """Find an argument."""
        return next((slot for slot in self.slots if slot.path == path), None)

    def gives(self) -> list[Trial]:
        """The calls that worked."""
        return [trial for trial in self.trials if trial.ok]


class Laboratory:
    """Makes probes in one environment."""

    def __init__(self, world: World, *, seed: int, policy: Policy, budget: Budget) -> None:
        self.world = world
        self.random = Random(seed)  # noqa: S311 - no secret hangs on it
        self._seed = seed
        self.budget = budget
        self.subjects: dict[str, Subject] = {}
        for spec in world.toolset.of("assistant"):
            allowed = permission(spec, policy, resettable=world.resets(spec))
            self.subjects[spec.name] = Subject(spec=spec, slots=slots_of(spec), permission=allowed)
        self.bare = bare(list(self.subjects))
        self.trials: list[Trial] = []
        self.epoch = 0
        self._known: dict[str, Trial] = {}
        self._atoms: dict[int, list[Atom]] = {}
        self._environments = Succession(world)
        self._opened: Opened | None = None
        self.seen: list[tuple[Trial, Atom]] = []
        self.sightings: dict[tuple[str, str], Any] = {}
        self.made: dict[tuple[str, str, str, str], list[str]] = {}
        self._times_seen: Counter[tuple[str, str, str, str]] = Counter()
        self.world_number = 0
        self.is_stuck = False
        self.reviver: Callable[[], Awaitable[None]] | None = None
        self._hangs: Counter[str] = Counter()
        self._hung: dict[str, Trial] = {}
        self._environmental: Counter[str] = Counter()

    async def __aenter__(self) -> "Laboratory":
        """Open the environment."""
        self._opened = await self._environments.next()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self._environments.aclose()

    async def renew(self) -> None:
        """Go on in a fresh environment; what was known of the old one's state may no longer hold."""
        self._opened = None
        self._opened = await self._environments.next()
        self._known.clear()
        self.seen = []
        self._times_seen.clear()
        self.world_number += 1
        self.epoch += 1
        self.is_stuck = False

    def likeness(self, slot: str, tool: str, found: tuple[str, ...], source: str) -> float:
        """Say how likely an argument means what another tool calls so; what all tools are called says nothing."""
        return likeness(slot, self.bare[tool], found, self.bare[source])

    def chance(self, subject: Subject, slot: Slot) -> Random:
        """Give the chance that values of an argument are drawn with: the same each time it is asked for."""
        return Random(f"{self._seed} {subject.name} {slot.path}")  # noqa: S311 - no secret hangs on it

    def may_call(self, subject: Subject, most: int | None = None) -> bool:
        """Whether one more probe of the tool is admitted."""
        if not subject.permission.called or subject.given_up:
            return False
        limit = self.budget.gentle if subject.permission.gently else self.budget.most
        return len(subject.trials) < (limit if most is None else min(limit, most))

    async def try_values(
        self, subject: Subject, values: Mapping[str, Any], kind: ProbeKind, *, again: bool = False
    ) -> Trial | None:
        """Call with these values by slot path; None where no more calls are admitted."""
        return await self.call(subject, build(values), kind, again=again)

    async def call(
        self, subject: Subject, arguments: dict[str, Any], kind: ProbeKind, *, again: bool = False
    ) -> Trial | None:
        """Call a tool and judge its answer. An equal call of a read is not made again unless asked for, one that never
        came back not at all.
        """
        if not subject.permission.called or subject.given_up:
            return None
        if self.is_stuck and self.reviver is not None:
            await self.reviver()
        if self._opened is None:
            return None
        if (hung := self._hung.get(dumps([subject.name, arguments]))) is not None:
            return hung
        key = dumps([subject.name, arguments, self.epoch])
        known = self._known.get(key)
        if known is not None and not again and subject.is_read:
            return known
        if not self.may_call(subject):
            return None
        trial = await self._made(self._opened, subject, arguments, kind)
        subject.trials.append(trial)
        self._known.setdefault(key, trial)
        self._note(subject, trial)
        await asyncio.sleep(0)
        return trial

    async def replay(self, subject: Subject, arguments: dict[str, Any]) -> Trial | None:
        """Make a call again that worked before, to bring about what it did: it is no probe, and counts as none."""
        if not subject.permission.called or self._opened is None or self.is_stuck:
            return None
        trial = await self._made(self._opened, subject, arguments, "nominal")
        subject.replays.append(trial)
        return trial

    def recall(self, trial: Trial) -> Trial:
        """Take what a read answered in an environment like this one, at the same place, for what it would answer."""
        again = replace(trial, world=self.world_number, epoch=self.epoch)
        self.trials.append(again)
        self.subjects[trial.tool].replays.append(again)
        if again.ok:
            self._see(again)
        return again

    async def _made(self, opened: Opened, subject: Subject, arguments: dict[str, Any], kind: ProbeKind) -> Trial:
        answer = await opened.call(subject.name, arguments)
        trial = Trial(
            index=len(subject.trials),
            tool=subject.name,
            kind=kind,
            arguments=arguments,
            answer=answer,
            judged=self._judged(subject, arguments, answer),
            epoch=self.epoch,
            world=self.world_number,
        )
        self.trials.append(trial)
        is_gone = answer.unreachable and not _FORBIDDEN.search(answer.content)  # who refuses still answers
        self.is_stuck |= answer.hung or is_gone
        if trial.ok:
            self._see(trial)
        if trial.ok and not subject.is_read and trial.answer.wrote is not False:
            self.epoch += 1
        return trial

    def _judged(self, subject: Subject, arguments: dict[str, Any], answer: Answer) -> Judged:
        """Judge an answer in the light of the call: a lookup that fails on the caller's own value does not know it, and
        a change that says nothing was made, unless the state shows that it was not.
        """
        judged = judge(answer)
        if judged.verdict == "ok" and (told := _after_own(arguments, answer.content)):
            judged = judge(replace(answer, content=told))
        if judged.verdict == "environment" and _FORBIDDEN.search(answer.content) and self._is_let_in(subject):
            return Judged("refused", judged.reason)
        given = (repr(value) for value in read_slots(arguments).values())
        if (
            judged.verdict == "broken"
            and _LOOKUP.search(answer.content)
            and any(map(answer.content.__contains__, given))
        ):
            return Judged("refused", judged.reason)
        if judged.verdict == "empty" and subject.permission.effect in ("write", "destructive"):
            silent_success = answer.wrote is True or (answer.wrote is None and answer.content.strip() in ("", "null"))
            return Judged("ok", "it says nothing") if silent_success else judged
        return judged

    def _is_let_in(self, subject: Subject) -> bool:
        """Whether credentials were accepted before: what is refused then is what the call names, as services do that
        do not tell what there is.
        """
        return any(trial.ok for trial in subject.trials) or sum(trial.ok for trial in self.trials) >= _LET_IN

    def atoms(self, trial: Trial) -> list[Atom]:
        """Give the scalars of an answer, read once."""
        found = self._atoms.get(id(trial))
        if found is None:
            found = atoms(trial.answer.content)[:_MOST_ATOMS]
            self._atoms[id(trial)] = found
        return found

    def _see(self, trial: Trial) -> None:
        """Keep what an answer holds; the same value at the same place a few times, since one may be an echo."""
        for atom in self.atoms(trial):
            key = (trial.tool, atom.path, atom.pattern, repr(atom.value))
            self._times_seen[key] += 1
            if self._times_seen[key] <= _SEEN:
                self.seen.append((trial, atom))

    def _note(self, subject: Subject, trial: Trial) -> None:
        if trial.answer.hung:
            self._hung[dumps([subject.name, trial.arguments])] = trial
        if trial.answer.hung or trial.answer.crashed:
            self._hangs[subject.name] += 2 * _HANGS if trial.answer.crashed else 1
            if self._hangs[subject.name] >= _HANGS * (1 + any(one.ok for one in subject.trials)):
                how = trial.answer.content if trial.answer.hung else f"its calls end the run: {trial.answer.content}"
                subject.given_up = how
        if trial.verdict == "environment":
            self._environmental[subject.name] += 1
            if self._environmental[subject.name] >= _REFUSALS_OF_ENVIRONMENT:
                subject.given_up = f"the environment is in the way: {trial.judged.reason}"
        else:
            self._environmental[subject.name] = 0
