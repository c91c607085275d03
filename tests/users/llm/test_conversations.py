"""Twenty conversations in which a language model answered as the simulated user, replayed from their recording.

They were read when they were recorded: in each the user closed when all that it wanted was done or refused, and
none of its messages was at fault. One run fails, by the agent: it does not come back from a wrong account.
"""

import shutil
from pathlib import Path

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.results.document import Document, read

HERE = Path(__file__).parent / "conversations"
EXAMPLE = Path(__file__).parents[3] / "example_project"


def replayed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Document:
    """Lay the suite out beside the example's agent, and replay it without a server or a key."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    shutil.copytree(EXAMPLE / "support", pytester.path / "support")
    shutil.copytree(EXAMPLE / "bench" / "support", pytester.path / "bench" / "support")
    shutil.copy(HERE / "suite.yaml", pytester.path / "agentbench.yaml")
    shutil.copy(HERE / "agentbench.cassette.jsonl", pytester.path)
    pytester.runpytest_subprocess("-p", "agentbench", "--agentbench", "--agentbench-cassette=replay", timeout=120)
    return read(pytester.path / ".agentbench" / "results.json")


def notes(result: Result) -> dict[str, bool | None]:
    """Give what a result says of its simulated user, by check."""
    return {finding.check: finding.passed for finding in result.findings if finding.kind == "user"}


def test_what_a_language_model_says_as_the_user(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every conversation closes as done, no guard rail finds a fault that stays, and every modifier shows."""
    results = {result.key.scenario: result for result in replayed(pytester, monkeypatch).results}

    said = sum(result.usage["user"].replayed for result in results.values())
    shown = {name: notes(result) for name, result in results.items() if notes(result)}
    with capsys.disabled():
        print(f"\n{len(results)} conversations, {said} messages of the user; modifiers: {shown}")
    assert len(results) == 20
    assert {(result.termination, result.stop_reason) for result in results.values()} == {("FINISHED", "done")}
    assert [name for name, result in results.items() if not result.passed] == ["wrong-first"]
    assert {str(result.blame) for result in results.values() if not result.passed} == {"agent"}
    assert shown == {
        "impatient-cancel": {"modifier impatient": True},
        "forgets": {"modifier forgets_identifier": True},
        "wrong-first": {"modifier wrong_value_first": True},
        "changes-mind": {"modifier changes_mind": True},
        "one-more-thing": {"modifier adds_intent": True},
        "off-topic": {"modifier out_of_scope": True},
        "fr-impatiente": {"modifier impatient": True},
        "fr-hors-sujet": {"modifier out_of_scope": True},
        "fr-mauvais-numero": {"modifier wrong_value_first": True},
    }
