"""What the code knows stands in the documentation as it is, and the site lists every page."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
import yaml

from pytest_agentbench.checks.auditor.findings import ROWS
from pytest_agentbench.core.file_models import Written
from pytest_agentbench.generation.draft import HELPS, Reason
from pytest_agentbench.spec.scenario import ScenarioForm
from pytest_agentbench.spec.suite import SuiteFile
from tests.docs.pages import DOCS, ROOT, pages
from tests.tables import each

GLOSSARY = 30
"""Words that the glossary may have."""


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """Load `docs/_generate.py`."""
    spec = importlib.util.spec_from_file_location("_generate", DOCS / "_generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def site() -> dict[str, Any]:
    """Read the site's configuration."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    return found


def test_tables_say_what_the_code_says(generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/_generate.py` would write the same tables; the pages name the same options, settings, commands."""
    told = generator.pytest_help()
    monkeypatch.setattr(generator, "pytest_help", lambda: told)
    commands = re.findall(r"(?m)^  +([a-z][\w-]*)  ", "\n".join(generator.agentbench("--help")))
    shown = "\n".join(one.read_text(encoding="utf-8") for one in pages())

    for name, tables in generator.TABLES.items():
        page = (DOCS / name).read_text(encoding="utf-8")
        assert generator.with_tables(page, tables) == page, name
    assert set(re.findall(r"--agentbench[\w-]*", shown)) == set(re.findall(r"--agentbench[\w-]*", told))
    assert set(re.findall(r"\bagentbench_\w+", told)) <= set(re.findall(r"\bagentbench_\w+", shown))
    assert set(re.findall(r"(?:\$ |`)agentbench ([\w-]+)", shown)) == set(commands)


def test_the_list_of_pages_is_kept_in_step(generator: ModuleType) -> None:
    """`python docs/_generate.py` would write the same `llms.txt`, one sentence a page."""
    assert generator.llms() == (DOCS / "llms.txt").read_text(encoding="utf-8")


def test_the_site_has_every_page_once() -> None:
    """No page is left out of the navigation."""
    listed = [page for section in site()["nav"] for pages_of in section.values() for page in pages_of]
    there = [page.relative_to(DOCS).as_posix() for page in pages() if page.is_relative_to(DOCS)]

    assert sorted(listed) == sorted(there)


def test_the_table_of_the_auditor_has_its_rows() -> None:
    """By name, in order, with what becomes of each."""
    text = (DOCS / "research" / "verdicts.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| `([a-z-]+)` \|.*\| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)

    assert [name for name, _, _ in lines] == [row.name for row in ROWS]
    assert [becomes for _, becomes, _ in lines] == [row.becomes for row in ROWS]
    assert [becomes for _, _, becomes in lines] == [row.deciding for row in ROWS]


@each(("heading", "model"), [("## Suite files", SuiteFile), ("## Scenarios", ScenarioForm)])
def test_keys_are_told_in_the_order_in_which_they_are_documented(heading: str, model: type[Written]) -> None:
    """An error lists them as the reference does."""
    text = (DOCS / "reference" / "suite.md").read_text(encoding="utf-8").partition(f"{heading}\n")[2]
    keys = re.findall(r"^\| \[?`([a-z_0-9]+)`", text.partition("\n## ")[0], re.MULTILINE)

    assert keys == list(model.keys())


def test_each_reason_of_a_lost_draft_says_what_helps() -> None:
    """The report and the documentation have the same table, and `mypy` holds each loss to its reasons."""
    assert sorted(get_args(Reason)) == sorted(one for several in HELPS.values() for one in several)


def test_the_glossary_is_short() -> None:
    """Nobody learns a longer one."""
    text = (DOCS / "start" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| \*\*", text, re.MULTILINE)

    assert 20 <= len(words) <= GLOSSARY


def test_pages_other_than_research_stay_short() -> None:
    """A reader gets through them, examples and tables included; a word has a letter or a digit."""
    words = {
        page: sum(bool(re.search(r"\w", word)) for word in page.read_text(encoding="utf-8").split())
        for page in pages()
        if page.is_relative_to(DOCS) and not page.is_relative_to(DOCS / "research")
    }

    assert sum(words.values()) <= 25_000


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed: the group `docs`")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Every link and every anchor leads somewhere."""
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "site" / "llms.txt").exists()
    shutil.rmtree(tmp_path / "site")
