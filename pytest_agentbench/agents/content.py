"""The smallest parts of foreign messages: a field, a text, the arguments of a call, and how to show what is wrong."""

import reprlib
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import AgentError
from pytest_agentbench.core.text import printable, shorten, stable

ALLOWED = (
    "a reply is text; a message of OpenAI, LangChain or pydantic-ai; a list of such messages (calls the agent ran "
    'itself with their results, then text); {"messages": [...]}; a pydantic-ai result; or a Reply'
)

SHOWN_WIDTH = 120
"""Characters of a repr in an error."""

_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_THOUGHT_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
_THOUGHTS = ("reasoning_content", "reasoning")
"""Fields of a message in which servers hand on what a model thought."""


def unusable(found: object, why: str = "") -> AgentError:
    """Describe what the agent gave and what it may give."""
    reason = f" ({why})" if why else ""
    return AgentError(f"unusable reply: got {type(found).__name__} {shown(found)}{reason}; {ALLOWED}")


def shown(value: object) -> str:
    """Give the repr of any object, shortened and safe to print."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = SHOWN_WIDTH
    try:
        return printable(shorten(stable(short.repr(value)), SHOWN_WIDTH))
    except Exception:  # noqa: BLE001 - the object is the user's, and so is its __repr__
        return "<its repr cannot be shown>"


def field(message: object, name: str) -> Any:
    """Read a key of a mapping or an attribute of an object; None where there is none."""
    if isinstance(message, Mapping):
        return message.get(name)
    return getattr(message, name, None)


def text_field(message: object, name: str) -> str:
    """Read a field that is a text; the empty string where it is absent or something else."""
    value = field(message, name)
    return str.__str__(value) if isinstance(value, str) else ""


def text_of(content: object) -> str | None:
    """Flatten message content: a text, or a list whose text parts are joined; other parts (images) are left out.

    Raise `AgentError` for anything else.
    """
    if content is None:
        return None
    if isinstance(content, str):
        return str.__str__(content)
    if isinstance(content, list | tuple):
        return "".join(_text_of_part(part) for part in content)
    raise unusable(content, "as the content of a message")


def user_text(content: object) -> str:
    """Give what a user or a system message says; whatever is no text counts as JSON."""
    if content is None or isinstance(content, str | list | tuple):
        return text_of(content) or ""
    return dumps(content)


def result_text(content: object) -> str:
    """Give the content of a tool result as text: a text, the text parts of a content list, or data as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return str.__str__(content)
    if isinstance(content, list | tuple) and any(text_field(part, "type") in _TEXT_PARTS for part in content):
        return text_of(content) or ""
    return dumps(content)


def thoughts_of(message: object) -> str | None:
    """Give what a model thought besides: fields of their own, and parts of the content that are no text for anybody."""
    content = field(message, "content")
    parts = [part for part in content if _is_thought(part)] if isinstance(content, list | tuple) else []
    found = [text_field(message, name) for name in _THOUGHTS] + [
        text_field(part, "thinking") or text_field(part, "text") or text_field(part, "reasoning") for part in parts
    ]
    return "\n".join(text for text in found if text.strip()) or None


def _is_thought(part: object) -> bool:
    return text_field(part, "type") in _THOUGHT_PARTS or field(part, "thought") is True


def _text_of_part(part: object) -> str:
    if isinstance(part, str):
        return str.__str__(part)
    if _is_thought(part):
        return ""
    return text_field(part, "text") or text_field(part, "refusal")
