"""What a scenario expects of the agent's replies, as text."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_agentbench.core.base import Model


class ExpectedReply(Model):
    """What one reply of the agent must be like; all that is given must hold of the same reply.

    `turn` says which: the last one, any one, or that of the agent's n-th turn (from 1). `json_schema` is the schema
    that the reply fits as JSON, `json_file` the file that it was read from, as the scenario names it.
    """

    contains: str | None = None
    matches: str | None = None
    json_schema: dict[str, Any] | None = None
    json_file: str = ""
    max_words: Annotated[int, Field(ge=0)] | None = None
    turn: Literal["last", "any"] | Annotated[int, Field(ge=1)] = "last"
