"""Google ADK: an agent, or an app, behind a runner of its own with a session that is kept in memory."""

from typing import Any

from pytest_agentbench.agents.content import field, result_text, text_field
from pytest_agentbench.agents.frameworks.context import values_of
from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message

_USER = "user"
_TRANSFER = "transfer_to_agent"
"""What ADK calls its own way of handing a conversation to a sub-agent; no tool of the environment."""


class AdkSession:
    """The conversation of one run: a runner, and a session in an `InMemorySessionService` of its own.

    The values of the context are the session's state at its beginning.
    """

    def __init__(self, agent: Any, session_id: str, context: Any = None) -> None:
        """Raise `SuiteFaultError` where the context is no mapping."""
        self._agent = agent
        self._id = session_id
        self._state = values_of(context, "session state")
        self._runner: Any = None

    async def answer(self, message: str) -> Answered:
        """Run the agent; give its calls, their results and its texts in the order of its events."""
        from google.genai import types  # noqa: PLC0415 - the framework is there, since the agent is its own

        if self._runner is None:
            self._runner = await self._opened()
        said = types.Content(role="user", parts=[types.Part(text=message)])
        messages: list[Message] = []
        reason, tokens = "", []
        async for event in self._runner.run_async(user_id=_USER, session_id=self._id, new_message=said):
            if field(event, "partial"):
                continue
            messages.extend(_messages(event))
            if code := text_field(event, "error_code"):
                reason = f"its model gave {code}" + (
                    f" ({told})" if (told := text_field(event, "error_message")) else ""
                )
            if used := field(event, "usage_metadata"):
                tokens.append(used)
        if reason and messages and messages[-1].text:
            reason = ""  # it went on after the error
        return Answered(
            messages=messages,
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
        await sessions.create_session(app_name=name, user_id=_USER, session_id=self._id, state=self._state)
        return runner


def _messages(event: Any) -> list[Message]:
    parts = field(field(event, "content"), "parts") or ()
    said = "".join(text_field(part, "text") for part in parts if not field(part, "thought"))
    calls = [one for part in parts if (one := field(part, "function_call")) and field(one, "name") != _TRANSFER]
    results = [one for part in parts if (one := field(part, "function_response")) and field(one, "name") != _TRANSFER]
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
