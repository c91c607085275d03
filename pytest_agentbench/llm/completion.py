"""A `chat.completion` object, read into what roles work with."""

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import ProviderError
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.transcript import parted
from pytest_agentbench.llm.reply import ChatReply, RequestedCall, TokenCount
from pytest_agentbench.llm.wire import excerpt

_THINKING = frozenset({"thinking", "reasoning"})
"""Kinds of content parts that hold thoughts."""

_OF_MESSAGES = frozenset({"role", "content", "tool_calls", "function_call", "refusal", "annotations", "audio"})
_OF_CALLS = frozenset({"id", "type", "function", "index"})
"""What the API itself says of an answer: anything else is its server's own."""

_LONGEST_MORE = 256 * 1024
"""Characters of what a server adds to a message or a call; what is longer is not sent back."""


def read_reply(
    response: dict[str, Any], asked: str, *, tokens: TokenCount | None = None, cost_usd: float | None = None
) -> ChatReply:
    """Read the first choice; raise `ProviderError` saying what was found instead. `asked` is the model asked for.

    `tokens` are those of the response, where they have been read, `cost_usd` is what they cost.
    """
    choice = _first_choice(response, asked)
    message = _dict(choice.get("message"), "message", asked)
    content, refused = _content(message.get("content"), asked)
    said, tagged = parted(content or "")
    thoughts = "\n".join([*_thoughts(message), *([tagged] if tagged.strip() else [])])
    refusal = _optional_text(message.get("refusal"), "refusal", asked) or refused
    return ChatReply(
        content=content if content == said else said or None,
        thoughts=thoughts or None,
        calls=tuple(
            _call(item, f"{response.get('id') or 'call'}-{place}", asked)
            for place, item in enumerate(_list(message.get("tool_calls"), "tool_calls", asked), start=1)
        ),
        refusal=refusal or None,
        finish_reason=_optional_text(choice.get("finish_reason"), "finish_reason", asked) or "",
        model=answering_model(response, asked),
        tokens=tokens or read_tokens(response),
        cost_usd=cost_usd,
        first_logprobs=_first_logprobs(choice),
        more=_more(message, _OF_MESSAGES),
    )


def _first_logprobs(choice: dict[str, Any]) -> dict[str, float]:
    """Give the log-probabilities of the first token's alternatives; {} where the server gave none that can be read."""
    given = choice.get("logprobs")
    if given is None:
        return {}
    content = given.get("content") if isinstance(given, dict) else None
    first = content[0] if isinstance(content, list) and content and isinstance(content[0], dict) else {}
    found = first.get("top_logprobs")
    return {
        one["token"]: float(one["logprob"])
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, dict) and isinstance(one.get("token"), str) and isinstance(one.get("logprob"), int | float)
    }


def answering_model(response: dict[str, Any], asked: str) -> str:
    """Give the model that the server says answered, else the one asked for."""
    model = response.get("model")
    return model if isinstance(model, str) and model else asked


def read_tokens(response: dict[str, Any]) -> TokenCount | None:
    """Read `usage`; None where the server did not say, or not in numbers.

    The output holds the thoughts, which some servers (xAI, Gemini) count in the total, and not in the completion.
    """
    usage = response.get("usage")
    if not isinstance(usage, dict):
        return None
    given, answered = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if given is None or answered is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    thought = usage.get("completion_tokens_details")
    reasoning = (_count(thought.get("reasoning_tokens")) if isinstance(thought, dict) else None) or 0
    beside = max((_count(usage.get("total_tokens")) or 0) - given - answered, 0)
    if reasoning > answered:  # no part of it, whatever the total is
        beside = max(beside, reasoning)
    return TokenCount(
        input=given, output=answered + beside, cached=min(cached or 0, given), reasoning=max(reasoning, beside)
    )


def _first_choice(response: dict[str, Any], asked: str) -> dict[str, Any]:
    choices = response.get("choices")
    if not isinstance(choices, list):
        raise _unusable(asked, "choices", "a list", choices)
    if not choices:
        raise ProviderError(f"{asked!r} answered with no choices: {_shown(response)}")
    return _dict(choices[0], "choices[0]", asked)


def _content(value: object, asked: str) -> tuple[str | None, str]:
    """Join the text of a content and, apart, what it refuses; parts of other kinds (thoughts, images) are left out."""
    if value is None or isinstance(value, str):
        return value, ""
    if not isinstance(value, list):
        raise _unusable(asked, "content", "text or a list of parts", value)
    parts = [_dict(part, "content part", asked) for part in value]
    texts = [part.get("text") for part in parts if part.get("type", "text") in {"text", "output_text"}]
    refusals = [part.get("refusal") for part in parts if part.get("type") == "refusal"]
    text = "".join(_optional_text(item, "text of a content part", asked) or "" for item in texts)
    refusal = "".join(_optional_text(item, "refusal of a content part", asked) or "" for item in refusals)
    return (text if texts else None), refusal


def _thoughts(message: dict[str, Any]) -> Iterator[str]:
    """Give what the model thought beside its content, each thought once: servers tell it in several places."""
    parts = message.get("content")
    listed = [part for part in (parts if isinstance(parts, list) else []) if part.get("type") in _THINKING]
    for name in ("reasoning_content", "reasoning"):
        text = message.get(name)
        if isinstance(text, str) and text.strip():
            yield text
            return
    details = message.get("reasoning_details") or message.get("thinking_blocks")
    for part in [*listed, *(details if isinstance(details, list) else [])]:
        if isinstance(part, dict) and (thought := _thought(part)).strip():
            yield thought


def _thought(part: dict[str, Any]) -> str:
    for name in ("thinking", "reasoning", "text", "summary"):
        found = part.get(name)
        if isinstance(found, str):
            return found
        if isinstance(found, list):
            return "".join(str(one.get("text") or "") for one in found if isinstance(one, dict))
    return ""


def _call(value: object, name_of_unnamed: str, asked: str) -> RequestedCall:
    item = _dict(value, "tool call", asked)
    function = item.get("function")
    if not isinstance(function, dict):
        raise _unusable(asked, "function of a tool call", "an object", function)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise _unusable(asked, "name of a tool call", "a name", name)
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):  # some servers give the object itself
        arguments = dumps(arguments)
    identifier = _optional_text(item.get("id"), "id of a tool call", asked)
    more = _more(item, _OF_CALLS)
    return RequestedCall(id=identifier or name_of_unnamed, name=name, arguments=arguments, more=more)


def _more(item: dict[str, Any], known: frozenset[str]) -> dict[str, JsonValue]:
    """Give what a server added to a message or a call; an empty text counts, since some want it back as well."""
    kept = {name: value for name, value in item.items() if value is not None and value is not False}
    added = {name: value for name, value in kept.items() if name not in known and value not in ([], {})}
    more: dict[str, JsonValue] = to_json(added) if added else {}
    return more if len(dumps(more)) <= _LONGEST_MORE else {}


def _dict(value: object, what: str, asked: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unusable(asked, what, "an object", value)
    return value


def _list(value: object, what: str, asked: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _unusable(asked, what, "a list", value)
    return value


def _optional_text(value: object, what: str, asked: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise _unusable(asked, what, "text", value)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _unusable(asked: str, what: str, wanted: str, found: object) -> ProviderError:
    return ProviderError(f"{asked!r} answered with no chat completion: {what} is {_shown(found)}, not {wanted}")


def _shown(value: object) -> str:
    return excerpt(dumps(value)) if value is not None else "missing"


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
