"""OpenAI Agents SDK: an agent that is run on the items of its last run, by whichever agent took over."""

from typing import Any, TypeVar, get_args

from pytest_agentbench.agents.frameworks.context import fitted, lacking
from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.agents.replies import read
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.messages.content import field, result_text, text_field

_HANDOFFS = frozenset({"handoff_call_item", "handoff_output_item"})
"""How the SDK hands a conversation to another agent; no calls of tools."""


class OpenAIAgentsSession:
    """The conversation of one run. Its traces are not exported: they would leave the machine in the background."""

    def __init__(self, agent: Any, session_id: str, context: Any = None) -> None:
        """Raise `SuiteFaultError` where the agent was made as an `Agent[…]` of what the context does not give."""
        self._agent = agent
        self._given = context
        self._context = fitted(context, _declared(agent), what="context")
        self._items: list[Any] = []

    async def answer(self, message: str) -> Answered:
        """Run the agent; give the items of this run as messages."""
        from agents import RunConfig, Runner, default_tool_error_function  # noqa: PLC0415 - the agent is its own

        said = [*self._items, {"role": "user", "content": message}]
        watched = _Watched(self._given)
        config = RunConfig(tracing_disabled=True, **watched.options(RunConfig))
        try:
            result = await Runner.run(self._agent, said, context=self._context, run_config=config)
        finally:
            watched.settle()
        self._items, self._agent = result.to_input_list(), result.last_agent
        # the SDK keeps exceptions of tools to itself: the model is told this text, which may end in the exception's own
        context: Any = None
        swallowed = default_tool_error_function(context, Exception("")).rstrip(" .:")
        items = [item for item in result.new_items if text_field(item, "type") not in _HANDOFFS]
        messages = read([_raw_item(item, swallowed) for item in items]).messages
        usage = result.context_wrapper.usage
        return Answered(messages=messages, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def _declared(agent: Any) -> Any:
    """Give the type of context that an agent was made for, None where it was made as a plain `Agent`."""
    declared = get_args(getattr(agent, "__orig_class__", None))
    return declared[0] if declared and not isinstance(declared[0], TypeVar) else None


class _Watched:
    """Hears of the exceptions of tools, which the SDK keeps to itself: one may tell what the context lacks."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._fault: SuiteFaultError | None = None

    def options(self, config: Any) -> dict[str, Any]:
        """Give the option by which a run tells of them, where the SDK has it."""
        return {"tool_error_formatter": self._note} if "tool_error_formatter" in config.__dataclass_fields__ else {}

    def _note(self, told: Any) -> None:
        error = field(told, "error")
        if isinstance(error, BaseException):
            self._fault = self._fault or lacking(error, self._context)

    def settle(self) -> None:
        """Raise what was heard of."""
        if self._fault is not None:
            raise self._fault


def _raw_item(item: Any, swallowed: str) -> Any:
    """Give an item as the API has it; the value that a tool gave in place of its text, and whether the tool failed."""
    raw = field(item, "raw_item")
    if text_field(item, "type") != "tool_call_output_item" or text_field(raw, "type") != "function_call_output":
        return raw
    output = field(item, "output")
    call_id, failed = field(raw, "call_id"), result_text(output).startswith(swallowed)
    return {"type": "function_call_output", "call_id": call_id, "output": output, "error": failed}
