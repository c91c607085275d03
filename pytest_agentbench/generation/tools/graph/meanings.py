"""What names and looks say of a value: whether people call a thing by it, whether an argument is described as it."""

import re
from typing import Any

from pytest_agentbench.generation.tools.graph.names import nouns, words
from pytest_agentbench.generation.tools.probing.schemas import Slot

ASKS = frozenset({
    "query", "search", "keyword", "term", "text", "filter", "message", "question", "note", "comment", "title",
    "description", "content", "body", "summary", "pattern", "glob", "regex", "exclude", "include",
})  # fmt: skip
"""What arguments are called that take free text: that a title finds itself joins no two tools."""

_CALLED = frozenset({"name", "title", "label", "city", "place", "town"})
"""What results call the words by which people ask for a thing."""


def is_called(names: tuple[str, ...]) -> bool:
    """Whether what stands under these names is what people call a thing."""
    return bool(set(words(names[-1] if names else "")[-1:]) & _CALLED)


def is_meant(names: tuple[str, ...], tool: str, slot: Slot) -> bool:
    """Whether the description of an argument names what a place holds: `the name of the task` for `tasks.*.name`."""
    head = set(words(names[-1] if names else "")[-1:])
    about = nouns(*names[:-1]) or nouns(tool)
    said = set(words(slot.described))
    return bool(head & {"name", "id", "key", "code", "number"}) and head <= said and bool(about & said)


def shape(value: Any) -> str:
    """Give the look of a value: digits as 9, letters as a, the rest as it is; numbers look alike."""
    if isinstance(value, int | float):
        return "number"
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", str(value)))
