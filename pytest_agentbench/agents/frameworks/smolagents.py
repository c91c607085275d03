"""smolagents: a copy of the agent with a memory of its own, run in the run's thread without a reset between turns."""

import copy
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import field, result_text, text_field

_FINAL = "final_answer"
"""The tool through which a smolagents agent speaks."""


class SmolagentsSession:
    """The conversation of one run. The agent itself holds what was said, so that each run has a copy of it.

    What is shown are the calls of tools, those that code of a `CodeAgent` makes included, and never the code.
    """

    def __init__(self, agent: Any, session_id: str, context: Any = None) -> None:
        self._agent = copy.copy(agent)
        self._agent.memory = type(agent.memory)(agent.system_prompt)
        self._agent.state = dict(agent.state)
        self._runs_code = hasattr(agent, "python_executor")
        self._calls: list[Message] = []
        self._ids = (f"run_{number}" for number in count(1))
        if self._runs_code:
            self._agent.python_executor = self._agent.create_python_executor()
            tools = agent.tools.items()
            self._agent.tools = {name: tool if name == _FINAL else self._watched(name, tool) for name, tool in tools}

    def answer(self, message: str) -> Answered:
        """Run the agent; give its calls, their results and its final answer."""
        self._calls.clear()
        begun = len(self._agent.memory.steps)
        called: dict[str, ToolCall] = {}
        messages: list[Message] = []
        final: Any = None
        for step in self._agent.run(message, stream=True, reset=False):
            kind = type(step).__name__
            if kind == "ToolCall" and not self._runs_code and step.name != _FINAL:
                called[step.id] = _call(step)
                messages.append(Message(role="assistant", tool_calls=(called[step.id],)))
            elif kind == "ToolOutput" and step.id in called:
                del called[step.id]
                messages.append(Message(role="tool", content=result_text(step.output), tool_call_id=step.id))
            elif kind == "ActionStep":
                messages.extend(_failed(called, step))
                called.clear()
            elif kind == "FinalAnswerStep":
                final = step.output
        messages = self._calls.copy() if self._runs_code else messages
        used = [one for step in self._agent.memory.steps[begun:] if (one := field(step, "token_usage"))]
        return Answered(
            messages=(*messages, Message(role="assistant", content=result_text(final))),
            input_tokens=sum(one.input_tokens for one in used) if used else None,
            output_tokens=sum(one.output_tokens for one in used) if used else None,
        )

    def _watched(self, name: str, tool: Any) -> Any:
        """Give a tool that does the same and is seen to."""
        watched = copy.copy(tool)
        watched.forward = self._seen(name, tool.forward, list(tool.inputs))
        return watched

    def _seen(self, name: str, forward: Callable[..., Any], inputs: list[str]) -> Callable[..., Any]:
        def call(*positional: Any, **named: Any) -> Any:
            arguments, raw = read_arguments({**dict(zip(inputs, positional, strict=False)), **named})
            made = ToolCall(name=name, arguments=arguments, id=next(self._ids), raw=raw)
            self._calls.append(Message(role="assistant", tool_calls=(made,)))
            try:
                result = forward(*positional, **named)
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
                self._calls.append(Message(role="tool", content=told, tool_call_id=made.id, error=True))
                raise
            self._calls.append(Message(role="tool", content=result_text(result), tool_call_id=made.id))
            return result

        return call


def _call(step: Any) -> ToolCall:
    arguments, raw = read_arguments(step.arguments)
    return ToolCall(name=step.name, arguments=arguments, id=step.id, raw=raw)


def _failed(called: dict[str, ToolCall], step: Any) -> Iterator[Message]:
    """Answer the calls of a step that broke off with what the agent's model is told about it."""
    told = text_field(field(step, "error"), "message") or str(field(step, "error") or "the call was not executed")
    for call in called.values():
        yield Message(role="tool", content=told, tool_call_id=call.id, error=True)
