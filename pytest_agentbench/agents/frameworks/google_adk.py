"""Google ADK: an agent, or an app, behind a runner of its own with a session that is kept in memory."""

from collections.abc import Sequence
from typing import Any

from pytest_agentbench.agents.content import field, result_text, text_field
from pytest_agentbench.agents.frameworks.adk_confirmations import ASKING, Confirmations
from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.agents.frameworks.waiting import Waiting
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message

_USER = "user"
_TRANSFER = "transfer_to_agent"
"""What ADK calls its own way of handing a conversation to a sub-agent; no tool of the environment."""
_OWN = frozenset({_TRANSFER, *ASKING})


class AdkSession:
    """The conversation of one run: a runner, and a session in an `InMemorySessionService` of its own."""

    def __init__(self, agent: Any, session_id: str) -> None:
        self._agent = agent
        self._id = session_id
        self._runner: Any = None
        self._confirmations = Confirmations()
        self._waiting = Waiting()

    async def answer(self, message: str) -> Answered:
        """Run the agent; give its calls, their results and its texts in the order of its events."""
        from google.genai import types  # noqa: PLC0415 - the framework is there, since the agent is its own

        return await self._run([types.Part(text=message)])

    async def decide(self, decisions: Sequence[Decision], message: str) -> Answered:
        """Go on with the calls that the user decided about."""
        parts = self._confirmations.answers(decisions)
        as_called = [one.model_copy(update={"kind": "approve"}) if one.runs else one for one in decisions]
        return await self._run(parts, as_called)

    async def _run(self, parts: list[Any], decisions: Sequence[Decision] = ()) -> Answered:
        from google.genai import types  # noqa: PLC0415 - as above

        if self._runner is None:
            self._runner = await self._opened()
        said = types.Content(role="user", parts=parts)
        messages: list[Message] = []
        requests: list[ApprovalRequest] = []
        reason, tokens = "", []
        async for event in self._runner.run_async(user_id=_USER, session_id=self._id, new_message=said):
            if field(event, "partial"):
                continue
            messages.extend(_messages(event))
            requests.extend(self._confirmations.read(event))
            if code := text_field(event, "error_code"):
                reason = f"its model gave {code}" + (
                    f" ({told})" if (told := text_field(event, "error_message")) else ""
                )
            if used := field(event, "usage_metadata"):
                tokens.append(used)
        if reason and messages and messages[-1].text:
            reason = ""  # it went on after the error
        return Answered(
            messages=self._waiting.hold(self._waiting.decided(messages, decisions), requests),
            approvals=requests,
            input_tokens=sum(field(used, "prompt_token_count") or 0 for used in tokens) if tokens else None,
            output_tokens=sum(field(used, "candidates_token_count") or 0 for used in tokens) if tokens else None,
            reason=reason,
        )

    async def _opened(self) -> Any:
        from google.adk.apps import App  # noqa: PLC0415 - as above
        from google.adk.runners import Runner  # noqa: PLC0415 - as above
        from google.adk.sessions import InMemorySessionService  # noqa: PLC0415 - as above

        sessions = InMemorySessionService()
        is_app = isinstance(self._agent, App)
        name = self._agent.name if is_app else "agentbench"
        given = {"app": self._agent} if is_app else {"app_name": name, "agent": self._agent}
        runner = Runner(**given, session_service=sessions)
        await sessions.create_session(app_name=name, user_id=_USER, session_id=self._id)
        return runner


def _messages(event: Any) -> list[Message]:
    parts = field(field(event, "content"), "parts") or ()
    said = "".join(text_field(part, "text") for part in parts if not field(part, "thought"))
    calls = [one for part in parts if (one := field(part, "function_call")) and field(one, "name") not in _OWN]
    results = [one for part in parts if (one := field(part, "function_response")) and field(one, "name") not in _OWN]
    spoken = [Message(role="assistant", content=said or None, tool_calls=tuple(map(_call, calls)))]
    return [*(spoken if said or calls else []), *map(_result, results)]


def _call(call: Any) -> ToolCall:
    arguments, raw = read_arguments(field(call, "args"))
    return ToolCall(name=text_field(call, "name"), arguments=arguments, id=text_field(call, "id"), raw=raw)


def _result(result: Any) -> Message:
    """Give a result without ADK's wrapping: `{"result": …}` around what is no mapping, `{"error": …}` for a failure."""
    response = field(result, "response") or {}
    failed = set(response) == {"error"}
    inner = response[next(iter(response))] if set(response) in ({"result"}, {"error"}) else response
    answered = text_field(result, "id") or None
    return Message(role="tool", content=result_text(inner), tool_call_id=answered, error=failed)
