"""What a refusal says: which argument's value it repeats, and which values it names that are worth a try."""

import re
from typing import Any

from pytest_agentbench.generation.tools.probing.observed import is_specific

QUOTED = "quoted"
"""How a refusal repeats a value that it is sure to be about."""


def blames(message: str, value: Any) -> str:
    """Say how a refusal repeats a value: in quotes, at an end, in its midst if no other text is like it; "": not."""
    text = str(value)
    if len(text) < 2 and not isinstance(value, int):
        return ""
    literal = re.escape(text)
    if re.search(rf"['\"`«]{literal}['\"`»]", message):
        return QUOTED
    if re.search(rf"[ :/]{literal}\W*$|(?:^|: ){literal}(?![\w/])", message):
        return "at an end"
    return "within" if is_specific(value) and re.search(rf"(?<![\w./]){literal}(?![\w/])", message) else ""


def is_news(value: str, known: set[str]) -> bool:
    """Whether a value that a refusal names is one to try: short, and no echo of what was given."""
    if value in known or len(value) > 120 or value.count(" ") > 1:
        return False
    return not any(len(one) > 1 and one in value for one in known)
