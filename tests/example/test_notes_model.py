"""What a language model said in every role of the notes agent: recorded, and played again here without a network."""

import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.results.document import read

EXAMPLE = Path(__file__).parents[2] / "example_project"
SAID = EXAMPLE / "bench" / "notes" / "with_a_model" / "cassette.jsonl"


@pytest.fixture
def results(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, ...]:
    """The recorded suite, replayed in a folder of its own."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.syspath_prepend(str(pytester.path))
    for name in [name for name in sys.modules if name.partition(".")[0] in {"bench", "notes"}]:
        monkeypatch.delitem(sys.modules, name)  # another test of this process may have played the example where it lies
    for name in ("notes", "bench/notes"):
        shutil.copytree(EXAMPLE / name, pytester.path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (pytester.path / "bench" / "__init__.py").touch()
    shutil.copy(EXAMPLE / "notes_llm.agentbench.yaml", pytester.path)
    pytester.runpytest_inprocess(
        "--agentbench", "-p", "agentbench", "notes_llm.agentbench.yaml", "--agentbench-cassette=replay"
    )
    return read(pytester.path / ".agentbench" / "results.json").results


def test_a_language_model_in_every_role_passes_the_scenarios(results: tuple[Result, ...]) -> None:
    """Twelve questions of all four classes, in both languages and in other words than the notes'."""
    assert len(results) == 12
    assert Counter(tag for one in results for tag in one.tags if tag.startswith("class:")) == {
        "class:S1": 3,
        "class:S2": 3,
        "class:S3": 2,
        "class:S4": 4,
    }
    assert [one.key.scenario for one in results if not one.passed] == []


def test_every_role_was_played_and_every_plan_was_valid() -> None:
    """Plans, thoughts, answers, judgements, one answer improved, memories chosen; no plan had to go back."""
    asked = [one["request"]["messages"][-1]["content"] for one in _exchanges() if one["request"].get("messages")]
    roles = Counter(text.partition(" ")[0] for text in asked)

    assert roles == {"You": 19, "Do": 23, "Answer": 19, "Judge": 21, "Improve": 1, "Decide": 3}
    assert not any("Your last plan was refused" in text for text in asked)


def test_a_wrong_answer_that_the_notes_say_nothing_was_rejected_and_mended() -> None:
    """The search of our own held what the model's plan had not found: the critic gave 0 for accuracy, then 10."""
    judged = [
        json.loads(one["response"]["choices"][0]["message"]["content"])["scores"]["accuracy"]
        for one in _exchanges()
        if one["request"].get("messages", [{}])[-1].get("content", "").startswith("Judge")
    ]

    assert judged.count(0) == 1
    assert judged[judged.index(0) + 1] == 10


def _exchanges() -> list[dict]:
    return [json.loads(line) for line in SAID.read_text(encoding="utf-8").splitlines()[1:]]
