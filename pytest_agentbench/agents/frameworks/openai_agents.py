"""OpenAI Agents SDK: an agent that is run on the items of its last run, by whichever agent took over."""

from typing import Any

from pytest_agentbench.agents.content import field, result_text, text_field
from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message


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
        messages = [one for item in result.new_items if (one := _message(item, swallowed)) is not None]
        usage = result.context_wrapper.usage
        return Answered(messages=messages, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def _message(item: Any, swallowed: str) -> Message | None:
    """Give a text, a call or a result; handoffs and reasoning are the framework's own."""
    kind, raw = text_field(item, "type"), field(item, "raw_item")
    if kind == "message_output_item":
        parts = field(raw, "content") or ()
        said = "".join(text_field(part, "text") or text_field(part, "refusal") for part in parts)
        return Message(role="assistant", content=said)
    called = text_field(raw, "call_id") or text_field(raw, "id")
    if kind == "tool_call_item":
        name = text_field(raw, "name") or text_field(raw, "type")
        arguments, text = read_arguments(field(raw, "arguments"))
        return Message(role="assistant", tool_calls=(ToolCall(name=name, arguments=arguments, id=called, raw=text),))
    if kind == "tool_call_output_item":
        output = result_text(field(item, "output"))
        return Message(role="tool", content=output, tool_call_id=called, error=output.startswith(swallowed))
    return None
