"""Message logs in the OpenAI chat-completions format, with or without a status."""

import json

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.misfit import shown
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import Requestor, ToolCall, closes_conversation, read_arguments
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.record import (
    MalformedError,
    Record,
    acts_of,
    approvals_of,
    number_of,
    read_messages,
    text_of,
)

DEFAULT_STOP_CALLS = frozenset({"end_simulation", "end_conversation", "###STOP###"})
"""Names of calls by which agents close a conversation; they ask no tool for anything."""

STOP_MARKERS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""Texts by which τ-bench users close a conversation; they stay in the transcript."""

_ROLES = {
    "system": None,
    "developer": None,
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TAU_BENCH = "traj"
"""The key of τ-bench's logs, whose conversations end by a marker, by handing over, or because their steps are spent."""
_MESSAGES = ("messages", _TAU_BENCH, "conversation")
_STATUS = ("status", "termination")
_ID = ("task_id", "scenario", "scenario_id", "id")
_LABEL = ("variant", "model", "agent", "agent_llm")
_USED = frozenset({*_MESSAGES, *_STATUS, "reward", "task_key", "trial"})


class StopCalls(Model):
    """Which closing calls are stops: those named in `names` that are not among the known `tools`."""

    names: frozenset[str] = DEFAULT_STOP_CALLS
    tools: frozenset[str] = frozenset()

    def is_stop(self, call: ToolCall) -> bool:
        """Whether a call that closes a log is a stop."""
        return call.name in self.names and call.name not in self.tools


def read_openai_log(value: dict[str, JsonValue] | list[JsonValue], stops: StopCalls) -> Record:
    """Read `{messages: […], …}` or a bare list of messages.

    A status (`FINISHED`, or `FINISHED: why`) decides the termination. Without one a log that ends in a stop, in text or
    in the answer to a call that hands over is FINISHED, and one that ends in another answer or in a call without one is
    CRASHED. A log of τ-bench (`traj`) that ends in none of its ways to close was cut off: SAFETY_TIMEOUT.
    """
    record: dict[str, JsonValue] = {"messages": value} if isinstance(value, list) else value
    name = next((name for name in _MESSAGES if name in record), None)
    if name is None:
        message = f"found {shown(record)}, expected the key 'messages' with a list of messages"
        raise MalformedError(message)
    messages, stop = _without_stop(_read(record[name]), stops)
    termination, reason = _status(text_of(record, *_STATUS))
    if termination is None:
        if not messages and not stop:
            message = "there is no message"
            raise MalformedError(message, name)
        termination, inferred = (Termination.FINISHED, stop) if stop else _inferred(messages)
        if name == _TAU_BENCH and inferred not in (*STOP_MARKERS, stop) and not _handed_over(messages):
            termination, inferred = Termination.SAFETY_TIMEOUT, "the log ends before a party closed"
        reason = reason or inferred
    label = text_of({key: record[key] for key in _LABEL if isinstance(record.get(key), str)}, *_LABEL)
    return Record(
        scenario=text_of(record, *_ID),
        scenario_key=text_of(record, "task_key") or None,
        label=label,
        transcript=Transcript(messages=tuple(messages)),
        termination=termination,
        stop_reason=reason or stop,
        reward=number_of(record, "reward"),
        extra={key: item for key, item in record.items() if key not in _USED},
    )


def _read(value: JsonValue) -> list[Message]:
    callers: dict[str, Requestor] = {}

    def read(item: dict[str, JsonValue]) -> Message | None:
        message = _message(item, callers)
        if message is not None:
            callers.update({call.id: call.requestor for call in message.tool_calls})
        return message

    return read_messages(value, read)


def _message(item: dict[str, JsonValue], callers: dict[str, Requestor]) -> Message | None:
    found = item.get("role")
    if not isinstance(found, str) or found not in _ROLES:
        message = f"found {shown(found)}, allowed: {listing(map(repr, _ROLES))}"
        raise MalformedError(message, "role")
    role = _ROLES[found]
    if role is None:
        return None
    text = _text(item.get("content"))
    if role == "tool":
        answered = text_of(item, "tool_call_id", "id") or None
        error = item.get("error", item.get("is_error"))
        return Message(
            role="tool",
            content=text,
            tool_call_id=answered,
            requestor=item.get("requestor") or callers.get(answered or "", "assistant"),
            error=error if isinstance(error, bool) else _tells_error(text or ""),
        )
    party: Requestor = "user" if role == "user" else "assistant"
    legacy = item.get("function_call")
    items = item.get("tool_calls") or ([legacy] if legacy else [])
    if not isinstance(items, list):
        message = f"found {shown(items)}, expected a list of tool calls"
        raise MalformedError(message, "tool_calls")
    calls, acts = tuple(_call(one, party) for one in items), acts_of(item) if party == "user" else None
    return Message(role=party, content=text, tool_calls=calls, requestor=party, acts=acts, **approvals_of(item))


def _text(content: JsonValue) -> str | None:
    """Give the text of a message, whose content may be a list of parts."""
    if not isinstance(content, list):
        if content is not None and not isinstance(content, str):
            message = f"found {shown(content)}, expected text"
            raise MalformedError(message, "content")
        return content
    parts = [part.get("text", part.get("refusal")) if isinstance(part, dict) else part for part in content]
    return "".join(part for part in parts if isinstance(part, str))


def _call(item: JsonValue, party: Requestor) -> ToolCall:
    function = item.get("function", item) if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(function, dict) or not isinstance(function.get("name"), str):
        message = f"found {shown(item)}, expected a tool call: {{id, function: {{name, arguments}}}}"
        raise MalformedError(message, "tool_calls")
    arguments, raw = read_arguments(function.get("arguments"))
    requestor: Requestor = "user" if item.get("requestor") == "user" else party
    return ToolCall(name=function["name"], arguments=arguments, raw=raw, id=text_of(item, "id"), requestor=requestor)


def _without_stop(messages: list[Message], stops: StopCalls) -> tuple[list[Message], str]:
    """Take a stop that closes the log, and its answer, off the messages; give its name."""
    at = next((index for index in range(len(messages) - 1, -1, -1) if messages[index].role != "tool"), None)
    if at is None or not messages[at].tool_calls or len(messages) - at - 1 > len(messages[at].tool_calls):
        return messages, ""
    last, call = messages[at], messages[at].tool_calls[-1]
    if not stops.is_stop(call):
        return messages, ""
    rest = last.model_copy(update={"tool_calls": last.tool_calls[:-1]})
    answers = messages[at + 1 :]
    if len(answers) == len(last.tool_calls):
        answers = answers[:-1]
    kept = [rest] if rest.tool_calls or rest.text else []
    return [*messages[:at], *kept, *answers], call.name


def _status(status: str) -> tuple[Termination | None, str]:
    """Give the termination and the reason of a status such as `finished: all done`; None where there is none."""
    name, _, reason = status.partition(":")
    name = name.strip().upper().replace(" ", "_").replace("-", "_")
    if not name:
        return None, ""
    if name not in Termination.__members__:
        names = list(Termination.__members__)
        message = with_hint(f"found {shown(status)}, allowed: {listing(names)}", suggestion(name, names))
        raise MalformedError(message, "status")
    return Termination[name], reason.strip()


def _inferred(messages: list[Message]) -> tuple[Termination, str]:
    last = messages[-1]
    if last.role == "tool":
        if handed := _handed_over(messages):
            return Termination.FINISHED, handed
        return Termination.CRASHED, "the log ends with " + ("a tool error" if last.error else "a tool's answer")
    if last.tool_calls:
        return Termination.CRASHED, "the log ends with a call that has no answer"
    marker = next((marker for marker in STOP_MARKERS if marker in last.text), "")
    return Termination.FINISHED, marker or "the log ends with text"


def _handed_over(messages: list[Message]) -> str:
    """Give the name of the last call where it hands the conversation over or ends it and did not fail, else ""."""
    last = Transcript(messages=tuple(messages)).trajectory[-1:]
    closing = [one for one in last if one.result is not None and not one.failed and closes_conversation(one.call.name)]
    return closing[0].call.name if closing else ""


def _tells_error(text: str) -> bool:
    """Whether a tool's answer says that the call failed, where the log has no flag for it."""
    if text.lstrip().lower().startswith("error"):
        return True
    if '"error"' not in text:
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and bool(value.get("error"))
