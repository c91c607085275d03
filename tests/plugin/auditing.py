"""A judge model that also audits: what it answers to the auditor's question about a refund of `models_project`."""

from collections.abc import Callable
from typing import Any

from pytest_agentbench.testing import Answer, ModelRequest, structured

REFUNDED = "It is refunded."
"""What the agent says in turn 2."""

THANKS = "Thank you, bye."
"""What the user says in turn 3."""


def observations(**other: Any) -> dict[str, Any]:
    """Give a sound run's observations, with `other` in the place of some."""
    return {
        "claims": [],
        "consents": [{"turn": 1, "quote": "I would like a refund", "call": 1, "consent": "not asked"}],
        "goal_items": [],
        "policies": [],
        "user_turns": [],
        "tool_use": {"turn": 2, "quote": REFUNDED, "use": "right"},
        "agent_appropriate": {"turn": 2, "quote": REFUNDED, "shows": True},
        "user_satisfied": {"turn": 3, "quote": THANKS, "shows": True},
        **other,
    }


def polite(*, violated: bool, quote: str = REFUNDED) -> dict[str, Any]:
    """Say what became of the policy `polite`."""
    status = "violated" if violated else "kept"
    return {"policy": "polite", "status": status, "turn": 2, "quote": quote, "reason": "It sounds curt."}


def unborne(**other: Any) -> dict[str, Any]:
    """Give a claim that nothing bears out, and that no fact is beside."""
    return {
        "turn": 2, "quote": REFUNDED, "kind": "other", "values": [], "denies": False, "corrected": False,
        "support": "nothing", "call": None, **other,
    }  # fmt: skip


def auditor(seen: dict[str, Any] | None = None) -> Callable[[ModelRequest], Answer]:
    """Give a judge model that sees this in every run, and finds no other question put to it."""

    def answer(request: ModelRequest) -> Answer:
        name = request.body["response_format"]["json_schema"]["name"]
        assert name == "Observations", name
        return structured(observations() if seen is None else seen)

    return answer
