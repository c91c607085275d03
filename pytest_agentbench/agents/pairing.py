"""Calls and their results in the order a transcript keeps them: each call has an id, its result follows it."""

from collections.abc import Iterator, Sequence
from itertools import count, takewhile

from pytest_agentbench.agents.content import shown
from pytest_agentbench.core.errors import AgentError
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message


def paired(messages: Sequence[Message], number: int) -> list[Message]:
    """Join calls that were made in parallel, give ids where they lack, and let each result name its call.

    `number` counts the agent's replies from 1; the ids given are `call_<number>_<n>`, n from 1. Results are found by
    id, else by position. Raise `AgentError` for a result that answers no call of this reply.
    """
    ids = (f"call_{number}_{n}" for n in count(1))
    done: list[Message] = []
    for speech, results in _blocks(messages):
        done.extend(_paired(speech, results, ids))
    return done


def _blocks(messages: Sequence[Message]) -> Iterator[tuple[Message, list[Message]]]:
    """Split into messages of the agent, each with the results that directly follow it.

    Frameworks that list every call as a message of its own put all results after the last; those are one message.
    """
    rest = list(messages)
    while rest:
        spoken = list(takewhile(lambda message: message.role == "assistant", rest))
        results = list(takewhile(lambda message: message.role == "tool", rest[len(spoken) :]))
        rest = rest[len(spoken) + len(results) :]
        if results:
            calling = next((at for at, message in enumerate(spoken) if message.tool_calls), len(spoken))
            if calling == len(spoken):
                raise _orphan(results[0])
            spoken, joined = spoken[:calling], spoken[calling:]
            yield from ((message, []) for message in spoken)
            yield _joined(joined), results
        else:
            yield from ((message, []) for message in spoken)


def _joined(messages: list[Message]) -> Message:
    text = "\n".join(message.text for message in messages if message.text)
    calls = tuple(call for message in messages for call in message.tool_calls)
    events = tuple(event for message in messages for event in message.events)
    return Message(role="assistant", content=text or None, tool_calls=calls, by=messages[0].by, events=events)


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
