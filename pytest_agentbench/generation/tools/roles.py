"""Who plays the roles of the pipeline from tools: a model for all of them, or for those named, else nobody."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_agentbench.generation.casting import Casting
from pytest_agentbench.generation.language.plain import phrases_of
from pytest_agentbench.generation.report import Report

ROLES = ("prober", "taxonomist", "weigher", "writer", "critic")
"""The roles that a model can play, in pipeline order."""

SUCCESSORS = {"recruiter": "prober", "narrator": "writer", "persona": "writer"}
"""Roles of earlier versions, and those that do their work now."""


@dataclass
class Roles(Casting):
    """Who plays which of them."""

    known = ROLES
    successors = SUCCESSORS

    def wording(self, seed: int) -> dict[str, Any]:
        """Give what words and criticises drafts, as fields of a `Production`; {} is plain wording."""
        return {}

    def check_languages(self, languages: Sequence[str]) -> None:
        """Raise `SuiteFaultError` for a language that has no plain phrases, where no model words the scenarios."""
        if self.chat("writer") is None:
            for language in languages:
                phrases_of(language)

    def reported(self, report: Report, **more: Any) -> Report:
        """Give a report with what models took by role, and `more`."""
        return replace(report, players=self.players, **more)
