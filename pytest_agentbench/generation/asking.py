"""One question of a role of generation to its model: a prompt, fenced data, a typed answer, a guard, one repair."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import printable
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.llm.templates import Templates

M = TypeVar("M", bound=BaseModel)


async def ask(
    chat: Chat,
    answer: type[M],
    templates: Templates,
    prompt: str,
    *,
    values: Mapping[str, str],
    data: Mapping[str, Any],
    seed: object,
    guard: Callable[[M], list[str]] = lambda _: [],
    temperature: float | None = None,
) -> tuple[M, list[str]]:
    """Ask for an `answer` by a prompt; `data` is sent as JSON between delimiters, and is nothing but data.

    Where the guard finds faults, the model is asked once more with them and its last answer; give the answer with the
    faults that are left. Raise what `structured` raises.
    """
    nonce = f"{Random(f'{prompt} {seed}').getrandbits(64):016x}"  # noqa: S311 - a delimiter, no secret
    system = templates.render(prompt, {**values, "data": templates.render("data.v1", {"nonce": nonce})})

    async def once(content: Mapping[str, Any]) -> M:
        fenced = f"<data-{nonce}>\n{printable(dumps(content, indent=1), newlines=True)}\n</data-{nonce}>"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": fenced}]
        return await structured(chat, answer, messages, temperature=temperature)

    found = await once(data)
    faults = guard(found)
    if faults:
        found = await once({**data, "last_answer": found.model_dump(mode="json"), "faults": faults})
        faults = guard(found)
    return found, faults


def language_name(code: str) -> str:
    """Give the name of a language in English, its code where nobody knows it."""
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - only models are told

    try:
        return Locale.parse(code.replace("-", "_")).get_display_name("en") or code
    except (UnknownLocaleError, ValueError):
        return code
