"""Calls and their results in a reply: each call has an id, each result answers a call."""

from collections.abc import Iterator, Sequence
from itertools import count, takewhile

from pytest_agentbench.core.errors import AgentError
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.assembly import joined
from pytest_agentbench.messages.content import shown


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
