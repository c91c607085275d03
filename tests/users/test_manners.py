"""Right agents with manners pass every scenario of the example suites whose user is scripted.

They ask for consent, offer an extra, ask two things at once, ask without a question mark, or ask a turn early.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.core.transcript import Transcript
from tests.tables import each
from tests.users.manners import MANNERS, Manner, Outcome, play

PROJECT = Path(__file__).parents[2] / "example_project"
SUITES = {"support": 43, "weather": 11, "weather_generated": 12}
"""The suites, with the number of their scenarios."""

QUICK = ("support", "weather")


def table(found: list[Outcome]) -> str:
    """Give how many runs of each manner passed, failed and are unscored, then what stood against those."""
    counts = Counter((one.manner, one.kind) for one in found)
    rows = [
        f"{manner:16} " + ", ".join(f"{counts[manner, kind]:4} {kind}" for kind in ("passed", "failed", "unscored"))
        for manner in MANNERS
    ]
    return "\n".join(rows + [f"! {one.manner}, {one.name}: {one.why}" for one in found if one.kind != "passed"])


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_every_right_agent_passes(name: str) -> None:
    """No scenario is left out, and and none fails or is unscored.

    Nobody can do what a lasting fault keeps from being done, and no user is to blame for it.
    """
    found = play(PROJECT / f"{name}.agentbench.yaml")

    print(f"{name}\n{table(found)}")
    assert Counter(one.manner for one in found) == dict.fromkeys(MANNERS, SUITES[name]), table(found)
    assert {one.name for one in found if one.kind != "passed" and not one.is_faulty} == set(), table(found)


@each("name", QUICK)
def test_some_right_agents_pass(name: str) -> None:
    """The same, on every sixth scenario."""
    found = play(PROJECT / f"{name}.agentbench.yaml", every=6)

    assert {one.kind for one in found if not one.is_faulty} == {"passed"}, table(found)


def said(found: list[Outcome], manner: Manner) -> list[Transcript]:
    """Give the transcripts of the runs in which an agent of this manner wrote something."""
    return [
        one.run.transcript
        for one in found
        if one.manner == manner and any("I would now" in text for _, text in one.run.transcript.texts("assistant"))
    ]


def test_the_manners_are_what_they_are_called() -> None:
    """An agent that did not ask as it should would show nothing."""
    found = play(PROJECT / "support.agentbench.yaml", every=6)
    asked = {manner: said(found, manner) for manner in MANNERS}
    words = {
        manner: "\n".join(text for one in several for _, text in one.texts("assistant"))
        for manner, several in asked.items()
    }

    assert all(len(several) >= 3 for several in asked.values())
    assert "Shall I proceed?" in words["confirms"]
    assert words["offers an extra"].count("Would you also like") >= len(asked["offers an extra"])
    assert len(re.findall(r"Shall I\? And what is your", words["asks two things"])) >= len(asked["asks two things"])
    assert "?" not in words["no question mark"]
    assert words["a turn early"].count("Before I do it, what is your") >= len(asked["a turn early"])
