"""One question of generation to a model: material between delimiters, a strict answer, one round of repair."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.structured import structured

_PLACE = re.compile(r"\{\{(?P<name>\w+)\}\}")

_SHOWN = 1_000


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
    `UnusableAnswerError` where it still has some, and what `structured` raises.
    """
    nonce = _new_nonce(data, random)
    told = {"data": render("data.v1", {"nonce": nonce}), **(values or {})}
    body = "\n".join(f"| {line}" for line in data.splitlines())
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": render(task, told)},
        {"role": "user", "content": f"BEGIN {nonce}\n{body}\nEND {nonce}"},
    ]
    given = await structured(chat, answer, messages, temperature=0)
    wrong = faults(given)
    if not wrong:
        return given
    listed = "\n".join(f"- {printable(fault)}" for fault in wrong)
    again = [
        {"role": "assistant", "content": dumps(given)},
        {"role": "user", "content": render("again.v1", {"faults": listed})},
    ]
    given = await structured(chat, answer, [*messages, *again], temperature=0)
    wrong = faults(given)
    if wrong:
        said = shorten(printable("; ".join(wrong)), _SHOWN)
        model = printable(repr(chat.spec.model))
        raise UnusableAnswerError(f"the {answer.__name__} of {model} was refused twice: {said}")
    return given


def render(name: str, values: Mapping[str, str]) -> str:
    """Fill the template `prompts/<name>.md`; what is inserted is not read again for places."""
    return _PLACE.sub(lambda place: values[place["name"]], _template(name)).strip()


@cache
def _template(name: str) -> str:
    return (files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def _new_nonce(data: str, random: Random) -> str:
    while (nonce := f"{random.getrandbits(64):016x}") in data:
        pass
    return nonce
