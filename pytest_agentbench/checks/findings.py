"""Findings, and how calls and values are worded in them."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.core.verdict import CallExplanation, Finding, FindingKind

WIDTH = 80
"""Characters of one value shown in a message."""

NOT_SEEN = "the agent's tool calls cannot be seen"
"""Why a check that needs calls measured nothing."""

SHOW_CALLS = (
    "let its factory take `tools`, have it return its messages with their calls, or score recorded conversations"
)
"""How calls come to be seen."""


def value_text(value: JsonValue) -> str:
    """Show a value as Python would, cut to `WIDTH` characters; a callable is shown by its name."""
    if callable(value):
        return printable(shorten(getattr(value, "__qualname__", type(value).__name__), WIDTH))
    return printable(shorten(repr(to_json(value)), WIDTH))


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Show a call as Python would: `refund(order_id='W1', method='card_2')`."""
    shown = ", ".join(f"{printable(str(key))}={value_text(value)}" for key, value in arguments.items())
    return f"{printable(name)}({shown})"


def about(
    check: str, kind: FindingKind, passed: bool | None, message: str, call: CallExplanation | None = None
) -> Finding:
    """Give a finding of a check, with the turn and the tool of the call that it is about."""
    turn, tool = (call.turn, call.tool) if call else (None, None)
    return Finding(check=check, kind=kind, passed=passed, message=message, turn=turn, tool=tool)


def not_measured(
    check: str, kind: FindingKind, why: str, *, cure: str, policy: str | None = None, turn: int | None = None
) -> Finding:
    """Say that a check could not decide: why, and the label, rule or role to add so that it can."""
    return Finding(
        check=check, kind=kind, passed=None, message=f"not measured: {why}", cure=cure, policy=policy, turn=turn
    )


def not_seen(check: str, kind: FindingKind, policy: str | None = None) -> Finding:
    """Say that a check needs the agent's calls, and that there are none to see."""
    return not_measured(check, kind, NOT_SEEN, cure=SHOW_CALLS, policy=policy)


def not_made(
    call: CallExplanation, check: Literal["calls", "state"], *, arguments: FindingKind = "calls"
) -> Iterator[Finding]:
    """Word an expected call that was not made rightly; findings about its arguments are of the kind `arguments`."""
    wanted = call_text(call.tool, call.expected or {})
    note = shorten(printable(call.note), 200)
    if call.status == "wrong_arguments":
        yield from _wrong_arguments(call, check, arguments)
    elif call.status == "tool_failed":
        yield about(check, check, False, f"{wanted} was attempted but failed" + (f": {note}" if note else ""), call)
    else:
        yield about(check, check, False, f"{wanted} was never called" + (f" ({note})" if note else ""), call)


def _wrong_arguments(call: CallExplanation, check: str, kind: FindingKind) -> Iterator[Finding]:
    """Word each differing argument of a call as an assertion does, expected beside actual."""
    for name, (expected, actual) in call.differing.items():
        given = call.actual is not None and name in call.actual
        was = f"was {value_text(actual)}" if given else "was left out"
        failed = f"; {printable(shorten(call.note, 200))}" if call.note else ""
        yield Finding(
            check=check,
            kind=kind,
            passed=False,
            message=f"{printable(call.tool)}: argument {name!r} {was}, expected {value_text(expected)}{failed}",
            turn=call.turn,
            tool=call.tool,
            expected=value_text(expected),
            actual=value_text(actual) if given else None,
        )
