"""What a look at a suite found, as values: one finding per question, each with what to do about it."""

from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.tool import ToolCall, ToolSpec

Question = Literal["agent", "reply", "tools", "calls", "state", "isolation", "leaks", "models", "keys", "session"]
"""What is asked, in the order in which it is told."""

Mark = Literal["ok", "note", "problem"]
"""ok: as it should be. note: less can be checked, or nobody can tell. problem: runs would fail or mislead."""


class Observation(Model):
    """The answer to one question: what was found, and what to do about it where that is anything."""

    question: Question
    mark: Mark
    found: str
    advice: str = ""


class Diagnosis(Model):
    """Everything a look found. `calls` are those of the first turn, `usage` what the models of all turns took."""

    suite: str
    path: str
    scenario: str
    variant: str = ""
    said: str = ""
    answered: str = ""
    tools: tuple[ToolSpec, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    observations: tuple[Observation, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def is_healthy(self) -> bool:
        """Whether nothing found would make runs fail or mislead."""
        return all(one.mark != "problem" for one in self.observations)
