"""What a cassette keeps of an answer: what was said and what it took, not when and by which machine."""

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.llm.cassette.key import Redact

_VOLATILE = frozenset({"id", "created", "system_fingerprint", "service_tier", "object", "timings"})
# a tuple: what a server sends may be anything, also a list, which no set can be asked for
_REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")


def reduced(response: Mapping[str, Any], redact: Redact) -> dict[str, JsonValue]:
    """Give a redacted `chat.completion` without ids and times, so that equal answers have equal bytes.

    The ids of tool calls stay: an agent may repeat them in what it says next.
    """
    given: dict[str, JsonValue] = to_json(response)
    kept: dict[str, JsonValue] = {}
    for name, value in given.items():
        if name in _VOLATILE or value is None:
            continue
        if name == "choices" and isinstance(value, list):
            kept[name] = [_choice(choice, redact) for choice in value]
        elif name == "usage":
            # numbers alone: a secret such as 1234 must not turn a count into text
            if (counts := _numbers(value)) is not None:
                kept[name] = counts
        else:
            kept[name] = redact(value)
    return {name: kept[name] for name in sorted(kept)}


def restored(stored: Mapping[str, JsonValue], key: str) -> dict[str, JsonValue]:
    """Give the `chat.completion` of what `reduced` gave, with an id and a time that are always the same."""
    response: dict[str, JsonValue] = {"id": f"chatcmpl-{key}", "object": "chat.completion", "created": 0, **stored}
    if isinstance(choices := stored.get("choices"), list):
        response["choices"] = [
            {"index": index, **choice} if isinstance(choice, dict) else choice for index, choice in enumerate(choices)
        ]
    return response


def _choice(choice: JsonValue, redact: Redact) -> JsonValue:
    if not isinstance(choice, dict):
        return redact(choice)
    kept = redact(
        {name: item for name, item in choice.items() if name not in {"index", "message"} and item is not None}
    )
    if choice.get("finish_reason") in _REASONS:
        kept["finish_reason"] = choice["finish_reason"]
    if isinstance(message := choice.get("message"), dict):
        kept["message"] = _message(message, redact)
    elif message is not None:
        kept["message"] = redact(message)
    return {name: kept[name] for name in sorted(kept)}


def _message(message: dict[str, JsonValue], redact: Redact) -> JsonValue:
    told = {name: item for name, item in message.items() if name == "content" or (item is not None and item != [])}
    kept = redact({name: item for name, item in told.items() if name != "role"})
    return {"role": "assistant", **kept} if message.get("role") == "assistant" else redact(told)


def _numbers(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        numbers = {name: _numbers(item) for name, item in sorted(value.items())}
        return {name: item for name, item in numbers.items() if item is not None}
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
