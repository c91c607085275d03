"""One question of a role of generation to its model: instructions as system, data between delimiters with a nonce."""

from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import printable
from pytest_agentbench.generation.tools.template import render
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.structured import structured

M = TypeVar("M", bound=BaseModel)

_LANGUAGES = {"en": "English", "fr": "French"}


async def ask(
    chat: Chat, answer: type[M], task: str, data: dict[str, Any], *, random: Random, temperature: float, language: str
) -> M:
    """Ask for an `answer` by the template `task`; `data` is sent as JSON, and is nothing but data.

    Raise what `structured` raises; a model that gives no usable answer is never stood in for.
    """
    nonce = f"{random.getrandbits(64):016x}"
    safety = render("data.v1", {"nonce": nonce, "language": _LANGUAGES[language]})
    messages = [
        {"role": "system", "content": render(task, {"data": safety})},
        {
            "role": "user",
            "content": f"<data-{nonce}>\n{printable(dumps(data, indent=1), newlines=True)}\n</data-{nonce}>",
        },
    ]
    return await structured(chat, answer, messages, temperature=temperature)
