"""pydantic-ai: an agent that is run with the history that its last run gave."""

from typing import Any

from pytest_agentbench.agents.frameworks.context import fitted
from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.agents.refusals import filtered, refusal
from pytest_agentbench.agents.replies import read
from pytest_agentbench.core.events import Event


class PydanticAISession:
    """The conversation of one run: `message_history` is all that was said in it."""

    shows = frozenset({"output"})

    def __init__(self, agent: Any, session_id: str, context: Any = None) -> None:
        """Raise `SuiteFaultError` where the agent's `deps_type` wants what the context does not give."""
        self._agent = agent
        self._deps = fitted(context, getattr(agent, "deps_type", None), what="deps_type")
        self._history: Any = None

    async def answer(self, message: str) -> Answered:
        """Run the agent; give the run's new messages. What the provider filtered is a refusal."""
        from pydantic_ai import capture_run_messages  # noqa: PLC0415 - the framework is there, since the agent is its own

        with capture_run_messages() as said:
            try:
                result = await self._agent.run(message, message_history=self._history, deps=self._deps)
            except Exception as error:
                event = filtered(error)
                if event is None:
                    raise
                return self._refused(event, said)
        self._history = result.all_messages()
        usage = result.usage
        if not hasattr(usage, "input_tokens"):  # a method before version 2
            usage = usage()
        return Answered(
            messages=read(result).messages,
            input_tokens=getattr(usage, "input_tokens", None),
            output_tokens=getattr(usage, "output_tokens", None),
            output=result.output,
        )

    def _refused(self, event: Event, said: list[Any]) -> Answered:
        """Answer with the refusal; the next turn's model is told what came before the answer that was filtered."""
        begun = len(self._history or ())
        whole = said[:-1] if said and said[-1].kind == "response" else said
        self._history = list(whole)
        messages = read(whole[begun:]).messages if len(whole) > begun else ()
        return Answered(messages=[*(one for one in messages if one.role != "user"), refusal(event)])
