"""Google's generateContent, as a scripted model answers it: contents in, candidates out, whole or as a stream."""

import json
from collections.abc import Iterator
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.testing.answers import Answer
from pytest_agentbench.testing.api import Api, arguments_of, called, declared, event, pieces, tokens_of
from pytest_agentbench.testing.fault import ErrorText
from pytest_agentbench.testing.script import ApiName, ModelRequest, ScriptError

_STARTS = ("/v1beta/models/", "/v1/models/")
"""Google's clients append a version to their base URL, unless that ends in one already."""

_WHOLE, _STREAM = ":generateContent", ":streamGenerateContent"
_REASONS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip


class GeminiApi(Api):
    """Implements `Api` for `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`."""

    name: ApiName = "gemini"
    path = f"{_STARTS[0]}MODEL{_WHOLE}"
    prefix = ""

    def takes(self, path: str) -> bool:
        """Whether a path names a model and one of the two ways to ask it."""
        return path.startswith(_STARTS) and path.endswith((_WHOLE, _STREAM))

    def read(self, body: dict[str, Any], path: str) -> dict[str, Any]:
        """Give the chat form of a request, whose model and whether it is streamed stand in the path."""
        contents = body.get("contents")
        if not isinstance(contents, list) or not all(isinstance(content, dict) for content in contents):
            raise ScriptError("contents: must be a list of JSON objects", kind="INVALID_ARGUMENT")
        system = _text((body.get("systemInstruction") or {}).get("parts") or [])
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        for content in contents:
            messages += _messages(content, messages)
        tools = [
            declared(one.get("name"), one.get("description"), one.get("parameters", one.get("parametersJsonSchema")))
            for tool in body.get("tools") or []
            for one in tool.get("functionDeclarations") or []
        ]
        model, _, way = path.partition("/models/")[2].rpartition(":")
        return {"model": model, "messages": messages, "tools": tools, "stream": f":{way}" == _STREAM}

    def whole(self, answer: Answer, request: ModelRequest, identity: str) -> bytes:
        """Give all candidates; raise `ScriptError` for arguments that are no object, which none can hold."""
        reason = _reason(answer)
        candidates = [_candidate(_parts(answer), index, reason) for index in range(answer.choices)]
        return json.dumps({**_head(request, identity), "candidates": candidates, **_usage(answer, request)}).encode()

    def events(self, answer: Answer, request: ModelRequest, identity: str) -> Iterator[bytes]:
        """Give a candidate piece by piece; its reason and the usage come last."""
        head = _head(request, identity)
        for index in range(answer.choices):
            for part in _parts(answer):
                for piece in pieces(part["text"]) if "text" in part else (None,):
                    grown = part if piece is None else {**part, "text": piece}
                    yield event({**head, "candidates": [_candidate([grown], index)]}, named=False)
            ended = {**head, "candidates": [_candidate([], index, _reason(answer))], **_usage(answer, request)}
            yield event(ended, named=False)

    def error(self, status: int, error: ErrorText) -> bytes:
        """Give an error in Google's form."""
        said = error.kind if error.kind.isupper() else _STATUSES.get(status, "UNKNOWN")
        return json.dumps({"error": {"code": status, "message": error.message, "status": said}}).encode()


def _head(request: ModelRequest, identity: str) -> dict[str, Any]:
    return {"modelVersion": request.model, "responseId": identity}


def _candidate(parts: list[dict[str, Any]], index: int, reason: str = "") -> dict[str, Any]:
    ended = {"finishReason": reason} if reason else {}
    return {"content": {"role": "model", "parts": parts}, "index": index, **ended}


def _reason(answer: Answer) -> str:
    return "SAFETY" if answer.refusal is not None else _REASONS.get(answer.reason, answer.reason)


def _parts(answer: Answer) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if answer.thoughts is not None:
        parts.append({"text": answer.thoughts, "thought": True})
    parts += [{"text": said} for said in (answer.content, answer.refusal) if said is not None]
    for made in answer.calls:
        parts.append({"functionCall": {"name": made.name, "args": arguments_of(made, "Google's API")}})
    return parts


def _messages(content: dict[str, Any], before: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give a content as messages: results of tools first, then what was said and called. Thoughts are left out."""
    parts = [part for part in content.get("parts") or [] if isinstance(part, dict) and not part.get("thought")]
    waiting = _waiting(before)
    for answered in (part["functionResponse"] for part in parts if "functionResponse" in part):
        name = answered.get("name")
        key = next((key for key, called in waiting if called == name), f"call_of_{name}")
        waiting = [one for one in waiting if one[0] != key]
        yield {"role": "tool", "tool_call_id": key, "content": dumps(answered.get("response"))}
    number = sum(len(message.get("tool_calls") or ()) for message in before)
    calls = [
        called(f"call_{at}", str(made.get("name")), dumps(made.get("args") or {}))
        for at, made in enumerate((part["functionCall"] for part in parts if "functionCall" in part), number + 1)
    ]
    said = [part for part in parts if "text" in part]
    if said or calls:
        role = "assistant" if content.get("role") == "model" else "user"
        yield {"role": role, "content": _text(said) if said else None, **({"tool_calls": calls} if calls else {})}


def _waiting(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Give the ids and names of calls that have no result yet: this API joins the two by name and order."""
    answered = {message.get("tool_call_id") for message in messages}
    made = [one for message in messages for one in message.get("tool_calls") or ()]
    return [(one["id"], one["function"]["name"]) for one in made if one["id"] not in answered]


def _text(parts: list[dict[str, Any]]) -> str:
    return "".join(str(part.get("text", "")) for part in parts)


def _usage(answer: Answer, request: ModelRequest) -> dict[str, Any]:
    tokens = tokens_of(answer, request)
    if tokens is None:
        return {}
    return {
        "usageMetadata": {
            "promptTokenCount": tokens.input,
            "cachedContentTokenCount": tokens.cached,
            "candidatesTokenCount": tokens.output - tokens.reasoning,
            "thoughtsTokenCount": tokens.reasoning,
            "totalTokenCount": tokens.input + tokens.output,
        }
    }
