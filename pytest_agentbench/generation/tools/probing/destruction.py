"""Signs that a tool may destroy what nobody can bring back, in whatever it tells of itself: a veto, never a permission.

It is read where nothing can be reset, and errs on the side of leaving a tool alone: a recipe names the tools that are
called all the same.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.core.tool import ToolSpec

_DESTROYS = re.compile(
    r"(?:delet|remov|eras|purg|wip(?:e|ing)|destroy|destruct|truncat|overwrit|revok|terminat|uninstall|irrevers)"
    r"[a-z]*|(?:flush|prune|reset|drop|kill|clear|unlink|expunge|undo|restor|trash|obliterat)(?:s|e[sd]?|ped|p?ing)?"
    r"|permanently|undone",
)
_RUNS_ANYTHING = frozenset({"sql", "command", "cmd", "script", "shell", "eval", "exec", "execute"})
"""Words of what runs whatever it is given."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DEEPEST = 8


def sign_of_destruction(spec: ToolSpec) -> str:
    """Name what makes a tool suspicious, its own declaration first; "" where nothing does."""
    if spec.destructive is True:
        return "it is declared destructive"
    for place, text in (("name", spec.name), ("description", spec.description), *_of_schema(spec.parameters)):
        for word in _WORD.findall(text):
            if _DESTROYS.fullmatch(word.lower()) or word.lower() in _RUNS_ANYTHING:
                return f"its {place} says {word!r}"
    return ""


def _of_schema(schema: object, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Give the names of arguments, what is told of them, and the texts that they allow."""
    if isinstance(schema, list) and depth < _DEEPEST:
        for item in schema:
            yield from _of_schema(item, depth + 1)
    if not isinstance(schema, Mapping) or depth >= _DEEPEST:
        return
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            for name, inner in value.items():
                yield "arguments", str(name)
                yield from _of_schema(inner, depth + 1)
        elif key in ("enum", "const", "description", "title"):
            yield from (("arguments", text) for text in _texts(value))
        elif isinstance(value, Mapping | list):
            yield from _of_schema(value, depth + 1)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))
