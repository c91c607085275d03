"""Slips of users: values that exist, misspelt or misremembered, with which a request finds nothing.

Probing finds out that a tool answers `zz` with nothing; no user asks for that. A user swaps two letters of a name or
gets the last digit of a number wrong. Whether nothing is found is for the tool to say: slips are tried like any call.
"""

from collections.abc import Iterator, Mapping

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.stories.handles import is_name

_SHORTEST = 4
"""Letters of a name in which a slip goes unnoticed by whoever makes it."""


def slips(arguments: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """Yield the arguments with a slip in one text: two letters swapped, or another last digit."""
    slots = read_slots(dict(arguments))
    for path, value in slots.items():
        if isinstance(value, str) and (wrong := _slip(value)) is not None:
            yield build({**slots, path: wrong})


def _slip(value: str) -> str | None:
    if is_name(value) and len(value) >= _SHORTEST:
        for place in range(len(value) - 2, 0, -1):
            left, right = value[place], value[place + 1]
            if left.isalpha() and right.isalpha() and left.lower() != right.lower() and left.islower():
                return value[:place] + right + left + value[place + 2 :]
        return None
    digits = [place for place, char in enumerate(value) if char in "0123456789"]
    if len(digits) < 2 or " " in value:
        return None
    last = digits[-1]
    return f"{value[:last]}{(int(value[last]) + 7) % 10}{value[last + 1 :]}"
