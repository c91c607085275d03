"""How a run closed; never whether it was right."""

from enum import StrEnum

from pytest_agentbench.core.base import Model


class Termination(StrEnum):
    """FINISHED: a party closed. STALLED: no progress. CRASHED: it could not go on. SAFETY_TIMEOUT: a limit was hit."""

    FINISHED = "FINISHED"
    STALLED = "STALLED"
    CRASHED = "CRASHED"
    SAFETY_TIMEOUT = "SAFETY_TIMEOUT"


class Limits(Model):
    """What a run may spend before SAFETY_TIMEOUT: agent turns, tool calls of both parties, wall seconds, model use.

    `cost_usd` and `model_calls` count every model call that can be seen; None is no limit.
    """

    turns: int = 40
    tool_calls: int = 60
    seconds: float = 120.0
    cost_usd: float | None = None
    model_calls: int | None = None
