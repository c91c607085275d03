"""Screenplays: conversations whose every step is fixed, and the two players who perform them."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from pytest_agentbench.core.acts import Act, ActKind
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.conversation import Reply, Stop, Turn, UserTurn, View
from pytest_agentbench.core.tool import Requestor, ToolCall, ToolResult
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.simulation.recording import result_message

Part = Literal["line", "filler", "question", "consent", "call", "needed", "told"]
"""What a step is for: the user's line, words without content, a question for permission and the yes to it, an expected
call, a call that a rule needs, or what has to be communicated."""

GO_ON = "Please go on."

_MEANT: dict[Part, ActKind] = {"line": "request", "consent": "confirm"}
"""What the user means with a step; with any other, nothing that decides about a call."""


class Step(Model):
    """One text or one call of a party; `position` is that of the expected call the step belongs to.

    `about` are the values that a user's text concerns, `approvals` what an agent's text asks to approve.
    """

    party: Requestor
    part: Part
    text: str = ""
    call: ToolCall | None = None
    position: int | None = None
    about: tuple[Any, ...] = ()
    approvals: tuple[ApprovalRequest, ...] = ()


Screenplay = tuple[Step, ...]


class ToolBox(Protocol):
    """What tools can be called on: an environment, or what stands in for one."""

    async def call(self, call: ToolCall) -> ToolResult:
        """Run a tool."""
        ...


class Cast:
    """The agent and the user of one performance through the real loop; both follow the same screenplay."""

    def __init__(self, screenplay: Screenplay) -> None:
        self._left = list(screenplay)
        self.agent = ScriptedAgent(self)
        self.user = FollowingUser(self)

    def take(self, party: Requestor) -> Step | None:
        """Give the next step where it is this party's."""
        return self._left.pop(0) if self._left and self._left[0].party == party else None

    @property
    def is_over(self) -> bool:
        """Whether every step was performed."""
        return not self._left


class ScriptedAgent:
    """An agent that does what the screenplay says (`core.seams.Agent`)."""

    calls_visible = True

    def __init__(self, cast: Cast) -> None:
        self._cast = cast

    async def reply(self, turn: Turn) -> Reply:
        """Give the agent's next step; words without content where the next step is the user's."""
        step = self._cast.take("assistant")
        message = _message(step) if step is not None else Message(role="assistant", content=GO_ON)
        return Reply(messages=(message,))


class FollowingUser:
    """A user that does what the screenplay says and closes at its end (`core.seams.User`)."""

    def __init__(self, cast: Cast) -> None:
        self._cast = cast

    async def reply(self, view: View) -> UserTurn:
        """Give the user's next step."""
        step = self._cast.take("user")
        if step is not None:
            message = _message(step)
            return UserTurn(text=message.text, acts=message.acts, tool_calls=message.tool_calls)
        if self._cast.is_over:
            return UserTurn(stop=Stop(reason="done"))
        return UserTurn(text=GO_ON, acts=(Act(kind="other"),))


async def perform(screenplay: Screenplay, world: ToolBox, history: Sequence[Message] = ()) -> Transcript:
    """Perform a screenplay on `world` without the loop: no limits, no stalls; give what the loop would record."""
    messages = list(history)
    for step in screenplay:
        message = _message(step)
        messages.append(message)
        messages.extend([result_message(call, await world.call(call)) for call in message.tool_calls])
    return Transcript(messages=tuple(messages))


def numbered(steps: Sequence[Step]) -> Screenplay:
    """Give every call an id of its own."""
    return tuple(
        step.model_copy(update={"call": step.call.model_copy(update={"id": f"call_{place}"})}) if step.call else step
        for place, step in enumerate(steps)
    )


def _message(step: Step) -> Message:
    role: Literal["user", "assistant"] = "user" if step.party == "user" else "assistant"
    if step.call is not None:
        return Message(role=role, tool_calls=(step.call,))
    acts = (Act(kind=_MEANT.get(step.part, "other"), about=step.about),) if role == "user" else None
    return Message(role=role, content=step.text, acts=acts, approvals=step.approvals)
