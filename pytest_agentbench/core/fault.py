"""Faults: what is to go wrong at the boundary between agent and tools, where, and what of it came to pass."""

import re
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, model_serializer

from pytest_agentbench.core.approvals import has_arguments
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.file_models import (
    Becomes,
    Choice,
    Filled,
    Flag,
    Holds,
    Number,
    OneOf,
    Positive,
    Says,
    Written,
)
from pytest_agentbench.core.tool import ToolCall

FaultKind = Literal[
    "timeout", "error", "rate_limit", "empty", "truncated",
    "stale", "wrong_row", "corrupted", "no_op", "duplicate", "latency",
]  # fmt: skip
"""timeout: no answer, as if the caller had given up. error: the tool raises. rate_limit: it refuses for now.
empty: the answer holds nothing. truncated: it breaks off. stale: it is as of the start of the run. wrong_row: it is
about something else. corrupted: one value in it is wrong. no_op: nothing was done, though it says so. duplicate: it was
done twice. latency: it takes longer."""

FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)

SHOWING: frozenset[FaultKind] = frozenset({"timeout", "error", "rate_limit", "empty", "truncated"})
"""Faults that an agent can see in the answer alone; it is judged on what it does about them."""

NONE = "none"
"""Names the absence of a fault on an axis."""

SHORT_FORM = rf"(?P<kind>{'|'.join(FAULT_KINDS)})(@(?P<tool>[^\s#@]+))?(#(?P<calls>every|[1-9]\d*(,[1-9]\d*)*))?"
"""How a fault is written in one word: `timeout@lookup#2`."""


_Position = Annotated[Positive, Says("a whole number, 1 or more")]
_Positions = Annotated[
    tuple[int, ...],
    Becomes(
        Annotated[
            Annotated[Literal["every"], Choice()] | Annotated[tuple[_Position, ...], Holds("a list of positions", 1)],
            OneOf("which of the calls it fits: a list of positions from 1, or every"),
        ],
        lambda calls: () if calls == "every" else calls,
    ),
]


class FaultOptions(Written):
    """What a fault may say beside its kind: which calls it is about, and how it shows."""

    expected: ClassVar[str] = "{tool: …, calls: [2], where: {…}, message: …, seconds: …, done: true}"

    tool: Annotated[str, Field(pattern=r"^[^\s#@]+\Z"), Says("the name of a tool, or * for any")] = "*"
    """The tool that it strikes, or `*`."""
    calls: _Positions = (1,)
    """The positions among the calls it fits, from 1, empty for all."""
    where: Annotated[dict[str, Any], Holds("a mapping of argument values that a call must have")] = {}
    """Argument values that a call must have."""
    message: Annotated[Filled, Says("what the error says")] = ""
    """What the error says."""
    seconds: Annotated[Number, Field(ge=0, le=3600), Says("seconds, from 0 to 3600")] = 1.0
    """How long a latency takes."""
    done: Annotated[Flag, Says("true: it strikes after the effect took place")] = False
    """Whether a timeout or an error strikes after the effect took place."""


class FaultSpec(FaultOptions):
    """One fault: its kind and the options."""

    kind: Annotated[FaultKind, Choice()]

    @classmethod
    def long_form(cls, value: Any) -> Any:
        """Read `timeout@lookup#2` and `{timeout: {…}}`."""
        if isinstance(value, str):
            found = re.fullmatch(SHORT_FORM, value)
            if found is None:
                raise ValueError(f"{value!r} is no fault; write it as kind, kind@tool or kind@tool#2")
            given = {name: text for name, text in found.groupdict().items() if text is not None}
            return {**given, "calls": _positions(given["calls"])} if "calls" in given else given
        if isinstance(value, dict) and len(value) == 1 and "kind" not in value:
            ((kind, options),) = value.items()
            options = dict(options or {})
            if options.get("calls") == "every":
                options["calls"] = ()
            return {"kind": kind, **options}
        return value

    @model_serializer(mode="plain")
    def _short_form(self) -> Any:
        options: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("where", "message", "seconds", "done")
            if getattr(self, name) != type(self).model_fields[name].default
        }
        if not options:
            return self.name
        tool = {} if self.tool == "*" else {"tool": self.tool}
        calls: dict[str, Any] = {} if self.calls == (1,) else {"calls": list(self.calls) or "every"}
        return {self.kind: {**tool, **calls, **options}}

    @property
    def name(self) -> str:
        """The fault in a word: `timeout@lookup`, `error@refund#2`, `rate_limit`, `timeout@refund+done`."""
        tool = "" if self.tool == "*" else f"@{self.tool}"
        return f"{self.kind}{tool}{_calls(self.calls)}{'+done' if self.done else ''}"

    @property
    def shows(self) -> bool:
        """Whether it is of a kind that the agent can see in the answer alone."""
        return self.kind in SHOWING

    def fits(self, call: ToolCall) -> bool:
        """Whether a call is one of those that are counted: of this tool, with these arguments."""
        return self.tool in ("*", call.name) and has_arguments(call.arguments, self.where)


class FaultHit(Model):
    """A fault that came to pass: which, and in which call of the run's tools, counted from 1 in the order begun.

    `nth` is the position among equal calls, from 1. `hidden` says that the tool itself could have answered so.
    """

    fault: FaultSpec
    call: int
    nth: int = 1
    tool: str
    arguments: dict[str, Any] = {}
    hidden: bool = False

    @property
    def shows(self) -> bool:
        """Whether the agent could see it in the answer alone."""
        return self.fault.shows and not self.hidden


def axis_id(faults: tuple[FaultSpec, ...]) -> str:
    """Give the part of a run's id that names its faults, in letters that node ids may hold; no faults are `none`."""
    if not faults:
        return NONE
    return "_and_".join(re.sub(r"[^\w.-]", ".", fault.name, flags=re.ASCII) for fault in faults)


def _positions(text: str) -> tuple[int, ...]:
    return () if text == "every" else tuple(int(part) for part in text.split(","))


def _calls(calls: tuple[int, ...]) -> str:
    if calls == (1,):
        return ""
    return f"#{','.join(map(str, calls))}" if calls else "#every"


_KINDS = ", ".join(FAULT_KINDS)
_PATTERN = "^" + re.sub(r"\?P<\w+>", "", SHORT_FORM) + r"\Z"


class FaultByKind(Written):
    """A fault with options: `{timeout: {tool: …, calls: [2]}}`."""

    expected: ClassVar[str] = f"a fault with options; kinds: {_KINDS}"
    one_key: ClassVar[bool] = True

    timeout: FaultOptions | None = None
    """No answer, as if the caller had given up."""
    error: FaultOptions | None = None
    """The tool raises."""
    rate_limit: FaultOptions | None = None
    """The tool refuses for now."""
    empty: FaultOptions | None = None
    """The answer holds nothing."""
    truncated: FaultOptions | None = None
    """The answer breaks off."""
    stale: FaultOptions | None = None
    """The answer is as of the start of the run."""
    wrong_row: FaultOptions | None = None
    """The answer is about something else."""
    corrupted: FaultOptions | None = None
    """One value in the answer is wrong."""
    no_op: FaultOptions | None = None
    """Nothing was done, though the answer says so."""
    duplicate: FaultOptions | None = None
    """It was done twice."""
    latency: FaultOptions | None = None
    """It takes longer."""


def _spec(written: str | FaultByKind) -> FaultSpec:
    if isinstance(written, str):
        return FaultSpec.model_validate(written)
    (kind,) = written.model_fields_set
    options = getattr(written, kind)
    return FaultSpec.model_validate(
        {"kind": kind} | {name: getattr(options, name) for name in options.model_fields_set}
    )


WrittenFault = Annotated[
    FaultSpec,
    Becomes(
        Annotated[
            Annotated[str, Field(pattern=_PATTERN), Says(f"kind, kind@tool or kind@tool#2; kinds: {_KINDS}")]
            | FaultByKind,
            OneOf(f"a fault such as timeout@lookup, or {{timeout: {{tool: …, calls: [2]}}}}; kinds: {_KINDS}"),
        ],
        _spec,
    ),
]
ScenarioFaults = Annotated[
    tuple[WrittenFault, ...], Holds("a list of faults, all of which strike in each run of the scenario")
]
"""`faults` of a scenario."""


def _struck(entry: Any) -> tuple[FaultSpec, ...]:
    """Give the faults of an entry of an axis."""
    return () if entry == NONE else entry if isinstance(entry, tuple) else (entry,)


_Entry = Annotated[
    tuple[FaultSpec, ...],
    Becomes(
        Annotated[
            Annotated[Literal["none"], Choice()]
            | WrittenFault
            | Annotated[tuple[WrittenFault, ...], Holds("a list of faults that strike together", 1)],
            OneOf(f"{NONE}, a fault such as timeout@lookup, or a list of faults that strike together; kinds: {_KINDS}"),
        ],
        _struck,
    ),
]
FaultAxis = Annotated[
    tuple[_Entry, ...],
    Holds(f"a list of faults; each scenario runs once under each of them ({NONE}: without any)", 1),
]
"""`faults` of a suite: an axis, along which every scenario runs once under each entry."""
