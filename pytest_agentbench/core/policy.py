"""Policies: the rules an agent must keep."""

from typing import Annotated, Any

from pydantic import Field

from pytest_agentbench.core.base import Model


class Policy(Model):
    """A rule the agent must keep: text for people, a challenge from 1 to 5, optionally a rule for the machine.

    `tools` are those that it concerns, `source` is the sentence of a document that `rule` and `challenge` were read
    from. Both are for those who review the policy; no verdict depends on them.
    """

    id: str
    text: str
    challenge: Annotated[int, Field(ge=1, le=5)] | None = None
    category: str = ""
    rule: dict[str, Any] | None = None
    tools: tuple[str, ...] = ()
    source: str = ""
