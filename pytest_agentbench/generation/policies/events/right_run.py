"""Right runs by the rules: what has to come before a call, whether the rules allow it, and which wrong runs they find.

A conversation is written down as `Move`s and judged by the engine that judges runs (`checks.rules_judge`); nothing here
knows what a rule means. Calls are made for real on the suite's own rows, each once, and their answers are kept.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from pytest_agentbench.checks.reckoning import NotThereError, led_to
from pytest_agentbench.checks.rules import (
    AllOf,
    AnyOf,
    AtMost,
    Before,
    Described,
    HandOverOnlyIf,
    InState,
    Not,
    OnlyIf,
    Other,
    Rule,
    Said,
    Says,
    When,
    read_rule,
    tools_of,
)
from pytest_agentbench.checks.rules_judge import judge_rule
from pytest_agentbench.checks.rules_points import every
from pytest_agentbench.checks.rules_values import Facts
from pytest_agentbench.core.acts import Act as UserAct
from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.names import readable
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.values import decoded
from pytest_agentbench.generation.policies.events.requests import Request, Rows, ToolArguments, cells_of, linked
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.tools.world import Answer, World
from pytest_agentbench.validation.rules import Rules
from pytest_agentbench.validation.values import scalars

_MOST_LOOKUPS = 6
"""Calls that one request may need before it."""

Ending = Literal["made", "refused", "declined", "unproven"]
"""How a request ends in a right run: done, refused for a rule, taken back by the user, refused for want of a proof."""


@dataclass(frozen=True)
class Made:
    """A call with what it gave; `state` is what it left behind, where a rule asks for the state."""

    tool: str
    arguments: Mapping[str, Any]
    answer: Answer
    state: State | None = None


@dataclass(frozen=True, kw_only=True)
class Act:
    """One request of the user in a right run: the calls before it, the call, those after it, and how it ends.

    `broken` are the policies that forbid it, `asked` says that the agent asks first, `words` what it must say, `proof`
    are the lookups for which the user of an unproven request does not know what they take.
    """

    request: Request
    before: tuple[Request, ...] = ()
    after: tuple[Request, ...] = ()
    ending: Ending = "made"
    broken: frozenset[str] = frozenset()
    asked: bool = False
    words: tuple[str, ...] = ()
    proof: tuple[Request, ...] = ()

    @property
    def calls(self) -> tuple[Request, ...]:
        """The calls of a right run, in order."""
        return (*self.before, *((self.request,) if self.ending == "made" else ()), *self.after)


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """One thing done wrong in a run of acts, at the act `act`; for `skipped`, `call` is its number in the run."""

    kind: Literal["forbidden", "skipped", "declined", "unasked", "unsaid"]
    act: int
    call: int = 0
    text: str = ""


@dataclass
class _Writer:
    """Writes messages of a conversation."""

    messages: list[Message] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def user(self, kind: ActKind, text: str, about: Sequence[Any] = ()) -> None:
        act = UserAct(kind=kind, about=tuple(about))
        self.messages.append(Message(role="user", content=text, acts=(act,)))

    def agent(self, text: str) -> None:
        self.messages.append(Message(role="assistant", content=text))

    def call(self, made: Made) -> None:
        call = ToolCall(id=f"call_{len(self.messages)}", name=made.tool, arguments=dict(made.arguments))
        self.messages.append(Message(role="assistant", tool_calls=(call,)))
        answer = made.answer
        self.messages.append(
            Message(role="tool", content=answer.content, tool_call_id=call.id, error=answer.error, wrote=answer.wrote)
        )
        if answer.wrote and made.state is not None:
            self.states.append(made.state)


class Rulebook:
    """The rules of a suite's policies, asked about conversations."""

    def __init__(self, policies: Sequence[Policy], toolset: Toolset, now: datetime | None = None) -> None:
        self.rules: dict[str, Rule] = {one.id: read_rule(one.rule) for one in policies if one.rule is not None}
        self.needs = Rules(policies, toolset, now=now)
        self.toolset = toolset
        self.reads_state = any(_any_part(rule, lambda part: isinstance(part, InState)) for rule in self.rules.values())
        self._policies = tuple(policies)
        self._now = now
        self._scenario = Scenario(id="planned", title="planned", task=Task(id="planned"))

    def depends_on_words(self, policy: str) -> bool:
        """Whether a rule reads what the user says, which nobody knows before the lines are written."""
        return _any_part(self.rules[policy], lambda part: isinstance(part, Said | Says) and part.speaker == "user")

    def limits(self, policy: str) -> list[AtMost]:
        """Give the parts of a rule that limit how often calls are made."""
        return [part for part in _parts(self.rules[policy]) if isinstance(part, AtMost)]

    def verdicts(
        self,
        transcript: Transcript,
        initial: State | None = None,
        states: Sequence[State] = (),
        *,
        only: Collection[str] | None = None,
    ) -> dict[str, bool | None]:
        """Say of each policy that a conversation sets off whether it was kept, None where nobody can tell.

        `only` names the policies that are asked about, where not all are.
        """
        run = Run.model_construct(
            key=RunKey(suite="planned", scenario="planned"),
            scenario=self._scenario,
            policies=self._policies,
            now=self._now,
            transcript=transcript,
            termination=Termination.FINISHED,
            toolset=self.toolset,
            initial_state=initial if self.reads_state else None,
            final_state=(states[-1] if states else initial) if self.reads_state else None,
            states=tuple(states),
        )
        facts = Facts(run)
        found: dict[str, bool | None] = {}
        for name, rule in self.rules.items():
            if only is not None and name not in only:
                continue
            try:
                judged = judge_rule(rule, facts)
            except PatternBoundError:
                found[name] = None
                continue
            if judged:
                found[name] = every(one.kept for one in judged)
        return found

    def broken(self, verdicts: Mapping[str, bool | None]) -> frozenset[str]:
        """Give the policies that were broken."""
        return frozenset(name for name, kept in verdicts.items() if kept is False)

    def wanted_before(self, policy: str) -> list[tuple[str, ...]]:
        """Give the tools of which a rule wants one earlier, each alternative by itself."""
        return list(_wanted(self.rules[policy], earlier=True))

    def wanted_after(self, policy: str) -> list[tuple[str, ...]]:
        """Give the tools of which a rule wants one afterwards."""
        return list(_wanted(self.rules[policy], earlier=False))

    def triggers(self, policy: str) -> list[tuple[str, ...]]:
        """Give the tools whose calls set a rule off."""
        triggers = [part.trigger for part in _parts(self.rules[policy]) if isinstance(part, When)]
        return [one.calls for one in triggers if isinstance(one, Described) and not isinstance(one.calls, str)]

    def is_about(self, policy: str, tool: str) -> bool:
        """Whether a rule is about calls of a tool."""
        named = tools_of(self.rules[policy])
        return bool(named & {"any", "writes", tool})


@dataclass(kw_only=True)
class Written:
    """A conversation of acts on rows, right or with one thing wrong; `made` are its calls in order."""

    transcript: Transcript
    states: tuple[State, ...] = ()


def written(
    book: Rulebook,
    acts: Sequence[Act],
    made: Mapping[str, Made],
    arguments: Mapping[str, dict[str, Any]],
    wrong: Wrong | None = None,
) -> Written:
    """Write the conversation of acts down; `made` and `arguments` have each call by `key_of`.

    A call that was made in an earlier act is not made again, unless a wrong run does.
    """
    writer, done, number = _Writer(), set[str](), 0
    for at, act in enumerate(acts):
        here = wrong if wrong is not None and wrong.act == at else None
        wanted = arguments[key_of(act.request)]
        values = [value for _, value in scalars(wanted)]
        writer.user("request", f"Please: {readable(act.request.tool)}, {_listed(values)}.")
        for call in act.calls:
            key = key_of(call)
            if key in done and call != act.request:
                continue
            is_skipped = wrong is not None and wrong.kind == "skipped" and wrong.call == number
            number += 1
            done.add(key)
            if is_skipped:
                continue
            if call == act.request and act.asked and not (here and here.kind == "unasked"):
                _ask(book, writer, call, arguments[key], [made[one] for one in done if one in made])
                is_no = here is not None and here.kind == "declined"
                writer.user("decline" if is_no else "confirm", "No, leave it." if is_no else "Yes, please.", values)
            writer.call(made[key])
        if act.ending == "declined":
            _ask(book, writer, act.request, wanted, [made[one] for one in done if one in made])
            writer.user("decline", "No, leave it.", values)
        if here and here.kind in ("forbidden", "declined") and act.ending != "made":
            writer.call(made[key_of(act.request)])
        said = [word for word in act.words if not (here and here.kind == "unsaid" and here.text == word)]
        writer.agent(";\n".join([*said, "That is all."]))
    return Written(transcript=Transcript(messages=tuple(writer.messages)), states=tuple(writer.states))


def wrong_ways(acts: Sequence[Act]) -> Iterator[Wrong]:
    """Give each single thing that may go wrong in a run of acts, as far as its requests and rows offer it."""
    done, number = set[str](), 0
    for at, act in enumerate(acts):
        for call in act.calls:
            key = key_of(call)
            if key in done and call != act.request:
                continue
            if call != act.request:
                yield Wrong(kind="skipped", act=at, call=number)
            done.add(key)
            number += 1
        if act.ending == "declined":
            yield Wrong(kind="declined", act=at)
        elif act.ending in ("refused", "unproven"):
            yield Wrong(kind="forbidden", act=at)
        elif act.asked:
            yield from (Wrong(kind="unasked", act=at), Wrong(kind="declined", act=at))
        yield from (Wrong(kind="unsaid", act=at, text=word) for word in act.words)


def key_of(request: Request) -> str:
    """Give what equal calls share."""
    return f"{request.tool}/{request.values!r}"


def _ask(book: Rulebook, writer: _Writer, call: Request, arguments: Mapping[str, Any], before: Sequence[Made]) -> None:
    """Ask for a yes, stating every value of the call and each term that a rule says the user must hear."""
    terms: list[Any] = []
    for around, term in book.needs.terms(ToolCall(name=call.tool, arguments=dict(arguments))):
        for one in reversed(before):
            if book.needs.is_about(around, ToolCall(name=one.tool, arguments=dict(one.arguments))):
                terms += _led_to(term, one)
                break
    values = [value for _, value in scalars([dict(arguments), *terms])]
    writer.agent(f"I would now make this change: {readable(call.tool)}, {_listed(values)}. Shall I proceed?")


def _led_to(reference: Mapping[str, Any], made: Made) -> list[Any]:
    try:
        return [led_to(reference, dict(made.arguments), lambda: decoded(made.answer.content))]
    except NotThereError:
        return []


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))


@dataclass(kw_only=True)
class RightRuns:
    """Finds right runs on the suite's own rows; answers are asked for once, reads in one environment for all."""

    world: World
    samples: Samples
    arguments: ToolArguments
    book: Rulebook
    initial: State
    _answers: dict[str, Made] = field(default_factory=dict)
    _found: dict[tuple[str, Place, Place], tuple[Request, ...]] = field(default_factory=dict)

    async def act(self, root: Place, request: Request, rows: Rows) -> Act | None:
        """Give how a right run ends a request that stands alone; None where the tool fails for no rule's reason."""
        made = await self.made(request)
        if made is None:
            return None
        alike = (request.tool, root, request.focus)
        known = self._found.get(alike, ())
        act = await self._with_lookups(root, Act(request=request, before=known), rows)
        if known and act.before != known:  # what another request of this tool needs is not what this one does
            act = await self._with_lookups(root, Act(request=request), rows)
        self._found.setdefault(alike, act.before)
        if act.broken and any(self.book.depends_on_words(one) for one in act.broken):
            return None
        if not act.broken and made.answer.error:
            return None
        words = await self._words(act)
        call = ToolCall(name=request.tool, arguments=dict(made.arguments))
        asked = act.ending == "made" and self.book.needs.must_confirm(call)
        return replace(act, words=words, asked=asked)

    async def made(self, request: Request) -> Made | None:
        """Make a call on the suite's own rows, in an environment of its own; None where the tool hangs or crashes."""
        arguments = request.arguments({}, self.samples)
        key = f"{request.tool}/{dumps(arguments)}"
        if key not in self._answers:
            async with self.world.open() as opened:
                answer = await opened.call(request.tool, arguments)
                state = await opened.snapshot() if self.book.reads_state and answer.wrote else None
            self._answers[key] = Made(request.tool, arguments, answer, state)
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

    async def verdicts(self, acts: Sequence[Act], wrong: Wrong | None = None) -> dict[str, bool | None]:
        """Judge a conversation of acts as it would be on the suite's own rows."""
        calls = [call for act in acts for call in (*act.calls, act.request)]
        made = {key_of(call): one for call in calls if (one := await self.made(call)) is not None}
        arguments = {key_of(call): call.arguments({}, self.samples) for call in calls}
        talk = written(self.book, acts, made, arguments, wrong)
        return self.book.verdicts(talk.transcript, self.initial, talk.states)

    async def _broken(self, act: Act) -> frozenset[str]:
        """Give the rules that an act breaks though the user agrees to it and everything due is said."""
        asking = replace(act, ending="made", asked=True, words=await self._words(act))
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
                    made = await self.made(call)
                    if made is not None and not made.answer.error and call not in act.before:
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
            made = await self.made(call)
            if made is None:
                continue
            as_call = ToolCall(name=call.tool, arguments=dict(made.arguments))
            calls.append(as_call)
            for reference in self.book.needs.told(as_call):
                found += [str(value) for _, value in scalars(_led_to(reference, made))]
        return tuple(dict.fromkeys([*self.book.needs.words(calls), *found]))


def _wanted(rule: Rule, *, earlier: bool) -> Iterator[tuple[str, ...]]:
    for part in _parts(rule, through_not=False):
        if isinstance(part, Before) and earlier and part.first:
            yield part.first
        elif isinstance(part, Other) and part.earlier is earlier and not isinstance(part.about.calls, str):
            yield part.about.calls


def _parts(rule: Rule, *, through_not: bool = True) -> Iterator[Rule]:
    """Give a rule with all that it is made of."""
    yield rule
    inner: tuple[Rule, ...] = ()
    match rule:
        case OnlyIf() | HandOverOnlyIf():
            inner = (rule.needs,)
        case When():
            inner = (rule.then,)
        case AllOf() | AnyOf():
            inner = rule.rules
        case Not() if through_not:
            inner = (rule.rule,)
    for one in inner:
        yield from _parts(one, through_not=through_not)


def _any_part(rule: Rule, is_wanted: Callable[[Any], bool]) -> bool:
    return any(is_wanted(part) or (isinstance(part, When) and is_wanted(part.trigger)) for part in _parts(rule))
