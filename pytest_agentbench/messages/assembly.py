"""Messages put together from the parts of foreign ones, in order: texts, calls and their results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.tool import Requestor, ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message, Role
from pytest_agentbench.messages.content import UnreadableError, field, found, result_text, text_field

TellsError = Callable[[str], bool]
"""Tells from the text of a tool's answer that the call failed, where nothing else does."""


class Assembly:
    """What was read so far, and the message whose parts are being read.

    A message of the agent that holds thoughts alone gives them to its next one. `tells_error` is asked for results
    without a flag.
    """

    def __init__(self, tells_error: TellsError | None = None) -> None:
        self._tells_error = tells_error or (lambda _: False)
        self._done: list[Message] = []
        self._names: dict[int, str] = {}
        self._callers: dict[str, Requestor] = {}
        self._thoughts: list[str] = []
        self._role: Role | None = None
        self._start({})

    def begin(self, role: Role, **fields: Any) -> None:
        """Begin a message; `fields` are those of a `Message` that are no part of what is said, thought or called."""
        self._flush()
        if role != "assistant":
            self._leave_thoughts()
        self._role = role
        self._start(fields, is_new=True)

    def go_on(self, *, call: bool = False, thought: bool = False) -> None:
        """Go on with the agent's message, or begin one where the part does not belong to it.

        Calls follow calls, thoughts come before everything else, and text before calls.
        """
        apart = bool(self._texts) if call else bool(self._calls or (thought and self._texts))
        if self._role != "assistant" or apart:
            self.begin("assistant")
            self._is_new = False

    def say(self, text: str) -> None:
        """Add a text."""
        self._texts.append(text)

    def think(self, text: str) -> None:
        """Add a thought."""
        if text.strip():
            self._thoughts.append(text)

    def call(self, call: ToolCall) -> None:
        """Add a call; one without a requestor of its own is made by whose message it is."""
        if self._role == "user":
            call = call.model_copy(update={"requestor": "user"})
        if call.id:
            self._callers[call.id] = call.requestor
        self._calls.append(call)

    def answer(
        self,
        content: str,
        *,
        call_id: str,
        failed: bool | None,
        name: str = "",
        requestor: Requestor | None = None,
    ) -> None:
        """Add the result of a call; what follows it is another message."""
        self._is_new = False  # a message of results alone is none
        self._flush()
        self._leave_thoughts()
        if name and not call_id:
            self._names[len(self._done)] = name
        self._done.append(
            Message(
                role="tool",
                content=content,
                tool_call_id=call_id or None,
                requestor=requestor or self._callers.get(call_id, "assistant"),
                error=self._tells_error(content) if failed is None else failed,
            )
        )

    def add(self, message: Message) -> None:
        """Add a message that is one of ours already."""
        self._flush()
        self._leave_thoughts()
        self._role = None
        self._done.append(message)

    def finish(self) -> list[Message]:
        """Give the messages: results by name have found their calls, calls made in parallel are one message."""
        self._flush()
        self._leave_thoughts()
        return _beside_calls(joined(_with_ids(self._done, self._names)))

    def _flush(self) -> None:
        """Close the message whose parts are being read; thoughts alone wait for the agent's next."""
        if self._role is None:
            return
        fields, calls = self._fields, self._calls
        if self._texts or calls or fields.get("approvals") or (self._is_new and not self._thoughts):
            if self._role == "assistant":
                fields = {**fields, "thoughts": "\n".join(self._thoughts) or None}
                calls = [call.model_copy(update={"by": fields.get("by")}) for call in calls]
                self._thoughts = []
            elif self._role == "user":
                fields = {**fields, "requestor": "user"}
            content = "".join(self._texts) if self._texts else None
            self._done.append(Message(role=self._role, content=content, tool_calls=tuple(calls), **fields))
        self._start({})

    def _leave_thoughts(self) -> None:
        """Keep thoughts that no message of the agent follows."""
        if self._thoughts:
            self._done.append(Message(role="assistant", thoughts="\n".join(self._thoughts)))
            self._thoughts = []

    def _start(self, fields: dict[str, Any], *, is_new: bool = False) -> None:
        """Have nothing read of a message but `fields`."""
        self._fields, self._is_new = fields, is_new
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []


def joined(messages: Sequence[Message]) -> list[Message]:
    """Join the agent's messages from the first whose call is answered after the last: those calls were parallel.

    Responses and some frameworks list every call as a message of its own, and all results after the last.
    """
    done: list[Message] = []
    at = 0
    while at < len(messages):
        said = _end(messages, at, "assistant")
        end = _end(messages, said, "tool")
        if end == at:
            done.append(messages[at])
            at += 1
            continue
        spoken, results = list(messages[at:said]), messages[said:end]
        first = _first_answered(spoken, results) if len(spoken) > 1 and results else len(spoken)
        if first < len(spoken) - 1:
            spoken = [*spoken[:first], _one(spoken[first:])]
        done += [*spoken, *results]
        at = end
    return done


def _end(messages: Sequence[Message], at: int, role: Role) -> int:
    """Give where the messages of a role end that begin at a place."""
    while at < len(messages) and messages[at].role == role:
        at += 1
    return at


def _first_answered(spoken: Sequence[Message], results: Sequence[Message]) -> int:
    """Give the first message with a call that one of the results answers, each the latest that it can answer."""
    calls = [(at, call.id) for at, message in enumerate(spoken) for call in message.tool_calls]
    left: dict[str, list[int]] = {}
    for place, (_, call_id) in enumerate(calls):
        left.setdefault(call_id, []).append(place)
    answered: set[int] = set()
    latest = len(calls) - 1
    for result in reversed(results):
        same = left.get(result.tool_call_id or "") or left.get("")
        if same:
            answered.add(same.pop())
        elif not result.tool_call_id:
            while latest in answered:
                latest -= 1
            if latest >= 0:
                answered.add(latest)
                left[calls[latest][1]].remove(latest)
    return min((calls[place][0] for place in answered), default=len(spoken))


def _one(messages: list[Message]) -> Message:
    texts = [message.text for message in messages if message.text]
    thoughts = [message.thoughts for message in messages if message.thoughts]
    return Message(
        role="assistant",
        content="\n".join(texts) or None,
        tool_calls=tuple(call for message in messages for call in message.tool_calls),
        thoughts="\n".join(thoughts) or None,
        approvals=tuple(request for message in messages for request in message.approvals),
        by=messages[0].by,
        events=tuple(event for message in messages for event in message.events),
        output=next((message.output for message in reversed(messages) if message.output is not None), None),
    )


def _beside_calls(messages: list[Message]) -> list[Message]:
    """Put each result behind its call where only messages of the agent stand between them."""
    done: list[Message] = []
    for message in messages:
        at = len(done)
        if message.role == "tool" and message.tool_call_id:
            while at > 0 and done[at - 1].role == "assistant" and not _calls(done[at - 1], message):
                at -= 1
            if at == 0 or not (_calls(done[at - 1], message) or _is_answered_beside(done, at, message)):
                at = len(done)
        done.insert(at, message)
    return done


def _calls(message: Message, result: Message) -> bool:
    return any(call.id == result.tool_call_id for call in message.tool_calls)


def _is_answered_beside(done: list[Message], at: int, result: Message) -> bool:
    """Whether the results before `at` are those of a message that made the call of `result`, too."""
    while at > 0 and done[at - 1].role == "tool":
        at -= 1
    return at > 0 and _calls(done[at - 1], result)


def _with_ids(messages: list[Message], names: dict[int, str]) -> list[Message]:
    """Give results that name their tool alone the next call of that tool which has neither id nor result."""
    done = list(messages)
    for number, (at, name) in enumerate(names.items(), 1):
        places = (
            (index, position)
            for index in range(at - 1, -1, -1)
            for position, call in enumerate(done[index].tool_calls)
            if call.name == name and not call.id
        )
        place = next(places, None)
        if place is None:
            continue
        index, position = place
        calls = list(done[index].tool_calls)
        calls[position] = calls[position].model_copy(update={"id": f"{name}_{number}"})
        done[index] = done[index].model_copy(update={"tool_calls": tuple(calls)})
        done[at] = done[at].model_copy(update={"tool_call_id": f"{name}_{number}"})
    return done


_CALL_IDS = ("call_id", "tool_call_id", "toolCallId", "id")
_RESULT_IDS = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "id")
_ARGUMENTS = ("arguments", "args", "input")
_CONTENTS = ("content", "output", "response", "result", "outputs", "results", "tools")


def read_call(call: object, at: Keys) -> ToolCall:
    """Read a call: OpenAI nests its `function` or `custom`, all others are flat."""
    if isinstance(call, ToolCall):
        return call
    nested = next((name for name in ("function", "custom") if text_field(field(call, name), "name")), None)
    inner = field(call, nested) if nested else call
    name = text_field(inner, "name", "tool_name", "toolName")
    if not name:
        raise UnreadableError(f"{found(call)} as a tool call; it names no tool", at)
    requestor: Requestor = "user" if text_field(call, "requestor") == "user" else "assistant"
    arguments, raw = read_arguments(field(inner, *_ARGUMENTS))
    return ToolCall(name=name, arguments=arguments, raw=raw, id=text_field(call, *_CALL_IDS), requestor=requestor)


def made_call(name: str, arguments: object, call_id: str) -> ToolCall:
    """Make the call of a tool that its server or a framework ran under a type of its own."""
    read, raw = read_arguments(arguments)
    return ToolCall(name=name, arguments=read, raw=raw, id=call_id)


def read_result(result: object, into: Assembly) -> None:
    """Read the result of a call: what it says, whose it is, and whether the call failed, where that is said."""
    content = field(result, *_CONTENTS)
    into.answer(
        result_text(content),
        call_id=text_field(result, *_RESULT_IDS),
        failed=said_failed(result, content),
        name=text_field(result, "name", "tool_name", "toolName"),
        requestor="user" if text_field(result, "requestor") == "user" else None,
    )


def said_failed(result: object, content: object) -> bool | None:
    """Whether a result says that its call failed: by a flag, a status, or content that is an error by its type."""
    flag = field(result, "error", "is_error", "isError")
    if isinstance(flag, bool):
        return flag
    if isinstance(flag, str | Mapping) and flag:
        return True
    if text_field(result, "status") in ("error", "failed") or text_field(content, "type").endswith("_error"):
        return True
    return None
