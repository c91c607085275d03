"""How many tokens an answer took, in whichever form its endpoint says so."""

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.llm.reading import read_tokens
from pytest_agentbench.llm.reply import TokenCount

_BESIDE = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""What Anthropic counts beside `input_tokens`, not among them."""


def tokens_of(answer: Mapping[str, Any]) -> TokenCount | None:
    """Read `usage` of a completion, a response, a message or an embedding; None where the server did not say.

    The input holds what came from a cache or went into one, the output what the model thought: all of it is billed.
    """
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        nested = answer.get("response")  # the last event of a streamed response
        return tokens_of(nested) if isinstance(nested, dict) else None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    given = usage.get("prompt_tokens", usage.get("input_tokens"))
    cached, written = (max(count, 0) if type(count := usage.get(name)) is int else 0 for name in _BESIDE)
    if type(given) is int and (cached or written) and "prompt_tokens" not in usage:  # gateways count them in there
        given += cached + written
        details = {"cached_tokens": cached}
    thoughts = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    if isinstance(thoughts, dict) and "thinking_tokens" in thoughts:
        thoughts = {"reasoning_tokens": thoughts["thinking_tokens"]}
    as_chat = {
        "prompt_tokens": given,
        "total_tokens": usage.get("total_tokens"),
        "completion_tokens": usage.get("completion_tokens", usage.get("output_tokens", 0)),
        "prompt_tokens_details": details,
        "completion_tokens_details": thoughts,
    }
    tokens = read_tokens({"usage": as_chat})
    return tokens.model_copy(update={"written": written}) if tokens and written else tokens
