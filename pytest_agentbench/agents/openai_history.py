"""Conversations that began before the run, made acceptable to model servers, which refuse calls without ids."""

from collections.abc import Iterable

from pytest_agentbench.core.transcript import Message


def with_ids(messages: Iterable[Message]) -> list[Message]:
    """Give an id to each call that has none, and to each nameless result that of the next call not yet answered."""
    done: list[Message] = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message.role != "tool" and not message.tool_calls:
            waiting = []
            done.append(message)
            continue
        if message.role == "tool":
            name = message.tool_call_id or (waiting[0] if waiting else f"call_at_{index}")
            waiting = [other for other in waiting if other != name]
            done.append(message if name == message.tool_call_id else message.model_copy(update={"tool_call_id": name}))
            continue
        named = message if all(call.id for call in message.tool_calls) else _named(message, index)
        waiting = [call.id for call in named.tool_calls]
        done.append(named)
    return done


def _named(message: Message, index: int) -> Message:
    calls = (
        call if call.id else call.model_copy(update={"id": f"call_at_{index}_{n}"})
        for n, call in enumerate(message.tool_calls, 1)
    )
    return message.model_copy(update={"tool_calls": tuple(calls)})
