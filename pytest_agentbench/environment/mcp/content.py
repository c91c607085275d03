"""What a tool of an MCP server answers, as text: text as it is, anything else described."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.tool import ToolResult


def result_of(answer: Mapping[str, Any]) -> ToolResult:
    """Give the result of a call; structured content follows where the text does not say the same."""
    parts = [_text(part) for part in answer.get("content") or () if isinstance(part, Mapping)]
    text = "\n".join(parts)
    structured = answer.get("structuredContent")
    if structured is not None and not _says(text, parts, structured):
        text = f"{text}\n{dumps(structured)}" if text else dumps(structured)
    return ToolResult(content=text, error=answer.get("isError") is True)


def _says(text: str, parts: Sequence[str], structured: Any) -> bool:
    """Whether a text says what structured content does: as JSON, or as the one text that was put into an object."""
    inner = next(iter(structured.values())) if isinstance(structured, Mapping) and len(structured) == 1 else structured
    return any(said in (structured, inner) for said in (text, _value(text), *parts, list(map(_value, parts))))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    if kind in ("image", "audio"):
        size = len(str(part.get("data", ""))) * 3 // 4
        return f"[{kind}, {part.get('mimeType', 'of unknown type')}, about {size} bytes]"
    if kind == "resource_link":
        return f"[resource {part.get('name', '')}: {part.get('uri', '')}]"
    if kind == "resource":
        resource = part.get("resource")
        inner = resource if isinstance(resource, Mapping) else {}
        if "text" in inner:
            return str(inner["text"])
        size = len(str(inner.get("blob", ""))) * 3 // 4
        return f"[resource {inner.get('uri', '')}, {inner.get('mimeType', 'of unknown type')}, about {size} bytes]"
    return f"[{kind}]"
