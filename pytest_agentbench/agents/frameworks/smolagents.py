"""smolagents: a copy of the agent with a memory of its own, run in the run's thread without a reset between turns."""

import copy
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from pytest_agentbench.agents.frameworks.agent import Answered, Marked
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.assembly import made_call
from pytest_agentbench.messages.content import field, result_text, text_field
from pytest_agentbench.messages.smolagents import FINAL


class SmolagentsSession:
    """The conversation of one run. The agent itself holds what was said, so that each run has a copy of it.

    What is shown are the calls of tools, those that code of a `CodeAgent` makes included, and never the code. A managed
    agent that is called is a handoff; its calls are shown, too.
    """

    shows = frozenset({"handoffs", "output"})

    def __init__(self, agent: Any, session_id: str, context: Any = None) -> None:
        self._marked = Marked()
        self._ids = (f"run_{number}" for number in count(1))
        self._runs_code = hasattr(agent, "python_executor")
        self._agent = self._copied(agent, watched=self._runs_code)
        self._name = text_field(agent, "name")

    @property
    def begun(self) -> list[Message]:
        """The messages of the turn so far."""
        return self._marked.messages

    def answer(self, message: str) -> Answered:
        """Run the agent; give its calls, their results and its final answer."""
        self._marked = Marked()
        begun = len(self._agent.memory.steps)
        called: dict[str, ToolCall] = {}
        final: Any = None
        for step in self._agent.run(message, stream=True, reset=False):
            kind = type(step).__name__
            if kind == "ToolCall" and not self._runs_code and step.name not in (FINAL, *self._agent.managed_agents):
                called[step.id] = made_call(step.name, step.arguments, step.id)
                self._marked.add(Message(role="assistant", tool_calls=(called[step.id],)), self._name or None)
            elif kind == "ToolOutput" and step.id in called:
                del called[step.id]
                result = Message(role="tool", content=result_text(step.output), tool_call_id=step.id)
                self._marked.add(result, self._name or None)
            elif kind == "ActionStep":
                for failed in _failed(called, step):
                    self._marked.add(failed, self._name or None)
                called.clear()
            elif kind == "FinalAnswerStep":
                final = step.output
        used = [one for step in self._agent.memory.steps[begun:] if (one := field(step, "token_usage"))]
        self._marked.add(Message(role="assistant", content=result_text(final)), self._name or None)
        return Answered(
            messages=self._marked.messages,
            input_tokens=sum(one.input_tokens for one in used) if used else None,
            output_tokens=sum(one.output_tokens for one in used) if used else None,
            output=final,
        )

    def _copied(self, agent: Any, *, watched: bool) -> Any:
        """Give an agent with a memory of its own, that does the same; `watched` says that its calls are seen to."""
        copied = copy.copy(agent)
        copied.memory = type(agent.memory)(agent.system_prompt)
        copied.state = dict(agent.state)
        if hasattr(agent, "python_executor"):
            copied.python_executor = copied.create_python_executor()
        by = text_field(agent, "name")
        if watched:
            tools = agent.tools.items()
            copied.tools = {name: tool if name == FINAL else self._watched(name, tool, by) for name, tool in tools}
        copied.managed_agents = {name: self._managed(one, by) for name, one in agent.managed_agents.items()}
        return copied

    def _managed(self, agent: Any, by: str) -> Any:
        """Give a managed agent that tells when it is called."""
        copied = self._copied(agent, watched=True)
        kind, session = type(agent), self

        def called(self: Any, *given: Any, **named: Any) -> Any:
            session._marked.handed_over(by, text_field(self, "name"))
            return kind.__call__(self, *given, **named)

        copied.__class__ = type(kind.__name__, (kind,), {"__call__": called})
        return copied

    def _watched(self, name: str, tool: Any, by: str) -> Any:
        """Give a tool that does the same and is seen to."""
        watched = copy.copy(tool)
        watched.forward = self._seen(name, tool.forward, list(tool.inputs), by or None)
        return watched

    def _seen(self, name: str, forward: Callable[..., Any], inputs: list[str], by: str | None) -> Callable[..., Any]:
        def call(*positional: Any, **named: Any) -> Any:
            made = made_call(name, {**dict(zip(inputs, positional, strict=False)), **named}, next(self._ids))
            self._marked.add(Message(role="assistant", tool_calls=(made,)), by)
            try:
                result = forward(*positional, **named)
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
                self._marked.add(Message(role="tool", content=told, tool_call_id=made.id, error=True), by)
                raise
            self._marked.add(Message(role="tool", content=result_text(result), tool_call_id=made.id), by)
            return result

        return call


def _failed(called: dict[str, ToolCall], step: Any) -> Iterator[Message]:
    """Answer the calls of a step that broke off with what the agent's model is told about it."""
    told = text_field(field(step, "error"), "message") or str(field(step, "error") or "the call was not executed")
    for call in called.values():
        yield Message(role="tool", content=told, tool_call_id=call.id, error=True)
