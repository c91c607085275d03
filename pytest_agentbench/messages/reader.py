"""The reader of foreign messages: each is told by its shape, and what cannot be read is an error that names it."""

from collections.abc import Sequence

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.assembly import Assembly, TellsError
from pytest_agentbench.messages.chat import read_message
from pytest_agentbench.messages.pydantic_ai import has_parts, output_calls, read_parts
from pytest_agentbench.messages.smolagents import is_step, read_step

TOP: Keys = ("messages",)


def read(items: Sequence[object], *, at: Keys = TOP, tells_error: TellsError | None = None) -> list[Message]:
    """Read messages, mappings or objects: OpenAI's chat and Responses, Anthropic's, Gemini's, LangChain's, and others.

    Raise `UnreadableError` for the first part that cannot be read; its path begins with `at`. System messages are
    read like all others.
    """
    into = Assembly(tells_error)
    outputs = output_calls(list(items))
    for index, item in enumerate(items):
        place = (*at, index)
        if isinstance(item, Message):
            into.add(item)
        elif has_parts(item):
            read_parts(item, place, into, outputs)
        elif is_step(item):
            read_step(item, place, into)
        else:
            read_message(item, place, into)
    return into.finish()
