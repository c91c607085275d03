"""What servers added to their answers, sent back with them: some refuse a conversation in which it is missing.

Signatures and thoughts of turns in which tools were called belong to the conversation for good; those of other turns
are not asked for by anybody, and would only be paid for.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.reply import ChatReply

_Key = str | tuple[str, ...]


class GivenBack:
    """Remembers, for one party of one run, what its server added to each answer that became part of the conversation.

    An answer is known again by the ids of its calls, else by its words; of equal ones those told last are meant.
    """

    def __init__(self) -> None:
        self._kept: defaultdict[_Key, list[ChatReply]] = defaultdict(list)
        self._is_empty = True

    def keep(self, reply: ChatReply, said: str) -> None:
        """Remember an answer whose words were told as `said`."""
        self._kept[tuple(call.id for call in reply.calls) or said].append(reply)
        self._is_empty = self._is_empty and not reply.more and not any(call.more for call in reply.calls)

    def added(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Give the conversation with what servers added to the answers of turns in which tools were called."""
        whole = list(messages)
        if self._is_empty:
            return whole
        left = {key: list(replies) for key, replies in self._kept.items()}
        calling = _calling(whole)
        for at in reversed(range(len(whole))):
            if whole[at].get("role") == "assistant" and (replies := left.get(_key(whole[at]))):
                reply = replies.pop()
                if calling[at]:
                    whole[at] = with_more(whole[at], reply)
        return whole


def with_more(message: dict[str, Any], reply: ChatReply) -> dict[str, Any]:
    """Give the message of an answer with what its server added to it and to its calls."""
    whole: dict[str, Any] = {**message, **reply.more}
    if message.get("tool_calls"):
        added: list[dict[str, JsonValue]] = [call.more for call in reply.calls]
        whole["tool_calls"] = [{**call, **more} for call, more in zip(message["tool_calls"], added, strict=True)]
    return whole


def _key(message: dict[str, Any]) -> _Key:
    return tuple(call["id"] for call in message.get("tool_calls") or ()) or message.get("content") or ""


def _calling(messages: Sequence[dict[str, Any]]) -> list[bool]:
    """Tell of each message whether tools were called between the words of the other party before it and itself."""
    calling, found = False, []
    for message in messages:
        calling = message.get("role") != "user" and (calling or bool(message.get("tool_calls")))
        found.append(calling)
    return found
