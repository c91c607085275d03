"""Message logs: where a record keeps its messages, which the one reader reads, and how the conversation ended."""

from collections.abc import Iterable, Iterator

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.json_values import JsonValue, decoded
from pytest_agentbench.core.misfit import Keys, shown
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, closes_conversation
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.messages.handoffs import with_handoffs
from pytest_agentbench.suites.record import MalformedError, Record, number_of, read_foreign, text_of

DEFAULT_STOP_CALLS = frozenset({"end_simulation", "end_conversation", "###STOP###"})
"""Names of calls by which agents close a conversation; they ask no tool for anything."""

STOP_MARKERS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""Texts by which simulated users close a conversation; they stay in the transcript."""

_TRAJECTORY = "traj"
"""The key of logs whose conversations end by a marker, by handing over, or because their steps are spent."""
_MESSAGES = ("messages", _TRAJECTORY, "conversation", "contents", "history", "items", "steps", "events")
_OF_RUNS = ("messages", "output", "generations", "input")
_STATUS = ("status", "termination")
_ENDS = "the log ends with"
_CURE = ", and nothing tells how it went on; add what came then, or a `status`"
_ID = ("task_id", "scenario", "scenario_id", "id")
_LABEL = ("variant", "model", "agent", "agent_llm")
_USED = frozenset({*_MESSAGES, *_STATUS, "inputs", "outputs", "reward", "task_key", "trial"})


class StopCalls(Model):
    """Which closing calls are stops: those named in `names` that are not among the known `tools`."""

    names: frozenset[str] = DEFAULT_STOP_CALLS
    tools: frozenset[str] = frozenset()

    def is_stop(self, call: ToolCall) -> bool:
        """Whether a call that closes a log is a stop."""
        return call.name in self.names and call.name not in self.tools


def holds_messages(record: JsonValue) -> bool:
    """Whether a mapping has messages under a key that is known."""
    return isinstance(record, dict) and any(_histories(record))


def read_log(value: dict[str, JsonValue] | list[JsonValue], stops: StopCalls) -> Record:
    """Read a mapping with messages in it, or a bare list of messages, of whichever shape.

    A status (`FINISHED`, or `FINISHED: why`) decides the termination. Without one a log that ends in a stop, in text or
    in the answer to a call that hands over is FINISHED, and one that ends in another answer or in a call without one is
    CRASHED. A log under `traj` that ends in none of its ways to close was cut off: SAFETY_TIMEOUT.
    """
    record: dict[str, JsonValue] = {"messages": value} if isinstance(value, list) else value
    histories = list(_histories(record))
    if not histories:
        raise MalformedError(_no_messages(record))
    read = merged(read_foreign(items, at=at, tells_error=tells_error) for at, items in histories)
    return closed_log(record, read, stops, may_be_cut=histories[0][0] == (_TRAJECTORY,))


def closed_log(
    record: dict[str, JsonValue], messages: list[Message], stops: StopCalls, *, may_be_cut: bool = False
) -> Record:
    """Give the record of a log whose messages were read, with the way in which it ended."""
    messages, stop = _without_stop(messages, stops)
    status = text_of(record, *(name for name in _STATUS if not _is_traced(record)))
    termination, reason = _status(status)
    if termination is None:
        if not messages and not stop:
            message = "there is no message"
            raise MalformedError(message)
        termination, inferred = (Termination.FINISHED, stop) if stop else _inferred(messages)
        if may_be_cut and inferred not in (*STOP_MARKERS, stop) and not _handed_over(messages):
            termination, inferred = Termination.SAFETY_TIMEOUT, "the log ends before a party closed"
        reason = reason or inferred
    label = text_of({key: record[key] for key in _LABEL if isinstance(record.get(key), str)}, *_LABEL)
    return Record(
        scenario=text_of(record, *_ID),
        scenario_key=text_of(record, "task_key") or None,
        label=label,
        transcript=Transcript(messages=tuple(with_handoffs(messages))),
        termination=termination,
        stop_reason=reason or stop,
        reward=number_of(record, "reward"),
        extra={key: item for key, item in record.items() if key not in _USED},
    )


def merged(histories: Iterable[list[Message]]) -> list[Message]:
    """Put histories together that grow: of each, what was told before is left out, thoughts not compared."""
    told: list[Message] = []
    for history in histories:
        told += history[_overlap([_said(one) for one in told], [_said(one) for one in history]) :]
    return told


def _overlap(told: list[tuple[object, ...]], history: list[tuple[object, ...]]) -> int:
    """Give how many messages of `history` are told already: as its beginning, or as the end of what was told."""
    common = 0
    while common < min(len(told), len(history)) and told[common] == history[common]:
        common += 1
    if common == len(told) or common == len(history):
        return common
    for length in range(min(len(told), len(history)), 0, -1):
        if told[-length:] == history[:length]:
            return length
    return 0


def _said(message: Message) -> tuple[object, ...]:
    calls = tuple((call.id, call.name, dumps(call.arguments), call.raw) for call in message.tool_calls)
    return message.role, message.text, calls, message.tool_call_id


def _histories(record: dict[str, JsonValue]) -> Iterator[tuple[Keys, list[JsonValue]]]:
    """Give the lists of messages that a record holds, with their places: a conversation, and an answer beside it.

    A request's `input` may be a text. A traced run (`inputs`, `outputs`) hides its messages in batches.
    """
    name = next((name for name in _MESSAGES if isinstance(record.get(name), list)), None)
    if name is not None:
        yield (name,), record[name]
    elif isinstance(record.get("input"), list) or (isinstance(record.get("input"), str) and _answers(record)):
        given = record["input"]
        yield ("input",), given if isinstance(given, list) else [{"role": "user", "content": given}]
    elif isinstance(request := record.get("request"), dict):
        yield from (((*("request",), *at), items) for at, items in _histories(request))
    elif _is_traced(record):
        for side in ("inputs", "outputs"):
            part = record[side]
            key = next((key for key in _OF_RUNS if key in part), None) if isinstance(part, dict) else None
            if key is not None and (items := list(_flat(part[key]))):
                yield (side, key), items
        return
    yield from _answers(record)
    for key in ("response", "completion"):
        if isinstance(answer := record.get(key), dict):
            yield from (((key, *at), items) for at, items in _answers(answer, is_answer=True))


def _answers(record: dict[str, JsonValue], *, is_answer: bool = False) -> list[tuple[Keys, list[JsonValue]]]:
    """Give what a model answered, as the answers of OpenAI, Gemini and Anthropic hold it."""
    for key, inner in (("choices", "message"), ("candidates", "content")):
        several = record.get(key)
        if isinstance(several, list) and several and isinstance(several[0], dict) and inner in several[0]:
            return [((key,), [several[0][inner]])]
    if isinstance(record.get("output"), list):
        return [(("output",), record["output"])]
    return [((), [record])] if is_answer and "role" in record else []


def _is_traced(record: dict[str, JsonValue]) -> bool:
    """Whether a record is a run as LangSmith traces it, whose status says something else."""
    return isinstance(record.get("inputs"), dict) and isinstance(record.get("outputs"), dict)


def _flat(value: JsonValue) -> Iterator[JsonValue]:
    """Yield the messages of batches and generations."""
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, dict):
        yield value.get("message", value)
    elif value is not None:
        yield value


def _no_messages(record: dict[str, JsonValue]) -> str:
    if "role" in record or "kind" in record:
        return f"found one message, {shown(record)}; a line, or an item of a list, holds a whole conversation"
    keys = listing(map(repr, _MESSAGES))
    return f"found {shown(record)}, expected a list of messages under one of the keys {keys}"


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
        raise MalformedError(message, ("status",))
    return Termination[name], reason.strip()


def _inferred(messages: list[Message]) -> tuple[Termination, str]:
    last = messages[-1]
    if last.role == "tool":
        if handed := _handed_over(messages):
            return Termination.FINISHED, handed
        end = "a tool error" if last.error else "a tool's answer"
        return Termination.CRASHED, f"{_ENDS} {end}{_CURE}"
    if last.tool_calls:
        return Termination.CRASHED, f"{_ENDS} a call that has no answer{_CURE}"
    marker = next((marker for marker in STOP_MARKERS if marker in last.text), "")
    return Termination.FINISHED, marker or f"{_ENDS} text"


def is_cut_off(reason: str) -> bool:
    """Whether a log was taken to have crashed only since nothing tells how it went on."""
    return reason.startswith(_ENDS)


def _handed_over(messages: list[Message]) -> str:
    """Give the name of the last call where it hands the conversation over or ends it and did not fail, else ""."""
    last = Transcript(messages=tuple(messages)).trajectory[-1:]
    closing = [one for one in last if one.result is not None and not one.failed and closes_conversation(one.call.name)]
    return closing[0].call.name if closing else ""


def tells_error(text: str) -> bool:
    """Whether a tool's answer says that the call failed, where the log has no flag for it."""
    if text.lstrip().lower().startswith("error"):
        return True
    value = decoded(text) if '"error"' in text else None
    return isinstance(value, dict) and bool(value.get("error"))
