"""Closed runs for τ²'s reward, stated in a line."""

from typing import Any

from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import Requestor, ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript

TOOLS = Toolset(
    specs=(
        ToolSpec(name="look", kind="read"),
        ToolSpec(name="put", kind="write"),
        ToolSpec(name="take", kind="write"),
        ToolSpec(name="odd"),
    )
)


def said(text: str | None, *calls: ToolCall) -> Message:
    """A message of the agent."""
    return Message(role="assistant", content=text, tool_calls=calls)


def call(name: str, requestor: Requestor = "assistant", **arguments: Any) -> ToolCall:
    """A call."""
    return ToolCall(name=name, arguments=arguments, requestor=requestor)


def made(one: ToolCall, *, error: bool = False) -> tuple[Message, Message]:
    """A call of either party, answered."""
    answer = Message(role="tool", content="", requestor=one.requestor, error=error)
    return Message(role=one.requestor, tool_calls=(one,)), answer


def run(
    *messages: Message,
    criteria: dict[str, Any] | None = None,
    closed: bool = True,
    toolset: Toolset = TOOLS,
) -> Run:
    """A run with these messages, of a task with these criteria."""
    task = Task.model_validate({"id": "t", "evaluation_criteria": criteria})
    return Run(
        key=RunKey(suite="s", scenario="t"),
        scenario=Scenario(id="t", title="t", task=task),
        transcript=Transcript(messages=messages),
        termination=Termination.FINISHED if closed else Termination.SAFETY_TIMEOUT,
        stop_reason="user_stop" if closed else "max_steps",
        toolset=toolset,
    )
