"""What models write around a structured answer, and a tool call that was written as text."""

import json
import re
from collections.abc import Collection, Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import count
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.reply import OUTPUT_BOUND, ChatReply

M = TypeVar("M", bound=BaseModel)

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_STARTS = 50
"""Braces at which an object is looked for: hostile text must not cost more than linear time."""

_PROBLEMS = 20


class UnreadableAnswerError(ValueError):
    """A text holds no answer of the wanted type; the message lists what is wrong, for the model to correct.

    `lacks_fields` tells that a required field is missing, which a server that enforces the schema lets no model leave
    out.
    """

    def __init__(self, problems: str, *, lacks_fields: bool = False) -> None:
        super().__init__(problems)
        self.lacks_fields = lacks_fields


class NoAnswerError(UnreadableAnswerError):
    """A text holds no JSON object at all."""


def read_answer(answer: type[M], text: str) -> M:
    """Read the JSON object in `text`, alone, fenced or within prose; raise `UnreadableAnswerError`.

    Of several objects the first that is valid counts, else the first one's problems are reported.
    """
    first: ValidationError | None = None
    for value in json_values(text):
        try:
            return answer.model_validate(value)
        except ValidationError as error:
            first = first or error
    if first is not None:
        lacks_fields = any(item["type"] == "missing" for item in first.errors(include_url=False, include_context=False))
        raise UnreadableAnswerError(_listed(first), lacks_fields=lacks_fields)
    raise NoAnswerError(_no_json(text))


def json_values(text: str) -> Iterator[JsonValue]:
    """Give the JSON values in `text`: the whole, what is fenced, then the objects within prose."""
    for candidate in (text, *_FENCE.findall(text)):
        try:
            yield json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    decoder = json.JSONDecoder()
    start = -1
    for _ in range(_STARTS):
        start = text.find("{", start + 1)
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        yield value
        start = end - 1


def _no_json(text: str) -> str:
    if not text.strip():
        return "- it is empty; a JSON object is wanted"
    try:
        json.loads(text[text.find("{") :] if "{" in text else text)
    except (ValueError, RecursionError) as error:
        return f"- it is no JSON object: {error}"
    return "- it is no JSON object"


def _listed(error: ValidationError) -> str:
    lines = []
    for item in error.errors(include_url=False, include_context=False)[:_PROBLEMS]:
        place = ".".join(str(part) for part in item["loc"]) or "the object"
        found = "" if item["type"] == "missing" else f" (found {shorten(repr(item['input']), 80)})"
        lines.append(printable(f"- {place}: {item['msg']}{found}"))
    if error.error_count() > _PROBLEMS:
        lines.append(f"- and {error.error_count() - _PROBLEMS} more")
    return "\n".join(lines)


def cut_off(reply: ChatReply, bound: int | None) -> str:
    """Say where a truncated answer was cut off; `bound` is the limit that suite or role set, None for the default.

    One that is shorter than its bound ended with the context of its server, which no key of ours makes longer. Without
    a word, its length tells nothing: not every server counts thoughts.
    """
    now = f"it is {OUTPUT_BOUND} where nobody sets it" if bound is None else f"it is {bound}"
    if not reply.text.strip() and not reply.calls:
        said = f"cut off at its token limit before it said anything{_thinking(reply)}"
        return f"{said}: raise `max_tokens` ({now}), or lower `effort`"
    written = reply.tokens.output if reply.tokens is not None else None
    if written is None or written >= (OUTPUT_BOUND if bound is None else bound):
        return f"cut off at its token limit: raise `max_tokens` ({now})"
    if bound is None or reply.tokens is None:  # it may have a bound of its own
        return f"cut off after {count(written, 'token')}: raise `max_tokens` ({now}), or the context of its server"
    told = f"{written} of {count(bound, 'token')}, with {reply.tokens.input} before them"
    return f"cut off after {told}: its server has no longer context"


def _thinking(reply: ChatReply) -> str:
    if reply.tokens is not None and reply.tokens.reasoning:
        return f" ({reply.tokens.reasoning} of {reply.tokens.output} tokens were thoughts)"
    return ", while it was thinking" if reply.thoughts else ""


_MARKED = re.compile(
    r"(?:\[TOOL_CALLS\]|<\|python_tag\|>|<function=|<｜tool▁sep｜>|to=functions\.)\s*([A-Za-z0-9_.-]{1,128})"
)
"""Marks of chat templates after which the name of a tool stands outside of any JSON."""

_ARGUMENTS = ("arguments", "parameters", "args", "input")

PARSER = (
    "its server probably has no parser for tool calls: start vLLM with `--enable-auto-tool-choice` and "
    "`--tool-call-parser`, llama.cpp with `--jinja`"
)
"""What to do about calls that are written as text."""


def written_call(text: str, offered: Collection[str]) -> str:
    """Name the offered tool that `text` is a call of: JSON of its name and arguments, or a template's mark; else ""."""
    if "{" in text:
        for value in json_values(text):
            for name in _names(value):
                if name in offered:
                    return name
    if "[" in text or "<" in text or "=" in text:
        return next((name for name in _MARKED.findall(text) if name in offered), "")
    return ""


def _names(value: JsonValue) -> Iterator[str]:
    for one in value[:20] if isinstance(value, list) else [value]:
        if not isinstance(one, dict):
            continue
        inner = one.get("function")
        called = inner if isinstance(inner, dict) else one
        name = called.get("name", inner)
        if isinstance(name, str) and any(isinstance(called.get(key), dict | str) for key in _ARGUMENTS):
            yield name
