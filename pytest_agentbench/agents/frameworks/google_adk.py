"""Google ADK: an agent, or an app, behind a runner of its own with a session that is kept in memory."""

from typing import Any

from pytest_agentbench.agents.frameworks.context import values_of
from pytest_agentbench.agents.frameworks.session import Answered
from pytest_agentbench.agents.replies import read
from pytest_agentbench.messages.content import field, text_field

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
        contents: list[dict[str, Any]] = []
        reason, tokens = "", []
        async for event in self._runner.run_async(user_id=_USER, session_id=self._id, new_message=said):
            if field(event, "partial"):
                continue
            contents.append(_content(event))
            if code := text_field(event, "error_code"):
                reason = f"its model gave {code}" + (
                    f" ({told})" if (told := text_field(event, "error_message")) else ""
                )
            if used := field(event, "usage_metadata"):
                tokens.append(used)
        messages = read([content for content in contents if content["parts"]]).messages
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


def _content(event: Any) -> dict[str, Any]:
    parts = field(field(event, "content"), "parts") or ()
    return {"role": "model", "parts": [part for part in parts if not _is_transfer(part)]}


def _is_transfer(part: Any) -> bool:
    made = field(part, "function_call", "function_response")
    return made is not None and text_field(made, "name") == _TRANSFER
