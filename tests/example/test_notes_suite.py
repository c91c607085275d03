"""The notes suite: eighty tasks in four classes, of which the recorded ones replay in every configuration."""

import random
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.llm.cassette.file import read_cassette
from pytest_agentbench.results.document import read
from pytest_agentbench.suites.suite_file import load_suite

EXAMPLE = Path(__file__).parents[2] / "example_project"
BENCH = EXAMPLE / "bench" / "notes"
CLASSES = [f"class:S{number}" for number in range(1, 5)]
VARIANTS = {"full", "memory", "planner", "baseline"}


@pytest.fixture(scope="module")
def suite() -> Suite:
    """The notes suite."""
    return load_suite(EXAMPLE / "notes.agentbench.yaml", environ={})


def test_twenty_tasks_of_each_class_and_four_of_each_chosen_by_seed(suite: Suite) -> None:
    """The seed alone decides which tasks are recorded; each later class has more turns than S1 and S2."""
    listed = {name: sorted(one.id for one in suite.scenarios if name in one.tags) for name in CLASSES}
    turns = {name: {len(one.lines) for one in suite.scenarios if name in one.tags} for name in CLASSES}

    assert {name: len(ids) for name, ids in listed.items()} == dict.fromkeys(CLASSES, 20)
    assert [turns[name] for name in CLASSES] == [{1}, {1}, {3}, {2, 3}]
    chosen = {one.id for one in suite.scenarios if "sample" in one.tags}
    assert chosen == {one for ids in listed.values() for one in random.Random(7).sample(ids, 4)}


def test_every_note_that_an_answer_has_to_name_is_in_the_vault() -> None:
    """What is to be cited is there to be cited, by one note alone."""
    notes = [path.relative_to(BENCH / "vault").as_posix() for path in (BENCH / "vault").rglob("*.md")]
    written = "".join(path.read_text(encoding="utf-8") for path in sorted((BENCH / "scenarios").glob("*.yaml")))
    cited = set(re.findall(r'"([^"\n]+\.md)"', written))

    assert len(cited) >= 40
    assert [name for name in sorted(cited) if sum(path.endswith(f"/{name}") for path in notes) != 1] == []


@pytest.fixture
def results(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, ...]:
    """The recorded part of the suite, replayed in a folder of its own, without a key and a server."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(pytester.path))
    for name in [name for name in sys.modules if name.partition(".")[0] in {"bench", "notes"}]:
        monkeypatch.delitem(sys.modules, name)  # another test of this process may have played the example where it lies
    for name in ("notes", "bench/notes"):
        shutil.copytree(EXAMPLE / name, pytester.path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXAMPLE / "notes.agentbench.yaml", pytester.path)
    arguments = ("notes.agentbench.yaml", "--agentbench-cassette=replay", "--agentbench-variant=all", "-rs")
    played = pytester.runpytest_inprocess("--agentbench", "-p", "agentbench", *arguments)
    played.stdout.fnmatch_lines(["SKIPPED*not recorded in cassette.jsonl*"])
    assert played.ret in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
    return read(pytester.path / ".agentbench" / "results.json").results


@pytest.mark.slow
def test_what_is_recorded_replays_with_equal_numbers_of_each_class(results: tuple[Result, ...]) -> None:
    """The same tasks in all four configurations; no run misses an answer, and nothing is asked live."""
    held = {name for name in read_cassette(BENCH / "cassette.jsonl").runs if name.scenario}
    counted = Counter((one.key.variant, tag) for one in results for tag in one.tags if tag in CLASSES)

    assert {one.key.scenario for one in results} == {name.scenario for name in held}
    assert {variant for variant, _ in counted} == VARIANTS
    assert len(set(counted.values())) == 1
    assert len(counted) == 16
    assert [str(one.key) for one in results if not one.scored] == []
    assert all(one.usage["agent"].replayed and not one.usage["agent"].calls for one in results)
