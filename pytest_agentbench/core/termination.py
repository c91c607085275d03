"""How a run closed; never whether it was right."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from pytest_agentbench.core.file_models import Count, Number, Positive, Says, Seconds, Share, Written
from pytest_agentbench.core.text_similarity import SAME


class Termination(StrEnum):
    """FINISHED: a party closed. STALLED: no progress. CRASHED: it could not go on. SAFETY_TIMEOUT: a limit was hit."""

    FINISHED = "FINISHED"
    STALLED = "STALLED"
    CRASHED = "CRASHED"
    SAFETY_TIMEOUT = "SAFETY_TIMEOUT"


class Thresholds(Written):
    """When a conversation counts as STALLED; `stall:` in a suite, else as docs/understand/judged.md says."""

    expected: ClassVar[str] = "a mapping of thresholds from which a conversation counts as STALLED"

    similarity: Annotated[Number, Field(ge=0.5, le=1), Says("a number from 0.5 to 1")] = SAME
    """From when two texts are the same, 0.5 to 1."""
    repeats: Positive = 2
    """How often an exchange must repeat the one before."""
    mirrors: Positive = 2
    """How many texts in a row, of both parties, must repeat the one before."""
    mirrored_turns: Positive = 3
    """How many turns of one party in a row must repeat the other's words."""
    idle_turns: Positive = 6
    """How many turns of each party must bring nothing new."""
    new_text: Annotated[Share, Says("a number from 0 to 1")] = 0.25
    """The share of a text that must be new."""


Turns = Annotated[Positive, Says("a whole number, 1 or more: agent turns")]
ToolCalls = Annotated[Count, Says("a whole number, 0 or more: tool calls of both parties")]
Dollars = Annotated[Number, Field(ge=0, le=1_000_000_000), Says("US dollars, from 0 to a billion: what models cost")]
ModelCalls = Annotated[Count, Says("a whole number, 0 or more: calls to models")]


class Limits(Written):
    """What a run may spend before SAFETY_TIMEOUT: agent turns, tool calls of both parties, wall seconds, model use.

    `cost_usd` and `model_calls` count every model call that can be seen; None is no limit.
    """

    expected: ClassVar[str] = "limits of one run: turns, tool_calls, seconds, cost_usd, model_calls"

    turns: Turns = 40
    """Turns of the agent."""
    tool_calls: ToolCalls = 60
    """Tool calls of both parties."""
    seconds: Seconds = 120.0
    """Seconds of wall time, without waits for a slot or a limiter."""
    cost_usd: Dollars | None = None
    """What the models may cost, in US dollars."""
    model_calls: ModelCalls | None = None
    """Calls to models."""
