"""OpenAI Agents SDK: an agent that is run on the items of its last run, by whichever agent took over."""

from collections.abc import Sequence
from typing import Any

from pytest_agentbench.agents.content import field, result_text, text_field
from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.agents.frameworks.waiting import Waiting
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message


class OpenAIAgentsSession:
    """The conversation of one run. Its traces are not exported: they would leave the machine in the background."""

    def __init__(self, agent: Any, session_id: str) -> None:
        self._agent = agent
        self._items: list[Any] = []
        self._waiting = Waiting()
        self._interrupted: Any = None

    async def answer(self, message: str) -> Answered:
        """Run the agent; give the items of this run as messages."""
        return await self._run([*self._items, {"role": "user", "content": message}])

    async def decide(self, decisions: Sequence[Decision], message: str) -> Answered:
        """Go on with the run that waits, its calls approved or rejected with the user's words."""
        state = self._interrupted.to_state()
        for item, decision in zip(self._interrupted.interruptions, decisions, strict=True):
            if decision.runs:
                state.approve(item)
            else:
                state.reject(item, rejection_message=decision.text or None)
        return await self._run(state, decisions, earlier=self._interrupted)

    async def _run(self, said: Any, decisions: Sequence[Decision] = (), earlier: Any = None) -> Answered:
        """Run the agent; `earlier` is the result that the run goes on from, and whose items and usage it repeats."""
        from agents import RunConfig, Runner, default_tool_error_function  # noqa: PLC0415 - the agent is its own

        known, before = (len(earlier.new_items), _used(earlier)) if earlier else (0, (0, 0))
        result = await Runner.run(self._agent, said, run_config=RunConfig(tracing_disabled=True))
        self._items, self._agent = result.to_input_list(), result.last_agent
        # the SDK keeps exceptions of tools to itself: the model is told this text, which may end in the exception's own
        context: Any = None
        swallowed = default_tool_error_function(context, Exception("")).rstrip(" .:")
        new = result.new_items[known:]
        messages = [one for item in new if (one := _message(item, swallowed)) is not None]
        requests = [_request(item) for item in result.interruptions]
        self._interrupted = result if requests else None
        return Answered(
            messages=self._waiting.hold(self._waiting.decided(messages, decisions), requests),
            approvals=requests,
            input_tokens=_used(result)[0] - before[0],
            output_tokens=_used(result)[1] - before[1],
        )


def _used(result: Any) -> tuple[int, int]:
    usage = result.context_wrapper.usage
    return usage.input_tokens, usage.output_tokens


def _request(item: Any) -> ApprovalRequest:
    raw = field(item, "raw_item")
    called = text_field(raw, "call_id") or text_field(raw, "id")
    arguments, _ = read_arguments(field(raw, "arguments"))
    tool = text_field(item, "tool_name") or text_field(raw, "type")
    return ApprovalRequest(id=called, tool=tool, arguments=arguments, allowed=("approve", "reject"))


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
