"""One question of generation to a model: material between delimiters, a strict answer, one round of repair."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.llm.templates import Templates

_PROMPTS = Templates("pytest_agentbench.generation.policies")

_MOST_FAULTS = 40
"""Faults that a model is shown at once."""

_SHOWN = 1_000
"""Characters of what is wrong with an answer that an error shows."""


class Answer(BaseModel):
    """Part of what a model answers: frozen, nothing beyond the schema, nothing read as another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


A = TypeVar("A", bound=Answer)


async def ask_twice(
    chat: Chat,
    answer: type[A],
    task: str,
    *,
    data: str,
    random: Random,
    faults: Callable[[A], list[str]],
    values: Mapping[str, str] | None = None,
) -> list[A]:
    """Ask for an `answer` by the template `task` about `data`, at temperature 0; `random` gives the nonce around it.

    An answer with `faults` is asked for once more with the reasons. Give the answers, the last one first: parts of
    either may hold.
    """
    while (nonce := f"{random.getrandbits(64):016x}") in data:
        pass
    body = "\n".join(f"| {line}" for line in data.splitlines())
    system = {"data": _PROMPTS.render("data.v1", {"nonce": nonce}), **(values or {})}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _PROMPTS.render(task, system)},
        {"role": "user", "content": f"BEGIN {nonce}\n{body}\nEND {nonce}"},
    ]
    first = await structured(chat, answer, messages, temperature=0)
    if not (wrong := faults(first)):
        return [first]
    listed = "\n".join(f"- {printable(fault)}" for fault in wrong[:_MOST_FAULTS])
    again = _PROMPTS.render("again.v1", {"faults": listed})
    messages += [{"role": "assistant", "content": dumps(first)}, {"role": "user", "content": again}]
    return [await structured(chat, answer, messages, temperature=0), first]


async def ask(chat: Chat, answer: type[A], task: str, *, faults: Callable[[A], list[str]], **more: Any) -> A:
    """Ask as `ask_twice` does; raise `UnusableAnswerError` where the second answer has faults, too."""
    found = (await ask_twice(chat, answer, task, faults=faults, **more))[0]
    if wrong := faults(found):
        said, model = shorten(printable("; ".join(wrong)), _SHOWN), printable(repr(chat.spec.model))
        raise UnusableAnswerError(f"the {answer.__name__} of {model} was refused twice: {said}")
    return found
