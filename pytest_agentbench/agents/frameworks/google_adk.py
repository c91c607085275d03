"""Google ADK: an agent, or an app, behind a runner of its own with a session that is kept in memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_agentbench.agents.frameworks.agent import Answered, Marked, Waiting
from pytest_agentbench.agents.frameworks.context import values_of
from pytest_agentbench.agents.refusals import ended, filtered, filtered_ending, refusal
from pytest_agentbench.agents.replies import read
from pytest_agentbench.core.approvals import ApprovalRequest, Decision, DecisionKind
from pytest_agentbench.core.codec import loads
from pytest_agentbench.core.tool import read_arguments
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import field, result_text, text_field

_USER = "user"
_TRANSFER, _TYPED = "transfer_to_agent", "set_model_response"
"""What ADK calls its own ways of handing a conversation to a sub-agent, and of giving a typed answer; no tools."""


class AdkSession:
    """The conversation of one run: a runner, and a session in an `InMemorySessionService` of its own.

    The values of the context are the session's state at its beginning.
    """

    shows = frozenset({"handoffs", "output"})

    def __init__(self, agent: Any, session_id: str, context: Any = None) -> None:
        """Raise `SuiteFaultError` where the context is no mapping."""
        self._agent = agent
        self._id = session_id
        self._state = values_of(context, "session state")
        self._runner: Any = None
        self._confirmations = Confirmations()
        self._waiting = Waiting()
        self._agents = _family(getattr(agent, "root_agent", None) or agent)
        self._turn = _Turn(self._agents)
        self._decided = False

    @property
    def begun(self) -> list[Message]:
        """The messages of the turn so far, none where it went on with what the user had decided."""
        return [] if self._decided else self._turn.marked.messages

    async def answer(self, message: str) -> Answered:
        """Run the agent; give its calls, their results and its texts in the order of its events.

        What the provider of its model filtered is a refusal.
        """
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
        turn = self._turn = _Turn(self._agents)
        self._decided = bool(decisions)
        requests: list[ApprovalRequest] = []
        try:
            async for event in self._runner.run_async(user_id=_USER, session_id=self._id, new_message=said):
                if not field(event, "partial"):
                    turn.add(event)
                    requests += self._confirmations.read(event)
        except Exception as error:
            if (filter_ := filtered(error)) is None:
                raise
            turn.marked.add(refusal(filter_), turn.last or None)
        answered = turn.answered()
        messages = self._waiting.hold(self._waiting.decided(answered.messages, decisions), requests)
        return replace(answered, messages=messages, output=None if requests else answered.output)

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


class _Turn:
    """What the events of one turn say, read one by one."""

    def __init__(self, agents: Mapping[str, Any]) -> None:
        self.marked = Marked()
        self.last = ""
        self._agents = agents
        self._hides_calls = False
        self._heard: set[str] = set()
        self._own: set[str] = set()
        self._reason = ""
        self._output: object = None
        self._tokens: list[Any] = []

    def add(self, event: Any) -> None:
        """Read an event: who sent it, what it says and calls, and what it hands over."""
        self._author(text_field(event, "author"))
        by = self.last or None
        parts = field(field(event, "content"), "parts") or ()
        calls = [one for part in parts if (one := field(part, "function_call"))]
        own = [call for call in calls if self._is_adks(text_field(call, "name"))]
        self._own |= {text_field(call, "id") for call in own}
        kept = [part for part in parts if not self._is_own(part)]
        messages = list(read([{"role": "model", "parts": kept}]).messages) if kept else []
        said = "".join(message.text for message in messages if message.role == "assistant")
        self._typed(event, said if not calls else "")
        code = getattr(field(event, "error_code"), "name", None) or text_field(event, "error_code")
        if filter_ := filtered_ending(field(event, "finish_reason"), code):
            messages, code = messages if calls else list(ended(messages, filter_)), ""
        for message in messages:
            self.marked.add(message, by)
            if message.role == "assistant":
                self._reason = ""  # it went on after an error
        for call in own:
            self._hides_calls |= self._may_hide(text_field(call, "name"))
            if (to := self._led_to(call)) and to != self.last:
                self.marked.handed_over(self.last, to)
                self._heard.add(to)
        if code:
            told = text_field(event, "error_message")
            self._reason = f"its model gave {code}" + (f" ({told})" if told else "")
        if used := field(event, "usage_metadata"):
            self._tokens.append(used)

    def answered(self) -> Answered:
        """Give what the turn came to."""
        messages, used = self.marked.messages, self._tokens
        return Answered(
            messages=messages,
            input_tokens=sum(field(one, "prompt_token_count") or 0 for one in used) if used else None,
            output_tokens=sum(field(one, "candidates_token_count") or 0 for one in used) if used else None,
            reason=self._reason,
            output=self._output,
            hides_calls=self._hides_calls,
        )

    def _author(self, author: str) -> None:
        """Note whose event it is; an agent that comes in by itself, as steps of a workflow do, was handed the task."""
        if not author or author in (_USER, self.last):
            return
        if self.last and author not in self._heard:
            self.marked.handed_over(self.last, author)
        self._heard.add(author)
        self.last = author

    def _is_own(self, part: Any) -> bool:
        made = field(part, "function_call", "function_response")
        return made is not None and text_field(made, "id") in self._own

    def _is_adks(self, name: str) -> bool:
        """Whether what the agent calls is no tool of the user's; a name of ADK's own may be one."""
        agent = self._agents.get(self.last)
        if name == _TYPED and field(agent, "output_schema") is not None:
            return True
        is_own = name in (_TRANSFER, _TYPED, *ASKING) or _delegate(agent, name) is not None
        return is_own and not _has_plain_tool(agent, name)

    def _may_hide(self, name: str) -> bool:
        """Whether calls may be made behind what is called: ADK tells those of sub-agents, not those behind a tool."""
        agent = self._agents.get(self.last)
        tools = field(agent, "tools") or ()
        if not any(_is_agent_tool(tool) and text_field(tool, "name") == name for tool in tools):
            return False
        behind = _delegate(agent, name)
        return field(behind, "tools") is None or any(field(behind, kind) for kind in ("tools", "sub_agents"))

    def _led_to(self, call: Any) -> str:
        name = text_field(call, "name")
        if name == _TRANSFER:
            return text_field(field(call, "args"), "agent_name")
        return text_field(_delegate(self._agents.get(self.last), name), "name")

    def _typed(self, event: Any, said: str) -> None:
        """Keep a typed answer: what the agent's own tool for it was given, else the JSON that it says."""
        given = field(field(event, "actions"), _TYPED)
        if given is not None:
            self._output = given
        elif said and field(self._agents.get(self.last), "output_schema") is not None:
            try:
                self._output = loads(said)
            except ValueError:
                self._output = None


def _family(agent: Any) -> dict[str, Any]:
    """Give an agent and those below it by name."""
    agents: dict[str, Any] = {}
    left = [agent]
    while left:
        one = left.pop()
        name = text_field(one, "name")
        if name and name not in agents:
            agents[name] = one
            left += field(one, "sub_agents") or ()
    return agents


def _delegate(agent: Any, name: str) -> Any:
    """Give the agent that works behind what an agent calls, a tool or a sub-agent; None where none does."""
    tools = (tool for tool in field(agent, "tools") or () if _is_agent_tool(tool) and text_field(tool, "name") == name)
    behind = [field(tool, "agent") for tool in tools]
    below = [one for one in field(agent, "sub_agents") or () if text_field(one, "name") == name]
    return next(iter([*behind, *below]), None)


def _has_plain_tool(agent: Any, name: str) -> bool:
    """Whether an agent has a tool of the user's by this name: a function, or one that ADK did not make."""
    for tool in field(agent, "tools") or ():
        called = text_field(tool, "name") or text_field(tool, "__name__")
        made_in = text_field(field(tool, "func") or tool, "__module__")
        if called == name and not _is_agent_tool(tool) and not made_in.startswith("google.adk."):
            return True
    return False


def _is_agent_tool(tool: Any) -> bool:
    return any(kind.__name__ == "AgentTool" for kind in type(tool).__mro__)


_CONFIRMATION = "adk_request_confirmation"
_INPUT = "adk_request_input"

ASKING = frozenset({_CONFIRMATION, _INPUT})
"""What ADK calls its own ways of asking; no tools of the environment."""


class Confirmations:
    """What a conversation waits for, by the id under which the user is asked: that of the call itself."""

    def __init__(self) -> None:
        self._asked: dict[str, Any] = {}

    def read(self, event: Any) -> Iterator[ApprovalRequest]:
        """Give the requests of an event."""
        for part in field(field(event, "content"), "parts") or ():
            call = field(part, "function_call")
            if call and field(call, "name") in ASKING:
                request = _confirmation(call) if field(call, "name") == _CONFIRMATION else _input(call)
                self._asked[request.id] = call
                yield request

    def answers(self, decisions: Sequence[Decision]) -> list[Any]:
        """Give the parts of the message that answers; every request is answered once."""
        from google.genai import types  # noqa: PLC0415 - the framework is there, since the agent is its own

        parts = []
        for decision in decisions:
            call = self._asked.pop(decision.id)
            response = types.FunctionResponse(id=call.id, name=call.name, response=_response(call, decision))
            parts.append(types.Part(function_response=response))
        return parts


def _confirmation(call: Any) -> ApprovalRequest:
    made, asked = field(call.args, "originalFunctionCall"), field(call.args, "toolConfirmation")
    arguments, _ = read_arguments(field(made, "args"))
    payload = field(asked, "payload")
    allowed: tuple[DecisionKind, ...] = ("approve", "reject")
    told = text_field(asked, "hint")
    if payload is not None:
        told = f"{told}\n{result_text(payload)}".strip()
    return ApprovalRequest(
        id=text_field(made, "id") or text_field(call, "id"),
        tool=text_field(made, "name"),
        arguments=arguments,
        text=told,
        allowed=(*allowed, "edit") if isinstance(payload, dict) else allowed,
    )


def _input(call: Any) -> ApprovalRequest:
    arguments, _ = read_arguments(field(call, "args"))
    return ApprovalRequest(
        id=text_field(call, "id"),
        tool=_INPUT,
        text=text_field(arguments, "message"),
        allowed=("respond",),
        is_question=True,
    )


def _response(call: Any, decision: Decision) -> dict[str, Any]:
    """Give what ADK reads; an edit changes the payload that the tool asked to be filled in, never its arguments."""
    if field(call, "name") == _INPUT:
        return {"result": decision.text}
    payload = field(field(call.args, "toolConfirmation"), "payload")
    answer: dict[str, Any] = {"confirmed": decision.runs}
    if decision.kind == "edit":
        asked = field(field(call.args, "originalFunctionCall"), "args") or {}
        payload = {**payload, **{name: value for name, value in decision.arguments.items() if asked.get(name) != value}}
    return answer if payload is None else {**answer, "payload": payload}
