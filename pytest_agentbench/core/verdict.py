"""Verdicts, whose fault a non-pass is, and the findings that lead there."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, get_args

from pytest_agentbench.core.base import Model


class Verdict(StrEnum):
    """PASSED and FAILED judge the agent; ERROR means that the run could not be judged."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


class Blame(StrEnum):
    """Who caused a non-pass; `unclear` where two may have, or nobody can be told."""

    AGENT = "agent"
    USER = "user"
    ENVIRONMENT = "environment"
    JUDGE = "judge"
    PROVIDER = "provider"
    SCENARIO = "scenario"
    UNCLEAR = "unclear"


FindingKind = Literal[
    "write",
    "policy",
    "fault",
    "state",
    "calls",
    "communicate",
    "claim",
    "goal",
    "output",
    "replies",
    "rubric",
    "termination",
    "user",
    "check",
]
"""What a finding is about."""

FINDING_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
"""What findings are about, in the order in which failures are listed: worst first."""


@dataclass(frozen=True)
class NotMeasured:
    """What a metric is where it could not be measured, and why."""

    why: str


class Finding(Model):
    """What a check found: `passed` None means *not measured*; `required` False never fails a run.

    A finding that was not measured says why in `message`, and `cure` names the label, rule or role to add. `proven`
    tells of a failed one that what happened shows it for good: nothing that came later could have mended it.
    `turn` counts from 1 (see `Transcript.turns`). `expected` and `actual` are shown side by side.
    """

    check: str
    kind: FindingKind
    passed: bool | None
    message: str
    turn: int | None = None
    policy: str | None = None
    tool: str | None = None
    expected: str | None = None
    actual: str | None = None
    required: bool = True
    cure: str = ""
    proven: bool = False

    def __repr__(self) -> str:
        became = {True: "passed", False: "failed" if self.required else "noted", None: "not measured"}[self.passed]
        turn = f", turn {self.turn}" if self.turn is not None else ""
        return f"<{self.policy or self.check} {became}{turn}: {self.message}>"


FlagKind = Literal["value", "claim", "policy", "consent", "goal", "user", "tool", "agent"]
"""What a flag is about. value: code found a value of the agent's nowhere; all others are of the auditor."""


class Flag(Model):
    """Something to look at, which decides nothing: a turn (from 1; 0 where it is of no turn) and words of it.

    Where its kind is `value`, the agent states this `value` and has it from nowhere that is known. `message` says what
    was observed, "" where the kind says all.
    """

    turn: int
    value: str = ""
    quote: str
    kind: FlagKind = "value"
    message: str = ""


class OtherFault(Model):
    """What else went wrong in a run that the agent failed: whose fault it is, and what happened.

    `ended` tells that it is how the conversation closed.
    """

    blame: Blame
    reason: str
    ended: bool = False


class Unmeasured(Model):
    """A part that a run's scenario asks for and that could not be decided: which, why, and what would measure it."""

    part: str
    why: str
    cure: str = ""


CallStatus = Literal[
    "matched", "wrong_arguments", "substituted", "tool_failed", "not_attempted",
    "extra_read", "extra_write", "repeated", "unknown_tool",
]  # fmt: skip


class CallExplanation(Model):
    """What became of one expected call, or what one other call was.

    `expected` is None for calls that no scenario asked for; `actual` is None for calls never attempted.
    `differing` names the arguments that differ from the closest call; it maps each to (expected, actual). `left_open`
    are the arguments of a matched call whose values the expected one leaves open. `by` names the one of several agents
    that made the call.
    """

    status: CallStatus
    tool: str
    expected: dict[str, Any] | None = None
    actual: dict[str, Any] | None = None
    differing: dict[str, tuple[Any, Any]] = {}
    left_open: dict[str, Any] = {}
    turn: int | None = None
    write: bool | None = None
    note: str = ""
    by: str | None = None
