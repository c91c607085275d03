"""Whatever an agent returned becomes a `Reply`, told by its shape; no agent framework is imported."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, takewhile

from pytest_agentbench.agents import refusals
from pytest_agentbench.agents.refusals import filtered_ending
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import AgentBenchError, AgentError, ProviderError
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.misfit import dotted
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, asking
from pytest_agentbench.messages.assembly import joined
from pytest_agentbench.messages.chat import SAID_FIELDS
from pytest_agentbench.messages.content import UnreadableError, field, result_text, shown, text_field
from pytest_agentbench.messages.pydantic_ai import has_parts
from pytest_agentbench.messages.reader import read as read_messages

ALLOWED = (
    "a reply is text; a message of OpenAI, Anthropic, Gemini, LangChain or pydantic-ai; a list of such messages (calls "
    'the agent ran itself with their results, then text); {"messages": [...]}; an answer of these clients; or a Reply'
)


class Returned(Model):
    """What an agent returned, as messages of every role and before anything is sliced off.

    `listed` says that it came as a list, in which an agent shows the calls that it ran itself. `output` is the typed
    answer that came with it.
    """

    messages: tuple[Message, ...] = ()
    stop: bool = False
    listed: bool = False
    metrics: dict[str, float] = {}
    output: JsonValue = None


def read(returned: object) -> Returned:
    """Read the messages of whatever an agent returned; raise `AgentError` where there are none.

    Raise `ProviderError` where it is an answer of a client's that says that the server failed.
    """
    try:
        return _read(returned)
    except AgentBenchError:
        raise
    except Exception as error:  # reading runs properties and methods of the user's object
        raise unusable(returned, f"reading it raised {type(error).__name__}") from error


def settle(returned: Returned, turn: Turn, *, earlier: Sequence[Message], number: int) -> Reply:
    """Keep what is new this turn, pair calls with results, and check that the reply ends in text, calls or a stop."""
    new = paired(new_messages(returned.messages, turn, earlier), number)
    messages = tuple(message for message in new if message.role == "tool" or message.text.strip() or message.tool_calls)
    messages = with_output(messages, returned.output)
    if not returned.stop:
        if not messages:
            raise AgentError(f"unusable reply: {_emptiness(returned)}; an agent answers with text or tool calls")
        if messages[-1].role == "tool":
            raise AgentError(
                f"unusable reply: it ends with the tool result {shown(messages[-1].text)}; text for the user, or "
                "calls without results for the loop to run, must come last"
            )
    return Reply(messages=messages, stop=returned.stop, metrics=returned.metrics, output=returned.output)


def typed(output: object) -> JsonValue:
    """Give a typed answer as JSON, None where it is a text or nothing: that is what the agent says, and no more."""
    return None if output is None or isinstance(output, str) else to_json(output)


def with_output(messages: Sequence[Message], output: JsonValue) -> tuple[Message, ...]:
    """Let the last message of the agent hold the typed answer."""
    places = [at for at, message in enumerate(messages) if message.role == "assistant"]
    if output is None or not places:
        return tuple(messages)
    held = messages[places[-1]].model_copy(update={"output": output})
    return (*messages[: places[-1]], held, *messages[places[-1] + 1 :])


def _emptiness(returned: Returned) -> str:
    if any(message.role == "user" for message in returned.messages):
        return "no message of the agent follows the user's"
    return "it holds neither text nor a tool call"


def unusable(value: object, why: str = "") -> AgentError:
    """Describe what the agent gave and what it may give."""
    if value is None and not why:
        return AgentError(f"unusable reply: the agent gave None (does it return what it says?); {ALLOWED}")
    reason = f" ({why})" if why else ""
    return AgentError(f"unusable reply: got {type(value).__name__} {shown(value)}{reason}; {ALLOWED}")


def _read(returned: object) -> Returned:
    if isinstance(returned, Reply):
        messages, metrics = _messages(returned.messages), _metrics(returned, returned.metrics)
        return Returned(messages=messages, stop=returned.stop, metrics=metrics, output=typed(returned.output))
    if isinstance(returned, str):
        return Returned(messages=(Message(role="assistant", content=str.__str__(returned)),))
    if isinstance(returned, list | tuple):
        return Returned(messages=_ended(_messages(returned), returned), listed=True)
    if returned is None or isinstance(returned, bytes | bytearray | int | float | type):
        raise unusable(returned)
    return _read_object(returned)


def _read_object(returned: object) -> Returned:
    stop = _stop(returned)
    metrics = _metrics(returned, returned.get("metrics")) if isinstance(returned, Mapping) else {}
    if is_result(returned):
        messages = _messages(result_messages(returned))
        return Returned(messages=messages, listed=True, output=typed(field(returned, "output")))
    output = _output(returned)
    for name in ("messages", "output"):  # of a graph's state; of a response of OpenAI's
        listed = field(returned, name)
        if isinstance(listed, list | tuple):
            messages = _messages(listed, name)
            messages = ended(messages, returned) if name == "output" else _ended(messages, listed)
            return Returned(messages=messages, stop=stop, listed=True, metrics=metrics, output=output)
    for name, inner in (("choices", "message"), ("candidates", "content")):
        answers = field(returned, name)
        if isinstance(answers, list | tuple) and answers:
            return Returned(messages=_answer(answers[0], inner, name), stop=stop)
    if _blocked(returned):
        return Returned(messages=ended((), returned), stop=stop)
    if stop and all(field(returned, name) is None for name in ("role", "type", "content", "tool_calls")):
        return Returned(stop=True, metrics=metrics, output=output)
    if output is not None and not any(field(returned, name) for name in SAID_FIELDS):
        said = Message(role="assistant", content=dumps(output))
        return Returned(messages=(said,), stop=stop, metrics=metrics, output=output)
    messages = ended(_messages([returned], ""), returned)
    return Returned(messages=messages, stop=stop, metrics=metrics, output=output)


def _output(returned: object) -> JsonValue:
    """Read `output`, the typed answer of a mapping; a list under this key is a server's own form of an answer."""
    output = returned.get("output") if isinstance(returned, Mapping) else None
    return None if isinstance(output, list | tuple) else typed(output)


def _answer(answer: object, inner: str, place: str) -> tuple[Message, ...]:
    """Read an answer of a client's; the provider's filter may have left nothing of its message."""
    message = field(answer, inner)
    if message is None and (refused := ended((), answer)):
        return refused
    return ended(_messages([message], place), answer)


def _ended(messages: tuple[Message, ...], items: Sequence[object]) -> tuple[Message, ...]:
    """Give the messages of a list, whose last item may say that the provider's filter ended it."""
    return ended(messages, items[-1]) if items else messages


def _messages(items: Sequence[object], place: str = "messages") -> tuple[Message, ...]:
    """Read messages; raise `AgentError` with the place of what cannot be read in what was returned."""
    try:
        return tuple(_by_the_agent(put(message)) for message in read_messages(items, at=(place,)))
    except UnreadableError as error:
        path = error.path if place else error.path[2:]
        where = f"{dotted(path)}: " if path else ""
        hint = "" if len(error.path) > 2 else f"; {ALLOWED}"
        raise AgentError(f"unusable reply: {where}{error.message}{hint}") from error


def put(message: Message) -> Message:
    """Give a message with the approvals that it asks for in its words, where they are not there yet."""
    asked = asking(message.approvals).text
    if asked in message.text:
        return message
    return message.model_copy(update={"content": "\n".join(part for part in (message.text.strip(), asked) if part)})


def _by_the_agent(message: Message) -> Message:
    """Give a message whose calls are the agent's, whoever a wrong label says made them."""
    if message.role != "assistant":
        return message
    calls = tuple(call.model_copy(update={"requestor": "assistant"}) for call in message.tool_calls)
    return message.model_copy(update={"tool_calls": calls, "requestor": "assistant"})


def _stop(returned: object) -> bool:
    """Read `stop`, which closes the conversation; only mappings have it, so that no object stops by accident."""
    stop = returned.get("stop") if isinstance(returned, Mapping) else None
    if not isinstance(stop, bool | None):
        raise unusable(returned, "its `stop` is neither true nor false")
    return bool(stop)


def _metrics(returned: object, metrics: object) -> dict[str, float]:
    """Read `metrics`, numbers of the agent's own by name; only mappings and replies have them."""
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise unusable(returned, "its `metrics` is no mapping of names to numbers")
    for name, value in metrics.items():
        is_number = isinstance(value, int | float) and math.isfinite(value)
        if not isinstance(name, str) or not is_number:
            raise unusable(returned, f"its `metrics` maps {name!r} to {value!r}, which is not a finite number")
    return {name: float(value) for name, value in metrics.items()}


_SERVERS = frozenset({"server_error", "rate_limit_exceeded", "vector_store_timeout"})
"""Codes of a failed Response of OpenAI's for what its server could not do."""


def ended(messages: Sequence[Message], answer: object) -> tuple[Message, ...]:
    """Give the messages of a provider's answer; what its filter left of the last words is a refusal.

    Raise `ProviderError` where the server says that it failed, `AgentError` where the request is said to be at fault.
    """
    return refusals.ended(messages, _filtered(answer) or _failed(answer))


def _filtered(answer: object) -> Event | None:
    """Read the reason in an answer of Gemini's or Responses', a message of Anthropic's or LangChain's, or a choice."""
    if blocked := _blocked(answer):
        return Event(kind="refused_by_provider", name=blocked)
    told = field(answer, "response_metadata")
    return filtered_ending(
        field(answer, "finish_reason", "finishReason"),
        field(answer, "stop_reason", "stopReason"),
        field(field(answer, "incomplete_details"), "reason"),
        field(told, "finish_reason"),
        field(told, "stop_reason", "stopReason"),
    )


def _blocked(answer: object) -> str:
    reason = field(field(answer, "promptFeedback", "prompt_feedback"), "blockReason", "block_reason")
    name = getattr(reason, "name", None) or reason
    return name if isinstance(name, str) else ""


def _failed(answer: object) -> Event | None:
    """Read the error of a failed Response; one of the filter's is a refusal."""
    error = field(answer, "error")
    code = text_field(error, "code")
    if text_field(answer, "status") != "failed" or not code:
        return None
    if event := filtered_ending(code):
        return event
    said = f"{code}: {text_field(error, 'message')}".removesuffix(": ")
    if code in _SERVERS:
        raise ProviderError(f"the agent's client: the response failed, {said}")
    raise AgentError(f"unusable reply: the response failed, {shown(said)}")


def is_result(result: object) -> bool:
    """Whether `result` is an `AgentRunResult`."""
    return callable(getattr(result, "new_messages", None))


def result_messages(result: object) -> list[object]:
    """Give the new messages of a result.

    A typed output passes through a tool of pydantic-ai's own, which is left out; the output itself is said at the end.
    """
    listed = list(result.new_messages())  # type: ignore[attr-defined]  # `is_result` has seen it
    output_tool = text_field(result, "_output_tool_name")
    if not output_tool:
        return listed
    kept = [_without(item, output_tool) if has_parts(item) else item for item in listed]
    return [*kept, {"role": "assistant", "content": result_text(field(result, "output"))}]


def _without(item: object, tool: str) -> object:
    parts = [part for part in field(item, "parts") if text_field(part, "tool_name") != tool]
    return {"kind": text_field(item, "kind"), "parts": parts}


def new_messages(returned: Sequence[Message], turn: Turn, earlier: Sequence[Message] = ()) -> list[Message]:
    """Give the agent's own messages of this turn: its texts, its calls and their results.

    `earlier` is what the agent returned last time. The rule, step by step:

    1. System messages are dropped.
    2. If the list begins with all of `earlier` and goes on, that beginning is dropped.
    3. What stands up to the last user message that equals this turn's is dropped. If none equals it (the agent
       rewrote it) and the agent has replied before, what stands up to the last user message is dropped.
    4. When the turn brings results of calls that the loop ran, what stands up to the last of them is dropped.
    5. The user's remaining messages and results of the user's own tools are dropped.
    """
    spoken = _without_system(returned)
    rest = _after_earlier(spoken, _without_system(earlier))
    rest = rest[_after_user(rest, turn, replied=bool(earlier)) :]
    rest = rest[_after_results(rest, turn) :]
    return [message for message in rest if message.role != "user" and message.requestor == "assistant"]


def _without_system(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role != "system"]


def _after_earlier(messages: list[Message], earlier: list[Message]) -> list[Message]:
    """Drop `earlier` from the front; a list that equals it is a repeated answer, not a state that grew."""
    size = len(earlier)
    return messages[size:] if size < len(messages) and messages[:size] == earlier else messages


def _after_user(messages: list[Message], turn: Turn, *, replied: bool) -> int:
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    said = turn.message.strip()
    same = [index for index in users if said and messages[index].text.strip() == said]
    if same:
        return same[-1] + 1
    return users[-1] + 1 if users and replied else 0


def _after_results(messages: list[Message], turn: Turn) -> int:
    ids = {result.tool_call_id for result in turn.results if result.tool_call_id}
    return max((index + 1 for index, m in enumerate(messages) if m.role == "tool" and m.tool_call_id in ids), default=0)


def paired(messages: Sequence[Message], number: int) -> list[Message]:
    """Join calls that were made in parallel, give ids where they lack, and let each result name its call.

    `number` counts the agent's replies from 1; the ids given are `call_<number>_<n>`, n from 1. Results are found by
    id, else by position. Raise `AgentError` for a result that answers no call of this reply.
    """
    ids = (f"call_{number}_{n}" for n in count(1))
    done: list[Message] = []
    for speech, results in _blocks(joined(messages)):
        done.extend(_paired(speech, results, ids))
    return done


def _blocks(messages: Sequence[Message]) -> Iterator[tuple[Message, list[Message]]]:
    """Split into messages of the agent, each with the results that directly follow it."""
    at = 0
    while at < len(messages):
        speech = messages[at]
        if speech.role == "tool":
            raise _orphan(speech)
        results = list(takewhile(lambda one: one.role == "tool", (messages[n] for n in range(at + 1, len(messages)))))
        yield speech, results
        at += 1 + len(results)


def _paired(speech: Message, results: list[Message], ids: Iterator[str]) -> list[Message]:
    answers: dict[int, Message] = {}
    unnamed: list[Message] = []
    for result in results:
        at = _call_named(speech, result, answers)
        if at is None:
            unnamed.append(result)
        else:
            answers[at] = result
    for result in unnamed:
        at = _call_left(speech, result, answers)
        if at is None:
            raise _orphan(result)
        answers[at] = result
    return _with_ids(speech, answers, ids)


def _call_named(speech: Message, result: Message, answers: dict[int, Message]) -> int | None:
    places = (at for at, call in enumerate(speech.tool_calls) if call.id and call.id == result.tool_call_id)
    return next((at for at in places if at not in answers), None)


def _call_left(speech: Message, result: Message, answers: dict[int, Message]) -> int | None:
    """Find the first unanswered call; a result and a call that both have ids do not match by position."""
    for at, call in enumerate(speech.tool_calls):
        if at not in answers and not (call.id and result.tool_call_id):
            return at
    return None


def _with_ids(speech: Message, answers: dict[int, Message], ids: Iterator[str]) -> list[Message]:
    calls: list[ToolCall] = []
    results: list[Message] = []
    for at, call in enumerate(speech.tool_calls):
        answer = answers.get(at)
        name = call.id or (answer.tool_call_id if answer else None) or next(ids)
        calls.append(call if call.id == name else call.model_copy(update={"id": name}))
        if answer:
            results.append(answer.model_copy(update={"tool_call_id": name}))
    if not calls:
        return [speech]
    return [speech.model_copy(update={"tool_calls": tuple(calls)}), *results]


def _orphan(result: Message) -> AgentError:
    return AgentError(
        f"unusable reply: the tool result {shown(result.text)} (call id {shown(result.tool_call_id)}) answers no call "
        "of this reply; return the message that made the call before its result"
    )
