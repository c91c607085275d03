"""Who plays the roles of the pipeline: their deterministic twins, or one model for all roles or those named."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.suite import GenerateSpec
from pytest_agentbench.generation.tools.critic import Critic, TemplateCritic
from pytest_agentbench.generation.tools.critic_llm import ModelCritic
from pytest_agentbench.generation.tools.narrator import Narrator, TemplateNarrator
from pytest_agentbench.generation.tools.narrator_llm import ModelNarrator
from pytest_agentbench.generation.tools.persona import PersonaWriter, TemplatePersonaWriter
from pytest_agentbench.generation.tools.persona_llm import ModelPersonaWriter
from pytest_agentbench.generation.tools.recruiting import Scout, TemplateScout
from pytest_agentbench.generation.tools.scout_llm import ModelScout
from pytest_agentbench.llm.seams import Chat

ROLES = ("prober", "taxonomist", "weigher", "recruiter", "narrator", "critic", "persona")
"""The roles that a model can play, in pipeline order (Annex D)."""

Chats = Callable[[str], Chat]
"""Gives the model of a role."""


@dataclass
class Roles:
    """Gives each role to the model that is asked for, or to its twin; nothing falls back from the one to the other."""

    recipe: GenerateSpec
    chats: Chats | None = None
    _given: dict[str, Chat] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `SuiteFaultError` for a role that does not exist, or roles without a model."""
        for name in self.recipe.roles:
            if name not in ROLES:
                known = f"there is no role {name!r}; there are {', '.join(ROLES)}"
                raise SuiteFaultError(f"generate.roles: {with_hint(known, suggestion(name, ROLES))}")
        if self.recipe.roles and self.recipe.model is None:
            raise SuiteFaultError("generate.roles: a model plays roles, and generate.llm names none")

    def chat(self, role: str) -> Chat | None:
        """Give the model that plays a role, None where its twin does."""
        if self.recipe.model is None or self.chats is None or (self.recipe.roles and role not in self.recipe.roles):
            return None
        if role not in self._given:
            self._given[role] = self.chats(role)
        return self._given[role]

    def player(self, role: str) -> str:
        """Name who plays a role, for hashes and reports: the model, or ""."""
        return self.chat(role).spec.model if self.chat(role) is not None else ""  # type: ignore[union-attr]

    def scout(self, seed: int) -> Scout:
        """Give the Recruiter's scout."""
        chat = self.chat("recruiter")
        return TemplateScout() if chat is None else ModelScout(chat, Random(f"scout/{seed}"))  # noqa: S311 - a choice, no secret

    def narrator(self, random: Random) -> Narrator:
        """Give the Narrator of one story."""
        chat = self.chat("narrator")
        return TemplateNarrator(random) if chat is None else ModelNarrator(chat, random)

    def critic(self, random: Random) -> Critic:
        """Give the Critic of one story."""
        chat = self.chat("critic")
        return TemplateCritic() if chat is None else ModelCritic(chat, random)

    def writer(self, random: Random) -> PersonaWriter:
        """Give the PersonaWriter of one story."""
        chat = self.chat("persona")
        return TemplatePersonaWriter() if chat is None else ModelPersonaWriter(chat, random)

    @property
    def calls(self) -> dict[str, int]:
        """How many model calls each role took, recorded ones included."""
        return {role: chat.usage.calls + chat.usage.replayed for role, chat in self._given.items()}
