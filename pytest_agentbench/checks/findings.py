"""Findings, and how calls and values are worded in them."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.text import printable, shorten
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


def cut(text: str, width: int = 300) -> str:
    """Give a text so short, and safe to print."""
    return printable(shorten(text, width))


def finding(check: str, kind: FindingKind, passed: bool | None, message: str, **more: Any) -> Finding:
    """Give a finding of a check; `more` are other fields of it."""
    return Finding(check=check, kind=kind, passed=passed, message=message, **more)


def not_measured(check: str, kind: FindingKind, why: str, *, cure: str, **more: Any) -> Finding:
    """Say that a check could not decide: why, and the label, rule or role to add so that it can."""
    return finding(check, kind, None, f"not measured: {why}", cure=cure, **more)


def not_seen(check: str, kind: FindingKind, policy: str | None = None) -> Finding:
    """Say that a check needs the agent's calls, and that there are none to see."""
    return not_measured(check, kind, NOT_SEEN, cure=SHOW_CALLS, policy=policy)


def not_made(
    call: CallExplanation, check: Literal["calls", "state"], *, arguments: FindingKind = "calls", proven: bool = False
) -> Iterator[Finding]:
    """Word an expected call that was not made rightly, each differing argument of it as an assertion does.

    Findings about arguments are of the kind `arguments`.
    """
    more: dict[str, Any] = {"turn": call.turn, "tool": call.tool, "proven": proven}
    if call.status != "wrong_arguments":
        wanted, note = call_text(call.tool, call.expected or {}), cut(printable(call.note), 200)
        if call.status == "tool_failed":
            became = f"was attempted but {note or 'failed'}"
        else:
            became = "was never called" + (f" ({note})" if note else "")
        yield finding(check, check, False, f"{wanted} {became}", **more)
        return
    for name, (expected, actual) in call.differing.items():
        given = call.actual is not None and name in call.actual
        was = f"was {value_text(actual)}" if given else "was left out"
        failed = f"; {cut(call.note, 200)}" if call.note else ""
        message = f"{printable(call.tool)}: argument {name!r} {was}, expected {value_text(expected)}{failed}"
        shown = value_text(actual) if given else None
        yield finding(check, arguments, False, message, expected=value_text(expected), actual=shown, **more)
