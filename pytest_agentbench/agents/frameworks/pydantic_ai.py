"""pydantic-ai: an agent that is run with the history that its last run gave."""

from collections.abc import Sequence
from typing import Any

from pytest_agentbench.agents.content import field, text_field
from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.agents.frameworks.waiting import Waiting
from pytest_agentbench.agents.replies import read
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.tool import read_arguments


class PydanticAISession:
    """The conversation of one run: `message_history` is all that was said in it."""

    def __init__(self, agent: Any, session_id: str) -> None:
        self._agent = agent
        self._history: Any = None
        self._waiting = Waiting()

    async def answer(self, message: str) -> Answered:
        """Run the agent; give the run's new messages."""
        return self._answered(await self._agent.run(message, message_history=self._history))

    async def decide(self, decisions: Sequence[Decision], message: str) -> Answered:
        """Go on with the calls that waited: those approved are made, the agent's model is told of the others."""
        results = _results(self._waiting.requests, decisions)
        result = await self._agent.run(message_history=self._history, deferred_tool_results=results)
        return self._answered(result, decisions)

    def _answered(self, result: Any, decisions: Sequence[Decision] = ()) -> Answered:
        messages = self._waiting.decided(read(result).messages, decisions)
        requests = _requests(result.output)
        self._history = result.all_messages()
        usage = result.usage
        if not hasattr(usage, "input_tokens"):  # a method before version 2
            usage = usage()
        return Answered(
            messages=self._waiting.hold(messages, requests),
            approvals=requests,
            input_tokens=getattr(usage, "input_tokens", None),
            output_tokens=getattr(usage, "output_tokens", None),
        )


def _requests(output: object) -> list[ApprovalRequest]:
    """Read `DeferredToolRequests`: calls to approve, and calls that somebody else is to answer."""
    approvals, calls = field(output, "approvals"), field(output, "calls")
    if type(output).__name__ != "DeferredToolRequests" or not isinstance(approvals, list):
        return []
    found = [_request(part).model_copy(update={"allowed": ("approve", "reject", "edit")}) for part in approvals]
    return [*found, *(_request(part).model_copy(update={"is_question": True}) for part in calls or ())]


def _request(part: object) -> ApprovalRequest:
    arguments, _ = read_arguments(field(part, "args"))
    return ApprovalRequest(
        id=text_field(part, "tool_call_id"),
        tool=text_field(part, "tool_name"),
        arguments=arguments,
        allowed=("respond",),
    )


def _results(requests: Sequence[ApprovalRequest], decisions: Sequence[Decision]) -> Any:
    from pydantic_ai import DeferredToolResults, ToolApproved, ToolDenied  # noqa: PLC0415 - the agent is its own

    results = DeferredToolResults()
    for decision in decisions:
        if any(request.is_question and request.id == decision.id for request in requests):
            results.calls[decision.id] = decision.text
        elif decision.kind == "reject":
            results.approvals[decision.id] = ToolDenied(decision.text) if decision.text else ToolDenied()
        else:
            results.approvals[decision.id] = ToolApproved(
                override_args=decision.arguments if decision.kind == "edit" else None
            )
    return results
