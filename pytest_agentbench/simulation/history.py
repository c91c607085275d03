"""Conversations that begin in the middle: τ²'s `message_history` as messages."""

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.tool import Requestor, ToolCall
from pytest_agentbench.core.transcript import Message


def history_of(scenario: Scenario) -> tuple[Message, ...]:
    """Give the messages that were exchanged before the run starts; empty for most scenarios."""
    initial = scenario.task.initial_state
    return tuple(_message(entry) for entry in (initial.message_history or ())) if initial else ()


def _message(entry: Mapping[str, Any]) -> Message:
    role = entry.get("role", "user")
    requestor: Requestor = entry.get("requestor") or ("user" if role == "user" else "assistant")
    return Message(
        role=role,
        content=entry.get("content"),
        tool_calls=_calls(entry.get("tool_calls") or (), requestor),
        tool_call_id=entry.get("id") or entry.get("tool_call_id") if role == "tool" else None,
        requestor=requestor if role == "tool" else "assistant",
        error=bool(entry.get("error", False)),
    )


def _calls(entries: Sequence[Mapping[str, Any]], requestor: Requestor) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=entry.get("id") or "",
            name=entry["name"],
            arguments=entry.get("arguments") or {},
            requestor=entry.get("requestor") or requestor,
        )
        for entry in entries
    )
