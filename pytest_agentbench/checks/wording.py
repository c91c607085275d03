"""How calls and values are worded in findings."""

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue, to_json

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
