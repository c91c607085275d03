"""Calls of a framework's agent that wait for its user: kept back until they are decided, shown as they were made."""

from collections.abc import Iterable, Sequence

from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, asking


class Waiting:
    """The calls of one conversation that wait. A call that the user refused was never made, so it is not shown."""

    def __init__(self) -> None:
        self.requests: tuple[ApprovalRequest, ...] = ()
        self._calls: dict[str, ToolCall] = {}

    def hold(self, messages: Iterable[Message], requests: Sequence[ApprovalRequest]) -> list[Message]:
        """Give the messages without the calls that are asked about, and what stands in the place of their results.

        Where something is asked, the last message asks it; what came with the calls comes with it.
        """
        self.requests = tuple(requests)
        ids = {request.id for request in requests}
        self._calls = {}
        kept: list[Message] = []
        held: list[Message] = []
        by = None
        for message in messages:
            self._calls |= {call.id: call for call in message.tool_calls if call.id in ids}
            left = _without(message, ids)
            kept += left
            if message.role == "assistant":
                by = message.by
                held += [] if left else [message]
        if not requests:
            return kept
        events = tuple(event for message in held for event in message.events)
        thoughts = "\n".join(message.thoughts for message in held if message.thoughts)
        asked = {"by": by, "events": events, "thoughts": thoughts or None}
        return [*kept, asking(requests).model_copy(update=asked)]

    def decided(self, messages: Iterable[Message], decisions: Iterable[Decision]) -> list[Message]:
        """Give the messages that followed the decisions: calls as they were made, none that was refused."""
        by_id = {decision.id: decision for decision in decisions}
        refused = {id_ for id_, decision in by_id.items() if not decision.runs}
        kept: list[Message] = []
        shown: set[str] = set()
        for message in messages:
            shown |= {call.id for call in message.tool_calls}
            for one in _without(message, refused):
                calls = tuple(_as_made(call, by_id) for call in one.tool_calls)
                kept.append(one.model_copy(update={"tool_calls": calls}) if calls else one)
        made = tuple(
            _as_made(call, by_id) for id_, call in self._calls.items() if id_ not in shown | refused and id_ in by_id
        )
        self.requests, self._calls = (), {}
        return [*([Message(role="assistant", tool_calls=made, by=made[0].by)] if made else []), *kept]


def _as_made(call: ToolCall, by_id: dict[str, Decision]) -> ToolCall:
    decision = by_id.get(call.id)
    return call.model_copy(update={"arguments": decision.arguments}) if decision and decision.kind == "edit" else call


def _without(message: Message, ids: set[str]) -> list[Message]:
    """Give the message without calls of these ids; nothing of it where nothing else is in it."""
    if message.role == "tool":
        return [] if message.tool_call_id in ids else [message]
    calls = tuple(call for call in message.tool_calls if call.id not in ids)
    if len(calls) == len(message.tool_calls):
        return [message]
    return [message.model_copy(update={"tool_calls": calls})] if calls or message.text.strip() else []
