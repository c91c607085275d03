"""Right runs by the rules: what has to come before a call, whether the rules allow it, and how it ends.

Calls are made for real on the suite's own rows, each once, and their answers are kept; the rules judge conversations of
them (`rulebook.py`). A refusal of a tool is a rule's where requests that keep the rule are not refused, too.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pytest_agentbench.core.state import State
from pytest_agentbench.generation.policies.events.requests import Request, Rows, ToolArguments, cells_of
from pytest_agentbench.generation.policies.events.rulebook import Act, ExecutedCall, Judged, Rulebook
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.policies.events.schema import rows_of
from pytest_agentbench.generation.tools.world import World
from pytest_agentbench.validation.world_values import scalars

_MOST_LOOKUPS = 6
"""Calls that one request may need before it."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A request as it was tried: the rules that forbid it, and whether its tool refuses it."""

    request: Request
    broken: frozenset[str]
    refused: bool


def refused_otherwise(one: Tried, others: Sequence[Tried]) -> frozenset[str]:
    """Give the rules that forbid a request and are no reason of its refusal, as far as other requests show.

    A booking that has ended is extended by 8 nights, where a rule allows for 7 and the tool refuses:

    - by 7 nights it is refused, too, though no rule forbids that: the refusal is no rule's;
    - elsewhere 8 nights are accepted: the tool does not know this rule;
    - another request that only *confirmed bookings* forbids is refused: that rule explains this refusal already.
    """
    if not one.refused or not one.broken:
        return frozenset()
    alike = [other for other in others if other.request.tool == one.request.tool]
    allowed = [other.request for other in alike if other.refused and not other.broken]
    if any(other.focus == one.request.focus and other.differences(one.request) == 1 for other in allowed):
        return one.broken
    unknown = {rule for other in alike if not other.refused for rule in other.broken if len(other.broken) == 1}
    smaller = {other.broken for other in alike if other.refused and other.broken and other.broken <= one.broken}
    least = {rules for rules in smaller if not any(less < rules for less in smaller)}
    return frozenset(rule for rule in one.broken if rule in unknown or not any(rule in rules for rules in least))


@dataclass(kw_only=True)
class RightRuns:
    """Finds right runs on the suite's own rows; `tried` are the requests that were.

    `not_twice` has what tools whose calls a rule limits say to the same call made twice.
    """

    world: World
    samples: Samples
    arguments: ToolArguments
    book: Rulebook
    initial: State
    tried: list[Tried] = field(default_factory=list)
    not_twice: dict[str, str] = field(default_factory=dict)
    _answers: dict[Request, ExecutedCall] = field(default_factory=dict)
    _found: dict[tuple[str, Place, Place], tuple[Request, ...]] = field(default_factory=dict)

    async def act(self, root: Place, request: Request, rows: Rows) -> Act | None:
        """Give how a right run ends a request that stands alone; None where the tool fails for no rule's reason."""
        executed = await self.executed(request)
        if executed is None:
            return None
        alike = (request.tool, root, request.focus)
        known = self._found.get(alike, ())
        act = await self._completed(root, Act(request=request, before=known), rows)
        if known and act.before != known:  # what another request of this tool needs is not what this one does
            act = await self._completed(root, Act(request=request), rows)
        self._found.setdefault(alike, act.before)
        if any(self.book.depends_on_words(one) for one in act.broken):
            return None
        self.tried.append(Tried(request=request, broken=act.broken, refused=executed.answer.error))
        if not act.broken and executed.answer.error:
            return None
        asked = act.ending == "done" and self.book.needs.must_confirm(executed.call)
        due = await self._words(replace(act, ending="done"))
        repeats = act.ending == "done" and await self._repeats(act)
        return replace(act, words=await self._words(act), asked=asked, due=due, repeats=repeats)

    async def _repeats(self, act: Act) -> bool:
        """Whether a rule limits how often a tool is called, and the tool takes the same call twice."""
        tool = act.request.tool
        if not any(tool in self.book.limited(policy) for policy in self.book.rules):
            return False
        refusal = await self.refusal([act], again=[act.request])
        if refusal is not None:
            self.not_twice.setdefault(tool, refusal)
        return refusal is None

    async def executed(self, request: Request) -> ExecutedCall | None:
        """Make a call on the suite's own rows, in an environment of its own; None where the tool hangs or crashes."""
        if request not in self._answers:
            arguments = request.arguments({}, self.samples)
            async with self.world.open() as opened:
                answer = await opened.call(request.tool, arguments)
                state = await opened.snapshot() if answer.wrote else None
            if state is not None and state == self.initial:
                answer = replace(answer, wrote=False)  # a database counts a row that is written as it was
            kept = state if self.book.reads_state else None
            self._answers[request] = ExecutedCall(request.tool, arguments, answer, kept)
        answer = self._answers[request].answer
        return None if answer.hung or answer.crashed or answer.unreachable else self._answers[request]

    def takes(self, tool: str) -> bool:
        """Whether a tool took any of the calls that were made of it on the suite's own rows."""
        return any(not one.answer.error for one in self._answers.values() if one.tool == tool)

    def is_idle(self, request: Request) -> bool:
        """Whether a call leaves all as it is, though its tool changes something elsewhere: it is so already."""
        own = self._answers[request].answer if request in self._answers else None
        is_same = own is not None and own.wrote is False and not own.error
        return is_same and any(one.answer.wrote for one in self._answers.values() if one.tool == request.tool)

    async def gives(self, root: Place, request: Request) -> bool:
        """Whether a call makes what was nobody's the owner's: some row then names both."""
        async with self.world.open() as opened:
            answer = await opened.call(request.tool, request.arguments({}, self.samples))
            state = await opened.snapshot() if answer.wrote else None
        if state is None:
            return False
        after, about = rows_of(state, with_keys=not self.samples.schema.ddl), (root, request.focus)
        return self.samples.naming(after, *about) > self.samples.naming(self.samples.rows, *about)

    async def refusal(self, acts: Sequence[Act], again: Sequence[Request] = ()) -> str | None:
        """Give what a tool says that refuses a call of acts, what the last one asks for, or a call made again."""
        async with self.world.open() as opened:
            for call in (*dict.fromkeys(call for act in acts for call in (*act.calls, act.request)), *again):
                answer = await opened.call(call.tool, call.arguments({}, self.samples))
                if answer.error:
                    return answer.content
        return None

    async def judged(self, acts: Sequence[Act]) -> Judged:
        """Hold acts and their wrong runs against the rules, as they would be on the suite's own rows."""
        return self.book.judged(acts, await self._executed(acts), self.initial)

    async def broken_if_done(self, act: Act) -> frozenset[str]:
        """Give the rules that an act breaks though the user agrees to it and everything due is said."""
        return await self._broken(replace(act, ending="done", asked=True, words=await self._words(act)))

    async def _broken(self, act: Act) -> frozenset[str]:
        return self.book.broken([act], await self._executed([act]), self.initial)

    async def _executed(self, acts: Sequence[Act]) -> dict[Request, ExecutedCall]:
        calls = {call for act in acts for call in (*act.calls, act.request)}
        return {call: one for call in calls if (one := await self.executed(call)) is not None}

    async def _completed(self, root: Place, act: Act, rows: Rows) -> Act:
        """Add the calls that rules want before and after a request; what is broken all the same forbids it.

        Where nothing forbids it, a careful agent looks at what would set off a rule that does.
        """
        broken = await self.broken_if_done(act)
        for _ in range(_MOST_LOOKUPS):
            mended = await self._mended(root, act, broken, rows)
            if mended is None:
                break
            act, broken = mended
        if not broken:
            async for policy, tools, call in self._lookups(root, act, rows, self.book.rules, self.book.triggers):
                if act.calls_any(tools):
                    continue
                looked = replace(act, before=(*act.before, call))
                left = await self.broken_if_done(looked)
                if policy in left and not await self._broken(replace(looked, ending="refused")):
                    act, broken = looked, left
                    break
        if not broken:
            return act
        return await self._refused(root, replace(act, ending="refused", broken=broken, after=()), rows)

    async def _mended(
        self, root: Place, act: Act, broken: frozenset[str], rows: Rows
    ) -> tuple[Act, frozenset[str]] | None:
        """Add one call such that fewer rules are broken, or the same ones by fewer calls."""
        curable = frozenset(one for one in broken if self.book.wanted(one))  # what a further lookup may keep
        async for policy, _, call in self._lookups(root, act, rows, sorted(broken), self.book.wanted):
            for before in ((*act.before, call), (call, *act.before)):
                changed = replace(act, before=before)
                left = await self.broken_if_done(changed)
                if policy not in left and await self._broken(replace(changed, ending="refused")) <= curable:
                    return changed, left
        after = partial(self.book.wanted, earlier=False)
        async for _, _, call in self._lookups(root, act, rows, sorted(broken), after):
            changed = replace(act, after=(*act.after, call))
            left = await self.broken_if_done(changed)
            if left < broken:
                return changed, left
        return None

    async def _refused(self, root: Place, act: Act, rows: Rows) -> Act:
        """Have the agent look at what a rule wants looked at, though it forbids the call all the same."""
        async for _, tools, call in self._lookups(root, act, rows, sorted(act.broken), self.book.wanted):
            changed = replace(act, before=(*act.before, call))
            if not act.calls_any(tools) and not await self._broken(changed):
                act = changed
        return replace(act, before=()) if await self._broken(act) else act

    async def _lookups(
        self,
        root: Place,
        act: Act,
        rows: Rows,
        policies: Iterable[str],
        tools_of: Callable[[str], list[tuple[str, ...]]],
    ) -> AsyncIterator[tuple[str, tuple[str, ...], Request]]:
        """Give calls of the alternative tools of policies that read, succeed, and take what the request is about."""
        for policy in policies:
            for tools in tools_of(policy):
                for tool in tools:
                    async for call in self._reads(root, act, rows, tool):
                        yield policy, tools, call

    async def _reads(self, root: Place, act: Act, rows: Rows, tool: str) -> AsyncIterator[Request]:
        spec = self.arguments.specs.get(tool)
        if spec is None or spec.kind == "write":
            return
        table = self.arguments.subject(tool, root[0])
        near = [place for place in self._near(act.request) if place[0] == table]
        if table == root[0]:  # who asks about what is somebody else's proves itself, not that one
            near = [place for place in near if place == root or place in _named(act.request)]
        for focus in near or [root]:
            for call in self.arguments.requests(tool, root, focus, rows)[:3]:
                executed = await self.executed(call)
                if executed is not None and not executed.answer.error and call not in act.before:
                    yield call
                    break

    def _near(self, request: Request) -> list[Place]:
        """Give the rows that a request is about, those that it names, and those that these refer to."""
        places = list(dict.fromkeys((request.focus, *reversed(_named(request)))))
        return list(dict.fromkeys((*places, *(other for one in places for other in self.samples.linked(one)))))

    async def _words(self, act: Act) -> tuple[str, ...]:
        """Give what rules say that the agent must say in a run with these calls."""
        return self.words_of([one for call in act.calls if (one := await self.executed(call)) is not None])

    def words_of(self, executed: Sequence[ExecutedCall]) -> tuple[str, ...]:
        """Give what rules say that the agent must say once these calls were made."""
        led = [one.led(reference) for one in executed for reference in self.book.needs.told(one.call)]
        words = self.book.needs.words([one.call for one in executed])
        return tuple(dict.fromkeys([*words, *(str(value) for one in led for _, value in scalars(one))]))


def _named(request: Request) -> list[Place]:
    """Give the rows that a request names."""
    return [cell.place for _, value in request.values for cell in cells_of(value)]
