"""Short ways to write runs down in tests."""

import json
from typing import Any, Literal

from pytest_agentbench.core.acts import Act, ActKind
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import EvaluationCriteria, ExpectedCall, Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, ToolKind, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript

Party = Literal["assistant", "user"]


def want(tool: str, /, **arguments: Any) -> ExpectedCall:
    """An expected call of the agent."""
    return ExpectedCall(name=tool, arguments=arguments)


def agent(text: str) -> list[Message]:
    """The agent says something."""
    return [Message(role="assistant", content=text)]


def user(text: str, *acts: ActKind | Act) -> list[Message]:
    """The user says something; without acts, nobody says what it meant."""
    meant = tuple(act if isinstance(act, Act) else Act(kind=act) for act in acts)
    return [Message(role="user", content=text, acts=meant or None)]


def call(
    tool: str, /, *, error: bool = False, wrote: bool | None = None, by: Party = "assistant", **arguments: Any
) -> list[Message]:
    """A party calls a tool and gets its result."""
    made = ToolCall(name=tool, arguments=arguments, requestor=by)
    answer = "Error: refused" if error else json.dumps({"ok": True})
    return [
        Message(role=by, tool_calls=(made,)),
        Message(role="tool", content=answer, requestor=by, error=error, wrote=wrote),
    ]


def toolset(**kinds: ToolKind) -> Toolset:
    """The agent's tools by kind."""
    return Toolset(specs=tuple(ToolSpec(name=name, kind=kind) for name, kind in kinds.items()))


TOOLS = toolset(refund="write", cancel_order="write", change_address="write", get_order="read", get_user="read")


def run_of(
    *parts: list[Message],
    expect: list[ExpectedCall] | None = None,
    communicate: list[str] | None = None,
    scenario: dict[str, Any] | None = None,
    **fields: Any,
) -> Run:
    """A closed run of these messages; FINISHED and with `TOOLS` unless told otherwise."""
    criteria = EvaluationCriteria(actions=expect, communicate_info=communicate)
    task = Task(id="s", evaluation_criteria=criteria)
    return Run(
        key=RunKey(suite="bench", scenario="s"),
        scenario=Scenario(**{"id": "s", "title": "s", "task": task, **(scenario or {})}),
        transcript=Transcript(messages=tuple(message for part in parts for message in part)),
        **{"termination": Termination.FINISHED, "toolset": TOOLS, **fields},
    )
