"""Who plays the roles of the pipeline from tools: a model for all of them, or for those named, else nobody."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentbench.generation.language.plain import phrases_of
from pytest_agentbench.generation.roles import RoleModels

ROLES = ("prober", "taxonomist", "weigher", "writer", "critic")
"""The roles that a model can play, in pipeline order."""


@dataclass
class Roles(RoleModels):
    """Who plays which of them."""

    known = ROLES
    successors = {"recruiter": "prober", "narrator": "writer", "persona": "writer"}

    def check_languages(self, languages: Sequence[str]) -> None:
        """Raise `SuiteFaultError` for a language that has no plain phrases, where no model words the scenarios."""
        for language in languages if self.chat("writer") is None else ():
            phrases_of(language)
