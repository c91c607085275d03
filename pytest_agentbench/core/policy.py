"""Policies: the rules an agent must keep."""

from typing import Annotated, Any

from pydantic import Field

from pytest_agentbench.core.base import Model


class Policy(Model):
    """A rule the agent must keep: text for people, a challenge from 1 to 5, optionally a rule for the machine."""

    id: str
    text: str
    challenge: Annotated[int, Field(ge=1, le=5)] = 1
    category: str = ""
    rule: dict[str, Any] | None = None
