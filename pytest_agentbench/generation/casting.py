"""Which roles of a pipeline a model plays, and what that takes; the others nobody plays, or plain rules do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.suite import GenerateSpec
from pytest_agentbench.llm.seams import Chat

Chats = Callable[[str], Chat]
"""Gives the model of a role."""


@dataclass
class Casting:
    """Gives each role to the model that is asked for, or to nobody; a role that a model plays falls back on nothing.

    `known` are the roles that a model can play, in pipeline order, `successors` the roles that are gone, and which one
    does the work of each.
    """

    known: ClassVar[tuple[str, ...]] = ()
    successors: ClassVar[Mapping[str, str]] = {}

    recipe: GenerateSpec
    chats: Chats | None = None
    _given: dict[str, Chat] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `SuiteFaultError` for a role that does not exist, or roles without a model."""
        for name in self.recipe.roles:
            if name in self.successors:
                raise SuiteFaultError(
                    f"generate.roles: the role {name!r} is gone; {self.successors[name]!r} does its work"
                )
            if name not in self.known:
                there = f"there is no role {name!r}; there are {', '.join(self.known)}"
                raise SuiteFaultError(f"generate.roles: {with_hint(there, suggestion(name, self.known))}")
        if self.recipe.roles and self.recipe.model is None:
            raise SuiteFaultError("generate.roles: a model plays roles, and generate.llm names none")

    def chat(self, role: str) -> Chat | None:
        """Give the model that plays a role, None where none does."""
        if self.recipe.model is None or self.chats is None or (self.recipe.roles and role not in self.recipe.roles):
            return None
        if role not in self._given:
            self._given[role] = self.chats(role)
        return self._given[role]

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
        return {role: chat.usage for role, chat in self._given.items()}

    @property
    def calls(self) -> dict[str, int]:
        """How many model calls each role took, recorded ones included."""
        return {role: chat.usage.calls + chat.usage.replayed for role, chat in self._given.items()}
