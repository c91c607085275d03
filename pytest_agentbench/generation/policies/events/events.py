"""One set of policies becomes one draft: owner, requests, fresh rows, calls made for real, wrong runs of its rules.

The set is refused, with the stage and the reason, where some policy of it is decided by no call, refusal or turn of the
event, so that the complexity that an event has is the one that was asked for.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue, decoded, same
from pytest_agentbench.generation.draft import (
    Draft,
    Event,
    Loss,
    Origin,
    Owner,
    PlannedCall,
    PolicyPart,
    Stage,
    Stated,
    Turn,
    WrongRun,
)
from pytest_agentbench.generation.language.guard import scalars_of
from pytest_agentbench.generation.language.plain import label_of
from pytest_agentbench.generation.policies.events.conversation import (
    Act,
    Deviation,
    ExecutedCall,
    conversation,
    deviations,
    key_of,
)
from pytest_agentbench.generation.policies.events.planning import PlanError, Planner
from pytest_agentbench.generation.policies.events.requests import Request, cells_of
from pytest_agentbench.generation.policies.events.right_run import RightRuns
from pytest_agentbench.generation.policies.events.rows import FreshRows, ModelRows, RowMaker, RowsError
from pytest_agentbench.generation.policies.events.samples import Place
from pytest_agentbench.generation.policies.events.schema import personal, state_of_rows
from pytest_agentbench.generation.policies.values import PolicySet
from pytest_agentbench.generation.tools.world import Opened

_ATTEMPTS = 6
"""Times that a set is tried with another owner, other requests and other rows."""

_MOST_WRONG = 3
"""Wrong runs of one policy that a draft carries."""

_CHANGES = {
    "forbidden": "{call} is called though a rule forbids it",
    "skipped": "{call} is left out",
    "declined": "{call} is called though the user said no",
    "unasked": "{call} is called and nobody asks the user before",
    "unsaid": "{text} is not said",
}


class EventError(Exception):
    """An event that became none: at which stage, and why."""

    def __init__(self, stage: Stage, reason: str, detail: str) -> None:
        super().__init__(f"{stage}: {reason}: {detail}")
        self.stage, self.reason, self.detail = stage, reason, detail


@dataclass
class Attempt:
    """What one attempt has: acts, rows, and each call as it was made on them."""

    root: Place
    acts: tuple[Act, ...]
    fresh: FreshRows
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)
    executed: dict[str, ExecutedCall] = field(default_factory=dict)
    decides: dict[str, list[Deviation]] = field(default_factory=dict)
    turns: tuple[Turn, ...] = ()
    initial: State | None = None


@dataclass(kw_only=True)
class EventMaker:
    """Makes drafts of sets of policies.

    `tools_of` are the tools of policies without a rule.
    """

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
        last = EventError("plan", "not tried", "")
        for attempt in range(1, _ATTEMPTS + 1):
            random = Random(f"{self.seed}/{one.id}/{'+'.join(one.policies)}/{one.repeat}/{attempt}")  # noqa: S311 - a choice
            try:
                return await self._draft(one, random, language, attempt)
            except PlanError as error:
                last = EventError("plan", "no request decides it", str(error))
                break  # the same for every attempt
            except RowsError as error:
                last = EventError("rows", "inconsistent row", str(error))
            except EventError as error:
                last = error
        return Loss(draft=one.id, stage=last.stage, reason=last.reason, detail=shorten(printable(last.detail), 300))

    async def _draft(self, one: PolicySet, random: Random, language: str, attempt: int) -> Draft:
        named = {policy: self.tools_of[policy] for policy in one.policies if policy in self.tools_of}
        root, acts = await self.planner.plan(one.policies, named, random)
        fresh = await self._rows(root, acts, random)
        event = Attempt(root=root, acts=acts, fresh=fresh)
        await self._perform(event)
        self._judge(event, one.policies)
        event.turns = self._turns(event)
        parts = tuple(self._part(policy, event) for policy in one.policies)
        return self._assembled(one, event, parts, language, attempt)

    async def _rows(self, root: Place, acts: Sequence[Act], random: Random) -> FreshRows:
        """Make rows like the owner's and those that the requests are about."""
        samples = self.runs.samples
        own = [act.request.focus for act in acts if act.request.focus in samples.focuses(root, act.request.focus[0])]
        focuses = tuple(dict.fromkeys(place for place in own if place != root))
        cluster = samples.cluster(root, *focuses)
        owned = {place for table in samples.owned(root[0]) for place in samples.focuses(root, table)}
        for act in acts:
            cells = [cell for call in (act.request, *act.calls) for _, value in call.values for cell in cells_of(value)]
            left_out = [cell.place for cell in cells if cell.place in owned and cell.place not in cluster.rows]
            if left_out:
                raise EventError("rows", "not one event", f"a row of {left_out[0][0]} is not among its rows")
        fresh = self.rows.make(cluster, random)
        return await self.model_rows(fresh, random) if self.model_rows is not None else fresh

    async def _perform(self, event: Attempt) -> None:
        """Make the calls of the right run for real, then, each in an environment of its own, those it does not make."""
        rows = {place: row.values for place, row in event.fresh.fresh.items()}
        state = state_of_rows(event.fresh.rows, self.runs.samples.schema, self.runs.samples.rows)
        done: list[str] = []
        later: list[tuple[Request, list[str]]] = []
        async with self.runs.world.open(state) as opened:
            event.initial = await opened.snapshot() if self.runs.book.reads_state else None
            for act in event.acts:
                for call in (act.request, *act.calls):
                    event.arguments[key_of(call)] = call.arguments(rows, self.runs.samples)
                for call in act.calls:
                    key = key_of(call)
                    if key in event.executed and call != act.request:
                        continue
                    executed = await self._call(opened, call.tool, event.arguments[key])
                    if executed.answer.error:
                        raise EventError(
                            "hydration", "a call fails on fresh rows", f"{call.tool}: {executed.answer.content}"
                        )
                    event.executed[key] = executed
                    done.append(key)
                if act.ending != "done":
                    later.append((act.request, list(done)))
        for request, before in later:
            async with self.runs.world.open(state) as opened:
                for key in before:
                    await opened.call(event.executed[key].tool, event.executed[key].arguments)
                executed = await self._call(opened, request.tool, event.arguments[key_of(request)])
            alone = await self.runs.executed(request)
            if executed.answer.error and alone is not None and not alone.answer.error:
                # a booking is cancelled before: that is why it cannot be extended by too many nights
                detail = f"{request.tool}: {executed.answer.content}"
                raise EventError("plan", "a request is refused for what was done before it", detail)
            event.executed[key_of(request)] = executed

    async def _call(self, opened: Opened, tool: str, arguments: Mapping[str, Any]) -> ExecutedCall:
        answer = await opened.call(tool, arguments)
        if answer.hung or answer.crashed or answer.unreachable:
            raise EventError("hydration", "a call does not come back", f"{tool}: {answer.content}")
        state = await opened.snapshot() if self.runs.book.reads_state and answer.wrote else None
        return ExecutedCall(tool, dict(arguments), answer, state)

    def _judge(self, event: Attempt, policies: Sequence[str]) -> None:
        """Hold the right run against every rule of the suite, and find which wrong runs each rule tells apart."""
        book = self.runs.book
        right = conversation(book, event.acts, event.executed, event.arguments)
        verdicts = book.verdicts(right.transcript, event.initial, right.states)
        if broken := book.broken(verdicts):
            raise EventError("plan", "the right run breaks a rule", ", ".join(sorted(broken)))
        for wrong in deviations(event.acts):
            other = conversation(book, event.acts, event.executed, event.arguments, wrong)
            own = event.acts[wrong.act].decides if wrong.kind == "forbidden" else None
            verdicts = book.verdicts(other.transcript, event.initial, other.states, only=policies)
            for policy in book.broken(verdicts):
                if (own is None or policy in own) and not book.depends_on_words(policy):
                    event.decides.setdefault(policy, []).append(wrong)

    def _part(self, policy: str, event: Attempt) -> PolicyPart:
        """Say how a policy takes part; raise `EventError` where it does not."""
        if policy in self.tools_of:
            called = [call.tool for act in event.acts for call in (act.request, *act.calls)]
            about = sorted(self.tools_of[policy].intersection(called))
            if not about:
                raise EventError("plan", "not involved", f"{policy} is about none of the calls")
            return PolicyPart(policy=policy, involves=f"it names {about[0]}", reason="it has no rule")
        wrong = event.decides.get(policy, [])
        if wrong:
            first = min(wrong, key=lambda one: _ORDER.index(one.kind))
            return PolicyPart(
                policy=policy,
                event=_event_of(first, event.acts, is_limit=bool(self.runs.book.limits(policy))),
                involves=self._change(first, event),
                wrong_runs=tuple(
                    self._wrong_run(one, event) for one in [first, *(w for w in wrong if w != first)][:_MOST_WRONG]
                ),
                handling="decided",
            )
        raise EventError("plan", "not involved", f"no wrong run of this event breaks {policy}")

    def _wrong_run(self, wrong: Deviation, event: Attempt) -> WrongRun:
        act, turn = event.acts[wrong.act], _turn_of(wrong.act, event.acts)
        change = self._change(wrong, event)
        if wrong.kind == "skipped":
            return WrongRun(kind="skipped", change=change, skip=wrong.call)
        if wrong.kind == "unsaid":
            return WrongRun(kind="unsaid", change=change, turn=turn, text=wrong.text)
        if act.ending == "done":
            return WrongRun(kind=wrong.kind, change=change, turn=turn + act.asked)
        before = [call for one in event.turns[: turn + 1] for call in one.calls]
        call = self._planned(act.request, event, before, asked=True)
        return WrongRun(kind=wrong.kind, change=change, turn=turn + (wrong.kind == "declined"), call=call)

    def _change(self, wrong: Deviation, event: Attempt) -> str:
        act = event.acts[wrong.act]
        tool = self._calls(event)[wrong.call].tool if wrong.kind == "skipped" else act.request.tool
        return _CHANGES[wrong.kind].format(call=tool, text=shorten(printable(wrong.text), 80))

    def _calls(self, event: Attempt) -> list[Request]:
        """Give the calls of the right run in order, each of them once but for what is asked for again."""
        found: list[Request] = []
        for act in event.acts:
            found += [call for call in act.calls if call == act.request or call not in found]
        return found

    def _assembled(
        self, one: PolicySet, event: Attempt, parts: tuple[PolicyPart, ...], language: str, attempt: int
    ) -> Draft:
        samples = self.runs.samples
        owner_row = event.fresh.fresh[event.root].values
        table = samples.schema.get(event.root[0])
        names = [str(owner_row[name]) for name in owner_row if personal(name) in ("first_name", "last_name", "name")]
        key = owner_row.get(table.key[0]) if table and len(table.key) == 1 else None
        refused = [act for act in event.acts if act.ending != "done"]
        return Draft(
            id=one.id,
            source="policies",
            turns=event.turns,
            state=state_of_rows(event.fresh.rows, samples.schema, samples.rows),
            forbidden=tuple(self._forbidden(act, event) for act in refused),
            unknown=tuple(
                dict.fromkeys(
                    label_of(name, self.runs.arguments.specs[call.tool].parameters.get("properties", {}).get(name))
                    for act in refused
                    for call in act.proof
                    for name, _ in call.values
                    if name not in call.from_owner
                )
            ),
            policies=parts,
            owner=Owner(table=event.root[0], key=key, name=" ".join(names), role=self._role(event)),
            language=language,
            tags=tuple(sorted({"refusal" for act in refused if act.ending != "declined"})),
            provenance=self._provenance(one, event, attempt),
        )

    def _turns(self, event: Attempt) -> tuple[Turn, ...]:
        """Give the lines: a request with all that the user says for it, then its answer where the agent has to ask."""
        said: list[JsonValue] = []
        calls: list[PlannedCall] = []
        seen: list[Request] = []
        turns: list[Turn] = []
        for act in event.acts:
            here = [call for call in act.calls if call == act.request or call not in seen]
            seen += here
            own = event.arguments[key_of(act.request)].values()
            stated: list[Stated] = []
            planned: list[PlannedCall] = []
            for at, call in enumerate(here if act.ending == "done" else [*here, act.request]):
                is_asked = call == act.request
                stated += self._stated(call, event, calls, said, at, is_asked=is_asked, asked_for=own)
                planned.append(self._planned(call, event, calls, asked=is_asked))
                if not is_asked or act.ending == "done":
                    calls.append(planned[-1])
            turns += _answered(act, planned, tuple(stated))
        return tuple(turns)

    def _stated(
        self,
        call: Request,
        event: Attempt,
        calls: Sequence[PlannedCall],
        said: list[JsonValue],
        at: int,
        *,
        is_asked: bool,
        asked_for: Collection[JsonValue] = (),
    ) -> list[Stated]:
        """Give what the user says for a call: all of what it asks for, of a lookup what nothing said or found yet."""
        found = []
        schemas = self.runs.arguments.specs[call.tool].parameters.get("properties", {})
        for name, value in event.arguments[key_of(call)].items():
            is_found = _path_to(value, calls, _plainly([*said, *asked_for])) is not None
            is_known = any(same(value, one) for one in (*said, *asked_for))
            if (is_found and name in call.from_owner) or (not is_asked and (is_known or is_found)):
                continue
            said.append(value)
            found.append(Stated(label=label_of(name, schemas.get(name)), value=value, argument=name, call=at))
        return found

    def _planned(self, call: Request, event: Attempt, calls: Sequence[PlannedCall], *, asked: bool) -> PlannedCall:
        arguments, executed = event.arguments[key_of(call)], event.executed[key_of(call)]
        compared = [name for name in arguments if name not in call.free] if call.free else None
        origins = {}
        for name, value in arguments.items():
            is_own = name in call.from_owner or not self._is_said(name, call, event)
            place = _path_to(value, calls, self._all_said(event)) if is_own else None
            origins[name] = (
                Origin(source="user") if place is None else Origin(source="result", call=place[0], path=place[1])
            )
        return PlannedCall(
            call=ExpectedCall(name=call.tool, arguments=arguments, compare_args=compared),
            origins=origins,
            answer=executed.answer.content,
            writes=bool(executed.answer.wrote),
            fails=executed.answer.error,
            asked=asked,
        )

    def _all_said(self, event: Attempt) -> list[JsonValue]:
        """Give the plain values that the user's requests are about."""
        return _plainly(value for act in event.acts for value in event.arguments[key_of(act.request)].values())

    def _is_said(self, name: str, call: Request, event: Attempt) -> bool:
        """Whether the user says the value of an argument: what it asks for, and what it proves itself by."""
        value = dict(call.values)[name]
        asked = [one for act in event.acts for _, one in act.request.values]
        return any(call == act.request for act in event.acts) or value in asked

    def _forbidden(self, act: Act, event: Attempt) -> ExpectedCall:
        """Forbid a call: on its row where any call there is wrong, with all its arguments where another is right."""
        arguments = event.arguments[key_of(act.request)]
        right = [
            event.arguments[key_of(call)] for one in event.acts for call in one.calls if call.tool == act.request.tool
        ]
        named = {
            name: arguments[name]
            for name, value in act.request.values
            if any(cell.place == act.request.focus for cell in cells_of(value)) and name not in act.request.free
        }
        if not named or any(all(same(other.get(name), value) for name, value in named.items()) for other in right):
            named = {name: value for name, value in arguments.items() if name not in act.request.free}
        return ExpectedCall(name=act.request.tool, arguments=named)

    def _role(self, event: Attempt) -> str:
        """Say that the user asks about somebody else's rows, where it does: such a draft has two owners on purpose."""
        own = event.fresh.fresh
        places = [cell.place for act in event.acts for _, value in act.request.values for cell in cells_of(value)]
        owned = self.runs.samples.owned(event.root[0])
        return _STRANGER if any(place[0] in owned and place not in own for place in places) else ""

    def _provenance(self, one: PolicySet, event: Attempt, attempt: int) -> dict[str, Any]:
        """Give the symbolic event (IntellAgent, Table 3), as the scenario keeps it."""
        symbol_of = {place: row.symbol for place, row in event.fresh.fresh.items()}
        said = []
        for act in event.acts:
            about = symbol_of.get(act.request.focus, f"a row of somebody else in {act.request.focus[0]}")
            why = f" ({', '.join(sorted(act.broken))})" if act.broken else ""
            said.append(f"{symbol_of[event.root]} asks for {act.request.tool} about {about}, {_ENDS[act.ending]}{why}")
        return {
            "set": one.id,
            "requested": one.requested,
            "realised": one.realised,
            "attempt": attempt,
            "symbolic_event": {
                "description": "; ".join(said),
                "symbols": {one.symbol: f"{one.table}: {one.description}" for one in event.fresh.entities},
                "relations": [f"{one.source}.{one.column} = {one.target}" for one in event.fresh.relations],
            },
        }


_STRANGER = "asks about what belongs to somebody else"

_ENDS = {
    "done": "which is done",
    "refused": "which is refused",
    "declined": "and says no when asked",
    "unproven": "without a proof of who it is",
}

_ORDER = ("forbidden", "declined", "unsaid", "skipped", "unasked")
"""Which wrong run names the event of a policy, where several break it."""


def _turn_of(act: int, acts: Sequence[Act]) -> int:
    """Give the turn in which an act begins: one that the user answers a question about has two."""
    return act + sum(one.asked or one.ending == "declined" for one in acts[:act])


def _event_of(wrong: Deviation, acts: Sequence[Act], *, is_limit: bool) -> Event:
    act = acts[wrong.act]
    if act.ending == "declined":
        return "declined" if wrong.kind == "declined" else "kept"
    if wrong.kind != "forbidden":
        return "kept"
    if act.ending == "unproven":
        return "unproven"
    return "at_limit" if is_limit else "requested"


def _plainly(values: Iterable[JsonValue]) -> list[JsonValue]:
    return [one for value in values for one in scalars_of(value) if isinstance(one, str)]


def _answered(act: Act, planned: Sequence[PlannedCall], stated: tuple[Stated, ...]) -> list[Turn]:
    """Give the turns of an act: what is asked about in the first, what the user answers to in the second."""
    at = next(number for number, call in enumerate(planned) if call.asked)
    before, asked, after = tuple(planned[:at]), planned[at], tuple(planned[at + 1 :])
    if act.ending in ("refused", "unproven"):
        return [Turn(calls=(*before, *after), refused=(asked,), states=stated)]
    about = tuple(one for one in scalars_of(dict(asked.call.arguments)) if one is not None)
    if act.ending == "declined":
        return [Turn(calls=before, states=stated), Turn(act="decline", refused=(asked,), about=about)]
    if act.asked:
        return [Turn(calls=before, states=stated), Turn(act="confirm", calls=(asked, *after))]
    return [Turn(calls=(*before, asked, *after), states=stated)]


def _path_to(value: JsonValue, calls: Sequence[PlannedCall], said: Collection[JsonValue]) -> tuple[int, str] | None:
    """Give the call and path where a value stands alone, or in the record that holds something that the user says."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    for number in range(len(calls) - 1, -1, -1):
        if any(same(one, value) for one in scalars_of(dict(calls[number].call.arguments))):
            continue  # it gives back what it was given
        path = next(_standing(decoded(calls[number].answer), value, said), None)
        if path is not None:
            return number, path
    return None


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
