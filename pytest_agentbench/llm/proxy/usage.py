"""How many tokens an answer took, in whichever form its endpoint says so."""

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.llm.reading import read_tokens
from pytest_agentbench.llm.reply import TokenCount


def tokens_of(response: Mapping[str, Any]) -> TokenCount | None:
    """Read `usage` of a chat completion, a response or an embedding; None where the server did not say."""
    usage = response.get("usage")
    if not isinstance(usage, dict):
        nested = response.get("response")  # the last event of a streamed response
        return tokens_of(nested) if isinstance(nested, dict) else None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    as_chat = {
        "prompt_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
        "completion_tokens": usage.get("completion_tokens", usage.get("output_tokens", 0)),
        "prompt_tokens_details": details,
    }
    return read_tokens({"usage": as_chat})
