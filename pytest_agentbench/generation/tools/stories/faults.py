"""What can be wrong with a story: the reasons that are counted, and one fault."""

from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "invented argument", "invented value", "implausible", "names a tool", "holds code", "not the walk", "left out",
    "hedged", "no entities allowed", "two sentences asked for", "empty",
]  # fmt: skip
"""Why something is refused."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: its kind, and what it is about."""

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason
