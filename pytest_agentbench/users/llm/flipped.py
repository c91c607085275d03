"""The conversation as the model that plays the user gets it: the agent is its `user`, itself is the `assistant`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.users.llm.prompt import listed, render
from pytest_agentbench.users.llm.turn import retold, written

_FENCE = re.compile(r"<(\s*/?\s*agent_message)", re.IGNORECASE)

SENT = "(sent)"
"""What the tool by which a user speaks returns."""


def flipped(
    messages: Sequence[Message], *, say: str = "", notes: Mapping[int, str] | None = None
) -> list[dict[str, Any]]:
    """Give `messages` in the OpenAI format with both roles exchanged; it starts with the agent or with an opening.

    What the agent said is fenced, so that it reads as a quotation. The user's own turns stand in the form in which the
    model gives them, or as calls of the tool `say`. `notes` follow the message whose index they have. A longer
    conversation extends a shorter one.
    """
    turns = list(_merged(messages, say, notes or {}))
    if not turns or turns[0]["role"] != "user":
        turns.insert(0, {"role": "user", "content": render("opening.v2", {})})
    return turns


def said_with(index: int) -> str:
    """Give the id of the call by which the message with this index was said."""
    return f"said_{index}"


def _merged(messages: Sequence[Message], say: str, notes: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """Give one message per turn of the agent: some servers refuse two of one role in a row."""
    heard: list[str] = []
    behind: list[str] = []
    unanswered: list[str] = []
    for index, message in enumerate(messages):
        if message.role != "assistant" and (heard or behind):
            yield _said_by_agent(heard, behind)
            heard, behind = [], []
        if message.role == "assistant":
            heard.append(message.text)
            behind += [asked] if (asked := decision_note(message.approvals)) else []
        elif message.role == "tool":
            answered = message.tool_call_id or (unanswered[0] if unanswered else "")
            if answered in unanswered:
                unanswered.remove(answered)
            yield {**message.openai(), "tool_call_id": answered}
        elif message.role == "user" and message.tool_calls:
            named = _with_ids(message, index)
            unanswered = [call.id for call in named.tool_calls]
            yield {**named.openai(), "role": "assistant"}
        elif message.role == "user":
            yield from _said_by_user(message, index, say)
        behind += [notes[index]] if index in notes else []
    if heard or behind:
        yield _said_by_agent(heard, behind)


def decision_note(approvals: Sequence[ApprovalRequest]) -> str:
    """Tell the user which calls wait for its decision; a free question is answered as any message is."""
    calls = [request.call for request in approvals if not request.is_question]
    return render("approval.v2", {"calls": listed(calls)}) if calls else ""


def _with_ids(message: Message, index: int) -> Message:
    """Give every call an id, which servers demand and histories may lack."""
    calls = (
        call if call.id else call.model_copy(update={"id": f"call_{index}_{position}"})
        for position, call in enumerate(message.tool_calls)
    )
    return message.model_copy(update={"tool_calls": tuple(calls)})


def _said_by_user(message: Message, index: int, say: str) -> Iterator[dict[str, Any]]:
    given = written(retold(message))
    if not say:
        yield {"role": "assistant", "content": given}
        return
    call = {"id": said_with(index), "type": "function", "function": {"name": say, "arguments": given}}
    yield {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": said_with(index), "content": SENT}


def _said_by_agent(texts: Sequence[str], notes: Sequence[str]) -> dict[str, Any]:
    quoted = _FENCE.sub(r"‹\1", "\n\n".join(texts))
    fenced = [f"<agent_message>\n{quoted}\n</agent_message>"] if texts else []
    return {"role": "user", "content": "\n\n".join([*fenced, *notes])}
