"""The smallest parts of foreign messages: a field, a text, the content of a tool's result, and what cannot be read."""

import reprlib
from collections.abc import Mapping
from typing import Any, TypeGuard, TypeVar

from pydantic import ValidationError

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.misfit import Keys, dotted
from pytest_agentbench.core.text import printable, shorten, stable

M = TypeVar("M", bound=Model)

SHOWN_WIDTH = 120
"""Characters of a repr in an error."""

TEXTS = frozenset({"text", "input_text", "output_text", "text-plain"})
"""Types of parts that are a text."""

_MEDIA = {
    "image": "image",
    "image_url": "image",
    "image-url": "image",
    "input_image": "image",
    "computer_screenshot": "image",
    "audio": "audio",
    "audio-url": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "video-url": "video",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "document-url": "file",
    "container_upload": "file",
    "resource": "file",
    "resource_link": "file",
    "uploaded-file": "file",
    "blob": "file",
    "uri": "file",
    "binary": "file",
    "media": "file",
    "search_result": "file",
}
"""Types (or kinds, at pydantic-ai) of parts that no verdict depends on, and what their placeholder calls them."""

_PART_FIELDS = frozenset(
    {
        "type", "kind", "text", "content", "annotations", "citations", "index", "extras", "cache_control", "_meta",
        "meta", "source", "title", "image_url", "detail", "url", "data", "base64", "file", "file_id", "file_data",
        "file_url", "filename", "input_audio", "mime_type", "mimeType", "media_type", "resource", "uri", "identifier",
        "vendor_metadata", "force_download", "prompt_cache_breakpoint",
    }
)  # fmt: skip
"""Fields that parts of a tool's result have."""

_HOLDERS = {
    "image": ("source", "data", "base64", "url", "file_id", "image_url"),
    "audio": ("source", "data", "base64", "url", "file_id"),
    "video": ("source", "data", "base64", "url", "file_id"),
    "file": ("source", "data", "base64", "url", "file_id", "file"),
    "document": ("source",),
    "search_result": ("source",),
    "resource": ("resource",),
    "resource_link": ("uri",),
}
"""Types that rows of a tool's data may have as well: which field holds what a part of some API is about."""

_NAMES = ("title", "filename", "display_name", "displayName", "name")
_FORMATS = ("mime_type", "mimeType", "media_type", "mediaType", "modality")


class UnreadableError(ValueError):
    """A part of a foreign message that cannot be read; `path` leads to it from what was given to the reader."""

    def __init__(self, message: str, path: Keys) -> None:
        super().__init__(f"{dotted(path)}: {message}" if path else message)
        self.message = message
        self.path = path


def shown(value: object) -> str:
    """Give the repr of any object, shortened and safe to print."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = SHOWN_WIDTH
    try:
        return printable(shorten(stable(short.repr(value)), SHOWN_WIDTH))
    except Exception:  # noqa: BLE001 - the object is the user's, and so is its __repr__
        return "<its repr cannot be shown>"


def found(value: object) -> str:
    """Say what was found, for the beginning of an error."""
    return f"found {type(value).__name__} {shown(value)}"


def field(message: object, *names: str) -> Any:
    """Read the first of several keys of a mapping, or attributes of an object, that is there; None where none is."""
    # dictionaries first: to ask whether something is a mapping takes ten times as long
    is_mapping = isinstance(message, dict) or isinstance(message, Mapping)  # noqa: SIM101 - see above
    for name in names:
        value = message.get(name) if is_mapping else getattr(message, name, None)  # type: ignore[attr-defined]  # it is one
        if value is not None:
            return value
    return None


def validated(kind: type[M], given: object, at: Keys) -> M:
    """Read one of our own models; raise `UnreadableError` for the first thing in it that does not fit."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise UnreadableError(f"found {shown(first['input'])}, {first['msg']}", (*at, *first["loc"])) from None


def text_field(message: object, *names: str) -> str:
    """Read the first of several fields that is a text and not empty; "" where there is none."""
    if isinstance(message, dict):
        for name in names:
            value = message.get(name)
            if isinstance(value, str) and value:
                return str.__str__(value)
        return ""
    found = (field(message, name) for name in names)
    return next((str.__str__(value) for value in found if isinstance(value, str) and value), "")


def is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether a value is a list of parts or of messages."""
    return isinstance(value, list | tuple)


def text_part(part: object) -> str | None:
    """Give the text of a content part that is one, or the placeholder of one that is none; None for anything else."""
    if isinstance(part, str):
        return str.__str__(part)
    kind = text_field(part, "type") or text_field(part, "kind")
    if kind in TEXTS or kind == "text-content":
        return _text(part)
    return placeholder(part, kind)


def placeholder(part: object, kind: str) -> str | None:
    """Give what stands for a part that no verdict depends on: `[image]`, `[file: terms.pdf]`; None for other parts.

    A text that the part holds (a plain document, a search result) follows the placeholder.
    """
    media = _MEDIA.get(kind)
    if media is None:
        return None
    if media == "file":
        head = str(next((value for name in _FORMATS if (value := text_field(part, name))), "")).partition("/")[0]
        media = head if head in ("image", "audio", "video") else media
    name = text_field(part, *_NAMES) or text_field(field(part, "file"), "filename")
    source = field(part, "source")
    held = text_field(source, "data") if text_field(source, "type") == "text" else ""
    inner = field(part, "content") if kind in ("search_result", "document") else None
    inner = field(source, "content") if inner is None else inner
    held = held or (str.__str__(inner) if isinstance(inner, str) else "")
    parts = inner if is_list(inner) else ()
    texts = [held, *(text_field(one, "text") for one in parts), text_field(field(part, "resource"), "text")]
    told = f"[{media}: {name}]" if name else f"[{media}]"
    return "\n".join([told, *(text for text in texts if text)])


def result_text(content: object) -> str:
    """Give the content of a tool result as text: a text, the parts of a content list, or any other data as JSON.

    Data may look like parts: what has a field that no part has is data, so that nothing of it is lost.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return str.__str__(content)
    if isinstance(content, list | tuple) and not all(isinstance(part, str) for part in content):
        parts = [text_part(part) if _is_part(part) else None for part in content]
        if all(part is not None for part in parts):
            return "".join(part for part in parts if part is not None)
    return dumps(content)


def thought_text(part: object) -> str:
    """Give what a model thought, from whichever field holds it; what is encrypted has a placeholder."""
    nested = field(part, "reasoning_content", "reasoningContent")
    said = text_field(part, "thinking", "reasoning", "text", "content")
    said = said or (str.__str__(nested) if isinstance(nested, str) else text_field(nested, "text"))
    if said:
        return said
    lists = [field(part, name) for name in ("summary", "content")]
    parts = [one for several in lists if is_list(several) for one in several]
    texts = [one if isinstance(one, str) else text_field(one, "text") for one in parts]
    if any(texts):
        return "\n".join(filter(None, texts))
    return "[encrypted]" if field(part, "data", "encrypted_content", "signature") else ""


def _is_part(part: object) -> bool:
    """Whether a thing in a tool's result has the form of a part that some API defines, so that it is no data."""
    if not isinstance(part, Mapping):
        return True
    kind = text_field(part, "type")
    if any(name not in _PART_FIELDS for name in part):
        return False
    if kind not in _HOLDERS or len(part) == 1:
        return True
    is_titled = kind in ("document", "search_result") or not any(name in part for name in ("title", "content", "text"))
    is_held = any(field(part, name) is not None for name in _HOLDERS[kind])
    return is_titled and is_held and (kind != "document" or not isinstance(field(part, "source"), str))


def _text(part: object) -> str | None:
    text = field(part, "text", "content")
    if isinstance(text, Mapping):
        text = text.get("value")
    if text is None and text_field(part, "type") == "text-plain":
        return "[file]"
    return str.__str__(text) if isinstance(text, str) else None
