"""Chat completions as pydantic-ai has them: a request's body in its messages and settings, its answer as we read it."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic_ai import messages as parts
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

_SENT_AS = {
    "temperature": "temperature",
    "seed": "seed",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "reasoning_effort": "thinking",
}
"""Keys of a request, and the settings they are."""

_OWN = frozenset({"model", "messages", "tools", "tool_choice", "response_format", *_SENT_AS})

_FINISHED = {"tool_call": "tool_calls", "error": "stop"}
"""How answers end, where pydantic-ai has another word for it."""


def history(messages: list[dict[str, Any]]) -> list[parts.ModelMessage]:
    """Give a conversation; what no model said between two of its answers is one request."""
    told: list[parts.ModelMessage] = []
    asked: list[parts.ModelRequestPart] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] != "assistant":
            asked.append(_asked(message, names))
            continue
        if asked:
            told.append(parts.ModelRequest(parts=asked))
            asked = []
        calls = message.get("tool_calls") or []
        names |= {call["id"]: call["function"]["name"] for call in calls}
        told.append(parts.ModelResponse(parts=list(_answered(message, calls))))
    return [*told, parts.ModelRequest(parts=asked)] if asked else told


def parameters(body: Mapping[str, Any]) -> ModelRequestParameters:
    """Give the tools of a request and the form of its answer; JSON mode without a schema is left to the prompt."""
    tools = [_tool(tool["function"]) for tool in body.get("tools") or ()]
    form = body.get("response_format") or {}
    if form.get("type") != "json_schema":
        return ModelRequestParameters(function_tools=tools)
    described = form["json_schema"]
    wanted = OutputObjectDefinition(
        json_schema=described["schema"], name=described.get("name"), strict=described.get("strict")
    )
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=wanted)


def settings(body: Mapping[str, Any], *, seconds: float, headers: Mapping[str, str]) -> ModelSettings:
    """Give all else of a request; nothing is sent twice, and what pydantic-ai has no name for goes along as it is."""
    chosen: dict[str, Any] = {"timeout": seconds, "max_retries": 0}
    chosen |= {name: body[key] for key, name in _SENT_AS.items() if key in body}
    if headers:
        chosen["extra_headers"] = dict(headers)
    if further := {key: value for key, value in body.items() if key not in _OWN}:
        chosen["extra_body"] = further
    choice = body.get("tool_choice")
    if choice is not None:
        chosen["tool_choice"] = [choice["function"]["name"]] if isinstance(choice, dict) else choice
    return cast("ModelSettings", chosen)


def completion(response: parts.ModelResponse, asked: str) -> dict[str, Any]:
    """Give an answer as a `chat.completion`; a thought is a thought, whatever its provider calls it."""
    said = "".join(part.content for part in response.parts if isinstance(part, parts.TextPart))
    thought = "\n".join(part.content for part in response.parts if isinstance(part, parts.ThinkingPart))
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in response.parts
        if isinstance(part, parts.ToolCallPart)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": said or None}
    message |= {"tool_calls": calls} if calls else {}
    message |= {"reasoning_content": thought} if thought else {}
    reason = response.finish_reason or ("tool_call" if calls else "stop")
    usage = response.usage
    return {
        "id": response.provider_response_id or "",
        "object": "chat.completion",
        "model": response.model_name or asked,
        "choices": [{"index": 0, "message": message, "finish_reason": _FINISHED.get(reason, reason)}],
        "usage": {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        },
    }


def _asked(message: Mapping[str, Any], names: Mapping[str, str]) -> parts.ModelRequestPart:
    content = message.get("content") or ""
    if message["role"] in {"system", "developer"}:
        return parts.SystemPromptPart(content=_text(content))
    if message["role"] == "tool":
        called = str(message.get("tool_call_id") or "")
        return parts.ToolReturnPart(tool_name=names.get(called, ""), content=_text(content), tool_call_id=called)
    return parts.UserPromptPart(content=content if isinstance(content, str) else [_piece(piece) for piece in content])


def _piece(piece: Mapping[str, Any]) -> parts.UserContent:
    return parts.ImageUrl(url=piece["image_url"]["url"]) if "image_url" in piece else str(piece.get("text") or "")


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(str(piece.get("text") or "") for piece in content)


def _answered(message: Mapping[str, Any], calls: list[dict[str, Any]]) -> Iterator[parts.ModelResponsePart]:
    if text := _text(message.get("content") or ""):
        yield parts.TextPart(content=text)
    for call in calls:
        function = call["function"]
        yield parts.ToolCallPart(tool_name=function["name"], args=function["arguments"], tool_call_id=call["id"])


def _tool(function: Mapping[str, Any]) -> ToolDefinition:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return ToolDefinition(
        name=function["name"],
        description=function.get("description"),
        parameters_json_schema=schema,
        strict=function.get("strict"),
    )
