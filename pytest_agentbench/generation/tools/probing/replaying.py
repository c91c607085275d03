"""Fresh environments brought to where probing was: the calls that worked are made again, with the values of today.

Probes leave things behind, and use things up: a name is taken, a file has moved, nothing is left to commit. Where the
environment opens anew, the calls that worked first are made again before a tool is examined; ids that the service
makes, and folders of a run, are other ones then, and each is put in the place of the one that stood there before.
A change after which reads fail that named nothing (`spoiling`) is not made again.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.probing.observed import is_specific
from pytest_agentbench.generation.tools.probing.reading import atoms
from pytest_agentbench.generation.tools.probing.spoiling import FAILS, watched

_PER_TOOL = 4
"""Environments that one tool may use up."""
_LONGEST = 80
"""Calls that are made again: those that look things up, once a tool, and those that change something, a few a tool."""


@dataclass(frozen=True)
class _Kept:
    """A call that worked, in the values of the first environment, with its answer in the same."""

    tool: str
    arguments: dict[str, Any]
    content: str


@dataclass
class Script:
    """What brings a fresh environment to where probing was, and the way back and forth between values then and now."""

    lab: Laboratory
    kept: list[_Kept] = field(default_factory=list)
    _bases: dict[str, tuple[dict[str, Any], int]] = field(default_factory=dict)
    _now: dict[str, Any] = field(default_factory=dict)
    _used: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _here: tuple[int, int] | None = None
    _is_bare: bool = False
    set_aside: dict[str, _Kept] = field(default_factory=dict)
    _after: dict[str, _Kept] = field(default_factory=dict)
    _now_after: _Kept | None = None
    left_out: set[str] = field(default_factory=set)
    _told: dict[tuple[int, ...], tuple[Trial, bool]] = field(default_factory=dict)
    _harmless: set[tuple[str, frozenset[str]]] = field(default_factory=set)
    _unsteady: set[str] = field(default_factory=set)

    @property
    def can_restore(self) -> bool:
        """Whether environments open anew, so that what was done can be done again."""
        return self.lab.world.resettable

    def keep(self, trial: Trial) -> None:
        """Keep a call that worked, but for one that takes away, or moves, what others are known to work with, or that
        was made where nothing had been done, or what is set aside: it may not work, or not leave others alone, where
        all was.
        """
        subject = self.lab.subjects[trial.tool]
        if subject.moves or subject.destroys or self._is_elsewhere:
            return
        if len(self.kept) >= _LONGEST or (subject.is_read and any(one.tool == trial.tool for one in self.kept)):
            return
        self.kept.append(_Kept(trial.tool, self._then(trial.arguments), self._then(trial.answer.content)))

    async def spoils(self, trial: Trial) -> bool:
        """Whether reads fail after a call that changed something, which answered before; probing goes on without it.

        They are asked once for every set of arguments, and where they fail, again in a fresh environment: one that
        fails there too says nothing. The call is `set_aside`, the first of each tool.
        """
        subject = self.lab.subjects[trial.tool]
        if not trial.ok or subject.is_read or subject.moves or subject.destroys or not self.can_restore:
            return False
        if self._is_elsewhere:
            return False
        kind = (trial.tool, frozenset(trial.values))
        if kind in self._harmless:
            return False
        change = _Kept(trial.tool, self._then(trial.arguments), self._then(trial.answer.content))
        for one in watched(self.lab, trial):
            then = self._then(one.arguments)
            key = dumps([one.tool, then])
            if key in self._unsteady or not await self._fails(one.tool, then):
                continue
            if await self.restore() and not await self._fails(one.tool, then):
                self.set_aside.setdefault(trial.tool, change)
                return True
            self._unsteady.add(key)
            return False
        self._harmless.add(kind)
        return False

    async def _fails(self, read: str, arguments: dict[str, Any]) -> bool:
        now = await self.lab.replay(self.lab.subjects[read], substituted(arguments, self._now))
        return now is not None and now.verdict in FAILS

    def _then(self, value: Any) -> Any:
        """Give a value of today in those of the first environment."""
        return substituted(value, {str(now): then for then, now in self._now.items()})

    def adopt(self, subject: Subject, trial: Trial) -> None:
        """Take a call as the one that a tool is examined around."""
        subject.base = trial
        if self._now_after is not None:
            self._after[subject.name] = self._now_after
        self._bases[subject.name] = (self._then(trial.arguments), 0 if self._is_bare else len(self.kept))

    async def restore(self, before: Subject | None = None) -> bool:
        """Open a fresh environment and make all kept calls again, or those before a tool's own; give whether it was.

        A tool gets a few; where the environment does not open anew, or not any more, nothing changes.
        """
        who = before.name if before is not None else ""
        if not self.can_restore or (before is not None and self._used[who] >= _PER_TOOL):
            return False
        upto = self._bases[who][1] if who in self._bases else len(self.kept)
        after = self._after.get(who)
        if after is None and self._here == (upto, self.lab.epoch) and not self.lab.is_stuck:
            return True  # nothing has changed since
        self._used[who] += 1
        if not await self._renew():
            return False
        await self._redo([*self.kept[:upto], *([after] if after else [])])
        self._here = (upto, self.lab.epoch) if after is None else None
        if before is not None and before.base is not None:  # it is known to work here, and would be used up by a proof
            before.replays.append(replace(before.base, world=self.lab.world_number, epoch=self.lab.epoch))
        return True

    async def start_over(self) -> bool:
        """Open a fresh environment in which things were only looked up so far; give whether there is one."""
        if not self.can_restore or not await self._renew():
            return False
        self._is_bare = True
        await self._redo([one for one in self.kept if self.lab.subjects[one.tool].is_read])
        return True

    async def go_on_after(self, change: _Kept) -> bool:
        """Open a fresh environment in which a change that is set aside was made, too; give whether there is one."""
        if not await self._renew():
            return False
        await self._redo([*self.kept, change])
        self._now_after = change
        return True

    @property
    def _is_elsewhere(self) -> bool:
        """Whether this is no environment in which just the kept calls were made."""
        return self._is_bare or self._now_after is not None

    async def _renew(self) -> bool:
        try:
            await self.lab.renew()
        except EnvironmentFaultError:
            return False
        self._now, self._here, self._is_bare, self._now_after = {}, None, False, None
        return True

    async def _redo(self, calls: Sequence[_Kept]) -> None:
        """Make calls again, and have the ones that tools are examined around speak of what is there now."""
        done: list[int] = []
        for one in calls:
            if one.tool in self.left_out:
                continue
            trial = await self._again(one, (id(one), *done))
            if not self.lab.subjects[one.tool].is_read:
                done.append(id(one))
            if trial is not None and trial.ok:
                self._now |= changed(one.content, trial.answer.content)
        for name, (arguments, _) in self._bases.items():
            subject = self.lab.subjects[name]
            if subject.base is not None:
                subject.base = replace(subject.base, arguments=substituted(arguments, self._now))

    async def _again(self, one: _Kept, place: tuple[int, ...]) -> Trial | None:
        """Make a call again; a read that gave the same after the same calls, in two environments, is asked no more."""
        subject = self.lab.subjects[one.tool]
        before, is_steady = self._told.get(place, (None, False))
        if before is not None and is_steady:
            return self.lab.recall(before)
        trial = await self.lab.replay(subject, substituted(one.arguments, self._now))
        if trial is not None and subject.is_read:
            same = before is not None and trial.answer.content == before.answer.content
            self._told[place] = (trial, same and trial.arguments == one.arguments)
        return trial

    async def without(self, tool: str) -> bool:
        """Leave a tool's calls out from now on, and open a fresh environment; give whether one was opened."""
        self.left_out.add(tool)
        self._here = None
        return await self.restore()

    def with_again(self, tool: str) -> None:
        """Make a tool's calls again in the environments that are opened from now on."""
        self.left_out.discard(tool)
        self._here = None

    def refill(self) -> None:
        """Let each tool have its few environments again."""
        self._used.clear()

    async def revive(self) -> None:
        """Go on after a call that never came back, which may keep its server from answering anything else."""
        if not await self.restore():
            self.lab.is_stuck = False


def changed(before: str, after: str) -> dict[str, Any]:
    """Give what stands in one answer where something else stood in the other: values that no chance would repeat."""
    places: tuple[dict[tuple[str, str], list[Any]], ...] = (defaultdict(list), defaultdict(list))
    for place, content in zip(places, (before, after), strict=True):
        for atom in atoms(content):
            place[atom.path, atom.pattern].append(atom.value)
    found: dict[str, Any] = {}
    for key, old in places[0].items():
        new = places[1].get(key, [])
        if len(old) == len(new):
            found.update({str(a): b for a, b in zip(old, new, strict=True) if a != b and is_specific(a)})
    return found


def substituted(value: Any, values: Mapping[str, Any]) -> Any:
    """Put other values in the place of those that a value is, or, in texts, holds; the longest first."""
    if not values:
        return value
    if isinstance(value, dict):
        return {key: substituted(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [substituted(item, values) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    exact = values.get(str(value))
    if exact is not None:
        return str(exact) if isinstance(value, str) else exact
    if isinstance(value, str):
        for old in sorted(values, key=lambda one: (-len(one), one)):
            if isinstance(values[old], str) and old in value:
                value = value.replace(old, values[old])
    return value
