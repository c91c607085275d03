"""Typed answers that code can still refuse: asked for once more with the reasons, and then given up."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import AgentBenchError, CassetteMissError, ProviderError, UnusableAnswerError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import Messages, structured

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
U = TypeVar("U")

_SHOWN = 1_000
"""Characters of what is wrong with an answer that an error shows."""


async def refusable(
    chat: Chat,
    answer: type[M],
    messages: Messages,
    *,
    faults: Callable[[M], list[str]],
    told: Callable[[str], str],
    temperature: float | None = None,
) -> M:
    """Ask for an `answer` without `faults`.

    One that has some is shown to the model, once, with what `told` makes of the list of them. Raise
    `UnusableAnswerError` where it still has some, and what `structured` raises.
    """
    given = await structured(chat, answer, messages, temperature=temperature)
    wrong = faults(given)
    if not wrong:
        return given
    listed = "\n".join(f"- {printable(fault)}" for fault in wrong)
    again = [{"role": "assistant", "content": dumps(given)}, {"role": "user", "content": told(listed)}]
    given = await structured(chat, answer, [*messages, *again], temperature=temperature)
    wrong = faults(given)
    if wrong:
        said = shorten(printable("; ".join(wrong)), _SHOWN)
        model = printable(repr(chat.spec.model))
        raise UnusableAnswerError(f"the {answer.__name__} of {model} was refused twice: {said}")
    return given


async def usable(
    asked: Awaitable[T],
    otherwise: Callable[[AgentBenchError], U],
    of: tuple[type[AgentBenchError], ...] = (ProviderError,),
) -> T | U:
    """Give what was asked for, else what `otherwise` makes of an error that is one `of` these.

    A recording that lacks the answer is an error of its own, and is raised.
    """
    try:
        return await asked
    except CassetteMissError:
        raise
    except of as error:
        return otherwise(error)
