"""Where a LangGraph graph stopped: before or after a node (`interrupt_before`), or in which call it was interrupted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.agents.frameworks.langgraph_pauses import Origin
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.values import to_json
from pytest_agentbench.messages.content import field, text_field

_PUSHED = "__pregel_push"
"""How LangGraph marks the task of a call that was sent to a node by itself."""


@dataclass(frozen=True)
class Stopped:
    """A stop before `node`: its calls are asked about one by one; `message` made them, None where there are none."""

    node: str
    message: Any
    requests: tuple[ApprovalRequest, ...]

    def updates(self, decisions: Sequence[Decision]) -> list[tuple[dict[str, Any], str | None]]:
        """Give the changes of the state, each with the node in whose name it is made, before the graph goes on.

        Calls that were refused are answered in the node's place where all were; else the message is left without them.
        """
        if self.message is None:
            said = [{"role": "user", "content": one.text} for one in decisions if one.kind == "respond"]
            return [({"messages": said}, None)] if said else []
        refused = {one.id: one for one in decisions if not one.runs}
        if len(refused) == len(decisions):
            return [({"messages": list(_refusals(refused.values()))}, self.node)]
        edited = {one.id: one.arguments for one in decisions if one.kind == "edit"}
        if not (refused or edited):
            return []
        calls = [
            {**call, "args": edited.get(text_field(call, "id"), call["args"])}
            for call in self.message.tool_calls
            if text_field(call, "id") not in refused
        ]
        return [({"messages": [self.message.model_copy(update={"tool_calls": calls})]}, None)]


def stopped_at(snapshot: Any, messages: Sequence[Any], pending: Sequence[Mapping[str, Any]]) -> Stopped | None:
    """Tell from the state of a graph that was not interrupted where it stopped; None where it came to its end."""
    nodes = tuple(dict.fromkeys(field(snapshot, "next") or ()))
    if not nodes:
        return None
    if not pending:
        request = ApprovalRequest(tool=" ".join(nodes), allowed=("approve", "respond"))
        return Stopped(nodes[0], None, (request,))
    requests = (
        ApprovalRequest(
            id=text_field(call, "id"),
            tool=text_field(call, "name"),
            arguments=to_json(field(call, "args") or {}),
            allowed=("approve", "reject", "edit"),
        )
        for call in pending
    )
    return Stopped(nodes[0], calling_message(messages), tuple(requests))


def pending_calls(messages: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Give the calls of the last message that makes any which have no result."""
    answered = {text_field(one, "tool_call_id") for one in messages}
    return [call for call in field(calling_message(messages), "tool_calls") or () if field(call, "id") not in answered]


def origin_of(interrupt: Any, snapshot: Any, pending: Sequence[Mapping[str, Any]]) -> Origin:
    """Tell in which node an interrupt was raised, and in which call: the one sent there, or the only one."""
    for task in field(snapshot, "tasks") or ():
        if any(field(one, "id") == field(interrupt, "id") for one in field(task, "interrupts") or ()):
            path = list(field(task, "path") or ())
            at = path[1] if path[:1] == [_PUSHED] and isinstance(path[1], int) else None
            sent = pending[at] if at is not None and at < len(pending) else None
            return Origin(str(field(task, "name") or ""), sent or (pending[0] if len(pending) == 1 else None))
    return Origin(call=pending[0] if len(pending) == 1 else None)


def calling_message(messages: Sequence[Any]) -> Any:
    """Give the last message that makes calls, None where none does."""
    return next((one for one in reversed(messages) if field(one, "tool_calls")), None)


def _refusals(decisions: Any) -> Iterator[Any]:
    from langchain_core.messages import ToolMessage  # noqa: PLC0415 - the framework is there, since the graph is its own

    for one in decisions:
        told = f"The user rejected this call: {one.text}" if one.text else "The user rejected this call."
        yield ToolMessage(content=told, tool_call_id=one.id, name=one.tool, status="error")
