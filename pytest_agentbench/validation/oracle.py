"""The oracle: a right run as a script, from the expected calls, what is to be communicated, and the policies' rules."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal

from pytest_agentbench.checks.findings import call_text
from pytest_agentbench.checks.matchers import Resolver, matches
from pytest_agentbench.checks.rule_arguments import NotThereError, led_to
from pytest_agentbench.checks.rules import (
    AllOf,
    AnyOf,
    AtMost,
    Confirmed,
    Described,
    OnlyIf,
    Other,
    Rule,
    Speech,
    When,
    read_rule,
)
from pytest_agentbench.core.approvals import ApprovalRequest, values_of
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.json_values import JsonValue, decoded
from pytest_agentbench.core.matchers import holds_matcher, holds_reference, is_matcher, is_reference
from pytest_agentbench.core.moments import dated, is_moment, moment_text
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall, ToolResult, Toolset
from pytest_agentbench.simulation.views import user_view
from pytest_agentbench.validation.known import Known, likely_calls, of_user
from pytest_agentbench.validation.scripted_run import FAILED, ScriptedRun, Step, ToolBox, numbered
from pytest_agentbench.validation.world_values import Columns, scalars

_Need = Literal["before", "confirm", "terms", "say", "tell", "limit"]


class Rules:
    """The rules that hold in a scenario, as far as a right run has to do something for them.

    Of alternatives (`any`) the first is kept. What a rule asks of the user, or says with patterns alone, is left to it.
    """

    def __init__(
        self,
        policies: Sequence[Policy],
        toolset: Toolset,
        resolve: Resolver | None = None,
        now: datetime | None = None,
    ) -> None:
        self._toolset = toolset
        self._now = now
        self._resolve = resolve
        self._needs: list[tuple[_Need, Described | None, Any]] = []
        for policy in policies:
            if policy.rule is not None:
                self._read(read_rule(policy.rule), None)

    def must_confirm(self, call: ToolCall) -> bool:
        """Whether a call needs the user's yes."""
        return any(self._of("confirm", call))

    def terms(self, call: ToolCall) -> Iterator[tuple[Described, Mapping[str, Any]]]:
        """Give what the user must hear beside the arguments: a reference, and the calls that it leads into."""
        return self._of("terms", call)

    def before(self, call: ToolCall) -> Iterator[tuple[str, ...]]:
        """Give, for each rule about the call, the tools of which one must have been called before."""
        return self._of("before", call)

    def orders(self, first: str, call: ToolCall) -> bool:
        """Whether a rule says that a tool is to be called before this call."""
        return any(first in names for names in self.before(call))

    def limits(self, call: ToolCall) -> Iterator[int]:
        """Give, for each rule that limits how often such a call is made in all, how often it may be."""
        return self._of("limit", call)

    def told(self, call: ToolCall) -> Iterator[Mapping[str, Any]]:
        """Give the references into a call whose values the agent must say once it was made."""
        return self._of("tell", call)

    def words(self, calls: Sequence[ToolCall]) -> Iterator[str]:
        """Give what the agent must say in a run with these calls."""
        for need, about, text in self._needs:
            if need == "say" and (about is None or any(self.is_about(about, call) for call in calls)):
                yield text

    def _of(self, need: _Need, call: ToolCall) -> Iterator[Any]:
        return (what for one, about, what in self._needs if one == need and about and self.is_about(about, call))

    def _read(self, rule: Rule, about: Described | None) -> None:
        """Take in a rule, or a requirement on the calls that `about` describes."""
        match rule:
            case OnlyIf() if isinstance(rule.about, Described):
                if isinstance(rule.needs, Confirmed) and about is not None:
                    self._needs += [("terms", rule.about, (about, one)) for one in rule.needs.values]
                self._read(rule.needs, rule.about)
            case When() if rule.trigger is None or isinstance(rule.trigger, Described):
                self._read(rule.then, rule.trigger)
            case AllOf():
                for one in rule.rules:
                    self._read(one, about)
            case AnyOf():
                self._read(rule.rules[0], about)
            case Other() if (
                rule.earlier
                and about is not None
                and isinstance(rule.about, Described)
                and not (isinstance(rule.about.calls, str) or rule.about.failed or (rule.about.times or 1) > 1)
            ):
                self._needs.append(("before", about, rule.about.calls))
            case AtMost() if about is None and not rule.per:
                self._needs.append(("limit", rule.about, rule.times))
            case Confirmed() if about is not None:
                self._needs.append(("confirm", about, True))
            case Other() if isinstance(rule.about, Speech) and not rule.earlier:
                self._must_say(rule.about.texts, about)
            case _:
                pass  # nothing that a run with the expected calls would have to do

    def _must_say(self, texts: Sequence[Any], about: Described | None) -> None:
        """Take in texts of which one must be said: the first that can be told without a run, else a reference."""
        told = [str(text) for text in texts if not isinstance(text, Mapping)]
        told += [moment_text(text, self._now) for text in texts if self._now is not None and is_moment(text)]
        if told:
            self._needs.append(("say", about, told[0]))
        elif about is not None:
            self._needs += [("tell", about, text) for text in texts if is_reference(text)][:1]

    def is_about(self, about: Described, call: ToolCall) -> bool:
        """Whether a call fits a description, as far as its tool and arguments tell."""
        if about.calls == "writes":
            spec = self._toolset.get(call.name, call.requestor)
            is_of = spec is not None and spec.kind == "write"
        else:
            is_of = about.calls == "any" or call.name in about.calls
        return is_of and all(
            name in call.arguments and self._fits(value, call.arguments[name]) for name, value in about.where.items()
        )

    def _fits(self, value: JsonValue, actual: JsonValue) -> bool:
        """Whether an argument fits; where only a run could tell, what a right run does for the call harms nobody."""
        if holds_reference(value):
            return True
        return matches(value if self._now is None else dated(value, self._now), actual, self._resolve)


HEARD = "I see."
DONE = "That is all."
NOTHING_SAID = "Hello."

_TYPES: Mapping[str, tuple[type | tuple[type, ...], JsonValue]] = {
    "string": (str, "text"),
    "integer": (int, 1),
    "number": ((int, float), 1),
    "boolean": (bool, True),
    "array": (list, []),
    "object": (dict, {}),
}
"""What values of a JSON type are in Python, and one of them."""


class NoExampleError(Exception):
    """No value that fits a matcher could be found."""


@dataclass(frozen=True)
class Heard:
    """A call that was made with its result; `position` is that of the expected call that it is, or is needed for."""

    position: int
    call: ToolCall
    result: ToolResult
    is_needed: bool = False


@dataclass
class Oracle:
    """A right run as a script; `added` are calls that rules need, `failed` expected calls that fail, by position.

    `heard` holds what each result said, for the calls made, in order, `words` what rules ask the agent to say.
    """

    script: ScriptedRun = ()
    added: list[str] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    heard: list[Heard] = field(default_factory=list)


def result_of(name: str) -> str:
    """Name the result of a tool as a place where values come from."""
    return f"the result of {name}"


def opening(scenario: Scenario) -> list[Step]:
    """Give the user's lines, each heard by the agent; the goal where there are none."""
    view: View = user_view(scenario, (), begun=0, tools=Toolset())
    said = (line.text for line in scenario.says if line.decision is None)
    lines = tuple(filter(str.strip, said)) or (view.goal.strip() or NOTHING_SAID,)
    steps: list[Step] = []
    for line in lines:
        steps.append(Step(party="user", part="line", text=line))
        steps.append(Step(party="assistant", part="filler", text=HEARD))
    return steps


def wish_for(step: Step, script: ScriptedRun, scenario: Scenario) -> list[Step]:
    """Give the user's own request for a call, where it is a later line than that for the last call agreed to before.

    A right run has heard all lines before its first call. A user says this one after the earlier call.
    """
    said = [(line.text, line.act) for line in scenario.says]
    locale = scenario.language or "en"

    def line_of(call: ToolCall) -> int:
        values = [value for _, value in scalars(call.arguments)]
        stated = (next((at for at, (text, _) in enumerate(said) if states(one, text, locale)), 0) for one in values)
        return max(stated, default=0)

    asked = {one.position: line_of(one.call) for one in script if one.part == "call" and one.call is not None}
    before = script[: script.index(step)]
    agreed = [one.position for one in before if one.part == "consent" and one.position != step.position]
    at = asked.get(step.position, 0)
    if not agreed or at <= asked.get(agreed[-1], at) or said[at][1] != "request":
        return []
    return [Step(party="user", part="line", text=said[at][0], session=step.session)]


class Writer:
    """Writes the oracle's script while making its calls on `tools`, a world of its own."""

    def __init__(self, scenario: Scenario, rules: Rules, toolset: Toolset, resolve: Resolver | None = None) -> None:
        self._scenario = scenario
        self._rules = rules
        self._toolset = toolset
        self._resolve = resolve
        self._known: Known = of_user(scenario)
        self._succeeded: set[str] = set()
        self._oracle = Oracle()

    async def write(self, tools: ToolBox, columns: Columns, *, can_fail: bool) -> Oracle:
        """Give the right run; raise `NoExampleError` where an expected call holds a matcher that nothing known fits.

        `can_fail` False says that calls never fail here, so that the first likely call that a rule needs is taken.
        """
        self._tools, self._columns, self._can_fail = tools, columns, can_fail
        steps: list[Step] = []
        for number in range(1, max(len(self._scenario.sessions), 1) + 1):
            later = self._scenario.later(number)
            tools.turn_clock(later)
            made = await self._session(number)
            steps += [step.model_copy(update={"session": number, "later": later}) for step in made]
        words = self._rules.words([step.call for step in steps if step.call is not None])
        self._oracle.words = tuple(dict.fromkeys([*words, *self._values()]))
        admitted = [FAILED] if any(one.shows and not one.calls for one in self._scenario.faults) else []
        told = [*self._scenario.communicate_info, *self._oracle.words, *admitted, DONE]
        text = ";\n".join(told)  # numbers side by side read as one
        steps.append(Step(party="assistant", part="told", text=text, session=number, later=later))
        self._oracle.script = numbered(_without_idle_text(steps))
        return self._oracle

    async def _session(self, number: int) -> list[Step]:
        """Give what is said and done in a session; the expected calls of the whole scenario belong to the last one."""
        scenario, is_last = self._scenario, number >= len(self._scenario.sessions)
        steps = [*opening(scenario.session(number)), *(self._approvals() if is_last else ())]
        for position, want in enumerate(scenario.expected_calls):
            if not (want.session == number or (is_last and want.session is None)):
                continue
            call = self._concrete(want)
            needed = await self._needed(call, position)
            steps += [Step(party="assistant", part="needed", call=one, position=position) for one in needed]
            steps += self._steps(call, position)
            result = await self._tools.call(call)
            if result.failed and self._can_fail and (guessed := self._unsaid(want)):
                raise NoExampleError(f"{want.name}: no value for {' and '.join(guessed)} is known that it takes")
            if result.failed:
                self._oracle.failed[position] = printable(shorten(result.content.removeprefix("Error: "), 300))
            else:
                self._hear(Heard(position, call, result))
        return steps

    def _approvals(self) -> Iterator[Step]:
        """Ask for each expected approval that is about no expected call."""
        for want in self._scenario.asks:
            if not any(call.name == want.name for call in self._scenario.expected_calls):
                arguments = {name: self._example(name, value) for name, value in want.arguments.items()}
                yield from _asked(ToolCall(name=want.name, arguments=arguments))

    def _steps(self, call: ToolCall, position: int) -> Iterator[Step]:
        """Give a call with what is said about it: by the agent, with the yes that it needs, or by the user."""
        if call.requestor == "user":
            text = f"Please do this yourself: {in_words(call)}."
            yield Step(party="assistant", part="filler", text=text, position=position)
            yield Step(party="user", part="call", call=call, position=position)
            yield Step(party="user", part="filler", text="I have done that.", position=position)
            return
        if any(want.name == call.name for want in self._scenario.asks):
            yield from _asked(call, position)
        elif self._rules.must_confirm(call):
            text = f"I would now make this change: {in_words(call, self._terms(call))}. Shall I proceed, yes or no?"
            yield Step(party="assistant", part="question", text=text, position=position)
            about = tuple(value for _, value in scalars(call.arguments))
            yield Step(party="user", part="consent", text="Yes, please do.", position=position, about=about)
        yield Step(party="assistant", part="call", call=call, position=position)

    def _terms(self, call: ToolCall) -> list[JsonValue]:
        """Give what the user must hear beside the arguments: values of the last call that a rule says they stand in."""
        found: list[JsonValue] = []
        for around, term in self._rules.terms(call):
            heard = next((one for one in reversed(self._oracle.heard) if self._rules.is_about(around, one.call)), None)
            found += _led_to(term, heard) if heard is not None else []
        return found

    def _values(self) -> Iterator[str]:
        """Give what rules say that the agent must tell of its calls and of their results."""
        for heard in self._oracle.heard:
            for reference in self._rules.told(heard.call):
                yield from (str(value) for _, value in scalars(_led_to(reference, heard)))

    async def _needed(self, call: ToolCall, position: int) -> list[ToolCall]:
        """Make, for each rule that asks for an earlier call which was not made, the first likely one that succeeds."""
        made: list[ToolCall] = []
        for names in self._rules.before(call) if call.requestor == "assistant" else ():
            if self._succeeded.isdisjoint(names) and (found := await self._first_that_works(names, call)) is not None:
                made.append(found[0])
                self._hear(Heard(position, *found, is_needed=True))
        self._oracle.added += [call_text(one.name, one.arguments) for one in made]
        return made

    async def _first_that_works(self, names: tuple[str, ...], call: ToolCall) -> tuple[ToolCall, ToolResult] | None:
        near = [call.arguments, *(want.arguments for want in self._scenario.expected_calls)]
        specs = [spec for name in names if (spec := self._toolset.get(name)) is not None and spec.kind != "write"]
        for spec in specs:
            for likely in likely_calls(spec, near, self._known, self._columns, never=self._scenario.never):
                result = await self._tools.call(likely)
                if not result.failed or not self._can_fail:
                    return likely, result
        return None

    def _hear(self, heard: Heard) -> None:
        self._oracle.heard.append(heard)
        self._known.add(result_of(heard.call.name), heard.result.content, heard.call.name)
        if heard.call.requestor == "assistant":
            self._succeeded.add(heard.call.name)

    def _concrete(self, want: ExpectedCall) -> ToolCall:
        stated = {name: self._example(name, value) for name, value in want.arguments.items()}
        guessed = {name: self._likely(name, schema) for name, schema in self._unsaid(want).items()}
        return ToolCall(name=want.name, arguments={**stated, **guessed}, requestor=want.requestor)

    def _unsaid(self, want: ExpectedCall) -> dict[str, dict[str, JsonValue]]:
        """Give the arguments that an expected call leaves open though the tool needs them, with their schemas."""
        spec = self._toolset.get(want.name, want.requestor)
        if spec is None or self._scenario.states_whole_calls:
            return {}
        schemas, required = spec.parameters.get("properties", {}), spec.parameters.get("required", ())
        return {name: schemas.get(name, {}) for name in required if name not in want.arguments}

    def _likely(self, name: str, schema: dict[str, JsonValue]) -> JsonValue:
        """Give a value for an argument that the scenario leaves open: a known one of its type if there is one."""
        is_type, plain = _TYPES.get(str(schema.get("type")), (object, "text"))
        known = (*schema.get("enum", ()), *self._columns.of(name), *self._known.under(name))
        fitting = (one for one in known if isinstance(one, is_type) and isinstance(one, bool) is (is_type is bool))
        return next(fitting, plain)

    def _example(self, name: str, value: JsonValue) -> JsonValue:
        """Give a value that fits what holds matchers; anything else stays what it is."""
        if not holds_matcher(value):
            return value
        if isinstance(value, list):
            return [self._example(name, item) for item in value]
        if not is_matcher(value):
            return {key: self._example(str(key), item) for key, item in value.items()}
        if "$approx" in value:
            return value["$approx"]
        if "$subset" in value:
            return self._example(name, value["$subset"])
        tried = (
            *self._columns.of(name),
            *self._known.under(name),
            *(item for _, _, item in self._known.values),
            *(word for _, text in self._known.raw for word in text.split()),
            *("", "text", 1, True),
        )
        for candidate in tried:
            if matches(value, candidate, self._resolve):
                return candidate
        raise NoExampleError(f"no value that fits {value!r} (argument {name!r}) is known")


def _asked(call: ToolCall, position: int | None = None) -> Iterator[Step]:
    """Ask the user to approve a call, and let it."""
    request = ApprovalRequest(tool=call.name, arguments=call.arguments)
    yield Step(party="assistant", part="question", text=request.asked, position=position, approvals=(request,))
    about = values_of(call.arguments)
    yield Step(party="user", part="consent", text="Yes, please do.", position=position, about=about)


def _without_idle_text(steps: list[Step]) -> list[Step]:
    """Leave out words without content of the agent where it goes on talking or calling right after."""
    parties = [*(step.party for step in steps[1:]), None]
    idle = [step.part == "filler" and step.position is None and step.party == "assistant" for step in steps]
    return [step for step, is_idle, after in zip(steps, idle, parties, strict=True)
            if not (is_idle and after == "assistant")]  # fmt: skip


def _led_to(reference: Mapping[str, Any], heard: Heard) -> list[JsonValue]:
    """Give the value that a reference leads to in a call, none where there is nothing."""
    with suppress(NotThereError):
        return [led_to(reference, heard.call.arguments, partial(decoded, heard.result.content))]
    return []


def in_words(call: ToolCall, terms: Sequence[JsonValue] = ()) -> str:
    """Say a call with every value that it is about, and further terms of it, so that a yes is to this call."""
    said = ", ".join(str(value) for _, value in scalars([call.arguments, *terms]))
    return f"{call.name.replace('_', ' ')} ({call.name}), {said}" if said else f"{call.name}"
