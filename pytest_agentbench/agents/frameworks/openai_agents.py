"""OpenAI Agents SDK: an agent that is run on the items of its last run, by whichever agent took over."""

from typing import Any

from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.agents.replies import read
from pytest_agentbench.messages.content import field, result_text, text_field

_HANDOFFS = frozenset({"handoff_call_item", "handoff_output_item"})
"""How the SDK hands a conversation to another agent; no calls of tools."""


class OpenAIAgentsSession:
    """The conversation of one run. Its traces are not exported: they would leave the machine in the background."""

    def __init__(self, agent: Any, session_id: str) -> None:
        self._agent = agent
        self._items: list[Any] = []

    async def answer(self, message: str) -> Answered:
        """Run the agent; give the items of this run as messages."""
        from agents import RunConfig, Runner, default_tool_error_function  # noqa: PLC0415 - the agent is its own

        said = [*self._items, {"role": "user", "content": message}]
        result = await Runner.run(self._agent, said, run_config=RunConfig(tracing_disabled=True))
        self._items, self._agent = result.to_input_list(), result.last_agent
        # the SDK keeps exceptions of tools to itself: the model is told this text, which may end in the exception's own
        context: Any = None
        swallowed = default_tool_error_function(context, Exception("")).rstrip(" .:")
        items = [item for item in result.new_items if text_field(item, "type") not in _HANDOFFS]
        messages = read([_raw_item(item, swallowed) for item in items]).messages
        usage = result.context_wrapper.usage
        return Answered(messages=messages, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def _raw_item(item: Any, swallowed: str) -> Any:
    """Give an item as the API has it; the value that a tool gave in place of its text, and whether the tool failed."""
    raw = field(item, "raw_item")
    if text_field(item, "type") != "tool_call_output_item" or text_field(raw, "type") != "function_call_output":
        return raw
    output = field(item, "output")
    call_id, failed = field(raw, "call_id"), result_text(output).startswith(swallowed)
    return {"type": "function_call_output", "call_id": call_id, "output": output, "error": failed}
