"""How an answer of a provider ended, told by the form of its API: complete, filtered, or failed."""

from collections.abc import Sequence

from pytest_agentbench.agents.refusals import filtered_ending, refusal
from pytest_agentbench.core.errors import AgentError, ProviderError
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import field, shown, text_field

_SERVERS = frozenset({"server_error", "rate_limit_exceeded", "vector_store_timeout"})
"""Codes of a failed Response of OpenAI's for what its server could not do."""


def ended(messages: Sequence[Message], answer: object) -> tuple[Message, ...]:
    """Give the messages of a provider's answer; what its filter left of the last one is a refusal.

    Calls stand, and nothing is refused where they end the answer. Raise `ProviderError` where the server says that it
    failed, `AgentError` where it says that the request was at fault.
    """
    event = _filtered(answer) or _failed(answer)
    at = len(messages)
    while at > 0 and messages[at - 1].role == "assistant" and not messages[at - 1].tool_calls:
        at -= 1
    if event is None or (at > 0 and messages[at - 1].tool_calls):
        return tuple(messages)
    left = messages[at:]
    text = "\n".join(message.text for message in left if message.text.strip())
    return (*messages[:at], refusal(event, text=text, by=left[0].by if left else None))


def is_blocked(answer: object) -> bool:
    """Whether Gemini refused the prompt itself, so that there is no candidate."""
    return bool(_blocked(answer))


def _filtered(answer: object) -> Event | None:
    """Read the reason in an answer of Gemini's or Responses', a message of Anthropic's or LangChain's, or a choice."""
    if blocked := _blocked(answer):
        return Event(kind="refused_by_provider", name=blocked)
    told = field(answer, "response_metadata")
    return filtered_ending(
        field(answer, "finish_reason", "finishReason"),
        field(answer, "stop_reason", "stopReason"),
        field(field(answer, "incomplete_details"), "reason"),
        field(told, "finish_reason"),
        field(told, "stop_reason", "stopReason"),
    )


def _blocked(answer: object) -> str:
    reason = field(field(answer, "promptFeedback", "prompt_feedback"), "blockReason", "block_reason")
    name = getattr(reason, "name", None) or reason
    return name if isinstance(name, str) else ""


def _failed(answer: object) -> Event | None:
    """Read the error of a failed Response; one of the filter's is a refusal."""
    error = field(answer, "error")
    code = text_field(error, "code")
    if text_field(answer, "status") != "failed" or not code:
        return None
    if event := filtered_ending(code):
        return event
    said = f"{code}: {text_field(error, 'message')}".removesuffix(": ")
    if code in _SERVERS:
        raise ProviderError(f"the agent's client: the response failed, {said}")
    raise AgentError(f"unusable reply: the response failed, {shown(said)}")
