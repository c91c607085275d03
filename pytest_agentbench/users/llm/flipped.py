"""The conversation as the model that plays the user gets it: the agent is its `user`, itself is the `assistant`."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_agentbench.core.transcript import Message
from pytest_agentbench.users.llm.template import render

_FENCE = re.compile(r"<(\s*/?\s*agent_message)", re.IGNORECASE)


def flipped(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Give `messages` in the OpenAI format with both roles exchanged; it starts with the agent or with an opening.

    What the agent said is fenced, so that it reads as a quotation. A longer conversation extends a shorter one.
    """
    turns = list(_merged(messages))
    if not turns or turns[0]["role"] != "user":
        turns.insert(0, {"role": "user", "content": render("opening.v1", {})})
    return turns


def _merged(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """Give one message per turn of the agent: some servers refuse two of one role in a row."""
    heard: list[str] = []
    unanswered: list[str] = []
    for index, message in enumerate(messages):
        if message.role == "assistant":
            heard.append(message.text)
            continue
        if heard:
            yield _said_by_agent(heard)
            heard = []
        if message.role == "tool":
            answered = message.tool_call_id or (unanswered[0] if unanswered else "")
            if answered in unanswered:
                unanswered.remove(answered)
            yield {**message.openai(), "tool_call_id": answered}
        elif message.role == "user":
            named = _with_ids(message, index)
            unanswered = [call.id for call in named.tool_calls]
            yield {**named.openai(), "role": "assistant"}
    if heard:
        yield _said_by_agent(heard)


def _with_ids(message: Message, index: int) -> Message:
    """Give every call an id, which servers demand and histories may lack."""
    calls = (
        call if call.id else call.model_copy(update={"id": f"call_{index}_{position}"})
        for position, call in enumerate(message.tool_calls)
    )
    return message.model_copy(update={"tool_calls": tuple(calls)}) if message.tool_calls else message


def _said_by_agent(texts: Sequence[str]) -> dict[str, Any]:
    quoted = _FENCE.sub(r"‹\1", "\n\n".join(texts))
    return {"role": "user", "content": f"<agent_message>\n{quoted}\n</agent_message>"}
