"""Where probes are made: one open environment at a time, a budget per tool, every answer judged and remembered."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.data_types import ProbeKind, Verdict
from pytest_agentbench.generation.tools.graph.name_match import bare, likeness, words
from pytest_agentbench.generation.tools.probing.result_parser import Atom, atoms
from pytest_agentbench.generation.tools.probing.safety import Permission, Policy, is_called_last, permission
from pytest_agentbench.generation.tools.probing.schemas import Slot, build, read_slots, slots_of
from pytest_agentbench.generation.tools.probing.verdicts import Judged, judge
from pytest_agentbench.generation.tools.world import Answer, Opened, World

_HANGS = 2
"""Hangs after which a tool is left alone that never answered, twice as many for one that did; one exit is enough."""
_REFUSALS_OF_ENVIRONMENT = 4
"""Answers in a row about credentials, limits or the network after which a tool is left alone."""
_MOST_ATOMS = 400
_SEEN = 3
"""Times that the same value at the same place is kept, since one may be an echo."""
_LET_IN = 3
"""Calls that worked, of whatever tools, after which credentials are not what a refusal is about."""
_FORBIDDEN = re.compile(r"\bHTTP 40[13]\b")
_LOOKUP = re.compile(r"\b(?:KeyError|IndexError|StopIteration)\b")
_NOTHING = Judged("empty", "what a made-up value is answered with")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How many calls a tool gets at most, and how long it may take: the first calls look for one that works.

    `gentle` holds for tools whose calls cannot be undone, `tool_seconds` for the calls of one tool, `seconds` for all
    of probing; a tool that was cut off for time says so on its card.
    """

    nominal: int = 60
    challenges: int = 40
    observed: int = 60
    effects: int = 40
    gentle: int = 4
    tool_seconds: float = 60.0
    seconds: float = 300.0

    @property
    def most(self) -> int:
        """Calls of one tool altogether."""
        return self.nominal + self.challenges + self.observed + self.effects


@dataclass(kw_only=True)
class ProbeRecord:
    """A call that was made; `epoch` counts the calls that had changed state before it, `world` the environments.

    `unknown` are the arguments whose value nothing had given, declared or accepted before: made up by probing.
    """

    index: int
    tool: str
    kind: ProbeKind
    arguments: dict[str, Any]
    answer: Answer
    judged: Judged
    epoch: int = 0
    world: int = 0
    unknown: frozenset[str] = frozenset()

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

    @property
    def template(self) -> str:
        """The answer without the values of the call: equal for *no note alpha* and *no note beta*."""
        return _template(self.answer.content, self.values.values())

    def rest(self, path: str) -> str:
        """Give what is equal for calls in one environment that differ in this argument alone."""
        return dumps([self.world, {name: value for name, value in self.values.items() if name != path}])


@dataclass
class ProbedTool:
    """A tool under examination: its slots, whether it may be called, and the call that it accepted first.

    `once` says that this call does not work a second time: what it takes, or makes room for, is then used up.
    `takes_away` that reads failed after it which worked before, `wrote` that a probe changed the state. `replays` are
    calls that were made again in fresh environments, `opener` the tool that must be called first.
    """

    spec: ToolSpec
    slots: tuple[Slot, ...]
    permission: Permission
    base: ProbeRecord | None = None
    records: list[ProbeRecord] = field(default_factory=list)
    replays: list[ProbeRecord] = field(default_factory=list)
    given_up: str = ""
    once: bool = False
    takes_away: bool = False
    wrote: bool = False
    opener: str = ""
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.spec.name

    @property
    def effect(self) -> str:
        """What calls of it do, corrected by what was seen: state that changed, or that stayed as it was."""
        effect = self.permission.effect
        if effect in ("read", "unknown") and self.wrote:
            return "write"
        works = self.works() if effect == "unknown" else []
        return "read" if works and all(one.answer.wrote is False for one in works) else effect

    @property
    def is_read(self) -> bool:
        """Whether no call of it changes anything, as far as anybody can tell."""
        return self.effect == "read"

    @property
    def destroys(self) -> bool:
        """Whether its calls take away what others need, so that it comes last."""
        return self.takes_away or (not self.is_read and is_called_last(self.spec))

    @property
    def makes(self) -> bool:
        """Whether its calls may make something that others know from then on."""
        return not self.is_read and not self.destroys

    def slot(self, path: str) -> Slot | None:
        """Find an argument."""
        return next((slot for slot in self.slots if slot.path == path), None)

    def works(self) -> list[ProbeRecord]:
        """Give the probes that worked."""
        return [record for record in self.records if record.ok]

    def worked(self) -> list[ProbeRecord]:
        """Give the calls that worked, those made again in fresh environments included, in the order of changes."""
        return sorted([*self.works(), *(one for one in self.replays if one.ok)], key=lambda one: one.epoch)

    def failed_alone(self, path: str, works: Iterable[ProbeRecord] | None = None) -> list[ProbeRecord]:
        """Give the probes that one argument kept from working: a call before it that differs in this one worked."""
        since: dict[str, int] = {}
        for record in self.worked() if works is None else works:
            since.setdefault(record.rest(path), record.epoch)
        failed = (one for one in self.records if path in one.values and one.verdict not in ("ok", "environment"))
        return [one for one in failed if one.epoch >= since.get(one.rest(path), one.epoch + 1)]


class Input(NamedTuple):
    """A value that a call which writes was given: of which tool, under which words, when, and whether it was new."""

    tool: str
    name: frozenset[str]
    at: int
    is_new: bool


class ProbeSession:
    """Makes probes in one environment; `without` names strategies that are switched off."""

    def __init__(
        self, world: World, *, seed: int, policy: Policy, budget: Budget, without: frozenset[str] = frozenset()
    ) -> None:
        self.world = world
        self.budget = budget
        self.tools: dict[str, ProbedTool] = {}
        for spec in world.toolset.of("assistant"):
            allowed = permission(spec, policy, resettable=world.resets(spec))
            self.tools[spec.name] = ProbedTool(spec=spec, slots=slots_of(spec), permission=allowed)
        self.records: list[ProbeRecord] = []
        self.epoch = 0
        self.world_number = 0
        self.openers_tried = 0
        self.opener: ProbeRecord | None = None
        self.is_stuck = False
        self.reviver: Callable[[], Awaitable[None]] | None = None
        self.seen: list[tuple[ProbeRecord, Atom]] = []
        self.inputs: dict[tuple[int, str], list[Input]] = defaultdict(list)
        self.proposed: dict[tuple[str, str], list[Any]] = defaultdict(list)
        self.named: dict[tuple[str, str], str] = defaultdict(str)
        self._without = without
        self._seed = seed
        self._bare = bare(list(self.tools))
        self._declared = {str(value) for values in (*world.hints.values(), world.rows) for value in values}
        self._known: set[str] = set(self._declared)
        self._equal: dict[str, ProbeRecord] = {}
        self._atoms: dict[int, list[Atom]] = {}
        self._nothing: dict[str, set[str]] = defaultdict(set)
        self._stack = AsyncExitStack()
        self._opened: Opened | None = None
        self._times_seen: Counter[tuple[str, str, str, str]] = Counter()
        self._hangs: Counter[str] = Counter()
        self._hung: dict[str, ProbeRecord] = {}
        self._environmental: Counter[str] = Counter()
        self._began = world.now()
        self._waited = 0.0

    async def __aenter__(self) -> "ProbeSession":
        """Open the environment."""
        self._opened = await self._stack.enter_async_context(self.world.open())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self._stack.aclose()

    async def renew(self) -> None:
        """Go on in a fresh environment; what was known of the old one's state may no longer hold."""
        self._opened = None
        await self._stack.aclose()
        self._opened = await self._stack.enter_async_context(self.world.open())
        self._equal.clear()
        self._known = set(self._declared)
        self._times_seen.clear()
        self.seen = []
        self.world_number += 1
        self.epoch += 1
        self.is_stuck = False
        await self._open_session(self._opened)

    async def _open_session(self, opened: Opened) -> None:
        """Make the call that opens a session, where one was found: everything is probed as one person."""
        if self.opener is not None:
            await opened.call(self.opener.tool, self.opener.arguments)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Take what happens here for no probing: a model that answers slowly uses up no time of the tools."""
        began = self.world.now()
        try:
            yield
        finally:
            self._waited += self.world.now() - began

    def uses(self, strategy: str) -> bool:
        """Whether a strategy is switched on."""
        return strategy not in self._without

    def likeness(self, slot: str, tool: str, found: tuple[str, ...], source: str) -> float:
        """Say how likely an argument means what another tool calls so; what all tools are called says nothing."""
        return likeness(slot, self._bare[tool], found, self._bare[source])

    def names(self, tool: ProbedTool, slot: Slot, other: str) -> bool:
        """Whether an argument's description, or a refusal that blamed it, names another tool: it tells the values."""
        text = f"{slot.described} {self.named[tool.name, slot.path]}"
        return other != tool.name and re.search(rf"(?<![\w.-]){re.escape(other)}(?![\w-])", text) is not None

    def chance(self, tool: ProbedTool, slot: Slot) -> Random:
        """Give the chance that values of an argument are drawn with: the same each time it is asked for."""
        return Random(f"{self._seed} {tool.name} {slot.path}")  # noqa: S311 - no secret hangs on it

    def may_call(self, tool: ProbedTool, most: int | None = None) -> bool:
        """Whether one more probe of the tool is admitted; a tool without time is given up."""
        if not tool.permission.called or tool.given_up:
            return False
        if tool.seconds > self.budget.tool_seconds:
            tool.given_up = f"its calls took {self.budget.tool_seconds:g} s altogether"
        elif self.world.now() - self._began - self._waited > self.budget.seconds:
            tool.given_up = f"probing of all tools took {self.budget.seconds:g} s"
        limit = self.budget.gentle if tool.permission.gently else self.budget.most
        return not tool.given_up and len(tool.records) < (limit if most is None else min(limit, most))

    async def try_values(
        self, tool: ProbedTool, values: Mapping[str, Any], kind: ProbeKind, *, again: bool = False
    ) -> ProbeRecord | None:
        """Call with these values by slot path; None where no more calls are admitted."""
        return await self.call(tool, build(values), kind, again=again)

    async def call(
        self, tool: ProbedTool, arguments: dict[str, Any], kind: ProbeKind, *, again: bool = False
    ) -> ProbeRecord | None:
        """Call a tool and judge its answer. An equal call of a read is not made again unless asked for, one that never
        came back not at all.
        """
        if not tool.permission.called or tool.given_up:
            return None
        if self.is_stuck and self.reviver is not None:
            await self.reviver()
        if self._opened is None:
            return None
        key = dumps([tool.name, arguments, self.epoch])
        known = None if again or not tool.is_read else self._equal.get(key)
        if (before := self._hung.get(dumps([tool.name, arguments])) or known) is not None:
            return before
        if not self.may_call(tool):
            return None
        record = await self._made(self._opened, tool, arguments, kind)
        tool.records.append(record)
        tool.wrote |= bool(record.answer.wrote)
        self._equal.setdefault(key, record)
        self._give_up(tool, record)
        await asyncio.sleep(0)
        return record

    async def replay(self, tool: ProbedTool, arguments: dict[str, Any]) -> ProbeRecord | None:
        """Make a call again that worked before, to bring about what it did: it is no probe, and counts as none."""
        if not tool.permission.called or self._opened is None or self.is_stuck:
            return None
        record = await self._made(self._opened, tool, arguments, "nominal")
        tool.replays.append(record)
        return record

    def recall(self, record: ProbeRecord) -> ProbeRecord:
        """Take what a read answered in an environment like this one, at the same place, for what it would answer."""
        again = replace(record, world=self.world_number, epoch=self.epoch)
        self.records.append(again)
        self.tools[record.tool].replays.append(again)
        if again.ok:
            self._see(again)
        return again

    async def _made(self, opened: Opened, tool: ProbedTool, arguments: dict[str, Any], kind: ProbeKind) -> ProbeRecord:
        answer = await opened.call(tool.name, arguments)
        if self.opener is not None and tool.name == self.opener.tool:
            await self._open_session(opened)
        tool.seconds += answer.seconds
        stated = {slot.path for slot in tool.slots if slot.schema.get("enum")}
        values = read_slots(arguments)
        unknown = (path for path, value in values.items() if str(value) not in self._known and path not in stated)
        record = ProbeRecord(
            index=len(tool.records),
            tool=tool.name,
            kind=kind,
            arguments=arguments,
            answer=answer,
            judged=self._judged(tool, arguments, answer),
            epoch=self.epoch,
            world=self.world_number,
            unknown=frozenset(unknown),
        )
        self.records.append(record)
        is_gone = answer.unreachable and not _FORBIDDEN.search(answer.content)  # who refuses still answers
        self.is_stuck |= answer.hung or is_gone
        if record.ok:
            if not tool.is_read:
                for path, value in values.items():
                    name = frozenset(words(path.rpartition(".")[2]))
                    put = Input(tool.name, name, len(self.records) - 1, path in record.unknown)
                    self.inputs[self.world_number, str(value)].append(put)
                self.epoch += answer.wrote is not False
            self._see(record)
            self._known.update(map(str, values.values()))
        return record

    def _judged(self, tool: ProbedTool, arguments: dict[str, Any], answer: Answer) -> Judged:
        """Judge an answer in the light of the call: a lookup that fails on the caller's own value does not know it, a
        change that says nothing was made unless the state shows that it was not, and what a made-up value is answered
        with is no content.
        """
        judged = judge(answer)
        own = [value for value in read_slots(arguments).values() if value is not None]
        if judged.verdict == "ok" and (rest := _after_own(answer.content, own)):
            judged = judge(replace(answer, content=rest))
        is_refusal = judged.verdict == "environment" and _FORBIDDEN.search(answer.content) and self._is_let_in(tool)
        is_lookup = judged.verdict == "broken" and _LOOKUP.search(answer.content)
        if is_refusal or (is_lookup and any(repr(value) in answer.content for value in own)):
            return Judged("refused", judged.reason)
        if judged.verdict == "empty" and tool.permission.effect in ("write", "destructive"):
            silent_success = answer.wrote is True or (answer.wrote is None and answer.content.strip() in ("", "null"))
            return Judged("ok", "it says nothing") if silent_success else judged
        is_nothing = judged.verdict == "ok" and _template(answer.content, own) in self._nothing[tool.name]
        return _NOTHING if is_nothing else judged

    def is_nothing(self, tool: ProbedTool, answer: str) -> None:
        """Take answers of this form, whatever values of the call they repeat, for *there is no such thing*."""
        self._nothing[tool.name].add(answer)
        for one in (*tool.records, *tool.replays):
            if one.ok and one.template == answer:
                one.judged = _NOTHING
                self.seen = [pair for pair in self.seen if pair[0] is not one]

    def _is_let_in(self, tool: ProbedTool) -> bool:
        """Whether credentials were accepted before: what is refused then is what the call names, as services do that
        do not tell what there is.
        """
        return bool(tool.works()) or sum(record.ok for record in self.records) >= _LET_IN

    def atoms(self, record: ProbeRecord) -> list[Atom]:
        """Give the scalars of an answer, read once."""
        found = self._atoms.get(id(record))
        if found is None:
            every = atoms(record.answer.content)
            found = [atom for atom in every if not atom.form or self.uses(atom.form)][:_MOST_ATOMS]
            self._atoms[id(record)] = found
        return found

    def _see(self, record: ProbeRecord) -> None:
        for atom in self.atoms(record):
            self._known.add(str(atom.value))
            key = (record.tool, atom.path, atom.pattern, repr(atom.value))
            self._times_seen[key] += 1
            if self._times_seen[key] <= _SEEN:
                self.seen.append((record, atom))

    def _give_up(self, tool: ProbedTool, record: ProbeRecord) -> None:
        """Leave a tool alone that hangs, ends the run, or is not let in, again and again."""
        answer = record.answer
        if answer.hung:
            self._hung[dumps([tool.name, record.arguments])] = record
        if answer.hung or answer.crashed:
            self._hangs[tool.name] += 2 * _HANGS if answer.crashed else 1
            if self._hangs[tool.name] >= _HANGS * (1 + any(one.ok for one in tool.records)):
                tool.given_up = answer.content if answer.hung else f"its calls end the run: {answer.content}"
        in_a_row = self._environmental[tool.name] + 1 if record.verdict == "environment" else 0
        self._environmental[tool.name] = in_a_row
        if in_a_row >= _REFUSALS_OF_ENVIRONMENT:
            tool.given_up = f"the environment is in the way: {record.judged.reason}"


def _after_own(content: str, values: list[Any]) -> str:
    """Give what an answer says of a value of the call that it begins with: `a.txt: Error - no such file`."""
    heads = (f"{value}:" for value in values if isinstance(value, str) and value)
    head = max((one for one in heads if content.startswith(one)), key=len, default="")
    return content[len(head) :].strip() if head else ""


def _template(content: str, values: Any) -> str:
    texts = sorted({str(value) for value in values if value not in (None, "", True, False)}, key=lambda one: -len(one))
    for text in texts:
        content = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", "\0", content)
    return content
