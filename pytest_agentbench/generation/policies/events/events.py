"""One set of policies becomes one draft: owner, requests, fresh rows, calls made for real, wrong runs of its rules.

The set is refused, with the stage and the reason, where some policy of it is decided by no call, refusal or turn of the
event, so that the complexity that an event has is the one that was asked for.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from pytest_agentbench.core.json_values import JsonValue, decoded, same
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.draft import (
    Draft,
    Loss,
    LostError,
    Origin,
    Owner,
    PlannedCall,
    PolicyPart,
    Stated,
    Turn,
    WrongRun,
)
from pytest_agentbench.generation.language.guard import scalars_of
from pytest_agentbench.generation.language.plain import label_of, words_of
from pytest_agentbench.generation.owned_rows import noun_of
from pytest_agentbench.generation.policies.data_types import PolicySet
from pytest_agentbench.generation.policies.events.planner import PlanError, Planner
from pytest_agentbench.generation.policies.events.requests import Request, cells_of
from pytest_agentbench.generation.policies.events.right_run import RightRuns
from pytest_agentbench.generation.policies.events.rows import FreshRows, ModelRows, RowMaker
from pytest_agentbench.generation.policies.events.rulebook import (
    CHANGES,
    ENDINGS,
    Act,
    Deviation,
    ExecutedCall,
    steps,
)
from pytest_agentbench.generation.policies.events.samples import Place
from pytest_agentbench.generation.policies.events.schema import personal, state_of_rows
from pytest_agentbench.generation.tools.hydration.turns import wanted_of
from pytest_agentbench.generation.tools.recruiting.proposals import is_opaque
from pytest_agentbench.generation.tools.world import Opened

_ATTEMPTS = 6
"""Times that a set is tried with another owner, other requests and other rows."""

_REMEMBERED = 80
"""Characters of what people know of themselves."""

_MOST_WRONG = 3
"""Wrong runs of one policy that a draft carries."""

_IDLE: Final = "an agent that does nothing is right"
"""Why an event is tried with one more request that is done, then with a question that the user could answer itself."""

_STRANGER = "asks about what belongs to somebody else"


@dataclass(kw_only=True)
class EventMaker:
    """Makes drafts of sets of policies; `tools_of` are the tools of policies without a rule."""

    planner: Planner
    rows: RowMaker
    seed: int = 0
    tools_of: dict[str, frozenset[str]] = field(default_factory=dict)
    model_rows: ModelRows | None = None

    @property
    def runs(self) -> RightRuns:
        """What right runs are found with."""
        return self.planner.runs

    async def make(self, one: PolicySet, *, language: str = "en") -> Draft | Loss:
        """Give the draft of a set, or how it was lost. The same set and seed give the same draft."""
        last, idle = LostError("plan", "not tried"), 0
        for attempt in range(1, _ATTEMPTS + 1):
            random = Random(f"{self.seed}/{one.id}/{'+'.join(one.policies)}/{one.repeat}/{attempt}")  # noqa: S311 - a choice
            named = {policy: self.tools_of[policy] for policy in one.policies if policy in self.tools_of}
            try:
                root, acts = await self.planner.plan(one.policies, named, random, busy=idle == 1)
                event = _Event(self.runs, root, acts, await self._rows(root, acts, random))
                await event.perform(asks_of_itself=idle > 1)
                event.judge(one.policies)
                parts = tuple(event.part(policy, named.get(policy)) for policy in one.policies)
                return event.draft(one, parts, language, attempt)
            except PlanError as error:
                if idle != 1:
                    last = error
                    break  # the same for every attempt
                idle += 1
            except LostError as error:
                last, idle = error, idle + (error.reason == _IDLE)
        return last.loss(one.id)

    async def _rows(self, root: Place, acts: Sequence[Act], random: Random) -> FreshRows:
        """Make rows like the owner's and those that the requests are about."""
        samples = self.runs.samples
        named = _places(call for act in acts for call in (act.request, *act.calls))
        about = dict.fromkeys([*(act.request.focus for act in acts), *named])
        own = [place for place in about if place != root and place in samples.focuses(root, place[0])]
        cluster = samples.cluster(root, *own)
        owned = {place for table in samples.owned(root[0]) for place in samples.focuses(root, table)}
        for place in named:
            if place in owned and place not in cluster.rows:
                raise LostError("rows", "not one event", f"a row of {place[0]} is not among its rows")
        fresh = self.rows.make(cluster, random)
        return await self.model_rows(fresh, random) if self.model_rows is not None else fresh


class _Event:
    """One attempt at an event: acts, rows, and each call as it was made on them."""

    def __init__(self, runs: RightRuns, root: Place, acts: tuple[Act, ...], fresh: FreshRows) -> None:
        self.runs, self.root, self.acts, self.fresh = runs, root, acts, fresh
        self.state = state_of_rows(list(fresh.values()), runs.samples.schema, runs.samples.rows)
        self.executed: dict[Request, ExecutedCall] = {}
        self.calls: list[PlannedCall] = []
        self.initial: State | None = None
        self.decides: dict[str, list[Deviation]] = {}
        self.turns: tuple[Turn, ...] = ()
        self.requests = [act.request for act in acts]

    async def perform(self, *, asks_of_itself: bool = False) -> None:
        """Make the calls of the right run for real, then, each in an environment of its own, those it does not make.

        `asks_of_itself` lets the user ask for what it knows of itself, where there is nothing else to ask for.
        """
        done: list[Request] = []
        later: list[tuple[Request, list[Request]]] = []
        async with self.runs.world.open(self.state) as opened:
            self.initial = await opened.snapshot()
            for act, calls in zip(self.acts, steps(self.acts), strict=True):
                for _, call in calls:
                    executed = await self._call(opened, call)
                    if executed.answer.error:
                        detail = f"{call.tool}: {executed.answer.content}"
                        raise LostError("hydration", "a call fails on fresh rows", detail)
                    done.append(call)
                if act.ending != "done":
                    later.append((act.request, list(done)))
            writes = [call for call in done if self.executed[call].answer.wrote]
            if len(writes) > 1 and self.initial is not None and await opened.snapshot() == self.initial:
                raise LostError("plan", "its end is its beginning", ", ".join(call.tool for call in writes))
        for request, before in later:
            async with self.runs.world.open(self.state) as opened:
                for call in before:
                    await opened.call(call.tool, self.executed[call].arguments)
                executed = await self._call(opened, request)
            alone = await self.runs.executed(request)
            if executed.answer.error and alone is not None and not alone.answer.error:
                # a booking is cancelled before: that is why it cannot be extended by too many nights
                detail = f"{request.tool}: {executed.answer.content}"
                raise LostError("plan", "a request is refused for what was done before it", detail)
        self.acts = tuple(map(self._worded, self.acts))
        self.turns = self._telling(self._turns(), asks_of_itself=asks_of_itself)
        is_told = any(turn.wanted for turn in self.turns) or any(act.words for act in self.acts)
        if not (writes or is_told) and later:
            raise LostError("plan", _IDLE, self.acts[-1].request.tool)

    def _worded(self, act: Act) -> Act:
        """Give an act with what must be said of the answers on fresh rows: a receipt bears another number there."""
        if not act.words and not act.due:
            return act
        done = [self.executed[call] for call in act.calls]
        if_done = [self.executed[call] for call in replace(act, ending="done").calls if call in self.executed]
        return replace(act, words=self.runs.words_of(done), due=self.runs.words_of(if_done))

    async def _call(self, opened: Opened, call: Request) -> ExecutedCall:
        rows = {place: row.values for place, row in self.fresh.items()}
        arguments = call.arguments(rows, self.runs.samples)
        answer = await opened.call(call.tool, arguments)
        if answer.hung or answer.crashed or answer.unreachable:
            raise LostError("hydration", "a call does not come back", f"{call.tool}: {answer.content}")
        state = await opened.snapshot() if self.runs.book.reads_state and answer.wrote else None
        self.executed[call] = ExecutedCall(call.tool, arguments, answer, state)
        return self.executed[call]

    def judge(self, policies: Sequence[str]) -> None:
        """Hold the right run against every rule of the suite, and find which wrong runs each rule tells apart."""
        judged = self.runs.book.judged(self.acts, self.executed, self.initial, policies)
        if judged.broken:
            raise LostError("plan", "the right run breaks a rule", ", ".join(sorted(judged.broken)))
        self.decides = judged.decides

    def part(self, policy: str, tools: frozenset[str] | None) -> PolicyPart:
        """Say how a policy takes part; one without a rule by `tools`. Raise `LostError` where it does not."""
        if tools is not None:
            called = [call.tool for act in self.acts for call in (act.request, *act.calls)]
            about = min(tools.intersection(called))  # the planner has chosen a request of such a tool
            return PolicyPart(policy=policy, involves=f"it names {about}", reason="it has no rule")
        ways = self.decides.get(policy)
        if not ways:
            raise LostError("plan", "not involved", f"no wrong run of this event breaks {policy}")
        runs = tuple(map(self._wrong_run, ways[:_MOST_WRONG]))
        return PolicyPart(
            policy=policy,
            event=ways[0].event(self.acts, is_limit=bool(self.runs.book.limits(policy))),
            involves=runs[0].change,
            wrong_runs=runs,
            handling="decided",
        )

    def _wrong_run(self, wrong: Deviation) -> WrongRun:
        act = self.acts[wrong.act]
        # an act that the user answers a question about has two turns
        turn = wrong.act + sum(one.asked or one.ending == "declined" for one in self.acts[: wrong.act])
        is_numbered = wrong.kind in ("skipped", "repeated")
        tool = self.calls[wrong.call].call.name if is_numbered else act.request.tool
        change = CHANGES[wrong.kind].format(call=tool, text=shorten(printable(wrong.text), 80))
        if is_numbered:
            return WrongRun(kind=wrong.kind, change=change, number=wrong.call)
        if wrong.kind == "unsaid":
            return WrongRun(kind="unsaid", change=change, turn=turn, text=wrong.text)
        turn += act.asked or act.ending == "declined"
        call = self.turns[turn].refused[0] if act.ending != "done" else None
        return WrongRun(kind=wrong.kind, change=change, turn=turn, call=call)

    def _turns(self) -> list[Turn]:
        """Give the lines: a request with all that the user says for it, then its answer where the agent has to ask."""
        said: list[tuple[str, JsonValue]] = []
        turns: list[Turn] = []
        for act, calls in zip(self.acts, steps(self.acts), strict=True):
            stated: list[Stated] = []
            planned: list[PlannedCall] = []
            here = [call for _, call in calls]
            for at, call in enumerate(here if act.ending == "done" else [*here, act.request]):
                is_asked = call == act.request
                stated += self._stated(call, at, said, act.request)
                planned.append(self._planned(call, asked=is_asked))
                if not is_asked or act.ending == "done":
                    self.calls.append(planned[-1])
            turns += _turns_of(act, planned, tuple(stated))
        return turns

    def _stated(self, call: Request, at: int, said: list[tuple[str, JsonValue]], request: Request) -> Iterator[Stated]:
        """Give what the user says for a call: all of what it asks for, of a lookup what nothing said or found yet.

        Who the user is, it says once for all calls that call it the same.
        """
        schemas = self._schemas(call)
        asked_for = list(self.executed[request].arguments.items())
        for name, value in self.executed[call].arguments.items():
            is_owners = name in call.from_owner
            if call != request or is_owners:
                known = [*said, *(pair for pair in asked_for if call != request and pair[0] not in request.from_owner)]
                values = _plainly(one for _, one in (*said, *asked_for))
                is_known = any(name == other and same(value, one) for other, one in known)
                if is_known or self._path_to(value, values, is_owners=is_owners) is not None:
                    continue
            said.append((name, value))
            yield Stated(label=label_of(name, schemas.get(name)), value=value, argument=name, call=at)

    def _planned(self, call: Request, *, asked: bool) -> PlannedCall:
        executed = self.executed[call]
        about = _plainly(value for one in self.requests for value in self.executed[one].arguments.values())
        asked_for = [value for one in self.requests for _, value in one.values]
        origins = {}
        for name, held in call.values:
            # the user says what it asks for, and what it proves itself by
            is_owners = name in call.from_owner
            is_said = not is_owners and (call in self.requests or held in asked_for)
            place = None if is_said else self._path_to(executed.arguments[name], about, is_owners=is_owners)
            origins[name] = (
                Origin(source="user") if place is None else Origin(source="result", call=place[0], path=place[1])
            )
        compared = [name for name in executed.arguments if name not in call.free] if call.free else None
        return PlannedCall(
            call=ExpectedCall(name=call.tool, arguments=executed.arguments, compare_args=compared),
            origins=origins,
            answer=executed.answer.content,
            writes=bool(executed.answer.wrote),
            fails=executed.answer.error,
            asked=asked,
        )

    def _telling(self, turns: list[Turn], *, asks_of_itself: bool) -> tuple[Turn, ...]:
        """Have the user ask for a value of an answer, where something is refused and nothing is written.

        An agent that does nothing would be right without it. Nobody is told of what belongs to somebody else.
        """
        if any(call.writes for call in self.calls) or not any(turn.refused for turn in turns):
            return tuple(turns)
        known = [value for one in self.executed.values() for value in scalars_of(one.arguments)]
        is_unproven = any(act.ending == "unproven" for act in self.acts)  # little else can be asked without a proof
        if self.runs.samples.is_person(self.root[0]) and not (asks_of_itself or is_unproven):
            known += scalars_of(dict(self.fresh[self.root].values))
        made = [call for calls in steps(self.acts) for _, call in calls]
        places = [(number, at) for number, turn in enumerate(turns) for at in range(len(turn.calls))]
        own = scalars_of(dict(self.fresh[self.root].values))
        said = [[one.value for one in turn.states] for turn in turns]
        for (number, at), request in reversed(list(zip(places, made, strict=True))):
            call = turns[number].calls[at]
            if turns[number].act != "request" or self._is_foreign(request):
                continue
            # "the title" is that of what the line speaks of, not of another thing that is looked at in its turn
            others = [one for turn, values in enumerate(said) for one in values if turn != number]
            asked = [*said[number], *own]
            if any(one in others and one not in asked for one in scalars_of(dict(call.call.arguments))):
                continue
            for wanted in wanted_of(decoded(call.answer), known, call.call.name, call.call.arguments):
                update = {"wanted": (wanted.model_copy(update={"call": at}),)}
                return (*turns[:number], turns[number].model_copy(update=update), *turns[number + 1 :])
        return tuple(turns)

    def _is_foreign(self, *requests: Request) -> bool:
        """Whether one of these names a row of somebody else."""
        samples = self.runs.samples
        owned = samples.owned(self.root[0])
        others = [place for place in _places(requests) if place[0] in owned and place not in self.fresh]
        return any(place not in samples.nobodys(place[0]) for place in others)

    def _path_to(self, value: JsonValue, said: Collection[JsonValue], *, is_owners: bool) -> tuple[int, str] | None:
        """Give the call and path where a value stands alone, or in the record that holds something that is said.

        Who asks stands in what is found of people, not in the row of a thing that may be somebody else's.
        """
        if not isinstance(value, str | int) or isinstance(value, bool):
            return None
        for number, call in reversed(list(enumerate(self.calls))):
            if any(same(one, value) for one in scalars_of(dict(call.call.arguments))):
                continue  # it gives back what it was given
            if is_owners and self.runs.arguments.subject(call.call.name, self.root[0]) != self.root[0]:
                continue
            if (path := next(_standing(decoded(call.answer), value, said), None)) is not None:
                return number, path
        return None

    def draft(self, one: PolicySet, parts: tuple[PolicyPart, ...], language: str, attempt: int) -> Draft:
        """Give the draft of the event."""
        refused = [act for act in self.acts if act.ending != "done"]
        unproven = [(call, name) for act in refused for call in act.proof for name, _ in call.values]
        unsaid = [(call, name) for call, name in unproven if name not in call.from_owner]
        unknown = [label_of(name, self._schemas(call).get(name)) for call, name in unsaid]
        return Draft(
            id=one.id,
            source="policies",
            turns=self.turns,
            state=self.state,
            forbidden=tuple(map(self._forbidden, refused)),
            unknown=tuple(dict.fromkeys(unknown)),
            policies=parts,
            owner=self._owner(),
            language=language,
            tags=tuple(sorted({"refusal" for act in refused if act.ending != "declined"})),
            provenance={
                "set": one.id,
                "requested": one.requested,
                "realised": one.realised,
                "attempt": attempt,
                "symbolic_event": self._symbolic(),
            },
        )

    def _forbidden(self, act: Act) -> ExpectedCall:
        """Forbid a call: on its row where any call there is wrong, with all its arguments where another is right."""
        request, arguments = act.request, self.executed[act.request].arguments
        calls = [call for one in self.acts for call in one.calls if call.tool == request.tool]
        right = [self.executed[call].arguments for call in calls]
        fixed = [(name, value) for name, value in request.values if name not in request.free]
        about = [name for name, value in fixed if any(cell.place == request.focus for cell in cells_of(value))]
        if not about or any(all(same(other.get(name), arguments[name]) for name in about) for other in right):
            about = [name for name, _ in fixed]
        return ExpectedCall(name=request.tool, arguments={name: arguments[name] for name in about})

    def _owner(self) -> Owner:
        """Say whose rows it is about; one who asks about somebody else's has a role: such a draft has two owners."""
        table, row = self.runs.samples.schema.get(self.root[0]), self.fresh[self.root].values
        names = [str(row[name]) for name in row if personal(name) in ("first_name", "last_name", "name")]
        key = row.get(table.key[0]) if table and len(table.key) == 1 else None
        role = _STRANGER if self._is_foreign(*self.requests) else ""
        facts: dict[str, JsonValue] = {}
        if self.runs.samples.is_person(self.root[0]) and not any(act.ending == "unproven" for act in self.acts):
            own = {f"{noun_of(self.root[0])} id" if name == "id" else words_of(name): one for name, one in row.items()}
            facts = {name: one for name, one in own.items() if one == key or _is_remembered(one)}
        return Owner(table=self.root[0], key=key, name=" ".join(names), role=role, facts=facts)

    def _symbolic(self) -> dict[str, Any]:
        """Give the symbolic event (IntellAgent, Table 3)."""
        rows = self.fresh.values()
        symbol_of = {place: row.symbol for place, row in self.fresh.items()}
        said = []
        for act in self.acts:
            whose = "somebody else" if self._is_foreign(act.request) else "everybody"
            about = symbol_of.get(act.request.focus, f"a row of {whose} in {act.request.focus[0]}")
            why = f" ({', '.join(sorted(act.broken))})" if act.broken else ""
            said.append(f"{symbol_of[self.root]} asks for {act.request.tool} about {about}, {ENDINGS[act.ending]}{why}")
        return {
            "description": "; ".join(said),
            "symbols": {one.symbol: f"{one.table}: {one.description}" for one in rows},
            "relations": [f"{one.symbol}.{name} = {target}" for one in rows for name, target in one.bindings.items()],
        }

    def _schemas(self, call: Request) -> dict[str, Any]:
        found: dict[str, Any] = self.runs.arguments.specs[call.tool].parameters.get("properties", {})
        return found


def _turns_of(act: Act, planned: Sequence[PlannedCall], stated: tuple[Stated, ...]) -> list[Turn]:
    """Give the turns of an act: what is asked about in the first, what the user answers to in the second."""
    at = next(number for number, call in enumerate(planned) if call.asked)
    before, asked, after = tuple(planned[:at]), planned[at], tuple(planned[at + 1 :])
    about = tuple(one for one in scalars_of(dict(asked.call.arguments)) if one is not None)
    if act.ending in ("refused", "unproven"):  # who wants it says yes to an agent that asks first
        return [Turn(calls=(*before, *after), refused=(asked,), states=stated, about=about)]
    if act.ending == "declined":
        return [Turn(calls=before, states=stated), Turn(act="decline", refused=(asked,), about=about)]
    if act.asked:
        return [Turn(calls=before, states=stated), Turn(act="confirm", calls=(asked, *after))]
    return [Turn(calls=(*before, asked, *after), states=stated)]


def _standing(content: JsonValue, value: JsonValue, said: Collection[JsonValue]) -> Iterator[str]:
    if isinstance(content, dict):
        for name, inner in content.items():
            yield from (f"{name}.{path}".removesuffix(".") for path in _standing(inner, value, said))
    elif isinstance(content, list):
        for place, item in enumerate(content):
            if len(content) == 1 or (
                isinstance(item, dict) and any(same(one, of) for one in item.values() for of in said)
            ):
                yield from (f"{place}.{path}".removesuffix(".") for path in _standing(item, value, said))
    elif same(content, value):
        yield ""


def _is_remembered(value: JsonValue) -> bool:
    """Whether people know this of themselves: a short text that is no token."""
    return isinstance(value, str) and 0 < len(value) <= _REMEMBERED and not is_opaque(value)


def _plainly(values: Iterable[JsonValue]) -> list[JsonValue]:
    return [one for value in values for one in scalars_of(value) if isinstance(one, str)]


def _places(calls: Iterable[Request]) -> list[Place]:
    return [cell.place for call in calls for _, value in call.values for cell in cells_of(value)]
