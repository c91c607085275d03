"""What a tool of an MCP server answers, as text: text as it is, anything else described."""

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.tool import ToolResult
from pytest_agentbench.core.values import decoded


def result_of(answer: Mapping[str, Any]) -> ToolResult:
    """Give the result of a call: a list with its elements where that is what the texts are, one for each.

    Structured content follows where the text does not say the same.
    """
    blocks = [part for part in answer.get("content") or () if isinstance(part, Mapping)]
    parts = [_text(part) for part in blocks]
    structured = answer.get("structuredContent")
    error = answer.get("isError") is True
    if all(part.get("type") == "text" for part in blocks):
        listed = _listed(parts, structured)
        if listed is not None and not error:
            return ToolResult(content=dumps(listed))
    text = "\n".join(parts)
    if structured is not None and not _says(text, parts, structured):
        text = f"{text}\n{dumps(structured)}" if text else dumps(structured)
    return ToolResult(content=text, error=error)


def _listed(parts: Sequence[str], structured: Any) -> list[Any] | None:
    """Give the list that a server spread over its texts, None where it did not.

    Structured content tells it, bare or as the one value of an object. Without that, several objects or lists are one.
    """
    values = [decoded(part) for part in parts]
    if structured is None:
        return values if len(values) > 1 and all(isinstance(value, dict | list) for value in values) else None
    inner = _inner(structured)
    return inner if isinstance(inner, list) and inner in (values, list(parts)) else None


def _inner(structured: Any) -> Any:
    """Give what was put into an object with one key, since structured content must be an object."""
    return next(iter(structured.values())) if isinstance(structured, Mapping) and len(structured) == 1 else structured


def _says(text: str, parts: Sequence[str], structured: Any) -> bool:
    """Whether a text says what structured content does: as JSON, or as the one text that was put into an object."""
    return any(said in (structured, _inner(structured)) for said in (text, decoded(text), *parts))


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
