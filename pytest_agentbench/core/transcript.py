"""Transcripts: everything that happened in a run, and the trajectory of its tool calls."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from pytest_agentbench.core.acts import Act, GoalItem
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.ids import clipped
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.tool import Requestor, ToolCall, ToolResult

Role = Literal["system", "user", "assistant", "tool"]


class Message(Model):
    """One message; a tool message answers the call whose id is `tool_call_id`.

    `acts` say what a simulated user meant with it; None means that nobody said (*unlabelled*). `goal_items` are what it
    wants, open and done, `shows` the modifiers that it acted out. `thoughts` is what a model thought besides: it was
    never said, so nothing but the transcript's file holds it. `approvals` are what the agent asks its user to decide,
    `decisions` what the user decided. `by` names the one of several agents that sent it, `events` are what happened
    before it, `output` is the typed answer that came with it. `cut_off` says that it reached its limit of tokens.
    `rejected` says that no tool ever got the call: a framework refused it, or its arguments were none.
    `session` counts the sessions of a scenario that has several.
    """

    role: Role
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    requestor: Requestor = "assistant"
    error: bool = False
    wrote: bool | None = None
    acts: tuple[Act, ...] | None = None
    goal_items: tuple[GoalItem, ...] = ()
    shows: tuple[str, ...] = ()
    thoughts: str | None = None
    approvals: tuple[ApprovalRequest, ...] = ()
    decisions: tuple[Decision, ...] = ()
    by: str | None = None
    events: tuple[Event, ...] = ()
    output: JsonValue = None
    cut_off: bool = False
    rejected: bool = False
    session: int = 1

    @model_serializer(mode="wrap")
    def _without_unset(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what most messages do not have: the digest of such a message stays what it was."""
        data: dict[str, Any] = serialize(self)
        unset = [name for name in ("acts", "thoughts", "by", "output") if data.get(name) is None]
        unset += [
            name
            for name in ("approvals", "decisions", "events", "cut_off", "goal_items", "shows", "rejected")
            if not data.get(name)
        ]
        unset += ["session"] if data.get("session") == 1 else []
        return {name: value for name, value in data.items() if name not in unset}

    @model_validator(mode="before")
    @classmethod
    def _thoughts_apart(cls, given: Any) -> Any:
        content = given.get("content") if isinstance(given, dict) else None
        if not isinstance(content, str) or "<" not in content or given.get("role") != "assistant":
            return given
        said, thoughts = parted(content)
        if said == content:
            return given
        kept = [text for text in (given.get("thoughts"), thoughts) if text]
        return {**given, "content": said or None, "thoughts": "\n".join(kept) or None}

    @property
    def text(self) -> str:
        """The content, or the empty string."""
        return self.content or ""

    @property
    def is_wordless(self) -> bool:
        """Whether the user neither says, calls nor decides anything in it: it leaves."""
        return self.role == "user" and not (self.text.strip() or self.tool_calls or self.decisions)

    def openai(self) -> dict[str, Any]:
        """Give the message in the OpenAI chat-completions format."""
        message: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": call.raw if call.raw is not None else dumps(call.arguments),
                    },
                }
                for call in self.tool_calls
            ]
        if self.role == "tool":
            message["tool_call_id"] = self.tool_call_id or ""
        return message


def awaiting(messages: Sequence[Message]) -> tuple[ApprovalRequest, ...]:
    """Give what the agent asks its user to decide, of the end of a conversation that the user has not answered."""
    found: list[ApprovalRequest] = []
    for message in reversed(messages):
        if message.role == "user" and not message.tool_calls:
            break
        found[:0] = message.approvals if message.role == "assistant" else ()
    return tuple(found)


def asking(requests: Sequence[ApprovalRequest]) -> Message:
    """Give the message by which an agent puts requests to its user."""
    text = "\n".join(dict.fromkeys(request.asked for request in requests))
    return Message(role="assistant", content=text, approvals=tuple(requests))


def result_of(answer: Message) -> ToolResult:
    """Give what a tool message says of its call."""
    return ToolResult(content=answer.text, error=answer.error, wrote=answer.wrote, rejected=answer.rejected)


class CallRecord(Model):
    """One call of the trajectory with what it gave; `result` is None when no answer was recorded.

    `message` is the index of the message that made the call, `turn` the turn it belongs to (from 1), `session` the one
    of several sessions.
    """

    call: ToolCall
    result: ToolResult | None = None
    message: int
    turn: int
    session: int = 1

    @property
    def failed(self) -> bool:
        """Whether the tool answered with an error."""
        return self.result is not None and self.result.failed

    @property
    def rejected(self) -> bool:
        """Whether no tool ever got the call: one that succeeded or changed state got there, whatever a record says."""
        return self.result is not None and self.result.rejected and self.failed and not self.result.wrote

    @property
    def answer(self) -> str:
        """What the caller was shown, nothing where no answer was recorded."""
        return self.result.content if self.result else ""


class Transcript(Model):
    """The messages of a run in order, system messages left out."""

    messages: tuple[Message, ...] = ()

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """The turn of each message, from 1: all that one party does in one session before the other speaks."""
        turns: list[int] = []
        speaker: tuple[int, str] | None = None
        turn = 0
        for message in self.messages:
            party = message.session, message.requestor if message.role == "tool" else message.role
            if party != speaker:
                turn, speaker = turn + 1, party
            turns.append(turn)
        return tuple(turns)

    @cached_property
    def trajectory(self) -> tuple[CallRecord, ...]:
        """Every tool call, the agent's and the user's, in the order made, joined with its result."""
        records: list[CallRecord] = []
        for index, message in enumerate(self.messages):
            for position, call in enumerate(message.tool_calls):
                answer = self._answer(index, position, call)
                result = None if answer is None else result_of(answer)
                records.append(
                    CallRecord(call=call, result=result, message=index, turn=self.turns[index], session=message.session)
                )
        return tuple(records)

    @property
    def events(self) -> tuple[tuple[int, Event], ...]:
        """What happened beside texts and calls: (index of the message that it came before, event), in order."""
        return tuple((index, event) for index, message in enumerate(self.messages) for event in message.events)

    @property
    def output(self) -> JsonValue:
        """The last typed answer of the agent, None where there is none."""
        return next((message.output for message in reversed(self.messages) if message.output is not None), None)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """The agents that took part, as far as the messages name them, in the order in which they came."""
        named: dict[str, None] = {}
        for message in self.messages:
            for event in message.events:
                named |= dict.fromkeys(name for name in (event.source, event.to) if name)
            named |= dict.fromkeys(name for name in (message.by, *(call.by for call in message.tool_calls)) if name)
        return tuple(named)

    def with_effects(self, wrote: Sequence[bool | None]) -> "Transcript":
        """Give the transcript with what each call of the trajectory was seen to change; None leaves it as it is."""
        seen: dict[int, bool] = {}
        places = ((i, n, call) for i, message in enumerate(self.messages) for n, call in enumerate(message.tool_calls))
        for (index, position, call), effect in zip(places, wrote, strict=True):
            answer = self._answer(index, position, call)
            if answer is not None and effect is not None:
                seen[id(answer)] = effect
        messages = (
            message.model_copy(update={"wrote": seen[id(message)]}) if id(message) in seen else message
            for message in self.messages
        )
        return Transcript(messages=tuple(messages))

    @property
    def agent_turns(self) -> int:
        """The number of the agent's turns."""
        pairs = zip(self.turns, self.messages, strict=True)
        return len({turn for turn, message in pairs if message.role == "assistant"})

    def texts(self, role: Role) -> Sequence[tuple[int, str]]:
        """Give (message index, text) of every non-blank text that `role` spoke."""
        return [
            (index, message.text)
            for index, message in enumerate(self.messages)
            if message.role == role and message.text.strip()
        ]

    def said_by_turn(self, role: Role) -> dict[int, str]:
        """Give what `role` spoke in each of its turns, a line or more for each message."""
        said: dict[int, str] = {}
        for index, text in self.texts(role):
            turn = self.turns[index]
            said[turn] = f"{said[turn]}\n{text}" if turn in said else text
        return said

    def _answer(self, index: int, position: int, call: ToolCall) -> Message | None:
        """Find the tool message for a call: by id when ids are given, else by position."""
        following: list[Message] = []
        for message in self.messages[index + 1 :]:
            if message.role != "tool":
                break
            following.append(message)
        if call.id:
            matches = [message for message in following if message.tool_call_id == call.id]
            if matches:
                same_id = [c for c in self.messages[index].tool_calls[:position] if c.id == call.id]
                return matches[min(len(same_id), len(matches) - 1)]
            if any(message.tool_call_id for message in following):
                return None
        return following[position] if position < len(following) else None


def agent_messages(messages: Sequence[Message]) -> list[str]:
    """Give what the agent said, one text for each of its turns."""
    turns = (list(turn) for is_user, turn in groupby(messages, lambda one: one.role == "user") if not is_user)
    said = ([clipped(one.text) for one in turn if one.role == "assistant" and one.text.strip()] for turn in turns)
    return ["\n".join(texts) for texts in said if texts]


def has_question_mark(text: str) -> bool:
    """Whether a text has a question mark of any script; one inside a link is none."""
    return any(
        (char == "?" and not text[at + 1 : at + 2].isalnum())
        or (char > "\x7f" and "QUESTION MARK" in unicodedata.name(char, ""))
        for at, char in enumerate(text)
    )


_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_AT_THE_BEGINNING = re.compile(r"<(/?)(?:think(?:ing)?|reasoning)>", re.IGNORECASE)
"""Tags of thoughts, and one more that is common enough in texts to be one of thoughts where a text begins with it."""


def parted(text: str) -> tuple[str, str]:
    """Give what `text` says, and apart the thoughts between `<think>` and `</think>` (or `<thinking>`).

    `<reasoning>` is such a tag in a text that begins with it.

    Chat templates write the opening tag themselves at times: everything before a first closing tag is a thought. One
    that is never closed is a thought where the text begins with it, since the answer was cut off; elsewhere it is text.
    """
    if "<" not in text:
        return text, ""
    known = _AT_THE_BEGINNING if text.lstrip()[:11].lower() == "<reasoning>" else _TAG
    if not (tags := list(known.finditer(text))):
        return text, ""
    said: list[str] = []
    thoughts: list[str] = []
    at, depth, begun = 0, 0, 0
    for place, tag in enumerate(tags):
        if not tag[1]:
            if depth == 0:
                said.append(text[at : tag.start()])
                at, begun = tag.start(), tag.end()
            depth += 1
        elif depth or place == 0:
            depth = max(depth - 1, 0)
            if depth == 0:
                thoughts.append(text[begun : tag.start()])
                at = begun = tag.end()
    if depth and not "".join(said).strip() and not thoughts:
        thoughts.append(text[begun:])
    else:
        said.append(text[at:])
    return "".join(said).strip(), "\n".join(thought.strip() for thought in thoughts if thought.strip())
