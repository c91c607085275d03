"""Everything that the documentation shows is run.

Each page of `docs/` is a project of its own, and its fenced blocks are read from top to bottom:

- A block whose first line is a comment naming a file (`# bench/agentbench.yaml`, `-- bench/schema.sql`), or whose info
  string says `file=bench/state.json`, is written to that file. A later block of the same name replaces it.
- In a `console` block every line after `$ ` is run by a shell in the project, with what this Python has installed. The
  lines below it must be printed in that order, with other lines between them; `…` and `...` stand for any text, a
  line of `…` alone says nothing, and spaces count once. The command must succeed, unless the lines shown hold *failed*,
  *error* or *missed*, or `$ echo $?` follows and tells the status.
- `yaml scenario` and `yaml suite` mark parts of such files: they must fit the schema. `needs=package` passes over a
  block where the package is missing.
- Every other `python`, `yaml` and `json` block must at least parse.
"""

import ast
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.core.file_models import form_misfits
from pytest_agentbench.core.gate_grammar import KINDS, parse_gate
from pytest_agentbench.spec.scenario import ScenarioForm
from pytest_agentbench.spec.suite import SuiteFile
from pytest_agentbench.suites.json_schemas import file_schema
from tests.docs.pages import ROOT, Block, Command, blocks, codes, commands, first_cells, name_of, pages, prose
from tests.tables import each

PAGES = {name_of(page): page for page in pages()}

_INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
"""Keeps a plugin that may be installed here from warning about what no page is about."""


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_happens(page: str, tmp_path: Path) -> None:
    """Files are written, commands run, and what they print is what the page says."""
    show(PAGES[page], tmp_path / "project")


@each("page", PAGES)
def test_every_block_is_well_formed(page: str) -> None:
    """Python compiles, YAML and JSON parse, and parts of suites and scenarios fit their schema."""
    for block in blocks(PAGES[page]):
        if block.language == "python":
            ast.parse(block.text, str(block))
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            check_yaml(block)


@each("page", [*PAGES, "CHANGELOG"])
def test_links_lead_somewhere(page: str) -> None:
    """A link to a file of this repository names one that is there, and a heading that it has."""
    file = PAGES.get(page, ROOT / "CHANGELOG.md")
    text = re.sub(r"(?m)^\[([^]]+)\]: (\S+)$", r"[\1](\2)", prose(file.read_text(encoding="utf-8")))
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
        there = file.parent / target if target else file
        assert there.exists(), f"{page}: {target}"
        assert not anchor or anchor in anchors(there.read_text(encoding="utf-8")), f"{page}: {target}#{anchor}"


def test_every_key_is_documented_and_no_other() -> None:
    """The tables of the page on keys list the keys of the schemas; nested keys stand somewhere on the pages."""
    text = PAGES["reference/suite"].read_text(encoding="utf-8")
    nested = set(property_names(file_schema("suite"))) | set(property_names(file_schema("scenario")))

    assert set(first_cells(text, "## Suite files")) == set(SuiteFile.keys())
    assert set(first_cells(text, "## Scenarios")) == set(ScenarioForm.keys())
    assert nested - codes(everything()) == set()


def test_every_gate_is_documented_and_no_other() -> None:
    """The table of the CI page lists what a gate may be about."""
    cells = first_cells(PAGES["how-to/ci"].read_text(encoding="utf-8"), "## Gates")

    assert {parse_gate(cell).metric for cell in cells} == set(KINDS)


def test_the_readme_opens_with_a_failure_that_it_makes_later() -> None:
    """Each line of the failure at its top is printed by a command below."""
    found = blocks(PAGES["README"])
    [opening] = [block for block in found if block.language == "text"]
    printed = {line for block in found if block.language == "console" for line in block.text.splitlines()}

    assert [line for line in opening.text.splitlines() if line not in printed] == []


def test_each_cell_about_another_tool_has_a_source() -> None:
    """A cell of the comparison links to a page, unless nothing was found on the pages that the head links to."""
    text = PAGES["README"].read_text(encoding="utf-8").partition("\n## Beside other tools\n")[2].partition("\n## ")[0]
    head, _, *rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    sources = dict(re.findall(r"(?m)^\[([^]]+)\]: (\S+)$", text))
    parts = {part.strip() for _, *row in rows for cell in row for part in cell.split("; ")} - {"not found", "–"}
    linked = {part: re.findall(r"\]\[([\w-]+)\]", part) for part in parts}

    assert [name for name in head[2:] if name.strip(" []") not in sources] == []
    assert [part for part, names in linked.items() if not names] == []
    assert {name for names in linked.values() for name in names} <= sources.keys()


def show(page: Path, project: Path) -> None:
    """Write the files of a page into a new project and run its commands, in order."""
    project.mkdir()
    (project / "pytest.ini").write_text(_INI)
    for block in blocks(page):
        if missing(block):
            continue
        if block.file is not None:
            write(project / block.file, block.text)
        if block.language == "console":
            run_all(block, project)


def anchors(text: str) -> set[str]:
    """The addresses of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def everything() -> str:
    """All pages as one text."""
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES.values())


def missing(block: Block) -> bool:
    """Whether a package that the block needs is not installed."""
    return not all(map(installed, block.packages))


def installed(package: str) -> bool:
    """Whether a distribution brings the package: a folder of that name on the path, an example's, is none."""
    return package.partition(".")[0] in importlib.metadata.packages_distributions()


def write(file: Path, text: str) -> None:
    """Write a file of the project."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def run_all(block: Block, project: Path) -> None:
    """Run the commands of a block, and compare what they print."""
    status = 0
    listed = commands(block)
    for command, following in zip(listed, [*listed[1:], None], strict=True):
        if command.line == "echo $?":
            assert command.shown == (str(status),), f"{block}: the status is {status}"
            continue
        done = subprocess.run(
            ["bash", "-c", command.line],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
            env=environment(project),
            timeout=120,
        )
        printed, status = done.stdout + done.stderr, done.returncode
        told = following is not None and following.line == "echo $?"
        if not told and not re.search("failed|error|missed", " ".join(command.shown), re.IGNORECASE):
            assert status == 0, f"{block}: $ {command.line}\nstatus {status}\n{printed}"
        compare(block, command, printed)


def compare(block: Block, command: Command, printed: str) -> None:
    """Find the lines shown among those printed, in order."""
    rest = iter([" ".join(line.split()) for line in printed.splitlines()])
    for shown in command.shown:
        pattern = re.escape(" ".join(shown.split())).replace(re.escape("..."), ".*").replace("…", ".*")
        if not any(re.fullmatch(pattern, line) for line in rest):
            pytest.fail(f"{block}: $ {command.line}\nnot printed (any more): {shown}\n\n{printed}", pytrace=False)


def environment(project: Path) -> dict[str, str]:
    """The environment of a command: this Python first, and nothing of the session that runs this test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "CI"))}
    return {
        **kept,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")]),
        "PYTEST_ADDOPTS": "-p no:randomly -p no:rerunfailures",
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "HOME": str(project),
    }


def check_yaml(block: Block) -> None:
    """Check a part of a suite or of a scenario against the schema; any other block only parses."""
    value = yaml.safe_load(block.text)
    if "scenario" in block.words:
        for one in value if isinstance(value, list) else [value]:
            assert not form_misfits({"id": "part", **one}, ScenarioForm), block
    elif "suite" in block.words:
        whole = {"agent": "agent:build", "scenarios": [{"id": "part"}], **value}
        assert not form_misfits(whole, SuiteFile), block


def property_names(schema: dict[str, Any]) -> Iterator[str]:
    """The keys that a schema knows, at any depth."""
    for key, value in schema.items():
        if key == "properties":
            yield from value
        if isinstance(value, dict):
            yield from property_names(value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from property_names(item)
