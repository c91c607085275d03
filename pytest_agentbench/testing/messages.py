"""Anthropic's Messages, as a scripted model answers them: blocks in, blocks out, one object or its stream of events."""

import json
from collections.abc import Iterator
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.testing.answers import Answer, ScriptedCall
from pytest_agentbench.testing.api import (
    Api,
    arguments_of,
    called,
    checksum,
    declared,
    event,
    joined,
    named_calls,
    pieces,
    tokens_of,
)
from pytest_agentbench.testing.fault import ErrorText
from pytest_agentbench.testing.script import ApiName, ModelRequest, ScriptError

_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_TYPES = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip


class MessagesApi(Api):
    """Implements `Api` for `POST /v1/messages`."""

    name: ApiName = "messages"
    path = "/v1/messages"
    prefix = "msg_"

    def read(self, body: dict[str, Any], path: str) -> dict[str, Any]:
        """Give the chat form of a request; raise as `Api.read` does."""
        given = body.get("messages")
        if not isinstance(given, list) or not all(isinstance(message, dict) for message in given):
            raise ScriptError("messages: must be a list of JSON objects", kind="invalid_request_error")
        if not isinstance(body.get("max_tokens"), int):
            raise ScriptError("max_tokens: must be a number, as this API demands", kind="invalid_request_error")
        system = joined(body.get("system"))
        messages = [{"role": "system", "content": system}] if system else []
        messages += [one for message in given for one in _messages(message)]
        tools = [
            declared(tool.get("name") or str(tool.get("type")), tool.get("description"), tool.get("input_schema"))
            for tool in body.get("tools") or []
        ]
        return {"model": body.get("model"), "messages": messages, "tools": tools, "stream": body.get("stream")}

    def whole(self, answer: Answer, request: ModelRequest, identity: str) -> bytes:
        """Give the JSON of a `message`; raise `ScriptError` for arguments that are no object, which it cannot hold."""
        message = _message(answer, request, identity)
        for block in message["content"]:
            if block["type"] == "tool_use":
                made = ScriptedCall(name=block["name"], arguments=block["input"])
                block["input"] = arguments_of(made, "a whole message of Anthropic's API")
        return json.dumps(message).encode()

    def events(self, answer: Answer, request: ModelRequest, identity: str) -> Iterator[bytes]:
        """Give the events of a message: it begins, each block grows and stops, the reason and the usage come last."""
        message = _message(answer, request, identity)
        usage = {} if (used := message.pop("usage", None)) is None else {"usage": {**used, "output_tokens": 1}}
        begun = {**message, "content": [], "stop_reason": None, **usage}
        yield event({"type": "message_start", "message": begun})
        for index, block in enumerate(message["content"]):
            for one in _block_events(block):
                yield event({**one, "index": index})
        ended = {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}}
        yield event({**ended, "usage": {"output_tokens": used["output_tokens"]}} if used else ended)
        yield event({"type": "message_stop"})

    def error(self, status: int, error: ErrorText) -> bytes:
        """Give an error in Anthropic's form, which has neither code nor parameter."""
        kind = error.kind or _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": error.message}}).encode()


def _message(answer: Answer, request: ModelRequest, identity: str) -> dict[str, Any]:
    """Give a message whose tool calls hold their `input` as the model wrote it."""
    blocks: list[dict[str, Any]] = []
    if answer.thoughts is not None:
        signature = checksum(answer.thoughts.encode("utf-8", "surrogatepass"))
        blocks.append({"type": "thinking", "thinking": answer.thoughts, "signature": signature})
    blocks += [{"type": "text", "text": said} for said in (answer.content, answer.refusal) if said is not None]
    blocks += [
        {"type": "tool_use", "id": key, "name": made.name, "input": made.arguments}
        for key, made in named_calls(answer, request, "toolu_")
    ]
    reason = "refusal" if answer.refusal is not None else _REASONS.get(answer.reason, answer.reason)
    tokens = tokens_of(answer, request)
    usage = tokens and {
        "input_tokens": tokens.input - tokens.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": tokens.output,
        **({"output_tokens_details": {"thinking_tokens": tokens.reasoning}} if tokens.reasoning else {}),
    }
    return {
        "id": identity,
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": blocks * answer.choices,
        "stop_reason": reason,
        "stop_sequence": None,
        **({"usage": usage} if usage else {}),
    }


def _block_events(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "tool_use":
        yield {"type": "content_block_start", "content_block": {**block, "input": {}}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(block["input"])]
    elif block["type"] == "thinking":
        yield {"type": "content_block_start", "content_block": {**block, "thinking": "", "signature": ""}}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    else:
        yield {"type": "content_block_start", "content_block": {**block, "text": ""}}
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    for delta in deltas:
        yield {"type": "content_block_delta", "delta": delta}
    yield {"type": "content_block_stop"}


def _messages(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give a message as those of chat completions: results of tools are messages of their own, thoughts none."""
    content = message.get("content")
    if not isinstance(content, list):
        yield {"role": message.get("role"), "content": content}
        return
    blocks = [block for block in content if isinstance(block, dict)]
    for block in blocks:
        if block.get("type") == "tool_result":
            said = joined(block.get("content"))
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": "" if said is None else said}
    calls = [
        called(str(block.get("id")), str(block.get("name")), dumps(block.get("input")))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    said = [block for block in blocks if block.get("type") not in {"tool_result", "tool_use", "thinking"}]
    if said or calls or not blocks:
        made = {"tool_calls": calls} if calls else {}
        yield {"role": message.get("role"), "content": joined(said) if said else None, **made}
