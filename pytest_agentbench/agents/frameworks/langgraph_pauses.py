"""Interrupts of a LangGraph graph: what each asks its user, and the value that resumes it.

Shapes that are known: those of LangChain's HumanInTheLoopMiddleware, one for a turn or one for each call, and that of
the older agent inbox. Any other interrupt is free: a text is a question; of a mapping nobody knows what it waits for,
so that a yes is true and a no is false.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.approvals import DECISIONS, ApprovalRequest, Decision, DecisionKind
from pytest_agentbench.core.json_values import same, to_json
from pytest_agentbench.messages.content import field, result_text, text_field

_INBOX: dict[str, DecisionKind] = {
    "allow_accept": "approve",
    "allow_edit": "edit",
    "allow_ignore": "reject",
    "allow_respond": "respond",
}
_INBOX_ANSWERS = {"approve": "accept", "edit": "edit", "reject": "ignore", "respond": "response"}


@dataclass(frozen=True)
class Pause:
    """One interrupt: what it asks, and what it is resumed with, given a decision for each request.

    One that `goes_on` was raised inside of a call, which goes on with whatever words answer it.
    """

    id: str
    requests: tuple[ApprovalRequest, ...]
    answer: Callable[[Sequence[Decision]], object]
    goes_on: bool = False


@dataclass(frozen=True)
class Origin:
    """Where an interrupt was raised: the node, and the call that it ran, where that can be told."""

    node: str = ""
    call: Mapping[str, Any] | None = None


def pause_of(interrupt: Any, pending: Sequence[Mapping[str, Any]], origin: Origin) -> Pause:
    """Read an interrupt; `pending` are the calls of the last message that have no result."""
    id_, value = text_field(interrupt, "id"), field(interrupt, "value")
    if isinstance(value, Mapping) and isinstance(value.get("action_requests"), list | tuple):
        return Pause(id_, _reviewed(value, id_, pending), lambda made: {"decisions": [_review(one) for one in made]})
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        allowed = _named(field(interrupt, "response_schema"))
        request = _request(str(value.get("tool_call_id") or id_), value, allowed)
        return Pause(id_, (request,), lambda made: _review(made[0]))
    several = value if isinstance(value, list | tuple) else [value]
    if several and all(isinstance(one, Mapping) and isinstance(one.get("action_request"), Mapping) for one in several):
        requests = tuple(_of_inbox(one, f"{id_}:{at}", pending) for at, one in enumerate(several))
        if isinstance(value, Mapping):
            return Pause(id_, requests, lambda made: _to_inbox(made[0]))
        return Pause(id_, requests, lambda made: [_to_inbox(one) for one in made])
    return Pause(id_, (_free(id_, value, origin),), lambda made: _plainly(made[0]), goes_on=True)


def resumed_with(pauses: Sequence[Pause], decisions: Sequence[Decision]) -> object:
    """Give what a graph is resumed with: the value of its interrupt, of several one for each by its id."""
    values: dict[str, object] = {}
    rest = list(decisions)
    for pause in pauses:
        own, rest = rest[: len(pause.requests)], rest[len(pause.requests) :]
        values[pause.id] = pause.answer(own)
    return next(iter(values.values())) if len(pauses) == 1 else values


def _reviewed(value: Mapping[str, Any], id_: str, pending: Sequence[Mapping[str, Any]]) -> tuple[ApprovalRequest, ...]:
    configs = value.get("review_configs") or ()
    allowed = {str(field(one, "action_name")): tuple(field(one, "allowed_decisions") or DECISIONS) for one in configs}
    left = list(pending)
    requests = []
    for at, action in enumerate(value["action_requests"]):
        call = _taken(left, text_field(action, "name"), field(action, "args"))
        called = text_field(call, "id") or f"{id_}:{at}"
        requests.append(_request(called, action, allowed.get(text_field(action, "name"), DECISIONS)))
    return tuple(requests)


def _request(id_: str, action: Mapping[str, Any], allowed: Sequence[Any]) -> ApprovalRequest:
    """Read a call that waits for review; one that can only be answered is a question."""
    kinds = tuple(kind for kind in DECISIONS if kind in allowed) or DECISIONS
    request = ApprovalRequest(
        id=id_,
        tool=text_field(action, "name"),
        arguments=to_json(action.get("args") or {}),
        text=text_field(action, "description"),
        allowed=kinds,
    )
    if kinds != ("respond",):
        return request
    return request.model_copy(update={"is_question": True, "text": f"{request.text}\n{request.call}".strip()})


def _review(decision: Decision) -> dict[str, Any]:
    """Give a decision as LangChain's middleware reads it."""
    match decision.kind:
        case "edit":
            return {"type": "edit", "edited_action": {"name": decision.tool, "args": decision.arguments}}
        case "reject" if decision.text:
            return {"type": "reject", "message": decision.text}
        case "respond":
            return {"type": "respond", "message": decision.text}
        case kind:
            return {"type": kind}


def _named(schema: object) -> tuple[DecisionKind, ...]:
    """Give the decisions that the JSON Schema of an answer admits: the constants of its `type`."""
    forms = [schema, *(field(schema, "$defs") or {}).values()] if isinstance(schema, Mapping) else []
    types = [field(field(field(form, "properties"), "type"), "const") for form in forms]
    return tuple(kind for kind in DECISIONS if kind in types) or DECISIONS


def _of_inbox(value: Mapping[str, Any], id_: str, pending: Sequence[Mapping[str, Any]]) -> ApprovalRequest:
    action, config = value["action_request"], value.get("config") or {}
    tool, arguments = text_field(action, "action"), to_json(field(action, "args") or {})
    arguments = arguments if isinstance(arguments, dict) else {"args": arguments}
    call = _taken(list(pending), tool, arguments)
    allowed = [kind for key, kind in _INBOX.items() if field(config, key) is not False]
    form = {"name": tool, "args": arguments, "description": value.get("description") or ""}
    return _request(text_field(call, "id") or id_, form, allowed)


def _to_inbox(decision: Decision) -> dict[str, Any]:
    answer: dict[str, Any] = {"type": _INBOX_ANSWERS[decision.kind], "args": None}
    if decision.kind == "edit":
        answer["args"] = {"action": decision.tool, "args": decision.arguments}
    elif decision.kind == "respond":
        answer["args"] = decision.text
    return answer


def _free(id_: str, value: object, origin: Origin) -> ApprovalRequest:
    """Read an interrupt of the graph's own: it is asked in the name of the tool or node that raised it."""
    tool, id_ = text_field(origin.call, "name") or origin.node or "interrupt", text_field(origin.call, "id") or id_
    given = to_json(field(origin.call, "args") or {})
    text = result_text(value)
    allowed: tuple[DecisionKind, ...] = ("approve", "reject", "respond")
    if isinstance(value, str):
        return ApprovalRequest(id=id_, tool=tool, arguments=given, text=text, allowed=allowed, is_question=True)
    if not given and isinstance(value, Mapping):
        return ApprovalRequest(id=id_, tool=tool, arguments=to_json(value), allowed=allowed)
    return ApprovalRequest(id=id_, tool=tool, arguments=given, text=text, allowed=allowed)


def _plainly(decision: Decision) -> object:
    return decision.text if decision.kind == "respond" else decision.kind == "approve"


def _taken(left: list[Mapping[str, Any]], name: str, arguments: object) -> Mapping[str, Any] | None:
    """Take the first of the calls with this name and these arguments out of a list."""
    for at, call in enumerate(left):
        if text_field(call, "name") == name and same(to_json(field(call, "args") or {}), to_json(arguments or {})):
            return left.pop(at)
    return None
