"""A tool call that a model wrote as text, which nobody makes."""

import re
from collections.abc import Collection, Iterator

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.answer_text import json_values

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
