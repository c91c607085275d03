"""One question of generation to a model: material between delimiters, a strict answer, one round of repair."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import printable
from pytest_agentbench.llm.refusable import refusable
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.llm.templates import Templates

_PROMPTS = Templates("pytest_agentbench.generation.policies")

_MOST_FAULTS = 40
"""Faults that a model is shown at once."""


class Answer(BaseModel):
    """Part of what a model answers: frozen, nothing beyond the schema, nothing read as another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


A = TypeVar("A", bound=Answer)


async def ask(
    chat: Chat,
    answer: type[A],
    task: str,
    *,
    data: str,
    random: Random,
    faults: Callable[[A], list[str]],
    values: Mapping[str, str] | None = None,
) -> A:
    """Ask for an `answer` by the template `task` about `data`, at temperature 0.

    `random` gives the nonce around the material. An answer with `faults` is refused with the reasons, once. Raise
    what `refusable` raises.
    """
    messages = _messages(task, data, random, values)
    return await refusable(chat, answer, messages, faults=faults, told=_again, temperature=0)


async def ask_twice(
    chat: Chat,
    answer: type[A],
    task: str,
    *,
    data: str,
    random: Random,
    faults: Callable[[A], list[str]],
    values: Mapping[str, str] | None = None,
) -> tuple[A, A | None]:
    """Ask as `ask` does, and give both answers where the first has `faults`: parts of either may hold."""
    messages = _messages(task, data, random, values)
    first = await structured(chat, answer, messages, temperature=0)
    wrong = faults(first)
    if not wrong:
        return first, None
    listed = "\n".join(f"- {printable(fault)}" for fault in wrong[:_MOST_FAULTS])
    again = [{"role": "assistant", "content": dumps(first)}, {"role": "user", "content": _again(listed)}]
    return first, await structured(chat, answer, [*messages, *again], temperature=0)


def _again(listed: str) -> str:
    return _PROMPTS.render("again.v1", {"faults": listed})


def _messages(task: str, data: str, random: Random, values: Mapping[str, str] | None) -> list[dict[str, Any]]:
    nonce = _new_nonce(data, random)
    filled = {"data": _PROMPTS.render("data.v1", {"nonce": nonce}), **(values or {})}
    body = "\n".join(f"| {line}" for line in data.splitlines())
    return [
        {"role": "system", "content": _PROMPTS.render(task, filled)},
        {"role": "user", "content": f"BEGIN {nonce}\n{body}\nEND {nonce}"},
    ]


def _new_nonce(data: str, random: Random) -> str:
    while (nonce := f"{random.getrandbits(64):016x}") in data:
        pass
    return nonce
