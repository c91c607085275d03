"""What a model is asked and answered, and what servers add to answers that has to be sent back with them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue


class RequestedCall(Model):
    """A tool call as the model wrote it: `arguments` is its text, which need not be JSON.

    `more` is what its server added to it (a signature), to be sent back with it.
    """

    id: str
    name: str
    arguments: str
    more: dict[str, JsonValue] = {}


class TokenCount(Model):
    """Tokens of one call.

    `cached` of the `input` tokens came from the server's cache, `written` went into it; `reasoning` of the `output`
    tokens were thoughts.
    """

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0
    written: int = 0


class ChatReply(Model):
    """One answer: text, calls or a refusal, and apart what the model thought. `truncated`: cut off at the token limit.

    `first_logprobs` are the log-probabilities of the likeliest first tokens, where they were asked for and given.
    `more` is what its server added to the message (its thoughts, signatures), to be sent back with it.
    `written_call` names the offered tool that the text is a call of: one that nobody makes, since it is text.
    `tokens` is None where the server did not say, `cost_usd` where the model has no known price; 0 when replayed.
    """

    content: str | None = None
    thoughts: str | None = None
    calls: tuple[RequestedCall, ...] = ()
    refusal: str | None = None
    finish_reason: str = ""
    written_call: str = ""
    model: str = ""
    tokens: TokenCount | None = None
    cost_usd: float | None = None
    replayed: bool = False
    first_logprobs: dict[str, float] = {}
    more: dict[str, JsonValue] = {}

    @property
    def text(self) -> str:
        """The content, or the empty string."""
        return self.content or ""

    @property
    def truncated(self) -> bool:
        """Whether the answer was cut off at the token limit."""
        return self.finish_reason == "length"


OUTPUT_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "n_predict", "num_predict")
"""Parameters by which servers take a bound on the length of an answer."""

OUTPUT_BOUND = 8192
"""Tokens that an answer may take where neither suite nor role bounds it: thoughts and a long answer fit into it."""


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
