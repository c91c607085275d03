"""The roles of the pipeline from policies that a model can play."""

from dataclasses import dataclass

from pytest_agentbench.generation.roles import RoleModels

ROLES = ("extractor", "analyst", "weigher", "rower", "writer", "critic")
"""The roles that a model can play, in pipeline order."""


@dataclass
class Roles(RoleModels):
    """Who plays which of them."""

    known = ROLES
