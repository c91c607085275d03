"""What people said of a generated scenario: nobody read it yet, somebody accepted it, somebody rejected it."""

from typing import Literal

from pytest_agentbench.core.base import Model

ReviewMode = Literal["pending", "off"]
"""What a recipe says of its scenarios: pending ones wait for a reviewer, `off` counts them at once."""

ReviewState = Literal["pending", "lapsed", "accepted", "rejected"]
"""lapsed: it was accepted, and has changed since, so that it is pending again."""


class Review(Model):
    """The state of a scenario's review; `by` and `on` (an ISO date) say who decided and when.

    `hash` is that of the scenario as it was accepted, `reason` why it was rejected.
    """

    state: ReviewState = "pending"
    by: str = ""
    on: str = ""
    hash: str = ""
    reason: str = ""

    @property
    def waits(self) -> bool:
        """Whether somebody has to review the scenario before it counts."""
        return self.state in ("pending", "lapsed")
