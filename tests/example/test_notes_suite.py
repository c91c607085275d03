"""The notes suite: eighty scenarios in four classes over a vault worth searching, none of which knows the agent."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.suites.suite_file import load_suite

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "example_project"
BENCH = EXAMPLE / "bench" / "notes"
ELSEWHERE = ROOT / "benchmarks" / "notes_elsewhere.yaml"


@pytest.fixture(scope="module")
def suite() -> Suite:
    """The notes suite."""
    return load_suite(EXAMPLE / "notes.agentbench.yaml", environ={})


def test_there_are_twenty_scenarios_of_each_class(suite: Suite) -> None:
    """Each scenario has one class, and every class as many."""
    classes = [[tag for tag in one.tags if tag.startswith("class:")] for one in suite.scenarios]

    assert all(len(found) == 1 for found in classes)
    assert Counter(found[0] for found in classes) == {f"class:S{number}": 20 for number in range(1, 5)}


def test_both_languages_are_asked_in_every_class(suite: Suite) -> None:
    """Three of five scenarios of a class are English, the others French."""
    counted = Counter(tuple(sorted(one.tags)) for one in suite.scenarios)

    assert set(counted.values()) == {12, 8}


def test_conversations_have_three_turns_and_more(suite: Suite) -> None:
    """What is asked in context is asked at least three times."""
    contextual = [one for one in suite.scenarios if "class:S3" in one.tags]

    assert all(len(one.says) >= 3 for one in contextual)


def test_no_scenario_or_check_names_a_part_of_the_agent(suite: Suite) -> None:
    """Neither a module of the agent nor a variant stands in what judges it, but where a user may say the word."""
    modules = {file.stem for file in (EXAMPLE / "notes").rglob("*.py")} - {"__init__", "tools"}
    dotted = re.compile(rf"(?<![\w.])notes\.({'|'.join(sorted(modules))})\b")
    settings = re.compile(r"\b(planner|reflection|without_\w+|baseline|variant|NotesAgent)\b")
    texts = [file.read_text(encoding="utf-8") for file in sorted(BENCH.glob("scenarios/*.yaml"))]
    texts += [(BENCH / name).read_text(encoding="utf-8") for name in ("checks.py", "policies.yaml")]

    assert len(texts) == 6
    assert [found for text in texts for found in (*dotted.findall(text), *settings.findall(text))] == []


def test_every_source_is_a_note_of_the_vault(suite: Suite) -> None:
    """What an answer has to cite is there to be cited."""
    notes = [path.relative_to(BENCH / "vault").as_posix() for path in (BENCH / "vault").rglob("*.md")]
    cited = {str(told) for one in suite.scenarios for told in one.communicate_info if str(told).endswith(".md")}

    assert len(cited) >= 40
    assert [name for name in cited if sum(path.endswith(f"/{name}") for path in notes) != 1] == []


def test_the_vault_has_long_notes_and_notes_without_headings() -> None:
    """At least sixty notes, six of 300 to 1,000 lines, and six whose parts no heading names."""
    texts = [path.read_text(encoding="utf-8-sig") for path in sorted((BENCH / "vault").rglob("*.md"))]
    headed = re.compile(r"^(#|=+$|-{4,}$)", re.MULTILINE)

    assert len(texts) >= 60
    assert sum(300 <= len(text.splitlines()) <= 1000 for text in texts) >= 6
    assert sum(not headed.search(text) for text in texts) >= 6


def test_questions_on_the_documentation_of_others_cover_the_classes() -> None:
    """Forty questions, ten of each class and twenty of each language, with a fact or its absence for each."""
    asked = yaml.safe_load(ELSEWHERE.read_text(encoding="utf-8"))["questions"]

    assert Counter(one["class"] for one in asked) == {f"S{number}": 10 for number in range(1, 5)}
    assert Counter(one["language"] for one in asked) == {"en": 20, "fr": 20}
    assert all(len(one["facts"]) == len(one["says"]) for one in asked)
    assert all(any(one["facts"]) or one.get("none") for one in asked)
