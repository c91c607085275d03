"""One question of generation to a model: material between delimiters, a strict answer, one round of repair."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from pytest_agentbench.llm.refusable import refusable
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.templates import Templates

_PROMPTS = Templates("pytest_agentbench.generation.policies")


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
    nonce = _new_nonce(data, random)
    told = {"data": _PROMPTS.render("data.v1", {"nonce": nonce}), **(values or {})}
    body = "\n".join(f"| {line}" for line in data.splitlines())
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _PROMPTS.render(task, told)},
        {"role": "user", "content": f"BEGIN {nonce}\n{body}\nEND {nonce}"},
    ]
    return await refusable(
        chat,
        answer,
        messages,
        faults=faults,
        told=lambda listed: _PROMPTS.render("again.v1", {"faults": listed}),
        temperature=0,
    )


def _new_nonce(data: str, random: Random) -> str:
    while (nonce := f"{random.getrandbits(64):016x}") in data:
        pass
    return nonce
