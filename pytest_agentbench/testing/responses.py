"""OpenAI's Responses, as a scripted model answers them: items in, items out, one object or its stream of events."""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from typing import Any

from pytest_agentbench.testing.answers import Answer
from pytest_agentbench.testing.api import (
    Api,
    as_chat_message,
    called,
    declared,
    event,
    joined,
    named_calls,
    pieces,
    tokens_of,
)
from pytest_agentbench.testing.script import ApiName, ModelRequest, ScriptError

_UNSUPPORTED = ("background", "conversation", "prompt")
"""Keys that need what a scripted model has not: a queue, stored conversations, stored prompts."""

_SETTINGS = ("instructions", "max_output_tokens", "previous_response_id", "reasoning", "temperature", "text", "top_p")
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}

Item = dict[str, Any]


class ResponsesApi(Api):
    """Implements `Api` for `POST /v1/responses`; remembers what it answered, but for requests with `store: false`."""

    name: ApiName = "responses"
    path = "/v1/responses"
    prefix = "resp_"

    def __init__(self) -> None:
        self._stored: dict[str, list[dict[str, Any]]] = {}

    def read(self, body: dict[str, Any], path: str) -> dict[str, Any]:
        """Give the chat form of a request, with what `previous_response_id` stands for; raise as `Api.read` does."""
        if unsupported := [key for key in _UNSUPPORTED if body.get(key)]:
            message = f"the scripted model has no {unsupported[0]!r}: send the whole conversation as `input`"
            raise ScriptError(message, kind="unsupported_parameter")
        given = body.get("input", "")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            message = "`input` must be a text or a list of JSON objects"
            raise ScriptError(message, kind="invalid_request_error")
        said = body.get("instructions")
        messages = [{"role": "system", "content": said}] if said else []
        messages += [*self._earlier(body.get("previous_response_id")), *_messages(items)]
        tools = [
            declared(tool.get("name") or str(tool.get("type")), tool.get("description"), tool.get("parameters"))
            for tool in body.get("tools") or []
        ]
        return {"model": body.get("model"), "messages": messages, "tools": tools, "stream": body.get("stream")}

    def whole(self, answer: Answer, request: ModelRequest, identity: str) -> bytes:
        """Give the JSON of a `response`."""
        return json.dumps(self._response(answer, request, identity)).encode()

    def events(self, answer: Answer, request: ModelRequest, identity: str) -> Iterator[bytes]:
        """Give the events of a response, numbered: it begins, each item grows and is done, the whole comes last."""
        whole = self._response(answer, request, identity)
        begun = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
        listed: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, item in enumerate(whole["output"]):
            listed += _item_events(item, index)
        listed.append({"type": f"response.{whole['status']}", "response": whole})
        for number, one in enumerate(listed):
            yield event({**one, "sequence_number": number})

    def _earlier(self, identity: object) -> list[dict[str, Any]]:
        if identity is None:
            return []
        if not isinstance(identity, str) or identity not in self._stored:
            message = f"Previous response with id {identity!r} not found: it was never given, or not stored."
            raise ScriptError(message, kind="invalid_request_error", code="previous_response_not_found")
        return self._stored[identity]

    def _response(self, answer: Answer, request: ModelRequest, identity: str) -> dict[str, Any]:
        calls = named_calls(answer, request, "call_")
        if request.body.get("store") is not False:
            said = [message for message in request.messages if message["role"] != "system"]
            self._stored[identity] = [*said, as_chat_message(dataclasses.replace(answer, thoughts=None), calls)]
        reason = _INCOMPLETE.get(answer.reason)
        return {
            "id": identity,
            "object": "response",
            "created_at": 0,
            "status": "incomplete" if reason else "completed",
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "model": request.model,
            "output": list(_output(answer, calls, identity)) * answer.choices,
            "parallel_tool_calls": True,
            "tool_choice": request.body.get("tool_choice", "auto"),
            "tools": request.body.get("tools") or [],
            "store": request.body.get("store") is not False,
            "metadata": request.body.get("metadata") or {},
            **{key: request.body.get(key) for key in _SETTINGS},
            "usage": _usage(answer, request),
        }


def _output(answer: Answer, calls: Iterable[tuple[str, Any]], identity: str) -> Iterator[Item]:
    own = identity.partition("_")[2]
    if answer.thoughts is not None:
        summary = [{"type": "summary_text", "text": answer.thoughts}]
        yield {"id": f"rs_{own}", "type": "reasoning", "summary": summary}
    parts: list[dict[str, Any]] = []
    if answer.content is not None:
        parts.append({"type": "output_text", "text": answer.content, "annotations": [], "logprobs": []})
    if answer.refusal is not None:
        parts.append({"type": "refusal", "refusal": answer.refusal})
    status = "incomplete" if answer.reason in _INCOMPLETE else "completed"
    if parts:
        yield {"id": f"msg_{own}", "type": "message", "role": "assistant", "status": status, "content": parts}
    for number, (key, made) in enumerate(calls):
        yield {
            "id": f"fc_{own}{number}",
            "type": "function_call",
            "status": status,
            "call_id": key,
            "name": made.name,
            "arguments": made.arguments,
        }


def _item_events(item: Item, index: int) -> Iterator[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index}
    begun = {**item, "status": "in_progress"}
    if item["type"] == "function_call":
        yield {"type": "response.output_item.added", "output_index": index, "item": {**begun, "arguments": ""}}
        for piece in pieces(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **place, **done}
    elif item["type"] == "reasoning":
        yield {"type": "response.output_item.added", "output_index": index, "item": {**begun, "summary": []}}
        for number, part in enumerate(item["summary"]):
            yield from _grown("reasoning_summary", part, {**place, "summary_index": number})
    else:
        yield {"type": "response.output_item.added", "output_index": index, "item": {**begun, "content": []}}
        for number, part in enumerate(item["content"]):
            yield from _grown("content", part, {**place, "content_index": number})
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _grown(what: str, part: dict[str, Any], place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the events by which one part of an item comes."""
    key = "refusal" if part["type"] == "refusal" else "text"
    name = {"output_text": "output_text", "refusal": "refusal", "summary_text": "reasoning_summary_text"}[part["type"]]
    extra: dict[str, Any] = {"logprobs": []} if name == "output_text" else {}
    yield {"type": f"response.{what}_part.added", **place, "part": {**part, key: ""}}
    for piece in pieces(part[key]):
        yield {"type": f"response.{name}.delta", **place, "delta": piece, **extra}
    yield {"type": f"response.{name}.done", **place, key: part[key], **extra}
    yield {"type": f"response.{what}_part.done", **place, "part": part}


def _messages(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Give items as messages; what a model said at once, text and calls, is one message. Thoughts are left out."""
    messages: list[dict[str, Any]] = []
    for item in items:
        if "role" in item:
            messages.append({"role": item["role"], "content": joined(item.get("content"))})
        elif item.get("type") == "function_call":
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            made = called(str(item.get("call_id")), str(item.get("name")), str(item.get("arguments")))
            messages[-1].setdefault("tool_calls", []).append(made)
        elif item.get("type") == "function_call_output":
            messages.append(
                {"role": "tool", "tool_call_id": item.get("call_id"), "content": joined(item.get("output"))}
            )
        elif item.get("type") != "reasoning":
            message = f"the scripted model cannot read an item of type {item.get('type')!r}: it is in no message"
            raise ScriptError(message, kind="invalid_request_error")
    return messages


def _usage(answer: Answer, request: ModelRequest) -> dict[str, Any] | None:
    tokens = tokens_of(answer, request)
    if tokens is None:
        return None
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": 0},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }
