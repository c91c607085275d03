"""Faults: what is to go wrong at the boundary between agent and tools, where, and what of it came to pass."""

import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

from pydantic import model_serializer, model_validator

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.values import same, to_json

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


class FaultSpec(Model):
    """One fault. `tool` is a name or `*`; `calls` are the positions among the calls it fits, from 1, empty for all.

    `where` are argument values that a call must have. `message` is what an error says, `seconds` how long a latency
    takes; `done` tells of a timeout or an error that it strikes after the effect took place.
    """

    kind: FaultKind
    tool: str = "*"
    calls: tuple[int, ...] = (1,)
    where: dict[str, Any] = {}
    message: str = ""
    seconds: float = 1.0
    done: bool = False

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
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
        """Whether the agent can see it in the answer alone."""
        return self.kind in SHOWING

    def fits(self, call: ToolCall) -> bool:
        """Whether a call is one of those that are counted: of this tool, with these arguments."""
        return self.tool in ("*", call.name) and all(
            name in call.arguments and same(to_json(call.arguments[name]), to_json(value))
            for name, value in self.where.items()
        )


class FaultHit(Model):
    """A fault that came to pass: which, and in which call of the run's tools, counted from 1 in the order begun.

    `nth` is the position among equal calls, from 1.
    """

    fault: FaultSpec
    call: int
    nth: int = 1
    tool: str
    arguments: dict[str, Any] = {}


def read_axis(entries: Sequence[Any]) -> tuple[tuple[FaultSpec, ...], ...]:
    """Read the entries of an axis: `none`, a fault, or a list of faults that strike together."""
    return tuple(
        () if entry == NONE else tuple(map(FaultSpec.model_validate, entry if isinstance(entry, list) else [entry]))
        for entry in entries
    )


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
