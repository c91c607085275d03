"""Conversations in which a language model answered as the simulated user, replayed from their recording."""

import shutil
from pathlib import Path

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.results.document import read
from pytest_agentbench.results.run_directory import read_transcript
from tests.forking import Worker, session

HERE = Path(__file__).parent / "conversations"
SUITES = ("agentbench.yaml", "parcel.agentbench.yaml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replay both suites without a server or a key; give the folder in which it was done."""
    folder = tmp_path_factory.mktemp("conversations")
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            patch.delenv(name, raising=False)
        assert Worker(session, folder, "--agentbench-cassette=replay", *SUITES).result() == 0
    return folder


@pytest.fixture
def results(folder: Path) -> dict[str, Result]:
    """What came of each scenario."""
    return {one.key.scenario: one for one in read(folder / ".agentbench" / "results.json").results}


def user_turns(folder: Path, result: Result) -> list[Message]:
    """Give what the user said in a run."""
    (file,) = (folder / ".agentbench" / "runs").glob(f"*/{result.transcript}")
    return [one for one in read_transcript(file).messages if one.role == "user" and one.text]


def test_what_a_language_model_says_as_the_user(results: dict[str, Result]) -> None:
    """Each run closes as done and passes, the consents are known by the labels alone, and every modifier shows."""
    assert {(one.termination, one.stop_reason) for one in results.values()} == {("FINISHED", "done")}
    assert [name for name, one in results.items() if not one.passed] == []
    assert {(outcome.policy, outcome.kept) for one in results.values() for outcome in one.policies} == {("ask", True)}
    faults = [finding for one in results.values() for finding in one.findings if finding.kind == "user"]
    assert {(finding.check, finding.passed) for finding in faults} == {
        (f"modifier {name}", True) for name in ("impatient", "wrong_value_first", "adds_intent")
    }


def test_its_turns_say_what_they_mean_and_how_far_it_got(folder: Path, results: dict[str, Result]) -> None:
    """No turn is without acts; all that is wanted is open at first and done at last; yes is about what was put."""
    for result in results.values():
        turns = user_turns(folder, result)
        assert all(turn.acts for turn in turns)
        assert not any(item.done for item in turns[0].goal_items)
        agreed = [act.about for turn in turns for act in turn.acts or () if act.kind == "confirm"]
        assert agreed
        assert all(agreed)
