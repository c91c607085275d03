"""Scenarios as files write them: our own form, and what we add to a task of τ²-bench."""

from types import NoneType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from pytest_agentbench.core.acts import ACTS
from pytest_agentbench.core.file_models import (
    Choice,
    Count,
    Filled,
    Free,
    Holds,
    Named,
    Number,
    OneOf,
    Positive,
    Says,
    Text,
    Written,
    form_misfits,
)
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.scenario import ScenarioKeys
from pytest_agentbench.core.tool import Requestor
from pytest_agentbench.core.wording import misfit, several

_Tool = Annotated[str, Field(min_length=1), Says("the name of a tool")]
_Agent = Annotated[str, Field(min_length=1), Says("the name of an agent")]
_Maker = Annotated[_Agent, Says("the agent, of several, that makes the call")]
_Arguments = Annotated[dict[str, Any], Holds("a mapping of argument names to values")]
_Texts = Annotated[tuple[Text, ...], Holds("a list of texts")]

ShortCall = Annotated[dict[str, _Arguments | None], Holds("a call: {tool: {argument: value}}", 1, 1)]


class FullCall(Written):
    """A call written in full."""

    expected: ClassVar[str] = "a call written in full: {name: tool, arguments: {…}}"
    instead: ClassVar[dict[str, str]] = {"name": "or write {tool: {argument: value}, by: agent}"}
    nullable: ClassVar[frozenset[str]] = frozenset({"compare_args", "info"})

    name: _Tool
    """The name of the tool."""
    arguments: Annotated[Free, Holds("a mapping of argument names to values or matchers")] = {}
    """Argument names with values or matchers."""
    requestor: Annotated[Requestor, Choice("who makes the call")] = "assistant"
    """Who makes the call."""
    compare_args: Annotated[_Texts, Holds("a list of argument names, or nothing for all that are given")] | None = None
    """The arguments to compare; without it, all that are given."""
    info: Annotated[Text, Says("text or nothing")] | None = None
    """A note for people."""
    action_id: Text = ""
    """A name for this call."""
    by: _Maker | None = None
    """The agent, of several, that makes the call."""


_BY = "a call of one agent: {tool: {argument: value}, by: agent}"


def _call_by(value: dict[str, Any]) -> dict[str, Any]:
    """Check a call that names its agent; a key like `by` is a mistyped one."""
    key = "by" if "by" in value else next(one for one in value if suggestion(one, ["by"]))
    if key != "by":
        raise misfit(f"unknown key {key!r}, expected {_BY}", suggestion(key, ["by"]), at=(key,), at_key=True)
    ((tool, arguments),) = ((name, one) for name, one in value.items() if name != "by")
    told = [*form_misfits(value["by"], _Maker, ("by",)), *form_misfits(arguments, _Arguments | None, (tool,))]
    if told:
        raise several(told)
    return value


_CallBy = Annotated[
    dict[str, Any],
    AfterValidator(_call_by),
    WithJsonSchema(
        {
            "type": "object",
            "minProperties": 2,
            "maxProperties": 2,
            "properties": {"by": {"type": "string", "minLength": 1}},
            "required": ["by"],
            "additionalProperties": {"type": ["object", "null"]},
            "description": _BY,
        }
    ),
]


class HandoffEnds(Written):
    """The agents between which a conversation is handed over."""

    expected: ClassVar[str] = "{from: agent, to: agent}"

    source: _Agent | None = Field(default=None, alias="from")
    """The agent that hands over."""
    to: _Agent | None = None
    """The agent that takes over."""


class Handoff(Written):
    """A handoff from one agent to another."""

    expected: ClassVar[str] = "a handoff: {handoff: agent}"

    handoff: Annotated[Text | HandoffEnds | None, OneOf("the agent that it goes to, or {from: agent, to: agent}")]
    """The agent that it goes to, or both ends; nothing for any."""


AboutCall = Annotated[_Tool | ShortCall, OneOf("the name of a tool, or {tool: {argument: value}}")]


class Approval(Written):
    """An approval that the agent asks for."""

    expected: ClassVar[str] = (
        "an approval that the agent asks for: {approval: tool}, or {approval: {tool: {argument: value}}}"
    )

    approval: AboutCall
    """The call that waits for a yes."""


def _call(value: dict[str, Any]) -> int:
    """Tell the form of a call: 1 short, 2 with its agent, 3 in full."""
    if isinstance(value.get("name"), str):
        return 3
    (body, *more) = value.values() or (0,)
    if not more and (body is None or isinstance(body, dict)):
        return 1
    if len(value) == 2 and any(key == "by" or suggestion(key, ["by"]) for key in value):
        return 2
    return 3 if FullCall.resembles(value) else 1


_NAMED = {"handoff": (4, "a handoff"), "approval": (5, "an approval")}


def _call_alone(value: dict[str, Any]) -> int | PydanticCustomError:
    """Tell the form of a call where nothing but calls may stand."""
    if len(value) == 1 and (named := next(iter(value))) in _NAMED:
        hint = f"a tool of this name is written in full: {{name: {named}, arguments: {{…}}}}"
        what = f"{_NAMED[named][1]} belongs under expect or never of a scenario; this is a list of calls"
        return misfit(what, hint, at=(named,), at_key=True)
    return _call(value)


def _step(value: dict[str, Any]) -> int:
    """Tell the form of a call, a handoff or an approval."""
    if len(value) == 1 and (named := next(iter(value))) in _NAMED:
        return _NAMED[named][0]
    form = _call(value)
    is_call = form != 1 or (len(value) == 1 and isinstance(next(iter(value.values())), dict | NoneType))
    mistyped = () if is_call else ((4, Handoff), (5, Approval))
    return next((at for at, model in mistyped if model.resembles(value)), form)


_CALL = "a call: {tool: {argument: value}}, {name: tool, arguments: {…}} or the name of a tool"
Call = Annotated[_Tool | ShortCall | _CallBy | FullCall, OneOf(_CALL, _call_alone)]
Calls = Annotated[tuple[Call, ...], Holds("a list of calls")]
Step = Annotated[
    _Tool | ShortCall | _CallBy | FullCall | Handoff | Approval,
    OneOf(
        "a call, {tool: {argument: value}} or the name of a tool; a handoff, {handoff: agent}; or an approval, "
        "{approval: tool}",
        _step,
    ),
]
Steps = Annotated[tuple[Step, ...], Holds("a list of calls, handoffs and approvals")]

_Words = Annotated[Text, Says("what the user says, in words")]


class LabelledLine(Written):
    """A line of the scripted user under what it means."""

    expected: ClassVar[str] = "a line with what it means, such as {confirm: 'Do that', about: W1}"
    instead: ClassVar[dict[str, str]] = {"": "; ".join(f"{act}: {meaning}" for act, meaning in ACTS.items())}

    request: _Words | None = None
    """The user asks for something to be done."""
    inform: _Words | None = None
    """The user gives facts."""
    confirm: _Words | None = None
    """The user agrees."""
    condition: _Words | None = None
    """The user agrees if something holds."""
    decline: _Words | None = None
    """The user says no."""
    withdraw: _Words | None = None
    """The user takes back a request or a yes."""
    ask: _Words | None = None
    """The user wants to know something."""
    close: _Words | None = None
    """The user says goodbye."""
    other: _Words | None = None
    """Anything else."""
    about: (
        Annotated[Text | Number | bool | list[Any], OneOf("the value, or a list of the values, that the line concerns")]
        | None
    ) = None
    """The value, or a list of the values, that the line concerns."""


class DecisionLine(Written):
    """A line of the scripted user that answers an approval."""

    expected: ClassVar[str] = (
        "an answer to an approval, such as {approve: {refund: {amount: 12.5}}} or {reject: refund, say: 'Too dear'}"
    )

    approve: AboutCall | None = None
    """The call is made."""
    reject: AboutCall | None = None
    """The call is not made."""
    edit: Annotated[ShortCall, Holds("{tool: {argument: new value}}", 1, 1)] | None = None
    """The call is made with other arguments."""
    respond: AboutCall | None = None
    """Words stand in place of the call."""
    say: Annotated[Text, Says("what the user says with it, in words")] | None = None
    """What the user says with it."""


WrittenLine = Annotated[
    Text | LabelledLine | DecisionLine,
    OneOf(
        "a line: text, text under what it means, such as {confirm: 'Do that'}, or an answer to an approval, such as "
        "{approve: refund}"
    ),
]


class ReplyForm(Written):
    """What one reply of the agent is like; all that is given holds of the same reply."""

    expected: ClassVar[str] = (
        "{contains: …}, {matches: …}, {json: …} or {max_words: …}, with turn: last, any or a number"
    )

    contains: Annotated[str, Field(min_length=1), Says("a text that the reply contains")] | None = None
    """A text that the reply contains."""
    matches: Annotated[str, Field(min_length=1), Says("a regular expression that fits in the reply")] | None = None
    """A regular expression that fits in the reply."""
    form: Annotated[Text | dict[str, Any], OneOf("a JSON Schema, or the file that holds it")] | None = Field(
        default=None, alias="json"
    )
    """A JSON Schema that the reply fits, or the file that holds it."""
    max_words: Annotated[Count, Says("a whole number, 0 or more: the words of the reply")] | None = None
    """The most words of the reply."""
    turn: Annotated[
        Annotated[Literal["last", "any"], Choice()] | Positive,
        OneOf("last, any, or a whole number from 1: the agent's turn"),
    ] = "last"
    """Which reply: the last one, any one, or that of the agent's n-th turn."""


_Says = Annotated[tuple[WrittenLine, ...], Holds("a list of what the scripted user says, in order")]


class SessionForm(Written):
    """One of several sessions of a scenario, a conversation of its own."""

    expected: ClassVar[str] = "a session: {says: […], expect: […], after: 1d}"

    says: _Says = ()
    """What the scripted user says, in order."""
    goal: Annotated[Text, Says("what the user wants in this session, in words")] = ""
    """What the user wants in this session, in words."""
    expect: Annotated[Calls, Holds("a list of the calls of a right run that this session asks for")] | None = None
    """The calls of a right run that this session asks for."""
    after: Annotated[
        str,
        Field(pattern=r"^[0-9]{1,6}(d|h|min|w)\Z"),
        Says("the time since the session before, such as 1d, 2h or 30min"),
    ] = ""
    """The time since the session before, such as `1d`, `2h` or `30min`."""


class Conversed(ScenarioKeys):
    """What both forms of a scenario write as calls and lines."""

    says: _Says = ()
    """The user's lines: text, or text under what it means, `{confirm: "Do that", about: W1}`."""
    sessions: Annotated[
        tuple[SessionForm, ...],
        Holds("a list of two or more sessions of one user in one world, each a conversation of its own", 2),
    ] = ()
    """In place of `says`: conversations of one user in one world, `[{says: […], expect: […]}, {says: […], after:
    1d}]`."""
    never: Annotated[
        Steps,
        Holds("a list of what is forbidden: tools, {tool: {argument: value}}, {handoff: agent} or {approval: tool}"),
    ] = ()
    """What is forbidden: `refund`, `{refund: {method: cash}}`, `{handoff: legal}`, `{approval: refund}`."""
    replies: Annotated[tuple[ReplyForm, ...], Holds("a list of what replies of the agent are like")] = ()
    """What replies of the agent are like: `[{contains: W1}, {max_words: 120}]`."""
    expect_any: Annotated[
        tuple[Calls, ...],
        Holds("a list of other ways, each a list of calls, that are as right as expect", 1),
    ] = ()
    """Several right ways, a list of calls each, of which the run must fit one: `[[{book: {by: train}}], [{book:
    {by: bus}}]]`."""
    title: Annotated[str, Field(min_length=1), Says("a title for people")] = ""
    """A title for people."""


_Date = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}\Z"), Says("a date such as 2026-11-24")]
_By = Annotated[Filled, Says("who decided, a name")]


class AcceptedForm(Written):
    """Who accepted a scenario, when, and what it was then."""

    expected: ClassVar[str] = "{by: name, on: date, hash: …}"

    by: _By
    """Who decided."""
    on: _Date
    """When."""
    hash: Annotated[
        str,
        Field(pattern=r"^[0-9a-f]{16}\Z"),
        Says("the 16 hex digits that `agentbench review` writes, in quotes"),
    ]
    """The hash of the scenario as it was accepted."""


class Accepted(Written):
    """A scenario that a reviewer accepted."""

    expected: ClassVar[str] = "{accepted: {by: name, on: date, hash: …}}, which `agentbench review` writes"

    accepted: AcceptedForm
    """Who accepted it, when, and what it was then."""


class RejectedForm(Written):
    """Who rejected a scenario, when and why."""

    expected: ClassVar[str] = "{by: name, on: date, reason: words}"

    by: _By
    """Who decided."""
    on: _Date
    """When."""
    reason: Annotated[str, Field(min_length=1), Says("why, in words")]
    """Why."""


class Rejected(Written):
    """A scenario that a reviewer rejected."""

    expected: ClassVar[str] = "{rejected: {by: name, on: date, reason: words}}"

    rejected: RejectedForm
    """Who rejected it, when and why."""


ReviewForm = Annotated[
    Annotated[Literal["pending"], Choice("pending")] | Accepted | Rejected,
    OneOf("pending, {accepted: {by, on, hash}} or {rejected: {by, on, reason}}"),
]
"""`review` of a scenario."""

_Mapping = Annotated[dict[str, Any], Holds("a mapping or nothing")]


class ScenarioForm(Conversed):
    """A scenario."""

    expected: ClassVar[str] = "a scenario: {id: …, says: […], expect: […]}"
    first: ClassVar[tuple[str, ...]] = (
        *("id", "title", "says", "sessions", "language", "knows", "unknown", "goal", "persona", "instructions"),
        *("modifiers", "expect", "expect_any", "approvals", "communicate", "output", "replies", "never", "match"),
        *("policies", "rubric", "checks", "faults", "state", "context", "limits", "complexity", "tags", "quarantine"),
        *("skip", "xfail", "provenance", "review"),
    )
    nullable: ClassVar[frozenset[str]] = frozenset(
        {"description", "user_scenario", "ticket", "initial_state", "evaluation_criteria"}
    )

    id: Annotated[Named, Says("the name of the scenario, unique in the suite")]
    """The name of the scenario, unique in the suite."""
    knows: (
        Annotated[
            dict[str, Any] | Text,
            OneOf(
                "what the user gives when asked: a mapping of names to values, or to {value: …, also: [other names]}; "
                "or text"
            ),
        ]
        | None
    ) = None
    """What the user gives when asked: `{email: ada@example.com}`, `{order_id: {value: W1, also: [receipt]}}`, or
    text."""
    unknown: Annotated[Text | _Texts, OneOf("what the user does not know: text or a list of texts")] | None = None
    """What the user does not know: a list, or text."""
    persona: Annotated[Text, Says("who the user is, in words")] | None = None
    """Who the user is."""
    goal: Annotated[Text, Says("what the user wants, in words")] | None = None
    """What the user wants; without `says`, its one line."""
    instructions: Annotated[Text, Says("how the user behaves, in words")] | None = None
    """How the user behaves."""
    expect: Annotated[Steps, Holds("a list of the calls, handoffs and approvals of a right run")] | None = None
    """The calls, handoffs and approvals of a right run; `[]` means none, no key means that nothing is expected or
    forbidden."""
    communicate: Annotated[_Texts, Holds("a list of what the agent must tell the user")] | None = None
    """What the agent must tell the user, each text in one message; numbers to 999 may be words, dates any spelling."""
    state: Annotated[Free, Holds("a mapping merged into the suite's state before the run")] | None = None
    """Data that is added to the suite's state."""
    description: Annotated[Text | dict[str, Any], OneOf("τ²: what the task is about")] | None = None
    """τ²: what the task is about."""
    user_scenario: Annotated[_Mapping, Holds("τ²: who the user is and what it wants, a mapping")] | None = None
    """τ²: who the user is and what it wants."""
    ticket: Annotated[Text, Says("τ²: the ticket given to an agent without a user")] | None = None
    """τ²: the ticket given to an agent without a user."""
    initial_state: Annotated[_Mapping, Holds("τ²: a mapping with what the environment starts from")] | None = None
    """τ²: what the environment starts from."""
    evaluation_criteria: Annotated[_Mapping, Holds("τ²: a mapping with what a right run does")] | None = None
    """τ²: what a right run does."""
    review: ReviewForm | None = None
    """`pending`, or what `agentbench review` wrote."""


class ExpectedHandoffForm(HandoffEnds):
    """A handoff that is expected, and its place among the actions."""

    expected: ClassVar[str] = "{from: agent, to: agent, place: the number of actions before it}"
    first: ClassVar[tuple[str, ...]] = ("from", "to")

    place: Count = 0
    """The number of actions before it."""


class ExtrasForm(Conversed):
    """What pytest-agentbench adds to a task of τ²-bench, under the key `agentbench`."""

    expected: ClassVar[str] = "the fields that pytest-agentbench adds to a τ² task"
    nullable: ClassVar[frozenset[str]] = frozenset({"instructions", "known_info"})

    knows: Annotated[Free, Holds("a mapping of names to values that the user gives when asked")] = {}
    """Values that the user gives when asked, by name."""
    unknown: Annotated[_Texts, Holds("a list of what the user does not know")] = ()
    """What the user does not know."""
    handoffs: Annotated[tuple[ExpectedHandoffForm, ...], Holds("a list of expected handoffs")] = ()
    """Expected handoffs."""
    expect: Annotated[tuple[Approval, ...], Holds("a list of approvals that a right run asks for")] = ()
    """Approvals that a right run asks for."""
    goal: Annotated[Text, Says("the goal as it was before reason_for_call was filled in for τ²")] | None = None
    """The goal as it was before `reason_for_call` was filled in for τ²."""
    instructions: (
        Annotated[Text, Says("task_instructions as it was before the lines were written into it for τ²")] | None
    ) = None
    """`task_instructions` as it was before the lines were written into it for τ²."""
    known_info: Annotated[Text, Says("known_info as it was before values were added for τ²")] | None = None
    """`known_info` as it was before values were added for τ²."""
    rows: Annotated[Free, Holds("rows of the suite that the task is about, for readers: nothing reads it")] | None = (
        None
    )
    """Rows of the suite that the task is about, for readers: nothing reads it."""


ScenarioFile = Annotated[
    ScenarioForm | Annotated[tuple[ScenarioForm, ...], Holds("a list of scenarios", 1)],
    OneOf("a scenario or a list of scenarios"),
]
"""What a scenario file holds."""
