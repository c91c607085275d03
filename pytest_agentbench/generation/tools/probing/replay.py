"""Fresh environments brought to where probing was: the calls that worked are made again, with the values of today.

Probes leave things behind, and use things up: a name is taken, a file has moved, nothing is left to commit. Where the
environment opens anew, the calls that worked first are made again before a tool is examined; ids that the service
makes, and folders of a run, are other ones then, and each is put in the place of the one that stood there before.
A change after which reads fail that worked before is not made again.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.generation.tools.probing.result_parser import atoms
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession
from pytest_agentbench.generation.tools.probing.strategies import is_specific

_PER_TOOL = 4
"""Environments that one tool may use up."""
_LONGEST = 60
"""Calls that are made again: those that look things up, once a tool, and those that change something, a few a tool."""
_WATCHED = 4
"""Reads that are asked again after a change: what spoils one rarely spares all others."""


@dataclass(frozen=True)
class _Kept:
    """A call that worked, in the values of the first environment, with its answer in the same."""

    tool: str
    arguments: dict[str, Any]
    content: str


@dataclass
class ReplayLog:
    """What brings a fresh environment to where probing was, and the way back and forth between values then and now."""

    session: ProbeSession
    kept: list[_Kept] = field(default_factory=list)
    _bases: dict[str, tuple[dict[str, Any], int]] = field(default_factory=dict)
    _now: dict[str, Any] = field(default_factory=dict)
    _used: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _here: tuple[tuple[int, ...], int] | None = None
    _harmless: set[tuple[str, frozenset[str]]] = field(default_factory=set)
    _unsteady: set[str] = field(default_factory=set)
    _apart: set[str] = field(default_factory=set)
    _answers: dict[tuple[int, ...], tuple[ProbeRecord, bool]] = field(default_factory=dict)

    @property
    def can_restore(self) -> bool:
        """Whether environments open anew, so that what was done can be done again."""
        return self.session.world.resettable

    async def adopt(self, tool: ProbedTool, record: ProbeRecord) -> None:
        """Take a call as the one that a tool is examined around, and keep it."""
        tool.base = record
        self._bases[tool.name] = (self._then(record.arguments), len(self.kept))
        await self.keep(record)

    async def keep(self, record: ProbeRecord) -> bool:
        """Keep a call that worked to be made again, but for a change after which reads fail that worked before; give
        whether it is no such change.

        What such a change took away is brought back by going on in a fresh environment.
        """
        tool = self.session.tools[record.tool]
        if len(self.kept) >= _LONGEST or (tool.is_read and any(one.tool == record.tool for one in self.kept)):
            return True
        change = (record.tool, frozenset(record.values))
        if not tool.is_read and self.can_restore and change not in self._harmless:
            if await self._spoils(record):
                tool.takes_away = tool.takes_away or record is tool.base
                return False
            self._harmless.add(change)
        self.kept.append(_Kept(record.tool, self._then(record.arguments), self._then(record.answer.content)))
        return True

    async def _spoils(self, record: ProbeRecord) -> bool:
        """Whether reads that worked in this environment fail now: first those that were given what the change was.

        Where one fails, it is asked again in a fresh environment: one that fails there too says nothing.
        """
        given = {str(value) for value in record.values.values()}
        reads = [tool.base for tool in self.session.tools.values() if tool.is_read and tool.base and not tool.given_up]
        reads.sort(key=lambda one: not given & {str(value) for value in one.values.values()})
        for one in reads[:_WATCHED]:
            if one.tool in self._unsteady:
                continue
            is_about = bool(given & {str(value) for value in one.values.values()})
            fails = ("refused", "broken", "empty") if is_about else ("refused", "broken")
            now = await self.session.replay(self.session.tools[one.tool], one.arguments)
            if now is not None and now.verdict in fails:
                base = self.session.tools[one.tool].base if await self.restore() else None
                again = await self.session.replay(self.session.tools[one.tool], base.arguments) if base else None
                if again is not None and again.ok:
                    return True
                self._unsteady.add(one.tool)
                return False
        return False

    async def restore(self, before: ProbedTool | None = None) -> bool:
        """Open a fresh environment and make all kept calls again, or those before a tool's own; give whether it was.

        A tool gets a few; where the environment does not open anew, or not any more, nothing changes.
        """
        who = before.name if before is not None else ""
        if not self.can_restore or (before is not None and self._used[who] >= _PER_TOOL):
            return False
        if who in self._apart:
            calls = [one for one in self.kept if one.tool != who]
        else:
            calls = self.kept[: self._bases[who][1]] if who in self._bases else list(self.kept)
        here = tuple(map(id, calls))
        if self._here == (here, self.session.epoch) and not self.session.is_stuck:
            return True  # nothing has changed since
        self._used[who] += 1
        try:
            await self.session.renew()
        except EnvironmentFaultError:
            return False
        self._now = {}
        await self._redo(calls)
        self._here = (here, self.session.epoch)
        if before is not None and before.base is not None:  # it is known to work here, and would be used up by a proof
            before.replays.append(replace(before.base, world=self.session.world_number, epoch=self.session.epoch))
        return True

    async def set_apart(self, tool: ProbedTool) -> None:
        """Find out whether a call that works once does so after all that other tools did; it is then made there.

        Otherwise it is made where only those had been made before which preceded it.
        """
        self._apart.add(tool.name)
        is_there = await self.restore(before=tool) and tool.base is not None
        again = await self.session.replay(tool, tool.base.arguments) if is_there and tool.base else None
        if again is None or not again.ok:
            self._apart.discard(tool.name)
            tool.replays = [one for one in tool.replays if one.world != self.session.world_number or not one.ok]

    async def prepared(self, tool: ProbedTool) -> bool:
        """Go to an environment in which a tool's call works: where all was done, else the one that it first did in."""
        if tool.is_read or tool.base is None:
            return await self.restore()
        if not tool.once and not tool.takes_away and await self.restore():
            again = await self.session.replay(tool, tool.base.arguments)
            if again is not None and again.ok:
                return True
        return await self.restore(before=tool)

    async def _redo(self, calls: Sequence[_Kept]) -> None:
        """Make calls again, and have the ones that tools are examined around speak of what is there now."""
        done: list[int] = []
        for one in calls:
            record = await self._again(one, (id(one), *done))
            if not self.session.tools[one.tool].is_read:
                done.append(id(one))
            if record is not None and record.ok:
                self._now |= changed(one.content, record.answer.content)
        for name, (arguments, _) in self._bases.items():
            tool = self.session.tools[name]
            if tool.base is not None:
                tool.base = replace(tool.base, arguments=substituted(arguments, self._now))

    async def _again(self, one: _Kept, place: tuple[int, ...]) -> ProbeRecord | None:
        """Make a call again; a read that gave the same after the same calls, in two environments, is asked no more."""
        tool = self.session.tools[one.tool]
        before, is_steady = self._answers.get(place, (None, False))
        if before is not None and is_steady:
            return self.session.recall(before)
        record = await self.session.replay(tool, substituted(one.arguments, self._now))
        if record is not None and tool.is_read:
            same = before is not None and record.answer.content == before.answer.content
            self._answers[place] = (record, same and record.arguments == one.arguments)
        return record

    def _then(self, value: Any) -> Any:
        """Give a value of today in those of the first environment."""
        return substituted(value, {str(now): then for then, now in self._now.items()})

    def refill(self) -> None:
        """Let each tool have its few environments again."""
        self._used.clear()

    async def revive(self) -> None:
        """Go on after a call that never came back, which may keep its server from answering anything else."""
        if not await self.restore():
            self.session.is_stuck = False


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
