"""Scripted answers in the format of the chat completions API: one JSON object, or a stream of chunks."""

import json
import math
import zlib
from collections.abc import Iterator
from typing import Any

from pytest_agentbench.testing.answers import Answer, Tokens
from pytest_agentbench.testing.request import ModelRequest

PIECE = 24
"""Characters of a text or of arguments in one chunk of a stream."""

_CHARACTERS_PER_TOKEN = 4


def completion(answer: Answer, request: ModelRequest, identity: str) -> bytes:
    """Give the JSON of a `chat.completion`."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.content}
    if answer.refusal is not None:
        message["refusal"] = answer.refusal
    if answer.calls:
        message["tool_calls"] = _calls(answer, request)
    made = _head("chat.completion", request, identity)
    made["choices"] = [
        {"index": index, "message": message, "logprobs": None, "finish_reason": answer.reason}
        for index in range(answer.choices)
    ]
    if (usage := _usage(answer, request)) is not None:
        made["usage"] = usage
    return json.dumps(made).encode()


def chunks(answer: Answer, request: ModelRequest, identity: str) -> Iterator[bytes]:
    """Give the server-sent events of a streamed completion; its usage comes last, where the request asks for it."""
    for index in range(answer.choices):
        for delta in _deltas(answer, request):
            yield _event({**_head("chat.completion.chunk", request, identity), "choices": [_choice(index, delta)]})
        ended = _choice(index, {}, answer.reason)
        yield _event({**_head("chat.completion.chunk", request, identity), "choices": [ended]})
    usage = _usage(answer, request)
    if usage is not None and (request.body.get("stream_options") or {}).get("include_usage"):
        yield _event({**_head("chat.completion.chunk", request, identity), "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def identity_of(body: bytes) -> str:
    """Give the id of the answer to a request: it follows from the request alone, so no order of arrival changes it."""
    return f"chatcmpl-{zlib.crc32(body):08x}"


def _head(kind: str, request: ModelRequest, identity: str) -> dict[str, Any]:
    return {"id": identity, "object": kind, "created": 0, "model": request.model}


def _choice(index: int, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _deltas(answer: Answer, request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Give what a stream adds: the role, pieces of text, then each call's name and pieces of its arguments."""
    yield {"role": "assistant", "content": None if answer.content is None else ""}
    for piece in _pieces(answer.content):
        yield {"content": piece}
    for piece in _pieces(answer.refusal):
        yield {"refusal": piece}
    for index, made in enumerate(_calls(answer, request)):
        arguments = made["function"]["arguments"]
        yield {"tool_calls": [{"index": index, **made, "function": {**made["function"], "arguments": ""}}]}
        for piece in _pieces(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(whole: str | None) -> Iterator[str]:
    for start in range(0, len(whole or ""), PIECE):
        yield (whole or "")[start : start + PIECE]


def _calls(answer: Answer, request: ModelRequest) -> list[dict[str, Any]]:
    """Give the calls in the API's format; those without an id are numbered on within the conversation."""
    if not answer.calls:
        return []
    before = sum(len(message.get("tool_calls") or ()) for message in request.messages)
    return [
        {
            "id": made.id or f"call_{number}",
            "type": "function",
            "function": {"name": made.name, "arguments": made.arguments},
        }
        for number, made in enumerate(answer.calls, before + 1)
    ]


def _usage(answer: Answer, request: ModelRequest) -> dict[str, Any] | None:
    if answer.usage == "none":
        return None
    tokens = answer.usage if isinstance(answer.usage, Tokens) else _estimate(answer, request)
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    }


def _estimate(answer: Answer, request: ModelRequest) -> Tokens:
    written = len(answer.content or "") + len(answer.refusal or "")
    written += sum(len(made.name) + len(made.arguments) for made in answer.calls)
    return Tokens(input=_tokens(request.characters), output=_tokens(written))


def _tokens(characters: int) -> int:
    return math.ceil(characters / _CHARACTERS_PER_TOKEN)
