"""Google ADK's tool confirmations: the calls by which ADK asks its user, and the responses that answer them."""

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_agentbench.core.approvals import ApprovalRequest, Decision, DecisionKind
from pytest_agentbench.core.tool import read_arguments
from pytest_agentbench.messages.content import field, result_text, text_field

_CONFIRMATION = "adk_request_confirmation"
_INPUT = "adk_request_input"

ASKING = frozenset({_CONFIRMATION, _INPUT})
"""What ADK calls its own ways of asking; no tools of the environment."""


class Confirmations:
    """What a conversation waits for, by the id under which the user is asked: that of the call itself."""

    def __init__(self) -> None:
        self._asked: dict[str, Any] = {}

    def read(self, event: Any) -> Iterator[ApprovalRequest]:
        """Give the requests of an event."""
        for part in field(field(event, "content"), "parts") or ():
            call = field(part, "function_call")
            if call and field(call, "name") in ASKING:
                request = _confirmation(call) if field(call, "name") == _CONFIRMATION else _input(call)
                self._asked[request.id] = call
                yield request

    def answers(self, decisions: Sequence[Decision]) -> list[Any]:
        """Give the parts of the message that answers; every request is answered once."""
        from google.genai import types  # noqa: PLC0415 - the framework is there, since the agent is its own

        parts = []
        for decision in decisions:
            call = self._asked.pop(decision.id)
            response = types.FunctionResponse(id=call.id, name=call.name, response=_response(call, decision))
            parts.append(types.Part(function_response=response))
        return parts


def _confirmation(call: Any) -> ApprovalRequest:
    made, asked = field(call.args, "originalFunctionCall"), field(call.args, "toolConfirmation")
    arguments, _ = read_arguments(field(made, "args"))
    payload = field(asked, "payload")
    allowed: tuple[DecisionKind, ...] = ("approve", "reject")
    told = text_field(asked, "hint")
    if payload is not None:
        told = f"{told}\n{result_text(payload)}".strip()
    return ApprovalRequest(
        id=text_field(made, "id") or text_field(call, "id"),
        tool=text_field(made, "name"),
        arguments=arguments,
        text=told,
        allowed=(*allowed, "edit") if isinstance(payload, dict) else allowed,
    )


def _input(call: Any) -> ApprovalRequest:
    arguments, _ = read_arguments(field(call, "args"))
    return ApprovalRequest(
        id=text_field(call, "id"),
        tool=_INPUT,
        text=text_field(arguments, "message"),
        allowed=("respond",),
        is_question=True,
    )


def _response(call: Any, decision: Decision) -> dict[str, Any]:
    """Give what ADK reads; an edit changes the payload that the tool asked to be filled in, never its arguments."""
    if field(call, "name") == _INPUT:
        return {"result": decision.text}
    payload = field(field(call.args, "toolConfirmation"), "payload")
    answer: dict[str, Any] = {"confirmed": decision.runs}
    if decision.kind == "edit":
        asked = field(field(call.args, "originalFunctionCall"), "args") or {}
        payload = {**payload, **{name: value for name, value in decision.arguments.items() if asked.get(name) != value}}
    return answer if payload is None else {**answer, "payload": payload}
