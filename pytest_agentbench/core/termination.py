"""How a run closed; never whether it was right."""

from enum import StrEnum

from pytest_agentbench.core.alike import SAME
from pytest_agentbench.core.base import Model


class Termination(StrEnum):
    """FINISHED: a party closed. STALLED: no progress. CRASHED: it could not go on. SAFETY_TIMEOUT: a limit was hit."""

    FINISHED = "FINISHED"
    STALLED = "STALLED"
    CRASHED = "CRASHED"
    SAFETY_TIMEOUT = "SAFETY_TIMEOUT"


class Thresholds(Model):
    """When a conversation counts as STALLED; `stall:` in a suite, else as docs/understand/judged.md says.

    `similarity`: ratio (0 to 1, of `difflib.SequenceMatcher`) from which two texts are the same; texts with different
    numbers never are. `repeats`: how often in a row both parties must repeat themselves. `mirrors`: how many texts in a
    row, of both parties, must repeat the text before. `mirrored_turns`: how many turns of one party in a row must
    repeat the other party's text. `idle_turns`: turns of each party without a new call, value, fact, step of the goal
    or text. `new_text`: share (0 to 1) of the pieces of a text, runs of four signs, that were never seen before, from
    which it is new.
    """

    similarity: float = SAME
    repeats: int = 2
    mirrors: int = 2
    mirrored_turns: int = 3
    idle_turns: int = 6
    new_text: float = 0.25


class Limits(Model):
    """What a run may spend before SAFETY_TIMEOUT: agent turns, tool calls of both parties, wall seconds, model use.

    `cost_usd` and `model_calls` count every model call that can be seen; None is no limit.
    """

    turns: int = 40
    tool_calls: int = 60
    seconds: float = 120.0
    cost_usd: float | None = None
    model_calls: int | None = None
