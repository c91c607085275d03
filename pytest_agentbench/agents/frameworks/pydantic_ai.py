"""pydantic-ai: an agent that is run with the history that its last run gave."""

from typing import Any

from pytest_agentbench.agents.frameworks.context import fitted
from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.agents.replies import read


class PydanticAISession:
    """The conversation of one run: `message_history` is all that was said in it."""

    def __init__(self, agent: Any, session_id: str, context: Any = None) -> None:
        """Raise `SuiteFaultError` where the agent's `deps_type` wants what the context does not give."""
        self._agent = agent
        self._deps = fitted(context, getattr(agent, "deps_type", None), what="deps_type")
        self._history: Any = None

    async def answer(self, message: str) -> Answered:
        """Run the agent; give the run's new messages."""
        result = await self._agent.run(message, message_history=self._history, deps=self._deps)
        self._history = result.all_messages()
        usage = result.usage
        if not hasattr(usage, "input_tokens"):  # a method before version 2
            usage = usage()
        return Answered(
            messages=read(result).messages,
            input_tokens=getattr(usage, "input_tokens", None),
            output_tokens=getattr(usage, "output_tokens", None),
        )
