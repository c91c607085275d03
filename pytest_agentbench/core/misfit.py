"""What does not fit in a value that a person wrote: the way to it, and what is wrong there."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.text import printable

Keys = tuple[str | int, ...]
"""The way to a part of a value: keys and list indices from the top."""


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """A part of a value that does not fit; `at_key` means that the key is wrong, not its value."""

    path: Keys
    message: str
    hint: str = ""
    at_key: bool = False

    def __str__(self) -> str:
        place = f"{dotted(self.path)}: " if self.path else ""
        return with_hint(f"{place}{self.message}", self.hint)


def dotted(path: Keys) -> str:
    """Write a path as people do: `scenarios[2].expect[0]`; characters that nobody sees are written out."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{printable(step)}" if text else printable(step)
    return text


def shown(value: object, width: int = 60) -> str:
    """Write a found value for a message, cut to `width` characters."""
    text = _outline(value) if isinstance(value, Mapping | list | tuple) else repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"


def _outline(value: Mapping[object, object] | list[object] | tuple[object, ...]) -> str:
    if isinstance(value, Mapping):
        return f"a mapping with {', '.join(map(repr, list(value)[:3]))}" if value else "an empty mapping"
    return f"a list of {len(value)}" if value else "an empty list"
