"""The rule of a policy as files write it.

A rule is a mapping with one operator. `before`, `never`, `confirm_before`, `only_if`, `at_most` and `when … then` say
themselves what they are about; the other operators are requirements, which stand inside them.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from pytest_agentbench.core.file_models import (
    Choice,
    Filled,
    Flag,
    Free,
    Holds,
    Number,
    OneOf,
    Positive,
    Says,
    Text,
    Whole,
    Written,
)
from pytest_agentbench.core.policy import ONE_OPERATOR
from pytest_agentbench.spec.scenario import HandoffEnds

_TOOLS_OR_WORD = "a list of names of tools, at least one, or writes, or any"
_FROM_ONE = "a whole number from 1"
_REFERENCE_OF_CALL = "{$argument: …} or {$result: …} of the call around the rule"

_Tools = Annotated[tuple[Text, ...], Holds("a list of names of tools, at least one", 1)]
_Calls = Annotated[
    Annotated[Literal["writes", "any"], Choice()] | Annotated[_Tools, Holds(_TOOLS_OR_WORD, 1)],
    OneOf(_TOOLS_OR_WORD),
]
_Where = Annotated[Free, Holds("a mapping of arguments to values")]
_Same = Annotated[
    tuple[Text, ...], Holds("a list of arguments that the tools of both calls take, equal in both, at least one", 1)
]
_Heard = Annotated[tuple[Text, ...], Holds("a list of arguments that the user has heard, at least one", 1)]
_Per = Annotated[tuple[Text, ...], Holds("a list of arguments: counted for each value", 1)]
_Times = Annotated[Positive, Says(_FROM_ONE)]
_Failed = Annotated[Flag, Says("true: such a call that failed")]
_AgentOrEnds = Annotated[Text | HandoffEnds | None, OneOf("the agent that it goes to, or {from: agent, to: agent}")]


class _Part(Written):
    """A part of a rule; rules hold rules."""

    built_at_once: ClassVar[bool] = True


class HandoffForm(_Part):
    """The handoffs that a rule is about."""

    expected: ClassVar[str] = "{handoff: agent}"
    first: ClassVar[tuple[str, ...]] = ("handoff",)

    handoff: _AgentOrEnds


class CallsForm(_Part):
    """The calls that a rule is about."""

    expected: ClassVar[str] = "{calls: …, where: {…}}: such a call is forbidden"
    nullable: ClassVar[frozenset[str]] = frozenset({"result"})
    first: ClassVar[tuple[str, ...]] = ("calls", "where", "result")

    calls: _Calls
    where: _Where | None = None
    result: Any = None
    """What such a call gives; of a mapping, at least what is written here."""


class PlainArgumentForm(_Part):
    """An argument of the call, as it is."""

    expected: ClassVar[str] = "{$argument: name}"

    argument: Text = Field(alias="$argument")
    """The name of the argument."""


class PlainResultForm(_Part):
    """A part of what the call gave, as it is."""

    expected: ClassVar[str] = "{$result: name}"

    result: Text = Field(alias="$result")
    """The way to the part; `.` is the whole. Below `then`, of the call of `when`; in the requirements of `only_if`, of
    its own call. `where` and `result` beside `calls` see only the call of a `when` around.
    """


class ReckonedForm(_Part):
    """A value of the call, and what is reckoned with it."""

    nullable: ClassVar[frozenset[str]] = frozenset({"times", "plus"})

    times: Any = None
    """A number to multiply by."""
    plus: Any = None
    """A number to add, or a span by which a date is moved, such as `30d`."""


class ArgumentForm(PlainArgumentForm, ReckonedForm):
    """An argument of the call, and what is reckoned with it."""

    expected: ClassVar[str] = "{$argument: name}: an argument of the call"


class ResultForm(PlainResultForm, ReckonedForm):
    """A part of what the call gave, and what is reckoned with it."""

    expected: ClassVar[str] = "{$result: name}: what the call gave"


class PatternForm(_Part):
    """A regular expression that fits in a text."""

    expected: ClassVar[str] = "{pattern: …}"

    pattern: Annotated[Text, Says("a regular expression")]


class TodayForm(_Part):
    """A day, counted from the suite's now."""

    expected: ClassVar[str] = "{$today: 30d}: a day counted from the suite's now"

    today: Text = Field(alias="$today")
    """The span from today."""


class NowForm(_Part):
    """A time, counted from the suite's now."""

    expected: ClassVar[str] = "{$now: 1h}: a time counted from the suite's now"

    now: Text = Field(alias="$now")
    """The span from now."""


_Words = Filled | Number | PatternForm | ArgumentForm | ResultForm | TodayForm | NowForm
_Anything = Annotated[tuple["Spoken", ...], Holds("a list of texts, any of them", 1)]
Spoken = TypeAliasType(
    "Spoken",
    Annotated[_Words | _Anything, OneOf("a text, {pattern: …}, {$argument: …}, {$result: …} or a list of these")],
)
"""What somebody says: a text, a pattern, a value of the call, or any of several."""


class LaterWordsForm(_Part):
    """What the agent says in one of its next messages."""

    expected: ClassVar[str] = "{text: …, within: 1}: in one of the agent's next messages"

    text: Spoken
    """What the agent says."""
    within: _Times | None = None
    """The number of the agent's next messages."""


class BeforeForm(CallsForm):
    """Calls that need an earlier call or handoff."""

    expected: ClassVar[str] = (
        "{calls: …, first: […]}: such a call needs an earlier successful call, or handoff, of `first`"
    )

    needed: Annotated[
        tuple[Annotated[Text | HandoffForm, OneOf("the name of a tool, or {handoff: agent}")], ...],
        Holds("a list of names of tools and of handoffs, {handoff: agent}, at least one", 1),
    ] = Field(alias="first")
    same: _Same | None = None


class OnlyForm(CallsForm):
    """The only calls that are allowed."""

    expected: ClassVar[str] = "{calls: […]}: every call is one of these"

    calls: _Tools  # a list alone: `writes` and `any` would allow everything


_Stated = Annotated[
    Annotated[Filled, Says("the name of an argument")] | ArgumentForm | ResultForm,
    OneOf(f"the name of an argument, or {_REFERENCE_OF_CALL}"),
]


class ConfirmForm(CallsForm):
    """Calls that need the user's yes."""

    expected: ClassVar[str] = "{calls: …}: such a call needs the user's yes"

    stating: (
        Annotated[
            tuple[_Stated, ...],
            Holds("a list of what the agent states before the yes: arguments, or {$result: …} of the call around", 1),
        ]
        | None
    ) = None


class CountForm(CallsForm):
    """Calls that are counted."""

    expected: ClassVar[str] = "{calls: …, times: n}: such calls are made n times in all"

    times: Annotated[Positive, Says(f"{_FROM_ONE}; write never to forbid such calls")]
    """How many such calls there may be."""
    per: _Per | None = None


class SumForm(CallsForm):
    """Calls whose amounts are added up."""

    expected: ClassVar[str] = "{calls: …, sum: amount, lte: n}: such calls come to n in all"

    sum: Annotated[
        Annotated[str, Field(pattern=r"^[^\s.]+(\.[^\s.]+)*\Z"), Says("the name of an argument")] | PlainResultForm,
        OneOf("the name of an argument, or {$result: name}: what each call gave"),
    ]
    lte: Annotated[Number | ArgumentForm | ResultForm, OneOf(f"a number, or {_REFERENCE_OF_CALL}")]
    per: _Per | None = None


class EarlierCallForm(CallsForm):
    """Another call, made earlier."""

    expected: ClassVar[str] = "{calls: …, where: {…}, result: …, same: […]}: another call"

    same: _Same | None = None
    failed: _Failed | None = None
    times: _Times | None = None
    """How many such calls."""


class LaterCallForm(EarlierCallForm):
    """Another call, made later."""

    expected: ClassVar[str] = "{calls: …, within: 1}: another call, in one of the agent's next turns"

    within: _Times | None = None
    """The number of the agent's next turns."""


class LaterHandoffForm(HandoffForm):
    """A handoff that comes later."""

    expected: ClassVar[str] = "{handoff: agent, within: 1}: a handoff"

    within: _Times | None = None
    """The number of the agent's next turns."""


class StateForm(_Part):
    """What the state holds in one place."""

    expected: ClassVar[str] = "{at: [table, {$argument: id}], value: {…}}: what the state holds there, just before"

    at: Annotated[
        tuple[
            Annotated[
                Annotated[Filled, Says("a key")] | Whole | PlainArgumentForm | PlainResultForm,
                OneOf("a key, {$argument: …} or {$result: …}"),
            ],
            ...,
        ],
        Holds("a list of keys, the way into the state", 1),
    ]
    value: Any


class HeardForm(_Part):
    """What the user had heard when it agreed."""

    expected: ClassVar[str] = "{stating: […]}: having heard these arguments"

    stating: _Heard


_Rules = Annotated[tuple["RuleForm", ...], Holds("a list of rules", 1)]


class RequirementsForm(_Part):
    """What a call or an occasion may require."""

    earlier: (
        Annotated[
            EarlierCallForm | HandoffForm,
            OneOf("{calls: …}: such a call was made earlier and did not fail; or {handoff: agent}"),
        ]
        | None
    ) = None
    later: (
        Annotated[
            LaterCallForm | LaterHandoffForm,
            OneOf("{calls: …}: such a call is made later and does not fail; or {handoff: agent}"),
        ]
        | None
    ) = None
    arguments: Annotated[Free, Holds("a mapping: the call has these arguments")] | None = None
    state: StateForm | None = None
    user_said: Spoken | None = None
    """The user said this before."""
    agent_said: Spoken | None = None
    """The agent said this before."""
    confirmed: (
        Annotated[
            Annotated[Literal[True], Choice("true: the user confirmed it")] | HeardForm,
            OneOf("true: the user confirmed it; or {stating: […]}: having heard these arguments"),
        ]
        | None
    ) = None
    every: _Rules | None = Field(default=None, alias="all")
    any: _Rules | None = None
    negated: "RuleForm | None" = Field(default=None, alias="not")
    """This rule does not hold."""


class CallNeedsForm(CallsForm, RequirementsForm):
    """Calls, and all that they require."""

    expected: ClassVar[str] = "{calls: …, earlier: {…}}: such a call needs all this"


class HandoffNeedsForm(HandoffForm, RequirementsForm):
    """Handoffs, and all that they require."""

    expected: ClassVar[str] = "{handoff: agent, …}: such a handoff needs all this"


class SpeechForm(_Part):
    """What the agent has to say afterwards, or must not."""

    must_say: (
        Annotated[
            _Words | _Anything | LaterWordsForm,
            OneOf("a text, {pattern: …}, a list of these, or {text: …, within: 1}"),
        ]
        | None
    ) = None
    must_not_say: Spoken | None = None
    """The agent never says this afterwards."""


class OperatorForm(RequirementsForm, SpeechForm):
    """A rule of one operator."""

    expected: ClassVar[str] = ONE_OPERATOR
    one_key: ClassVar[bool] = True

    before: BeforeForm | None = None
    """Such a call needs an earlier one, or a handoff."""
    never: (
        Annotated[
            CallsForm | HandoffForm,
            OneOf("{calls: …, where: {…}}: such a call is forbidden; or {handoff: agent}"),
        ]
        | None
    ) = None
    only: OnlyForm | None = None
    """Every call is one of these."""
    confirm_before: ConfirmForm | None = None
    """Such a call needs the user's yes."""
    only_if: (
        Annotated[
            CallNeedsForm | HandoffNeedsForm,
            OneOf("{calls: …, earlier: {…}}: such a call needs all this; or {handoff: agent, …}"),
        ]
        | None
    ) = None
    at_most: (
        Annotated[
            CountForm | SumForm,
            OneOf(
                "{calls: …, times: n}: such calls are made n times in all; "
                "or {calls: …, sum: amount, lte: n}: they come to n in all"
            ),
        ]
        | None
    ) = None


class CallTriggerForm(CallsForm):
    """A call that sets off a rule."""

    expected: ClassVar[str] = "{calls: …}: such a call was made and did not fail"

    failed: _Failed | None = None
    times: _Times | None = None
    """Which such call."""
    per: _Per | None = None


class UserTriggerForm(_Part):
    """Words of the user that set off a rule."""

    expected: ClassVar[str] = "{user_says: …}"

    user_says: Spoken
    """What the user says."""
    times: _Times | None = None
    """The number of the time."""


class AgentTriggerForm(_Part):
    """Words of the agent that set off a rule."""

    expected: ClassVar[str] = "{agent_says: …}"

    agent_says: Spoken
    """What the agent says."""
    times: _Times | None = None
    """The number of the time."""


class WhenForm(_Part):
    """A rule that is judged from each occasion on."""

    expected: ClassVar[str] = "{when: …, then: …}"

    when: Annotated[
        Annotated[Literal["always"], Choice("always")]
        | CallTriggerForm
        | UserTriggerForm
        | AgentTriggerForm
        | HandoffForm,
        OneOf("{calls: …}, {user_says: …}, {agent_says: …}, {handoff: …} or always"),
    ]
    then: "RuleForm"
    """The rule that is judged from there on."""


RuleForm = TypeAliasType("RuleForm", Annotated[OperatorForm | WhenForm, OneOf(ONE_OPERATOR)])
"""A rule: one operator, or `when` with `then`."""
