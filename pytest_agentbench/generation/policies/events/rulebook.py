"""Planned conversations, right or with one thing wrong, and the rules of a suite, asked about them.

The engine that judges runs does the judging; nothing here knows what a rule means.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pytest_agentbench.checks.rule_arguments import NotThereError, RuleFacts, led_to
from pytest_agentbench.checks.rule_evaluation import judge_rule
from pytest_agentbench.checks.rules import (
    AtMost,
    Described,
    InState,
    Not,
    Other,
    Rule,
    Speech,
    When,
    occasion,
    parts_of,
    read_rule,
)
from pytest_agentbench.core.acts import Act as UserAct
from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.expression import every
from pytest_agentbench.core.json_values import decoded
from pytest_agentbench.core.names import readable
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.generation.draft import Event
from pytest_agentbench.generation.policies.events.requests import Request
from pytest_agentbench.generation.tools.world import Answer
from pytest_agentbench.validation.oracle import Rules
from pytest_agentbench.validation.world_values import scalars

Ending = Literal["done", "declined", "refused", "unproven"]
"""How a request ends in a right run: done, taken back by the user, refused for a rule, refused for want of a proof."""

ENDINGS: dict[Ending, str] = {
    "done": "which is done",
    "declined": "and says no when asked",
    "refused": "which is refused",
    "unproven": "without a proof of who it is",
}
"""The endings in the order in which requests of an event are made, and what becomes of the request."""

CHANGES = {
    "forbidden": "{call} is called though a rule forbids it",
    "declined": "{call} is called though the user said no",
    "unsaid": "{text} is not said",
    "skipped": "{call} is left out",
    "unasked": "{call} is called and nobody asks the user before",
    "repeated": "{call} is called twice",
}
"""What differs in a wrong run of each kind; the first one names the event of a policy, where several break it."""


@dataclass(frozen=True)
class ExecutedCall:
    """A call with what it gave; `state` is what it left behind, where a rule asks for the state."""

    tool: str
    arguments: dict[str, Any]
    answer: Answer
    state: State | None = None

    @property
    def call(self) -> ToolCall:
        """The call as rules know it."""
        return ToolCall(name=self.tool, arguments=dict(self.arguments))

    def led(self, reference: Mapping[str, Any]) -> list[Any]:
        """Give the value that a reference leads to, none where there is nothing."""
        try:
            return [led_to(reference, dict(self.arguments), lambda: decoded(self.answer.content))]
        except NotThereError:
            return []


Executed = Mapping[Request, ExecutedCall]


@dataclass(frozen=True, kw_only=True)
class Act:
    """One request of the user in a right run: the calls before it, the call, those after it, and how it ends.

    `broken` are the policies that forbid it, `not_why` those of them that are not why its tool refuses it. `asked` says
    that the agent asks first, `words` what it must say, `due` what it would have to say if the request were done,
    `proof` are the lookups for which the user of an unproven request does not know what they take. `repeats` says that
    a rule limits how often it is called, and its tool does not.
    """

    request: Request
    before: tuple[Request, ...] = ()
    after: tuple[Request, ...] = ()
    ending: Ending = "done"
    broken: frozenset[str] = frozenset()
    asked: bool = False
    words: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    proof: tuple[Request, ...] = ()
    repeats: bool = False
    not_why: frozenset[str] = frozenset()

    @property
    def decides(self) -> frozenset[str]:
        """The policies that a call of what is forbidden decides."""
        return self.broken - self.not_why

    @property
    def calls(self) -> tuple[Request, ...]:
        """The calls of a right run, in order."""
        return (*self.before, *((self.request,) if self.ending == "done" else ()), *self.after)

    def calls_any(self, tools: Collection[str]) -> bool:
        """Whether one of these tools is called before the request."""
        return any(call.tool in tools for call in self.before)


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """One thing done wrong in a run of acts, at the act `act`; `call` is the number of what is skipped or repeated."""

    kind: Literal["forbidden", "skipped", "repeated", "declined", "unasked", "unsaid"]
    act: int
    call: int = -1
    text: str = ""

    def event(self, acts: Sequence[Act], *, is_limit: bool) -> Event:
        """Say what happens to a policy that it breaks."""
        ending = acts[self.act].ending
        if self.kind == "declined" and ending == "declined":
            return "declined"
        if self.kind != "forbidden":
            return "kept"
        return "unproven" if ending == "unproven" else "at_limit" if is_limit else "requested"


def steps(acts: Sequence[Act]) -> list[list[tuple[int, Request]]]:
    """Give the calls of each act with their numbers in the run; what was called before is not, unless asked for."""
    done: list[Request] = []
    found: list[list[tuple[int, Request]]] = []
    for act in acts:
        here = [call for call in act.calls if call == act.request or call not in done]
        found.append(list(enumerate(here, len(done))))
        done += here
    return found


def deviations(acts: Sequence[Act]) -> Iterator[Deviation]:
    """Give each single thing that may go wrong in a run of acts, as far as its requests and rows offer it."""
    for at, (act, calls) in enumerate(zip(acts, steps(acts), strict=True)):
        yield from (Deviation(kind="skipped", act=at, call=number) for number, call in calls if call != act.request)
        if act.ending == "declined" or act.asked:
            yield Deviation(kind="declined", act=at)
        if act.ending in ("refused", "unproven"):
            yield Deviation(kind="forbidden", act=at)
        elif act.asked:
            yield Deviation(kind="unasked", act=at)
        if act.repeats and act.ending == "done":
            own = next(number for number, call in calls if call == act.request)
            yield Deviation(kind="repeated", act=at, call=own)
        yield from (Deviation(kind="unsaid", act=at, text=word) for word in act.words)


class Conversation:
    """A conversation of acts on rows as a transcript, right or with one thing wrong, and the states it went through."""

    def __init__(self, needs: Rules, acts: Sequence[Act], executed: Executed, wrong: Deviation | None = None) -> None:
        self.messages: list[Message] = []
        self.states: list[State] = []
        self._needs, self._done = needs, list[ExecutedCall]()
        for at, (act, calls) in enumerate(zip(acts, steps(acts), strict=True)):
            request, kind = executed[act.request], wrong.kind if wrong is not None and wrong.act == at else ""
            is_made = act.ending != "done" and kind in ("forbidden", "declined")
            values = [value for _, value in scalars(request.arguments)]
            self._user("request", f"Please: {readable(request.tool)}, {_listed(values)}.")
            for number, call in calls:
                if wrong is not None and wrong.kind == "skipped" and wrong.call == number:
                    continue
                if call == act.request and act.asked and kind != "unasked":
                    self._ask(request)
                    self._answer(values, yes=kind != "declined")
                self._call(executed[call])
                if kind == "repeated" and call == act.request:
                    self._call(executed[call])
            if act.ending == "declined":
                self._ask(request)
                self._answer(values, yes=False)
            if is_made:
                self._call(request)
            left_out = wrong.text if wrong is not None and kind == "unsaid" else None
            said = dict.fromkeys((*act.words, *(act.due if is_made else ())))
            self._agent(";\n".join([*(word for word in said if word != left_out), "That is all."]))

    def _user(self, kind: ActKind, text: str, about: Sequence[Any] = ()) -> None:
        act = UserAct(kind=kind, about=tuple(about))
        self.messages.append(Message(role="user", content=text, acts=(act,)))

    def _answer(self, about: Sequence[Any], *, yes: bool) -> None:
        self._user("confirm" if yes else "decline", "Yes, please." if yes else "No, leave it.", about)

    def _agent(self, text: str) -> None:
        self.messages.append(Message(role="assistant", content=text))

    def _call(self, executed: ExecutedCall) -> None:
        call = executed.call.model_copy(update={"id": f"call_{len(self.messages)}"})
        answer = executed.answer
        self.messages += [
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content=answer.content, tool_call_id=call.id, error=answer.error, wrote=answer.wrote),
        ]
        self._done.append(executed)
        if answer.wrote and executed.state is not None:
            self.states.append(executed.state)

    def _ask(self, request: ExecutedCall) -> None:
        """Ask for a yes, stating every value of the call and each term that a rule says the user must hear."""
        terms: list[Any] = []
        for around, term in self._needs.terms(request.call):
            about = [one for one in self._done if self._needs.is_about(around, one.call)]
            terms += about[-1].led(term) if about else []
        values = [value for _, value in scalars([request.arguments, *terms])]
        self._agent(f"I would now make this change: {readable(request.tool)}, {_listed(values)}. Shall I proceed?")


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What rules say of acts: what the right run breaks and sets off, and by which wrong runs each rule is broken."""

    broken: frozenset[str]
    touches: frozenset[str]
    decides: dict[str, list[Deviation]] = field(default_factory=dict)


class Rulebook:
    """The rules of a suite's policies, asked about conversations."""

    def __init__(self, policies: Sequence[Policy], toolset: Toolset, now: datetime | None = None) -> None:
        self.rules: dict[str, Rule] = {one.id: read_rule(one.rule) for one in policies if one.rule is not None}
        self.needs = Rules(policies, toolset, now=now)
        self.reads_state = any(isinstance(part, InState) for rule in self.rules.values() for part in _parts(rule))
        # every conversation is asked about as a run, of which only what follows the transcript differs
        self._run = Run.model_construct(
            key=RunKey(suite="planned", scenario="planned"),
            scenario=Scenario(id="planned", title="planned", task=Task(id="planned")),
            policies=tuple(policies),
            now=now,
            termination=Termination.FINISHED,
            toolset=toolset,
        )

    def judged(
        self, acts: Sequence[Act], executed: Executed, initial: State | None, only: Collection[str] | None = None
    ) -> Judged:
        """Hold the right run of acts against every rule, and find which wrong runs each rule tells apart.

        `only` names the policies that wrong runs are held against, where not all are.
        """
        right = self.verdicts(acts, executed, initial)
        found = Judged(broken=_false(right), touches=frozenset(right))
        for wrong in deviations(acts) if not found.broken else ():
            own: Collection[str] = acts[wrong.act].decides if wrong.kind == "forbidden" else self.rules
            for policy in sorted(_false(self.verdicts(acts, executed, initial, wrong=wrong, only=only))):
                # a call that is forbidden is unasked, too
                if policy in own and not self.depends_on_words(policy):
                    found.decides.setdefault(policy, []).append(wrong)
        for several in found.decides.values():
            several.sort(key=lambda one: list(CHANGES).index(one.kind))
        return found

    def broken(self, acts: Sequence[Act], executed: Executed, initial: State | None) -> frozenset[str]:
        """Give the policies that the right run of acts breaks."""
        return _false(self.verdicts(acts, executed, initial))

    def verdicts(
        self,
        acts: Sequence[Act],
        executed: Executed,
        initial: State | None,
        *,
        wrong: Deviation | None = None,
        only: Collection[str] | None = None,
    ) -> dict[str, bool | None]:
        """Say of each policy that a conversation sets off whether it was kept, None where nobody can tell."""
        talk = Conversation(self.needs, acts, executed, wrong)
        states: dict[str, Any] = {"initial_state": None, "final_state": None}
        if self.reads_state:
            states = {"initial_state": initial, "final_state": talk.states[-1] if talk.states else initial}
        transcript = Transcript(messages=tuple(talk.messages))
        update = {"transcript": transcript, "states": tuple(talk.states), **states}
        facts = RuleFacts(self._run.model_copy(update=update))
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

    def depends_on_words(self, policy: str) -> bool:
        """Whether a rule reads what the user says, which nobody knows before the lines are written."""
        parts = list(_parts(self.rules[policy]))
        return any(isinstance(one, Speech) and one.speaker == "user" for one in (*parts, *map(occasion, parts)))

    def limits(self, policy: str) -> list[AtMost]:
        """Give the parts of a rule that limit how often calls are made."""
        return [part for part in _parts(self.rules[policy]) if isinstance(part, AtMost)]

    def limited(self, policy: str) -> set[str]:
        """Give the tools that a rule names to limit how often they are called."""
        named = [part.about.calls for part in self.limits(policy)]
        return {tool for tools in named if not isinstance(tools, str) for tool in tools}

    def wanted(self, policy: str, *, earlier: bool = True) -> list[tuple[str, ...]]:
        """Give the tools of which a rule wants one earlier, or afterwards, each alternative by itself."""
        parts = _parts(self.rules[policy], through_not=False)
        others = [part.about for part in parts if isinstance(part, Other) and part.earlier is earlier]
        return [one.calls for one in others if isinstance(one, Described) and not isinstance(one.calls, str)]

    def triggers(self, policy: str) -> list[tuple[str, ...]]:
        """Give the tools whose calls set a rule off."""
        triggers = [part.trigger for part in _parts(self.rules[policy]) if isinstance(part, When)]
        return [one.calls for one in triggers if isinstance(one, Described) and not isinstance(one.calls, str)]


def _false(verdicts: Mapping[str, bool | None]) -> frozenset[str]:
    return frozenset(name for name, kept in verdicts.items() if kept is False)


def _parts(rule: Rule, *, through_not: bool = True) -> Iterator[Rule]:
    """Yield a rule with all that it is made of."""
    yield rule
    for one in parts_of(rule) if through_not or not isinstance(rule, Not) else ():
        yield from _parts(one, through_not=through_not)
