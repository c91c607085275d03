"""What a guard rail is, and which one found what."""

from collections.abc import Callable
from dataclasses import dataclass

from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.llm.draft import Draft

Rule = Callable[[View, Draft], str | None]
"""Gives the reason why a draft is no reply of the user that `view` describes, None where nothing is wrong with it.

The reason is shown to the model, which writes the reply again.
"""


@dataclass(frozen=True)
class Alarm:
    """The name of the guard rail, and its reason."""

    rule: str
    reason: str
