"""Refusals that are no words of the agent's model: a guardrail that stopped it, a provider that filtered it.

Both are answers to the user. Where nobody gives the words, a fixed text says what happened.
"""

from collections.abc import Sequence

from pytest_agentbench.core.errors import causes
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import field, text_field

_FILTERS = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
"""What providers call their filter in the `code` of an error, or in the reason why an answer ended."""

_ENDINGS = _FILTERS | {"refusal", "guardrail_intervened", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"}
"""Why an answer ended, as OpenAI, Anthropic, Bedrock and Google say that it was filtered."""

_RAISED = frozenset({"ContentFilterError", "ContentPolicyViolationError", "OpenAIRefusalError"})
"""Exceptions of clients and frameworks that say the same by their name."""


def refusal(event: Event, *, by: str | None = None, text: str = "") -> Message:
    """Give the answer that a refusal is to the user: the text that came with it, else a fixed one."""
    if not text.strip():
        text = f"Refused by the guardrail {event.name}." if event.kind == "guardrail" else _OF_PROVIDER
    return Message(role="assistant", content=text, by=by, events=(event,))


_OF_PROVIDER = "The provider of the model refused to answer this."


def ended(messages: Sequence[Message], event: Event | None) -> tuple[Message, ...]:
    """Give what an answer comes to that a filter ended: what the filter left of its last words is a refusal.

    Calls stand, and nothing is refused where they end the answer.
    """
    at = len(messages)
    while at > 0 and messages[at - 1].role == "assistant" and not messages[at - 1].tool_calls:
        at -= 1
    if event is None or (at > 0 and messages[at - 1].tool_calls):
        return tuple(messages)
    left = messages[at:]
    text = "\n".join(message.text for message in left if message.text.strip())
    return (*messages[:at], refusal(event, text=text, by=left[0].by if left else None))


def filtered(error: BaseException) -> Event | None:
    """Give the event where what was raised, or what caused it, says that the provider's filter struck."""
    for cause in causes(error):
        if any(kind.__name__ in _RAISED for kind in type(cause).__mro__):
            return Event(kind="refused_by_provider", name="content_filter")
        if code := _code(cause):
            return Event(kind="refused_by_provider", name=code)
    return None


def filtered_ending(*reasons: object) -> Event | None:
    """Give the event where one of the reasons why an answer ended is a provider's filter."""
    for reason in reasons:
        name = str(getattr(reason, "name", None) or reason or "")
        if name in _ENDINGS:
            return Event(kind="refused_by_provider", name=name)
    return None


def _code(error: BaseException) -> str:
    """Read the code of a refused request (status 400): on the error, or in the body that came with it."""
    if 400 not in (getattr(error, "status_code", None), getattr(error, "status", None)):
        return ""
    body = field(error, "body")
    inner = field(body, "error")
    own = getattr(error, "__dict__", {})  # a value: aiohttp's property of this name warns whoever reads it
    codes = (text_field(one, "code") for one in (own, body, inner))
    return next((code for code in codes if code in _FILTERS), "")
