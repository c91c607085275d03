"""pydantic-ai: an agent that is run with the history that its last run gave."""

from collections.abc import Sequence
from typing import Any

from pytest_agentbench.agents.frameworks.agent import Answered, Waiting
from pytest_agentbench.agents.frameworks.context import fitted
from pytest_agentbench.agents.refusals import filtered, refusal
from pytest_agentbench.agents.replies import read
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.tool import read_arguments
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import field, text_field


class PydanticAISession:
    """The conversation of one run: `message_history` is all that was said in it."""

    shows = frozenset({"output"})

    def __init__(self, agent: Any, session_id: str, context: Any = None) -> None:
        """Raise `SuiteFaultError` where the agent's `deps_type` wants what the context does not give."""
        self._agent = agent
        self._deps = fitted(context, getattr(agent, "deps_type", None), what="deps_type")
        self._history: Any = None
        self._waiting = Waiting()
        self._turn: tuple[Sequence[Any], int] = (), 0

    @property
    def begun(self) -> Sequence[Message]:
        """The messages of the last turn, none where it went on with what the user had decided."""
        heard, before = self._turn
        return read(heard[before:]).messages if len(heard) > before else ()

    async def answer(self, message: str) -> Answered:
        """Run the agent; give the run's new messages. What the provider filtered is a refusal."""
        return await self._run([message])

    async def decide(self, decisions: Sequence[Decision], message: str) -> Answered:
        """Go on with the calls that waited: those approved are made, the agent's model is told of the others."""
        results = _results(self._waiting.requests, decisions)
        return await self._run([], decisions, deferred_tool_results=results)

    async def _run(self, said: list[str], decisions: Sequence[Decision] = (), **more: Any) -> Answered:
        from pydantic_ai import capture_run_messages  # noqa: PLC0415 - the framework is there, since the agent is its own

        with capture_run_messages() as heard:
            self._turn = (() if decisions else heard), len(self._history or ())
            try:
                result = await self._agent.run(*said, message_history=self._history, deps=self._deps, **more)
            except Exception as error:
                event = filtered(error)
                if event is None:
                    raise
                return self._refused(event, heard, decisions)
        messages = self._waiting.decided(read(result).messages, decisions)
        requests = _requests(result.output)
        self._history = result.all_messages()
        usage = result.usage
        if not hasattr(usage, "input_tokens"):  # a method before version 2
            usage = usage()
        return Answered(
            messages=self._waiting.hold(messages, requests),
            input_tokens=getattr(usage, "input_tokens", None),
            output_tokens=getattr(usage, "output_tokens", None),
            output=None if requests else result.output,
        )

    def _refused(self, event: Event, said: list[Any], decisions: Sequence[Decision]) -> Answered:
        """Answer with the refusal; the next turn's model is told what came before the answer that was filtered."""
        begun = len(self._history or ())
        whole = said[:-1] if said and said[-1].kind == "response" else said
        self._history = list(whole)
        messages = read(whole[begun:]).messages if len(whole) > begun else ()
        spoken = self._waiting.decided([one for one in messages if one.role != "user"], decisions)
        return Answered(messages=[*spoken, refusal(event)])


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
