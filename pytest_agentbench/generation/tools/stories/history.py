"""What was refused so far, kept apart by whose answer it was: nobody is told of another role's faults.

Roles read independently of each other: the critic does not know what the narrator was refused for. The one thing that
goes from one to the other is said as such: why a critic did not believe a story is for the narrator of the next one.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import get_args

from pytest_agentbench.generation.tools.stories.telling import Operation
from pytest_agentbench.generation.tools.stories.usage import Usage
from pytest_agentbench.generation.tools.values import Rejection

LAST = 3
"""Faults of earlier walks that a role is told of."""
IMPLAUSIBLE = "implausible"
"""The reason of a story that its critic did not believe."""


@dataclass
class History:
    """Faults by role, those of the narrator by operation; and what the scenarios so far were about."""

    narrator: defaultdict[Operation, list[str]] = field(default_factory=lambda: defaultdict(list))
    critic: list[str] = field(default_factory=list)
    persona: list[str] = field(default_factory=list)
    critique: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def note(self, rejection: Rejection) -> None:
        """Keep a rejection for whoever can do better; what the world did not bear is nobody's fault."""
        told = f"{rejection.reason}: {rejection.detail}" if rejection.detail else rejection.reason
        for operation in get_args(Operation):
            if rejection.stage == "hydration" and rejection.operation == operation:
                self.narrator[operation].append(told)
        if rejection.stage == "critic":
            (self.critique if rejection.reason == IMPLAUSIBLE else self.critic).append(told)
        if rejection.stage == "persona":
            self.persona.append(told)
