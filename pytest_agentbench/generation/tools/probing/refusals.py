"""What a refusal says: which argument's value it repeats, and which values it names that are worth a try."""

import re
from typing import Any

from pytest_agentbench.generation.tools.probing.observed import is_specific

QUOTED = "quoted"
"""How a refusal repeats a value that it is sure to be about."""


_ASIDES = frozenset({"e.g", "i.e"})


def blames(message: str, value: Any, path: str = "") -> str:
    """Say how a refusal repeats a value: in quotes or after the argument's name, at an end, in its midst if no other
    text is like it; "": not.
    """
    text = str(value)
    literal = re.escape(text)
    name = re.escape(_last(path))
    if len(text) > 1 and name and re.search(rf"(?i)(?<!\w){name}[ :='\"]{{1,3}}{literal}(?!\w)", message):
        return QUOTED
    if text and re.search(rf"['\"`«]{literal}['\"`»]", message):
        return QUOTED
    if len(text) < 2 and not isinstance(value, int):
        return ""
    if re.search(rf"[ :/]{literal}\W*$|(?:^|: ){literal}(?![\w/])", message):
        return "at an end"
    return "within" if is_specific(value) and re.search(rf"(?<![\w./]){literal}(?![\w/])", message) else ""


def speaks_of(message: str, path: str) -> bool:
    """Whether a sentence of a refusal begins with an argument's name: `range needs two rows`."""
    return re.search(rf"(?:^|[:.;\n] ?){re.escape(_last(path))}(?= \w)", message) is not None


def _last(path: str) -> str:
    return next((step for step in reversed(path.split(".")) if step != "*"), "")


def is_news(value: str, known: set[str]) -> bool:
    """Whether a value that a refusal names is one to try: short, and no echo of what was given."""
    if value in known or value in _ASIDES or len(value) > 120 or value.count(" ") > 1:
        return False
    return not any(len(one) > 1 and one in value for one in known)
