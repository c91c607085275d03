"""The simulated user that a language model plays: it knows what its view holds, and guard rails check what it says."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_agentbench.core.acts import Act, ActKind
from pytest_agentbench.core.approvals import ApprovalRequest, values_of
from pytest_agentbench.core.conversation import Stop, UserFault, UserTurn, View
from pytest_agentbench.core.errors import ProviderError, TokenLimitError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message, Transcript, awaiting
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.llm.cut_off import cut_off
from pytest_agentbench.llm.history import GivenBack
from pytest_agentbench.llm.reply import ChatReply, RequestedCall
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.written_calls import PARSER
from pytest_agentbench.users.llm.draft import Draft, read_draft
from pytest_agentbench.users.llm.flipped import flipped
from pytest_agentbench.users.llm.guards import Alarm, alarms
from pytest_agentbench.users.llm.prompt import system_prompt
from pytest_agentbench.users.llm.template import render
from pytest_agentbench.users.modifiers.applying import apply, in_force, waiting
from pytest_agentbench.users.modifiers.behaviour import Behaviour

_SHOWN = 200
"""Characters of a model's text that a reason shows."""

_LONGEST = 4_000
"""Characters of a message beyond which it is none that a person writes in a chat."""

_EXCHANGED = frozenset({"messages", "begun", "feedback"})
"""What of a view changes from turn to turn, and stands in no system prompt."""

_MEANT: dict[bool, ActKind] = {True: "confirm", False: "decline"}
"""What an approval and a rejection mean."""

_NOTHING = Draft()


@dataclass(frozen=True)
class _Attempt:
    """What one answer of the model comes to: calls, or a draft with what is wrong with it, or why it is unusable.

    `written` names the tool that it called in words; `cut` is an answer that reached a limit of tokens.
    """

    calls: tuple[ToolCall, ...] = ()
    draft: Draft = _NOTHING
    alarms: tuple[Alarm, ...] = ()
    unusable: str = ""
    content: str = ""
    thoughts: str | None = None
    reply: ChatReply | None = None
    written: str = ""
    cut: ChatReply | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the model is told when it is asked again; empty where the answer is good."""
        return (self.unusable,) if self.unusable else tuple(alarm.reason for alarm in self.alarms)


class LlmUser:
    """A simulated user played by a model; one per run (implements `core.seams.User`).

    A reply that a guard rail finds fault with, or that cannot be used, is written again once, with the reason shown to
    the model. What is still at fault is said, and kept in `faults`; what is still unusable closes the conversation with
    blame *user*. It is told to write in `language` (a code), where that is known.
    """

    def __init__(self, chat: Chat, *, behaviours: Sequence[Behaviour] = (), language: str = "") -> None:
        self._chat = chat
        self._behaviours = tuple(behaviours)
        self._language = language
        self._is_closing = False
        self._given = GivenBack()
        self._prompt: tuple[object, str] = (None, "")
        self.faults: list[UserFault] = []
        self.regenerated = 0

    async def reply(self, view: View) -> UserTurn:
        """Ask the model for the next message or calls of the user's own tools, or for the decision to close.

        Stops with reason `done` (###STOP###), `handed over` (###TRANSFER###) or, with blame *user*, `out of scope: …`
        (###OUT-OF-SCOPE###) and `no usable reply: …`. Raises what `chat` raises, `ProviderError` where the model writes
        its calls as text, and `TokenLimitError` where both answers were cut off.
        """
        attempt = await self._attempt_twice(view)
        if attempt.draft.closing and not self._is_closing and waiting(self._behaviours, view):
            self._is_closing = True  # what was to come later comes now, since there will be no later
            attempt = await self._attempt_twice(view)
        if attempt.written:
            raise ProviderError(f"the simulated user wrote a call of {_quoted(attempt.written)} as text; {PARSER}")
        if attempt.cut is not None:
            limit = cut_off(attempt.cut, self._chat.spec.max_tokens)
            raise TokenLimitError(f"the simulated user, model {self._chat.spec.model!r}, was {limit}")
        if attempt.unusable:
            reason = f"no usable reply of the simulated user: {attempt.unusable}"
            return UserTurn(stop=Stop(reason=reason, blame=Blame.USER))
        if attempt.reply is not None:
            self._given.keep(attempt.reply, attempt.draft.sendable)
        if attempt.calls:
            return UserTurn(tool_calls=attempt.calls, thoughts=attempt.thoughts)
        return self._said(view, attempt).model_copy(update={"thoughts": attempt.thoughts})

    def _said(self, view: View, attempt: _Attempt) -> UserTurn:
        text = attempt.draft.sendable
        if attempt.alarms:
            message = Message(role="user", content=text)
            turn = Transcript(messages=(*view.messages, message)).turns[-1]
            self.faults += [UserFault(rule=alarm.rule, message=alarm.reason, turn=turn) for alarm in attempt.alarms]
        match attempt.draft.closing:
            case "STOP":
                return UserTurn(text=text, stop=Stop(reason="done"))
            case "TRANSFER":
                return UserTurn(text=text, stop=Stop(reason="handed over"))
            case "OUT-OF-SCOPE":
                asking = next((one.text for one in reversed(view.messages) if one.role == "assistant"), "")
                reason = f"out of scope: the scenario does not say how to answer {_quoted(asking)}"
                return UserTurn(text=text, stop=Stop(reason=reason, blame=Blame.USER))
            case None if attempt.draft.approves is None:
                return UserTurn(text=text)
            case None:
                about = tuple(value for one in _waiting_calls(view) for value in values_of(one.arguments))
                return UserTurn(text=text, acts=(Act(kind=_MEANT[attempt.draft.approves], about=about),))

    def _withdraw(self, view: View) -> None:
        """Forget the faults of a closing line that was not sent after all."""
        turns = Transcript(messages=view.messages).turns
        self.faults[:] = [fault for fault in self.faults if turns and fault.turn <= turns[-1]]

    async def _attempt_twice(self, view: View) -> _Attempt:
        """Ask, and where the answer is at fault ask once more with the reasons; of two as bad the second counts."""
        shown = apply(view, self._behaviours)
        acting = in_force(self._behaviours, view, closing=self._is_closing)
        messages = [
            {"role": "system", "content": self._prompted(shown, acting)},
            *self._given.added(flipped(shown.messages)),
        ]
        if view.feedback:
            self._withdraw(view)
            messages.append({"role": "user", "content": render("resume.v1", {"feedback": view.feedback})})
        tools = [tool.openai() for tool in shown.tools]
        checked = _judged_by(shown, acting)
        requests = _waiting_calls(view)
        if requests:
            calls = "\n".join(f"- {request.call}" for request in requests)
            messages.append({"role": "user", "content": render("approval.v1", {"calls": calls})})
        first = await self._attempt(messages, tools, checked, decides=bool(requests))
        if not first.reasons:
            return first
        self.regenerated += 1
        reasons = "\n".join(f"- {reason}" for reason in first.reasons)
        again = [
            {"role": "assistant", "content": shorten(first.content, _LONGEST) or "(nothing)"},
            {"role": "user", "content": render("again.v1", {"reasons": reasons})},
        ]
        second = await self._attempt([*messages, *again], tools, checked, decides=bool(requests))
        return first if _is_worse(second, first) else second

    async def _attempt(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], view: View, *, decides: bool
    ) -> _Attempt:
        reply = await self._chat.complete(messages, tools=tools)
        return replace(_read(reply, view, decides=decides), thoughts=reply.thoughts, reply=reply)

    def _prompted(self, view: View, acting: Sequence[Behaviour]) -> str:
        """Give the system prompt, which is the same in most turns."""
        instructions = [behaviour.instruction for behaviour in acting]
        told = {name: value for name, value in view if name not in _EXCHANGED}
        given = (told, repr(view.knows), instructions)  # as text, too: equal values need not read alike (`1`, `True`)
        if self._prompt[0] != given:
            self._prompt = (given, system_prompt(view, instructions, language=self._language))
        return self._prompt[1]


def _is_worse(second: _Attempt, first: _Attempt) -> bool:
    if first.unusable or second.unusable:
        return not first.unusable
    return len(second.alarms) > len(first.alarms)


def _judged_by(view: View, behaviours: Sequence[Behaviour]) -> View:
    """Give the view that guard rails judge by: what behaviours tell is instructions, what they may say is lines."""
    if not behaviours:
        return view
    sayable = tuple(text for behaviour in behaviours for text in behaviour.may_say)
    told = "\n".join([view.task_instructions, *(behaviour.instruction for behaviour in behaviours)])
    return view.model_copy(update={"says": (*view.says, *sayable), "task_instructions": told})


def _waiting_calls(view: View) -> list[ApprovalRequest]:
    """Give the calls that wait for this user; a free question is answered as any message is."""
    return [request for request in awaiting(view.messages) if not request.is_question]


def _read(reply: ChatReply, view: View, *, decides: bool) -> _Attempt:
    """Sort one answer of the model."""
    if reply.calls:
        return _read_calls(reply.calls, view, reply.text)
    if reply.written_call:
        told = f"you wrote a call of {reply.written_call} as text; call the tool itself, or write what you would say"
        return _Attempt(unusable=told, content=reply.text, written=reply.written_call)
    if reply.refusal or reply.finish_reason == "content_filter":
        told = f": {_quoted(reply.refusal)}" if reply.refusal else ""
        return _Attempt(unusable=f"you refused to answer{told}; write what this person would say", content=reply.text)
    if reply.truncated or len(reply.text) > _LONGEST:
        cut = reply if reply.truncated else None
        return _Attempt(unusable="it was too long; write one to three sentences", content=reply.text, cut=cut)
    draft = read_draft(reply.text, decides=decides)
    if not draft.sendable and draft.closing is None and draft.approves is None:
        return _Attempt(unusable="it was empty; write a message, or a marker to close", content=reply.text)
    return _Attempt(draft=draft, alarms=alarms(view, draft), content=reply.text)


def _read_calls(requested: Sequence[RequestedCall], view: View, content: str) -> _Attempt:
    """Turn requested calls into calls of the user's tools; text beside them is not said."""
    names = [tool.name for tool in view.tools]
    calls: list[ToolCall] = []
    for call in requested:
        if call.name not in names:
            allowed = f"your tools are {', '.join(names)}" if names else "you have no tools"
            return _Attempt(unusable=f"you called {_quoted(call.name)}, but {allowed}", content=content)
        arguments, raw = read_arguments(call.arguments)
        if raw is not None:
            told = f"the arguments of {call.name}, {_quoted(raw)}, are no JSON object; call it with one"
            return _Attempt(unusable=told, content=content)
        calls.append(ToolCall(name=call.name, arguments=arguments, id=call.id, requestor="user"))
    return _Attempt(calls=tuple(calls))


def _quoted(text: str) -> str:
    return repr(shorten(printable(text), _SHOWN))
