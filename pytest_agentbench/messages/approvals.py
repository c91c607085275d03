"""Calls that wait for their user, and what the user decided about them: `approvals` and `decisions` of a message."""

from collections.abc import Sequence

from pydantic import ValidationError

from pytest_agentbench.core.approvals import DECISIONS, ApprovalRequest, Decision
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.tool import read_arguments
from pytest_agentbench.messages.content import UnreadableError, field, found, is_list, text_field, validated


def approvals_of(given: object, at: Keys) -> tuple[ApprovalRequest, ...]:
    """Read what an agent asks its user to decide: `[{tool, arguments, id}]`; nothing where nothing is given."""
    return tuple(_request(one, (*at, index)) for index, one in enumerate(_listed(given, at)))


def decisions_of(given: object, at: Keys) -> tuple[Decision, ...]:
    """Read what a user decided: `[{kind, tool, arguments, id}]`; nothing where nothing is given."""
    return tuple(validated(Decision, one, (*at, index)) for index, one in enumerate(_listed(given, at)))


def _listed(given: object, at: Keys) -> Sequence[object]:
    if not given:
        return ()
    if not is_list(given):
        raise UnreadableError(f"{found(given)}, expected a list", at)
    return given


def _request(given: object, at: Keys) -> ApprovalRequest:
    if isinstance(given, ApprovalRequest):
        return given
    tool = text_field(given, "tool", "name")
    arguments, raw = read_arguments(field(given, "arguments"))
    if not tool or raw is not None:
        raise UnreadableError(f"{found(given)}, expected an approval: {{tool: …, arguments: {{…}}, id: …}}", at)
    allowed, is_question = field(given, "allowed"), field(given, "is_question")
    try:
        return ApprovalRequest(
            id=str(field(given, "id") or ""),
            tool=tool,
            arguments=arguments,
            text=text_field(given, "text"),
            allowed=DECISIONS if allowed is None else allowed,
            is_question=allowed is not None and list(allowed) == ["respond"] if is_question is None else is_question,
        )
    except (ValidationError, TypeError) as error:
        names = ", ".join(DECISIONS)
        raise UnreadableError(f"{found(given)}, expected an approval; `allowed` lists some of {names}", at) from error
