"""The simulated user that a language model plays: it says what it means with each turn, and guards check its shape."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from pytest_agentbench.core.acts import Act, ActKind
from pytest_agentbench.core.approvals import ApprovalRequest, values_of
from pytest_agentbench.core.conversation import Stop, UserFault, UserTurn, View
from pytest_agentbench.core.errors import ProviderError, TokenLimitError, UnusableAnswerError
from pytest_agentbench.core.ids import plain_values
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message, Transcript, awaiting
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.llm.answer_text import PARSER, UnreadableAnswerError, cut_off, read_answer
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.reply import ChatReply, GivenBack, RequestedCall, with_more
from pytest_agentbench.llm.structured import schema_of, structured_reply
from pytest_agentbench.users.llm.prompt import listed, render, system_prompt
from pytest_agentbench.users.llm.turn import Alarm, Draft, TypedTurn, alarms, flipped, said_with, words_of, written
from pytest_agentbench.users.llm.value_shapes import ids_in, stated_values
from pytest_agentbench.users.modifiers.applying import Behaviour, apply, in_force, waiting

_SHOWN = 200
"""Characters of a model's text that a reason shows."""

_LONGEST = 4_000
"""Characters of a message beyond which it is none that a person writes in a chat."""

_MEANT: dict[str, ActKind] = {"approve": "confirm", "reject": "decline"}
"""What an approval and a rejection mean."""

_ANSWERS = frozenset(("confirm", "decline", "condition", "withdraw"))
"""Acts that a decision about a call takes the place of."""

_TOO_LONG = "it was too long; write one to three sentences"


_NO_WORDS = TypedTurn(text="")


@dataclass(frozen=True)
class _Attempt:
    """What one answer of the model comes to: calls, a turn with what is wrong with it, or why it is unusable.

    A turn that `is_typed` says what it means; another is words alone. `shown` is the answer as the model gets it back
    with what is wrong. `call` is the tool that it called in words; `cut` says that it reached a limit of tokens,
    `is_spent` that it was told already.
    """

    turn: TypedTurn = _NO_WORDS
    is_typed: bool = False
    calls: tuple[ToolCall, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    unusable: str = ""
    shown: str = ""
    reply: ChatReply | None = None
    call: str = ""
    cut: TokenLimitError | None = None
    is_spent: bool = False

    @property
    def draft(self) -> Draft:
        """The turn as guards see it."""
        turn = self.turn
        return Draft(
            text=turn.text.strip(),
            acts=frozenset(act.kind for act in turn.acts) if self.is_typed else None,
            gives=any(act.facts for act in turn.acts),
            open_items=tuple(one.item for one in turn.goal if not one.done),
            stop=turn.stop,
        )

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the model is told when it is asked again; empty where the answer is good."""
        return (self.unusable,) if self.unusable else tuple(alarm.reason for alarm in self.alarms)


def _typed(turn: TypedTurn, **more: Any) -> _Attempt:
    return _Attempt(turn=turn, is_typed=True, **more)


def _unusable(why: str, **more: Any) -> _Attempt:
    return _Attempt(unusable=why, **more)


class LlmUser:
    """A simulated user played by a model; one per run (implements `core.protocols.User`).

    A turn that a guard finds fault with, or that cannot be used, is given again once, with the reason shown to the
    model. What is still at fault is said, and kept in `faults`; what is still unusable closes the conversation with
    blame *user*. It is told to write in `language` (a code), where that is known. `wants` are the values that it wants
    to see done: the model is not told them, code says by them what an answer is about.
    """

    def __init__(
        self, chat: Chat, *, behaviours: Sequence[Behaviour] = (), language: str = "", wants: Sequence[object] = ()
    ) -> None:
        self._chat = chat
        self._behaviours = tuple(behaviours)
        self._language = language
        self._wants = tuple(wants)
        self._is_closing = False
        self._given = GivenBack()
        self._prompt = ""
        self._told: list[Behaviour] = []
        self._notes: dict[int, str] = {}
        self.faults: list[UserFault] = []

    async def reply(self, view: View) -> UserTurn:
        """Ask the model for its next turn: a message, calls of the user's own tools, or the decision to close.

        Stops with reason `done`, `handed over` or, with blame *user*, `out of scope: …` and `no usable reply: …`.
        Raises what `chat` raises, `ProviderError` where the model writes its calls as text, and `TokenLimitError` where
        both answers were cut off.
        """
        attempt = await self._attempt_twice(view)
        if attempt.draft.stop and not self._is_closing and waiting(self._behaviours, view):
            self._is_closing = True  # what was to come later comes now, since there will be no later
            attempt = await self._attempt_twice(view)
        if attempt.call:
            raise ProviderError(f"the simulated user wrote a call of {_quoted(attempt.call)} as text; {PARSER}")
        if attempt.cut is not None:
            raise attempt.cut
        if attempt.unusable:
            reason = f"no usable reply of the simulated user: {attempt.unusable}"
            return UserTurn(stop=Stop(reason=reason, blame=Blame.USER))
        if attempt.reply is not None and view.tools:
            said = written(attempt.turn) if attempt.is_typed else ""
            self._given.keep(_as_told(attempt, len(view.messages)), said)
        thoughts = attempt.reply.thoughts if attempt.reply else None
        if attempt.calls:
            return UserTurn(tool_calls=attempt.calls, thoughts=thoughts)
        self._keep_faults(view, attempt)
        return self._said(view, attempt).model_copy(update={"thoughts": thoughts})

    def _said(self, view: View, attempt: _Attempt) -> UserTurn:
        turn, text = attempt.turn, attempt.draft.text
        if not attempt.is_typed:
            return UserTurn(text=text)
        own_names = {one.label for one in self._behaviours}
        return UserTurn(
            text=text,
            acts=self._acts(view, turn) or None,  # a model that names no act did not say what it meant
            goal_items=turn.goal_items,
            shows=tuple(dict.fromkeys(name for name in turn.shows if name in own_names)),
            stop=_stop(view, turn),
        )

    def _acts(self, view: View, turn: TypedTurn) -> tuple[Act, ...]:
        """Give what the turn meant, with what it is about; a decision says what it means about the calls that wait."""
        heard = _heard(view)
        locale = self._language or "en"
        known = [*self._wants, *(one for value in view.knows.values() for _, one in plain_values(value))]
        own = [view.goal, *view.says, view.known_info, *(one.text for one in view.messages if one.role == "user")]
        ids = [*(code for text in own for code in ids_in(text).values()), *(str(one) for one in known)]
        acts = turn.meant(
            stated_values(heard, known, ids, locale),
            stated_values(turn.text, known, ids, locale),
        )
        requests = _waiting_calls(view)
        if not requests or turn.decision is None:
            return acts
        about = tuple(value for one in requests for value in values_of(one.arguments))
        decided = Act(kind=_MEANT[turn.decision], about=about)
        return (decided, *(act for act in acts if act.kind not in _ANSWERS))

    def _keep_faults(self, view: View, attempt: _Attempt) -> None:
        message = Message(role="user", content=attempt.draft.text)
        turn = Transcript(messages=(*view.earlier, *view.messages, message)).turns[-1]
        self.faults += [UserFault(rule=alarm.rule, message=alarm.seen, turn=turn) for alarm in attempt.alarms]

    def _withdraw(self, view: View) -> None:
        """Forget the faults of a closing turn that was not sent after all."""
        turns = Transcript(messages=(*view.earlier, *view.messages)).turns
        self.faults[:] = [fault for fault in self.faults if turns and fault.turn <= turns[-1]]

    async def _attempt_twice(self, view: View) -> _Attempt:
        """Ask, and where the answer is at fault ask once more with the reasons; of two as bad the second counts."""
        acting = in_force(self._behaviours, view, closing=self._is_closing)
        say = _name_of_say(view)
        self._tell(view, acting, say)
        messages = [
            {"role": "system", "content": self._prompt},
            *self._given.added(flipped(view.messages, say=say, notes=self._notes)),
        ]
        if view.feedback:
            self._withdraw(view)
            messages = _noted(messages, render("resume.v2", {"feedback": view.feedback}))
        checked = _judged_by(apply(view, self._behaviours), acting)
        first = await self._attempt(messages, checked, say)
        if not first.reasons or first.is_spent:
            return first
        again = _again(first, render("again.v2", {"reasons": listed(first.reasons)}))
        second = await self._attempt([*messages, *again], checked, say, is_last=True)
        return first if _is_worse(second, first) else second

    def _tell(self, view: View, acting: Sequence[Behaviour], say: str) -> None:
        """Fill the prompt once, and note what comes into force later behind the message after which it does.

        A prompt that never changes keeps what servers have cached of a conversation.
        """
        if not self._prompt:
            self._told += acting
            shown = apply(view, self._behaviours)
            instructions = [_instruction(behaviour) for behaviour in acting]
            self._prompt = system_prompt(shown, instructions, language=self._language, say=say)
        if fresh := [behaviour for behaviour in acting if behaviour not in self._told]:
            self._told += fresh
            note = render("note.v1", {"instructions": listed([_instruction(behaviour) for behaviour in fresh])})
            place = len(view.messages) - 1
            self._notes[place] = "\n\n".join(filter(None, [self._notes.get(place), note]))

    async def _attempt(
        self, messages: list[dict[str, Any]], view: View, say: str, *, is_last: bool = False
    ) -> _Attempt:
        try:
            attempt = await (self._by_call(messages, view, say, is_last=is_last) if say else self._by_form(messages))
        except TokenLimitError as error:
            return _unusable(_TOO_LONG, cut=error)
        if attempt.unusable or attempt.calls:
            return attempt
        draft = attempt.draft
        if len(draft.text) > _LONGEST:
            return replace(attempt, unusable=_TOO_LONG)
        decides = attempt.turn.decision is not None and bool(_waiting_calls(view))
        if not draft.text and draft.stop is None and not decides:
            return replace(attempt, unusable="it was empty; write a message in `text`, or set `stop` to leave")
        return replace(attempt, alarms=alarms(view, draft, locale=self._language or "en"))

    async def _by_form(self, messages: list[dict[str, Any]]) -> _Attempt:
        """Ask for a typed turn; what is none after one repair counts as its words alone, where it has any."""
        try:
            turn, reply = await structured_reply(self._chat, TypedTurn, messages)
        except TokenLimitError:
            raise
        except UnusableAnswerError as error:
            said = error.said or ""
            if words := words_of(said):
                return _Attempt(TypedTurn(text=words), shown=said)
            why = f"it could not be used ({shorten(printable(str(error)), _SHOWN)}); write what this person would say"
            return _unusable(why, shown=said, is_spent=error.said is not None)
        return _typed(turn, shown=written(turn), reply=reply)

    async def _by_call(self, messages: list[dict[str, Any]], view: View, say: str, *, is_last: bool) -> _Attempt:
        """Ask a user with tools of its own: many servers take no answer's form beside tools, so it speaks by one."""
        schema, _ = schema_of(TypedTurn)
        speaking = {"name": say, "description": "Say your next turn to the agent.", "parameters": schema}
        tools = [*(tool.openai() for tool in view.tools), {"type": "function", "function": speaking}]
        reply = await self._chat.complete(messages, tools=tools)
        if reply.truncated:
            limit = cut_off(reply, self._chat.spec.max_tokens)
            error = TokenLimitError(f"the simulated user, model {self._chat.spec.model!r}, was {limit}")
            return _unusable(_TOO_LONG, shown=reply.text, cut=error)
        read = _read_calls(reply, view, say, is_last) if reply.calls else _read_text(reply, say, is_last)
        return replace(read, reply=reply)


def _stop(view: View, turn: TypedTurn) -> Stop | None:
    if turn.stop != "out of scope":
        return None if turn.stop is None else Stop(reason=turn.stop)
    asking = next((one.text for one in reversed(view.messages) if one.role == "assistant"), "")
    reason = f"out of scope: the scenario does not say how to answer {_quoted(asking)}"
    return Stop(reason=reason, blame=Blame.USER)


def _heard(view: View) -> str:
    """Give what the agent said since the user's last message."""
    since = takewhile(lambda one: one.role != "user" or not one.text.strip(), reversed(view.messages))
    return "\n".join(reversed([one.text for one in since if one.role == "assistant"]))


def _instruction(behaviour: Behaviour) -> str:
    return f"{behaviour.label}: {behaviour.instruction}"


def _name_of_say(view: View) -> str:
    """Name the tool by which a user with tools of its own speaks; "" for a user without any."""
    names = {tool.name for tool in view.tools}
    name = "say" if names else ""
    while name in names:
        name += "_"
    return name


def _as_told(attempt: _Attempt, index: int) -> ChatReply:
    """Give the reply of an attempt as the conversation will show it: the call by which it spoke has our own id."""
    reply = attempt.reply or ChatReply()
    if attempt.calls:
        made = {call.id for call in attempt.calls}
        return reply.model_copy(update={"calls": tuple(call for call in reply.calls if call.id in made)})
    calls = tuple(call.model_copy(update={"id": said_with(index)}) for call in reply.calls[:1])
    return reply.model_copy(update={"calls": calls})


def _noted(messages: list[dict[str, Any]], note: str) -> list[dict[str, Any]]:
    """Put a note at the end, into the agent's last message where it is the last: some servers refuse two of a role."""
    last = messages[-1]
    if last["role"] != "user":
        return [*messages, {"role": "user", "content": note}]
    return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{note}"}]


def _again(attempt: _Attempt, note: str) -> list[dict[str, Any]]:
    """Give an answer at fault as the model gave it, and what is wrong with it."""
    reply = attempt.reply
    if reply is None or not reply.calls:
        said = shorten(attempt.shown, _LONGEST) or "(nothing)"
        return [{"role": "assistant", "content": said}, {"role": "user", "content": note}]
    made = [(one.name, one.arguments if len(one.arguments) <= 2 * _LONGEST else "{}", one.id) for one in reply.calls]
    calls = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments, id_ in made
    ]
    results = [{"role": "tool", "tool_call_id": call.id, "content": note} for call in reply.calls]
    return [with_more({"role": "assistant", "content": None, "tool_calls": calls}, reply), *results]


def _is_worse(second: _Attempt, first: _Attempt) -> bool:
    if first.unusable or second.unusable:
        return not first.unusable
    return len(second.alarms) > len(first.alarms)


def _judged_by(view: View, behaviours: Sequence[Behaviour]) -> View:
    """Give the view that guards judge by: what behaviours tell is instructions, what they may say is lines."""
    if not behaviours:
        return view
    sayable = tuple(text for behaviour in behaviours for text in behaviour.may_say)
    told = "\n".join([view.task_instructions, *(behaviour.instruction for behaviour in behaviours)])
    return view.model_copy(update={"says": (*view.says, *sayable), "task_instructions": told})


def _waiting_calls(view: View) -> list[ApprovalRequest]:
    """Give the calls that wait for this user; a free question is answered as any message is."""
    return [request for request in awaiting(view.messages) if not request.is_question]


def _read_text(reply: ChatReply, say: str, is_last: bool) -> _Attempt:
    """Read what a user with tools wrote instead of calling one: a typed turn, or at last its words."""
    if reply.written_call:
        why = f"you wrote a call of {reply.written_call} as text; call the tool itself"
        return _unusable(why, shown=reply.text, call=reply.written_call)
    if reply.refusal or reply.finish_reason == "content_filter":
        refusal = f": {_quoted(reply.refusal)}" if reply.refusal else ""
        return _unusable(f"you refused to answer{refusal}; say what this person would say", shown=reply.text)
    try:
        return _typed(read_answer(TypedTurn, reply.text), shown=reply.text)
    except UnreadableAnswerError:
        words = words_of(reply.text)
    if words and is_last:
        return _Attempt(TypedTurn(text=words), shown=reply.text)
    why = _TOO_LONG if len(words) > _LONGEST else f"you wrote text; speak by calling `{say}`"
    return _unusable(why, shown=reply.text)


def _read_calls(reply: ChatReply, view: View, say: str, is_last: bool) -> _Attempt:
    """Turn requested calls into calls of the user's tools, or into what it says; text beside calls is not said."""
    names = [*(tool.name for tool in view.tools), say]
    unknown = next((call.name for call in reply.calls if call.name not in names), None)
    if unknown is not None:
        return _unusable(f"you called {_quoted(unknown)}, but your tools are {', '.join(names)}")
    if own := [call for call in reply.calls if call.name != say]:
        return _own_calls(own)
    if len(reply.calls) > 1:
        return _unusable(f"you called `{say}` {len(reply.calls)} times; call it once, with all that you say")
    arguments = reply.calls[0].arguments
    try:
        return _typed(read_answer(TypedTurn, arguments))
    except UnreadableAnswerError as error:
        words = words_of(arguments) if is_last else ""
        return (
            _Attempt(TypedTurn(text=words)) if words else _unusable(f"the arguments of `{say}` are no turn:\n{error}")
        )


def _own_calls(requested: Sequence[RequestedCall]) -> _Attempt:
    calls: list[ToolCall] = []
    for call in requested:
        arguments, raw = read_arguments(call.arguments)
        if raw is not None:
            return _unusable(f"the arguments of {call.name}, {_quoted(raw)}, are no JSON object; call it with one")
        calls.append(ToolCall(name=call.name, arguments=arguments, id=call.id, requestor="user"))
    return _Attempt(calls=tuple(calls))


def _quoted(text: str) -> str:
    return repr(shorten(printable(text), _SHOWN))
