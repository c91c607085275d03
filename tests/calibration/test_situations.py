"""The catalogue: 26 situations, labels derived over eight plausible combinations, and what is refused."""

from itertools import product
from typing import get_args

import pytest
from pydantic import ValidationError

from pytest_agentbench.calibration.dataset import (
    Behaviour,
    Satisfaction,
    Situation,
    ToolExecution,
    plausible,
    situations,
)
from tests.tables import each


def situation(tool: str, agent: str, user: str) -> Situation:
    """Give a situation of a combination."""
    fields = {"tool": tool, "agent": agent, "user": user}
    reasons = {"details": "d", "tool_reason": "t", "agent_reason": "a", "user_reason": "u"}
    return Situation.model_validate({"id": "x", **fields, **reasons, "moves": ["leads"], "holds": ["right"]})


def test_there_are_26_and_one_is_right() -> None:
    """25 are faulty or degraded; every plausible combination occurs, each situation with its reasons."""
    catalogue = situations()

    assert len(catalogue) == 26
    assert [name for name, one in catalogue.items() if one.label == "POS"] == ["correct"]
    assert {one.dimensions for one in catalogue.values()} == set(plausible())
    assert all(one.tool_reason and one.agent_reason and one.user_reason for one in catalogue.values())


def test_hard_negatives_are_satisfied_yet_negative() -> None:
    """The dissatisfied yet appropriate are neither easy nor hard."""
    buckets = {name: one.bucket for name, one in situations().items()}

    assert sum(bucket == "hard" for bucket in buckets.values()) == 11
    assert [name for name, bucket in buckets.items() if bucket.startswith("dissatisfied")] == [
        "tool-unavailable",
        "impossible-action",
    ]
    assert all(situations()[name].user == "satisfied" for name, bucket in buckets.items() if bucket == "hard")


@each("name", ["bad-params-aware", "bad-input-data", "wrong-action-silent"])
def test_ambiguous_situations_say_what_decides(name: str) -> None:
    """Which value is wrong and who supplied it."""
    assert "supplied" in situations()[name].means


def test_four_combinations_are_refused() -> None:
    """Eight of the twelve go together."""
    everything = product(get_args(ToolExecution), get_args(Behaviour), get_args(Satisfaction))
    refused = [one for one in everything if one not in plausible()]

    assert len(refused) == 4
    for one in refused:
        with pytest.raises(ValidationError, match="do not go together"):
            situation(*one)
