"""Whatever an agent returned becomes a `Reply`, told by its shape; no agent framework is imported."""

import math
from collections.abc import Mapping, Sequence

from pytest_agentbench.agents.approvals import with_approvals
from pytest_agentbench.agents.content import field, shown, unusable
from pytest_agentbench.agents.openai_shapes import read_message
from pytest_agentbench.agents.pairing import paired
from pytest_agentbench.agents.pydantic_ai_shapes import has_parts, read_parts, read_result
from pytest_agentbench.agents.slicing import new_messages
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import AgentError
from pytest_agentbench.core.transcript import Message


class Returned(Model):
    """What an agent returned, as messages of every role and before anything is sliced off.

    `listed` says that it came as a list, in which an agent shows the calls that it ran itself.
    """

    messages: tuple[Message, ...] = ()
    stop: bool = False
    listed: bool = False
    metrics: dict[str, float] = {}


def to_reply(returned: object, turn: Turn | None = None, *, earlier: Sequence[Message] = (), number: int = 1) -> Reply:
    """Turn what an agent returned into a `Reply`; raise `AgentError` ("unusable reply: …") for anything else.

    `earlier` holds the messages read from the agent's reply before this one (see `slicing`); `number` counts its
    replies from 1 and goes into the ids of calls that have none.
    """
    return settle(read(returned), turn or Turn(), earlier=earlier, number=number)


def read(returned: object) -> Returned:
    """Read the messages of whatever an agent returned; raise `AgentError` where there are none."""
    try:
        return _read(returned)
    except AgentError:
        raise
    except Exception as error:  # reading runs properties and methods of the user's object
        raise unusable(returned, f"reading it raised {type(error).__name__}") from error


def settle(returned: Returned, turn: Turn, *, earlier: Sequence[Message], number: int) -> Reply:
    """Keep what is new this turn, pair calls with results, and check that the reply ends in text, calls or a stop."""
    new = paired(new_messages(returned.messages, turn, earlier), number)
    messages = tuple(message for message in new if message.role == "tool" or message.text.strip() or message.tool_calls)
    if not returned.stop:
        if not messages:
            raise AgentError(f"unusable reply: {_emptiness(returned)}; an agent answers with text or tool calls")
        if messages[-1].role == "tool":
            raise AgentError(
                f"unusable reply: it ends with the tool result {shown(messages[-1].text)}; text for the user, or "
                "calls without results for the loop to run, must come last"
            )
    return Reply(messages=messages, stop=returned.stop, metrics=returned.metrics)


def _emptiness(returned: Returned) -> str:
    if any(message.role == "user" for message in returned.messages):
        return "no message of the agent follows the user's"
    return "it holds neither text nor a tool call"


def _read(returned: object) -> Returned:
    if isinstance(returned, Reply):
        messages, metrics = _read_list(returned.messages), _metrics(returned, returned.metrics)
        return Returned(messages=messages, stop=returned.stop, metrics=metrics)
    if isinstance(returned, str):
        return Returned(messages=(Message(role="assistant", content=str.__str__(returned)),))
    if isinstance(returned, list | tuple):
        return Returned(messages=_read_list(returned), listed=True)
    if returned is None or isinstance(returned, bytes | bytearray | int | float | type):
        raise unusable(returned)
    return _read_object(returned)


def _read_object(returned: object) -> Returned:
    stop = _stop(returned)
    metrics = _metrics(returned, returned.get("metrics")) if isinstance(returned, Mapping) else {}
    run = read_result(returned)
    if run is not None:
        return Returned(messages=tuple(run), listed=True)
    listed = field(returned, "messages")
    if isinstance(listed, list | tuple):
        return Returned(messages=_read_list(listed), stop=stop, listed=True, metrics=metrics)
    choices = field(returned, "choices")
    if isinstance(choices, list | tuple) and choices:
        return Returned(messages=_read_list([field(choices[0], "message")]), stop=stop)
    if stop and all(field(returned, name) is None for name in ("role", "type", "content", "tool_calls")):
        return Returned(stop=True, metrics=metrics)
    return Returned(messages=_read_list([returned]), stop=stop, metrics=metrics)


def _read_list(items: Sequence[object]) -> tuple[Message, ...]:
    messages: list[Message] = []
    for item in items:
        if isinstance(item, str):
            raise unusable(item, "in a list; give messages")
        messages.extend(read_parts(item) if has_parts(item) else [_read_one(item)])
    return tuple(messages)


def _read_one(item: object) -> Message:
    if isinstance(item, Mapping) and item.get("approvals"):  # which say all that there is to say
        item = {"role": "assistant", "content": None, **item}
    message = item if isinstance(item, Message) else read_message(item)
    if not isinstance(item, Message) or not item.text:
        message = with_approvals(message, field(item, "approvals"))
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
