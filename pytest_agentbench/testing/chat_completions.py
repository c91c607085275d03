"""OpenAI's chat completions, as a scripted model answers them: one JSON object, or a stream of chunks."""

import json
from collections.abc import Iterator
from typing import Any

from pytest_agentbench.testing.answers import Answer
from pytest_agentbench.testing.api import Api, as_chat_message, event, named_calls, pieces, tokens_of
from pytest_agentbench.testing.script import ApiName, ModelRequest, ScriptError


class ChatApi(Api):
    """Implements `Api` for `POST /v1/chat/completions`."""

    name: ApiName = "chat"
    path = "/v1/chat/completions"
    prefix = "chatcmpl-"

    def read(self, body: dict[str, Any], path: str) -> dict[str, Any]:
        """Give the body itself; raise `ScriptError` where it holds no messages."""
        messages = body.get("messages")
        if not isinstance(messages, list):
            message = "the body must be a JSON object with a list of messages"
            raise ScriptError(message, kind="invalid_request_error")
        if not all(isinstance(message, dict) for message in messages):
            raise ScriptError("every message must be a JSON object", kind="invalid_request_error")
        return body

    def whole(self, answer: Answer, request: ModelRequest, identity: str) -> bytes:
        """Give the JSON of a `chat.completion`."""
        message = as_chat_message(answer, named_calls(answer, request, "call_"))
        made = _head("chat.completion", request, identity)
        made["choices"] = [
            {"index": index, "message": message, "logprobs": None, "finish_reason": answer.reason}
            for index in range(answer.choices)
        ]
        if (usage := _usage(answer, request)) is not None:
            made["usage"] = usage
        return json.dumps(made).encode()

    def events(self, answer: Answer, request: ModelRequest, identity: str) -> Iterator[bytes]:
        """Give the chunks of a completion; its usage comes last, where the request asks for it."""
        head = _head("chat.completion.chunk", request, identity)
        for index in range(answer.choices):
            for delta in _deltas(answer, request):
                yield event({**head, "choices": [_choice(index, delta)]}, named=False)
            yield event({**head, "choices": [_choice(index, {}, answer.reason)]}, named=False)
        usage = _usage(answer, request)
        if usage is not None and (request.body.get("stream_options") or {}).get("include_usage"):
            yield event({**head, "choices": [], "usage": usage}, named=False)
        yield b"data: [DONE]\n\n"


def _head(kind: str, request: ModelRequest, identity: str) -> dict[str, Any]:
    return {"id": identity, "object": kind, "created": 0, "model": request.model}


def _choice(index: int, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}


def _deltas(answer: Answer, request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Give what a stream adds: the role, pieces of text, then each call's name and pieces of its arguments."""
    message = as_chat_message(answer, named_calls(answer, request, "call_"))
    yield {"role": "assistant", "content": None if answer.content is None else ""}
    for key in ("reasoning_content", "content", "refusal"):
        for piece in pieces(message.get(key)):
            yield {key: piece}
    for index, made in enumerate(message.get("tool_calls", ())):
        arguments = made["function"]["arguments"]
        yield {"tool_calls": [{"index": index, **made, "function": {**made["function"], "arguments": ""}}]}
        for piece in pieces(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _usage(answer: Answer, request: ModelRequest) -> dict[str, Any] | None:
    tokens = tokens_of(answer, request)
    if tokens is None:
        return None
    usage: dict[str, Any] = {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    }
    if tokens.reasoning:
        usage["completion_tokens_details"] = {"reasoning_tokens": tokens.reasoning}
    return usage
