"""Finding calls that work: the likeliest values first, then what refusals and other tools' results teach, in rounds."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.probing.openers import find_opener
from pytest_agentbench.generation.tools.probing.refusals import lesson_of
from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.schema_values import fits, sibling, stranger
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession
from pytest_agentbench.generation.tools.probing.strategies import Proposals, beside, names_something, seen_for

_ROUNDS = 5
"""Rounds over all tools: an id of an id of an id is found in the fourth."""
_A_ROUND = 8
"""Calls of one tool in one round."""
_UNREADY = 3
"""Calls in one round of a tool that needs an id which no other tool has given yet."""
_VARIED = 10
"""Values of an argument that was blamed for a refusal which are tried in its place."""
_LONGEST = 14
_OPTIONAL = 6
"""Optional arguments of a tool that changes something which are tried one by one."""
_LIKELY = 0.5
"""Likeness of names from which a value is meant by its name."""
_PAIR, _CELLS, _PAIRS = 2, 10, 20
"""Values that a lookup checks at least, cells of a row that are tried for them, and such calls at most."""
_TOGETHER = 3
"""Values of an argument that are tried with what stood beside them."""
_CONTEXTS = 4
"""Different accepted calls to look for: what has no effect in one may have some in another."""
_STAGES = ("read", "unknown", "write", "destructive")

Values = dict[str, Any]
"""Plain arguments by slot path."""


def ordered(tools: Sequence[ProbedTool]) -> list[ProbedTool]:
    """Give tools in the order in which they may be tried: reads first, what destroys last, few needs before many."""

    def rank(tool: ProbedTool) -> tuple[int, int, int]:
        needs = [slot for slot in tool.slots if slot.required]
        if tool.destroys:  # what takes away one thing comes before what takes away all
            return len(_STAGES), 0, -len(needs)
        return _STAGES.index(tool.effect), sum(map(names_something, needs)), len(needs)

    return sorted(tools, key=rank)


class Search:
    """Looks for calls that each tool accepts."""

    def __init__(self, session: ProbeSession, log: ReplayLog) -> None:
        self._session = session
        self._log = log
        self._proposals = Proposals(session)
        self._tried: set[str] = set()
        self._focus: dict[str, tuple[Values, str]] = {}
        self._asked: dict[str, list[str]] = defaultdict(list)
        self._first: dict[tuple[str, str, int], Any] = {}
        self._enriched: set[str] = set()
        self._vacuous: dict[str, ProbeRecord] = {}

    async def search(self, tools: Sequence[ProbedTool]) -> None:
        """Go over the tools, reads first, until a round brings nothing new; then look for further contexts."""
        await self._rounds(tools, _ROUNDS)
        for tool in ordered(tools):
            if tool.base is None and (record := self._vacuous.get(tool.name)) is not None:
                await self._log.adopt(tool, record)  # it may be all that it ever says
        for tool in ordered(tools):
            if tool.base is not None and not tool.destroys:
                await self._contexts(tool, tool.base.values)
        await self._rounds(tools, 1)  # for what there is only now

    async def _rounds(self, tools: Sequence[ProbedTool], rounds: int) -> None:
        for number in range(rounds):
            before = len(self._session.records)
            left = [tool for tool in ordered(tools) if tool.base is None and tool.permission.called]
            progress = [await self._one_round(tool) for tool in left if tool.base is None]
            if not any(progress) and (number > 1 or len(self._session.records) == before):
                break

    async def _one_round(self, tool: ProbedTool) -> bool:
        nominal = sum(record.kind == "nominal" for record in tool.records)
        left = min(_A_ROUND if self._is_ready(tool) else _UNREADY, self._session.budget.nominal - nominal)
        for _ in range(left):
            values = self._next(tool)
            record = None if values is None else await self._try(tool, values)
            if record is None:
                return False
            if record.ok and not await self._is_vacuous(tool, record):
                await self._log.adopt(tool, record)
                if tool.takes_away:
                    await self._make_new(tool, record)
                if await find_opener(self._log, tool):
                    self._forget()
                return True
            self._learn(tool, record)
        return False

    def _forget(self) -> None:
        """Try all again: nothing that was refused before a session was open says anything of the values."""
        for known in (self._tried, self._focus, self._asked, self._proposals.learnt):
            known.clear()

    async def _is_vacuous(self, tool: ProbedTool, record: ProbeRecord) -> bool:
        """Whether made-up texts in the place of those of a read get the same answer: nothing was found, or looked for.

        A service may say in any words that there is no such thing; what it says then is known from here on.
        """
        chance = Random(f"{tool.name} {sorted(record.values)}")  # noqa: S311 - no secret hangs on it
        slots = [slot for slot in tool.slots if slot.is_open and isinstance(record.values.get(slot.path), str)]
        made_up = {s.path: stranger(record.values[s.path], chance) for s in slots if record.values[s.path]}
        if not self._session.uses("nothing") or not tool.is_read or not made_up or not self._session.may_call(tool):
            return False
        other = await self._session.try_values(tool, {**record.values, **made_up}, "boundary")
        if other is None or not other.ok or record.template != other.template:
            return False
        self._vacuous.setdefault(tool.name, record)
        return True

    def _learn(self, tool: ProbedTool, record: ProbeRecord) -> None:
        """Read a refusal: which argument it asks for or blames, and which values it names."""
        lesson = lesson_of(tool, record)
        self._asked[tool.name] += [path for path in lesson.asked if path not in self._asked[tool.name]]
        for path, values in lesson.values.items():
            known = self._proposals.learnt[tool.name, path]
            known[:0] = [entry for value in values if (entry := (record.world, value)) not in known]
        for path in lesson.blamed[:1]:
            self._session.named[tool.name, path] += f" {record.judged.reason}"
        if record.verdict == "empty":  # all is right but for what is looked for
            lesson.blamed = [path for path, value in record.values.items() if isinstance(value, str)][:1]
        blamed = lesson.blamed[0] if lesson.blamed and self._session.uses("blame") else ""
        self._focus[tool.name] = (record.values, blamed)

    def _next(self, tool: ProbedTool) -> Values | None:
        """Give the arguments to try next: any that were never tried, then those from before something changed."""
        fresh = [one for one in self._assignments(tool) if self._key(tool, one, self._session.epoch) not in self._tried]
        never = (one for one in fresh if self._key(tool, one) not in self._tried)
        return next(never, fresh[0] if fresh else None)

    def _is_ready(self, tool: ProbedTool) -> bool:
        """Whether each id that a tool needs may be known; until then it is hardly worth guessing."""
        return all(
            slot.name in self._session.world.hints
            or any(one.likeness >= _LIKELY for one in seen_for(self._session, tool, slot))
            for slot in tool.slots
            if slot.required and names_something(slot)
        )

    async def _try(self, tool: ProbedTool, values: Values) -> ProbeRecord | None:
        self._tried |= {self._key(tool, values, self._session.epoch), self._key(tool, values)}
        return await self._session.try_values(tool, values, "nominal", again=True)

    @staticmethod
    def _key(tool: ProbedTool, values: Values, epoch: int = -1) -> str:
        return dumps([tool.name, values, epoch])

    async def _contexts(self, tool: ProbedTool, base: Values) -> None:
        """Try further values of a tool that works, so that what is found of it does not hang on one call."""
        most = _CONTEXTS if tool.is_read else 2
        made = 0
        if not tool.is_read:
            await self._enrich(tool, base)
        new = [] if tool.is_read else [_on_top(base)]
        for values in [*new, *self._assignments(tool, also=tuple(base))]:
            if self._key(tool, values) in self._tried:
                continue
            works = {dumps({path: one.values.get(path) for path in base}) for one in tool.works()}
            if len(works) >= most or made >= 2 * _CONTEXTS or not self._session.may_call(tool):
                return
            record = await self._try(tool, values)
            made += 1
            if record is not None and record.ok and not tool.is_read:
                await self._log.keep(record)

    def _assignments(self, tool: ProbedTool, also: Sequence[str] = ()) -> Iterator[Values]:
        """Give arguments to try; optional ones that refusals asked for are among them."""
        options = {slot.path: self._proposals.of(tool, slot) for slot in tool.slots}
        asked = [*self._asked[tool.name], *also] if self._session.uses("asked") else list(also)

        def chosen(index: int, extra: Sequence[str] = asked) -> Values:
            taken = (slot.path for slot in tool.slots if slot.required or slot.path in extra)
            return {path: options[path][min(index, len(options[path]) - 1)] for path in taken if options[path]}

        yield chosen(0)
        values, blamed = self._focus.get(tool.name, ({}, ""))
        if (slot := tool.slot(blamed)) is not None:
            added = {path: value for path, value in chosen(0).items() if path not in values}
            for value in [*options[blamed][:_VARIED], *self._renamed(tool, values, slot)]:
                yield {**values, **added, blamed: value}
        yield from ({**chosen(0), **together} for together in (() if also else self._together(tool)))
        yield from ({**chosen(0), **together} for together in (() if also else self._of_one_row(tool)))
        if len(asked) > 1:  # "either this or that" names both, and takes one
            yield from (chosen(0, [path]) for path in asked)
        varied = [slot.path for slot in tool.slots if slot.required or slot.path in asked]
        for index in range(1, min(max((len(options[path]) for path in varied), default=1), _LONGEST)):
            yield chosen(index)
            for path in varied[:4] if len(varied) > 1 else ():
                if index < len(options[path]):
                    yield {**chosen(0), path: options[path][index]}
        for path in (slot.path for slot in tool.slots if not slot.required):
            yield from ({**chosen(0), path: value} for value in options[path][:2])

    def _together(self, tool: ProbedTool) -> Iterator[Values]:
        """Give values that an argument may take, each with what stood beside it for other arguments."""
        for slot in [one for one in tool.slots if one.required and one.is_open][:_TOGETHER]:
            for one in [one for one in seen_for(self._session, tool, slot) if one.likeness >= _LIKELY][:_TOGETHER]:
                if rest := beside(self._session, tool, slot, one):
                    yield {**rest, slot.path: one.value}

    def _of_one_row(self, tool: ProbedTool) -> Iterator[Values]:
        """Give what stands in one row of the state for a lookup that checks two values: `mail` and `born` for an
        `email` and a `date_of_birth`. What is called like an argument comes first.
        """
        slots = [one for one in tool.slots if one.required and one.is_open and one.type == "string"]
        if not tool.is_read or not _PAIR <= len(slots) <= _PAIR + 1 or tool.worked():
            return
        ranked: list[tuple[int, Values]] = []
        for row in self._session.world.samples:
            cells = [(name, str(value)) for name, value in row.items() if isinstance(value, str | int)][:_CELLS]
            for several in permutations(cells, len(slots)):
                pairs = list(zip(slots, several, strict=True))
                if all(fits(value, slot) for slot, (_, value) in pairs):
                    alike = sum(_is_called_like(slot.name, name) for slot, (name, _) in pairs)
                    ranked.append((alike, {slot.path: value for slot, (_, value) in pairs}))
        ranked.sort(key=lambda one: -one[0])
        yield from (values for alike, values in ranked[:_PAIRS] if alike)

    async def _enrich(self, tool: ProbedTool, base: Values) -> None:
        """Change things with all that can be said of them: each optional argument that is taken, then all of these."""
        taken: Values = {}
        left = [slot for slot in tool.slots if slot.path not in base and slot.type not in ("boolean", "object")]
        for slot in left[:_OPTIONAL] if tool.name not in self._enriched else ():
            values = self._proposals.of(tool, slot)
            record = await self._try(tool, {**base, slot.path: values[0]}) if values else None
            if record is not None and record.ok:
                taken[slot.path] = values[0]
        self._enriched.add(tool.name)
        if not taken:
            return
        await self._log.restore()  # one of them alone may have spoilt what the others need
        for several in (taken, *({path: value} for path, value in taken.items())):
            record = await self._try(tool, {**base, **several})
            if record is not None and record.ok and await self._log.keep(record):
                break

    async def _make_new(self, tool: ProbedTool, record: ProbeRecord) -> None:
        """Give a call new names after one that took away what other tools know: it may make what it is given, too."""
        values = _on_top(record.values)
        if values != record.values and self._session.may_call(tool):
            other = await self._try(tool, values)
            if other is not None and other.ok:
                tool.takes_away = False
                await self._log.adopt(tool, other)

    def _renamed(self, tool: ProbedTool, values: Values, slot: Slot) -> list[Any]:
        """Give a name like the first one that was blamed here: where it is taken, the next one may be free."""
        key = (tool.name, slot.path, self._session.world_number)
        value = self._first.setdefault(key, values.get(slot.path))
        made = sibling(value, Random(f"{slot.path} {value}")) if value else None  # noqa: S311 - no secret hangs on it
        return [made] if isinstance(value, str) and made not in (None, value) and fits(made, slot) else []


def _on_top(base: Values) -> Values:
    """Give the arguments of a call that works with new names in the place of paths, which lead into no folder."""
    chance = Random(f"{sorted(base)}")  # noqa: S311 - no secret hangs on it
    paths = {path for path, value in base.items() if isinstance(value, str) and "/" in value and value[-1] != "/"}
    return {path: sibling(value.rpartition("/")[2], chance) if path in paths else value for path, value in base.items()}


def _is_called_like(argument: str, column: str) -> bool:
    """Whether one name stands in the other: *mail* in *email*, *mark* in *member_mark*."""
    one, other = argument.lower().strip("_"), column.lower().strip("_")
    return bool(one and other) and min(len(one), len(other)) > 1 and (one in other or other in one)
