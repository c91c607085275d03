"""Approvals that a reply function or an endpoint asks for, as messages: `approvals: [{tool, arguments, id}]`."""

from pydantic import ValidationError

from pytest_agentbench.agents.content import field, text_field, unusable
from pytest_agentbench.core.approvals import DECISIONS, ApprovalRequest
from pytest_agentbench.core.tool import read_arguments
from pytest_agentbench.core.transcript import Message, asking


def with_approvals(message: Message, found: object) -> Message:
    """Give a message with the approvals that it asks for in its words; raise `AgentError` where they are none."""
    if not found or message.role != "assistant":
        return message
    if not isinstance(found, list | tuple):
        raise unusable(found, "its approvals are no list")
    requests = tuple(map(_request, found))
    words = "\n".join(part for part in (message.text.strip(), asking(requests).text) if part)
    return message.model_copy(update={"content": words, "approvals": requests})


def _request(found: object) -> ApprovalRequest:
    if isinstance(found, ApprovalRequest):
        return found
    tool = text_field(found, "tool") or text_field(found, "name")
    arguments, raw = read_arguments(field(found, "arguments"))
    if not tool or raw is not None:
        raise unusable(found, "as an approval; it is {tool: …, arguments: {…}, id: …}")
    given = field(found, "allowed")
    try:
        return ApprovalRequest(
            id=str(field(found, "id") or ""),
            tool=tool,
            arguments=arguments,
            text=text_field(found, "text"),
            allowed=DECISIONS if given is None else given,
            is_question=given is not None and list(given) == ["respond"],
        )
    except (ValidationError, TypeError) as error:
        allowed = ", ".join(DECISIONS)
        raise unusable(found, f"as an approval; `allowed` lists some of {allowed}") from error
