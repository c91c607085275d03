"""The roles that a model plays in generation: which model each has, what that takes, and how one question is asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.suite import GenerateSpec
from pytest_agentbench.core.text import printable
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.llm.templates import Templates

M = TypeVar("M", bound=BaseModel)
Chats = Callable[[str], Chat]
"""Gives the model of a role."""

WRITER, CRITIC = "writer", "critic"
"""The roles that word and criticise the drafts of every source."""


@dataclass
class RoleModels:
    """Gives each role to the recipe's model, or to nobody; a role that a model plays falls back on nothing.

    `known` are the roles that a model can play, in pipeline order, `successors` which one does the work of one that is
    gone. Raise `SuiteFaultError` for a role that does not exist, or roles without a model.
    """

    known: ClassVar[tuple[str, ...]] = (WRITER, CRITIC)
    successors: ClassVar[Mapping[str, str]] = {}

    recipe: GenerateSpec
    chats: Chats | None = None
    _used: dict[str, Chat] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.recipe.roles:
            if name in self.successors:
                why = f"the role {name!r} is gone; {self.successors[name]!r} does its work"
                raise SuiteFaultError(f"generate.roles: {why}")
            if name not in self.known:
                there = f"there is no role {name!r}; there are {', '.join(self.known)}"
                raise SuiteFaultError(f"generate.roles: {with_hint(there, suggestion(name, self.known))}")
        if self.recipe.roles and self.recipe.model is None:
            raise SuiteFaultError("generate.roles: a model plays roles, and generate.llm names none")

    def chat(self, role: str) -> Chat | None:
        """Give the model that plays a role, None where none does."""
        if self.recipe.model is None or self.chats is None or (self.recipe.roles and role not in self.recipe.roles):
            return None
        if role not in self._used:
            self._used[role] = self.chats(role)
        return self._used[role]

    def player(self, role: str) -> str:
        """Name the model that plays a role, "" where none does."""
        chat = self.chat(role)
        return chat.spec.model if chat is not None else ""

    @property
    def players(self) -> dict[str, str]:
        """The models by the roles that they play."""
        return {role: player for role in self.known if (player := self.player(role))}

    @property
    def usage(self) -> dict[str, Usage]:
        """What the calls of each role took."""
        return {role: chat.usage for role, chat in self._used.items()}


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
    repair: str = "",
) -> tuple[M, list[str]]:
    """Ask for an `answer` by a prompt; `data` is sent as JSON between delimiters, and is nothing but data.

    Where the guard finds faults, the model is asked once more with them and its last answer, and with the prompt
    `repair` behind the first one; give the answer with the faults that are left. Raise what `structured` raises.
    """
    nonce = f"{Random(f'{prompt} {seed}').getrandbits(64):016x}"  # noqa: S311 - a delimiter, no secret
    system = templates.render(prompt, {**values, "data": templates.render("data.v1", {"nonce": nonce})})

    async def once(content: Mapping[str, Any], system: str = system) -> M:
        fenced = f"<data-{nonce}>\n{printable(dumps(content, indent=1), newlines=True)}\n</data-{nonce}>"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": fenced}]
        return await structured(chat, answer, messages, temperature=temperature)

    found = await once(data)
    faults = guard(found)
    if faults:
        more = f"{system}\n\n{templates.text(repair).strip()}" if repair else system
        found = await once({**data, "last_answer": found.model_dump(mode="json"), "faults": faults}, more)
        faults = guard(found)
    return found, faults
