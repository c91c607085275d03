"""Who plays the roles of the pipeline: their deterministic twins, or one model for all roles or those named."""

from dataclasses import dataclass
from random import Random

from pytest_agentbench.generation.casting import Casting
from pytest_agentbench.generation.tools.recruiting.scout_llm import ModelScout
from pytest_agentbench.generation.tools.recruiting.scouting import Scout, TemplateScout
from pytest_agentbench.generation.tools.stories.critic import Critic, TemplateCritic
from pytest_agentbench.generation.tools.stories.critic_llm import ModelCritic
from pytest_agentbench.generation.tools.stories.narrator import Narrator, TemplateNarrator
from pytest_agentbench.generation.tools.stories.narrator_llm import ModelNarrator
from pytest_agentbench.generation.tools.stories.persona import PersonaWriter, TemplatePersonaWriter
from pytest_agentbench.generation.tools.stories.persona_llm import ModelPersonaWriter
from pytest_agentbench.generation.tools.walks.conditioned import Conditioned
from pytest_agentbench.generation.tools.walks.judging import ChainJudge, WalkJudge
from pytest_agentbench.generation.tools.walks.judging_llm import ModelWalkJudge

ROLES = ("prober", "taxonomist", "weigher", "recruiter", "narrator", "critic", "persona")
"""The roles that a model can play, in pipeline order (Annex D)."""


@dataclass
class Roles(Casting):
    """Who plays which of them, and each role's player."""

    known = ROLES

    def scout(self, seed: int) -> Scout:
        """Give the Recruiter's scout."""
        chat = self.chat("recruiter")
        return TemplateScout() if chat is None else ModelScout(chat, Random(f"scout/{seed}"))  # noqa: S311 - a choice, no secret

    def narrator(self, random: Random) -> Narrator:
        """Give the Narrator of one story."""
        chat = self.chat("narrator")
        return TemplateNarrator(random) if chat is None else ModelNarrator(chat, random)

    def walk_judge(self, chain: Conditioned, seed: int) -> WalkJudge:
        """Give the judge of walks, whom the weigher plays."""
        chat = self.chat("weigher")
        return ChainJudge(chain) if chat is None else ModelWalkJudge(chat, Random(f"judge/{seed}"))  # noqa: S311 - a choice, no secret

    def critic(self, random: Random) -> Critic:
        """Give the Critic of one story."""
        chat = self.chat("critic")
        return TemplateCritic() if chat is None else ModelCritic(chat, random)

    def writer(self, random: Random) -> PersonaWriter:
        """Give the PersonaWriter of one story."""
        chat = self.chat("persona")
        return TemplatePersonaWriter() if chat is None else ModelPersonaWriter(chat, random)
