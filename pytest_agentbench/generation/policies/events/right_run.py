"""Right runs by the rules: what has to come before a call, whether the rules allow it, and how it ends.

Conversations (`conversation.py`) are judged by the rules (`rulebook.py`). Calls are made for real on the suite's own
rows, each once, and their answers are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.generation.policies.events.conversation import (
    Act,
    Deviation,
    ExecutedCall,
    conversation,
    key_of,
    led_in,
)
from pytest_agentbench.generation.policies.events.requests import Request, Rows, ToolArguments, cells_of, linked
from pytest_agentbench.generation.policies.events.rulebook import Rulebook
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.tools.world import World
from pytest_agentbench.validation.values import scalars

_MOST_LOOKUPS = 6
"""Calls that one request may need before it."""


@dataclass(kw_only=True)
class RightRuns:
    """Finds right runs on the suite's own rows; answers are asked for once, reads in one environment for all.

    `refused` are requests that no rule forbids, and that their tool refuses all the same.
    """

    world: World
    samples: Samples
    arguments: ToolArguments
    book: Rulebook
    initial: State
    refused: set[Request] = field(default_factory=set)
    _answers: dict[str, ExecutedCall] = field(default_factory=dict)
    _found: dict[tuple[str, Place, Place], tuple[Request, ...]] = field(default_factory=dict)

    async def act(self, root: Place, request: Request, rows: Rows) -> Act | None:
        """Give how a right run ends a request that stands alone; None where the tool fails for no rule's reason."""
        executed = await self.executed(request)
        if executed is None:
            return None
        alike = (request.tool, root, request.focus)
        known = self._found.get(alike, ())
        act = await self._with_lookups(root, Act(request=request, before=known), rows)
        if known and act.before != known:  # what another request of this tool needs is not what this one does
            act = await self._with_lookups(root, Act(request=request), rows)
        self._found.setdefault(alike, act.before)
        if act.broken and any(self.book.depends_on_words(one) for one in act.broken):
            return None
        if not act.broken and executed.answer.error:
            self.refused.add(request)
            return None
        words = await self._words(act)
        call = ToolCall(name=request.tool, arguments=dict(executed.arguments))
        asked = act.ending == "done" and self.book.needs.must_confirm(call)
        due = await self._words(replace(act, ending="done"))
        return replace(act, words=words, asked=asked, due=due)

    async def executed(self, request: Request) -> ExecutedCall | None:
        """Make a call on the suite's own rows, in an environment of its own; None where the tool hangs or crashes."""
        arguments = request.arguments({}, self.samples)
        key = f"{request.tool}/{dumps(arguments)}"
        if key not in self._answers:
            async with self.world.open() as opened:
                answer = await opened.call(request.tool, arguments)
                state = await opened.snapshot() if self.book.reads_state and answer.wrote else None
            self._answers[key] = ExecutedCall(request.tool, arguments, answer, state)
        found = self._answers[key]
        return None if found.answer.hung or found.answer.crashed or found.answer.unreachable else found

    async def works(self, acts: Sequence[Act]) -> bool:
        """Whether the calls of acts, and what the last one asks for, succeed one after the other."""
        async with self.world.open() as opened:
            done: set[Request] = set()
            for act in acts:
                for call in dict.fromkeys((*act.calls, act.request)):
                    if call in done:
                        continue
                    done.add(call)
                    if (await opened.call(call.tool, call.arguments({}, self.samples))).error:
                        return False
        return True

    async def without(self, act: Act, lookups: Sequence[Request]) -> frozenset[str]:
        """Give the rules that an act breaks without some of its lookups."""
        return await self._broken(replace(act, before=tuple(one for one in act.before if one not in lookups)))

    async def verdicts(self, acts: Sequence[Act], wrong: Deviation | None = None) -> dict[str, bool | None]:
        """Judge a conversation of acts as it would be on the suite's own rows."""
        calls = [call for act in acts for call in (*act.calls, act.request)]
        executed = {key_of(call): one for call in calls if (one := await self.executed(call)) is not None}
        arguments = {key_of(call): call.arguments({}, self.samples) for call in calls}
        talk = conversation(self.book, acts, executed, arguments, wrong)
        return self.book.verdicts(talk.transcript, self.initial, talk.states)

    async def _broken(self, act: Act) -> frozenset[str]:
        """Give the rules that an act breaks though the user agrees to it and everything due is said."""
        asking = replace(act, ending="done", asked=True, words=await self._words(act))
        return self.book.broken(await self.verdicts([asking]))

    async def _with_lookups(self, root: Place, act: Act, rows: Rows) -> Act:
        """Add the calls that rules want before and after a request; what is broken all the same forbids it."""
        broken = await self._broken(act)
        for _ in range(_MOST_LOOKUPS):
            fixed = await self._fixed(root, act, broken, rows)
            if fixed is None:
                break
            act, broken = fixed
        if not broken:
            act, broken = await self._with_triggers(root, act, rows)
        if not broken:
            return act
        refused = replace(act, ending="refused", broken=broken, after=())
        return await self._looked_at(root, refused, rows)

    async def _with_triggers(self, root: Place, act: Act, rows: Rows) -> tuple[Act, frozenset[str]]:
        """Have the agent look at what sets a rule off, where that forbids the call: a careful one looks."""
        for policy in self.book.rules:
            for names in self.book.triggers(policy):
                if any(call.tool in names for call in act.before):
                    continue
                for call in await self._lookups(names, root, act, rows):
                    changed = replace(act, before=(*act.before, call))
                    broken = await self._broken(changed)
                    if policy in broken and not self.book.broken(
                        await self.verdicts([replace(changed, ending="refused")])
                    ):
                        return changed, broken
        return act, frozenset()

    async def _fixed(
        self, root: Place, act: Act, broken: frozenset[str], rows: Rows
    ) -> tuple[Act, frozenset[str]] | None:
        """Add one call such that fewer rules are broken, or the same ones by fewer calls."""
        for policy in sorted(broken):
            for names in self.book.wanted_before(policy):
                for call in await self._lookups(names, root, act, rows):
                    for before in ((*act.before, call), (call, *act.before)):
                        changed = replace(act, before=before)
                        left = await self._broken(changed)
                        by_lookups = self.book.broken(await self.verdicts([replace(changed, ending="refused")]))
                        if policy not in left and by_lookups <= self._curable(broken):
                            return changed, left
            for names in self.book.wanted_after(policy):
                for call in await self._lookups(names, root, act, rows):
                    changed = replace(act, after=(*act.after, call))
                    left = await self._broken(changed)
                    if left < broken:
                        return changed, left
        return None

    def _curable(self, broken: frozenset[str]) -> frozenset[str]:
        """Give the rules that a further lookup may keep."""
        return frozenset(one for one in broken if self.book.wanted_before(one))

    async def _looked_at(self, root: Place, act: Act, rows: Rows) -> Act:
        """Have the agent look at what a rule wants looked at, though it forbids the call all the same."""
        for policy in sorted(act.broken):
            for names in self.book.wanted_before(policy):
                if any(call.tool in names for call in act.before):
                    continue
                for call in await self._lookups(names, root, act, rows):
                    changed = replace(act, before=(*act.before, call))
                    if not self.book.broken(await self.verdicts([changed])):
                        act = changed
                        break
        if self.book.broken(await self.verdicts([act])):
            return replace(act, before=())
        return act

    async def _lookups(self, names: Sequence[str], root: Place, act: Act, rows: Rows) -> list[Request]:
        """Give calls of these tools that read, succeed, and take what the request is about or whose it is."""
        found: list[Request] = []
        for name in names:
            spec = self.arguments.specs.get(name)
            if spec is None or spec.kind == "write":
                continue
            table = self.arguments.subject(name, root[0])
            near = [place for place in self._near(act.request) if place[0] == table]
            for focus in near or [root]:
                for call in self.arguments.requests(name, root, focus, rows)[:3]:
                    executed = await self.executed(call)
                    if executed is not None and not executed.answer.error and call not in act.before:
                        found.append(call)
                        break
        return found

    def _near(self, request: Request) -> list[Place]:
        """Give the rows that a request is about, those that it names, and those that these refer to."""
        named = [cell.place for _, value in request.values for cell in cells_of(value)]
        places = list(dict.fromkeys((request.focus, *reversed(named))))
        return list(dict.fromkeys((*places, *(other for one in places for other in linked(self.samples, one)))))

    async def _words(self, act: Act) -> tuple[str, ...]:
        """Give what rules say that the agent must say in a run with these calls."""
        found: list[str] = []
        calls = []
        for call in act.calls:
            executed = await self.executed(call)
            if executed is None:
                continue
            as_call = ToolCall(name=call.tool, arguments=dict(executed.arguments))
            calls.append(as_call)
            for reference in self.book.needs.told(as_call):
                found += [str(value) for _, value in scalars(led_in(reference, executed))]
        return tuple(dict.fromkeys([*self.book.needs.words(calls), *found]))
