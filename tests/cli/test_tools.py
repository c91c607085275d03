"""`agentbench tools` and what `agentbench validate` makes of a committed list."""

import json
import sys
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.environment.schema_tools import read_schema_tools
from pytest_agentbench.validation.scenario import validate

pytest.importorskip("mcp")

SERVER = Path(__file__).parents[1] / "environment" / "mcp" / "server.py"
SUITE = """
agent: nowhere:build
environment:
  tools: {{mcp: {{command: [{python}, {server}]}}{list}}}
scenarios:
  - {{id: echo, says: ["Say hi"], expect: [{{echo: {{text: hi}}}}], match: {{expected_calls: all}}}}
"""


def suite(folder: Path, listed: str = "") -> Path:
    """Write a suite on the server."""
    file = folder / "agentbench.yaml"
    file.write_text(SUITE.format(python=sys.executable, server=SERVER, list=listed), encoding="utf-8")
    return file


def test_the_list_is_what_a_suite_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds tools, arguments and kinds, and is a file that describes tools."""
    listed = tmp_path / "tools.json"
    file = suite(tmp_path, ", list: tools.json")  # which is not there yet
    assert main(["validate", str(file)]) == 2

    status = main(["tools", str(file), "-o", str(listed)])

    assert "`agentbench tools SUITE -o FILE` writes it" in capsys.readouterr().err

    specs = {spec.name: spec for spec in read_schema_tools(listed)}
    assert (status, len(specs)) == (0, 12)
    assert (specs["echo"].kind, specs["forget"].kind) == ("read", "write")
    assert specs["echo"].parameters["properties"] == {"text": {"type": "string"}}


def test_a_recipe_need_not_have_written_anything(tmp_path: Path) -> None:
    """Tools are what somebody looks at before scenarios are generated."""
    file = suite(tmp_path)
    head, _, _ = file.read_text(encoding="utf-8").partition("scenarios:")
    recipe = "scenarios: [generated/scenarios/*.yaml]\ngenerate: {from: tools, count: 2}\n"
    file.write_text(head + recipe, encoding="utf-8")
    listed = tmp_path / "tools.json"

    assert main(["tools", str(file), "-o", str(listed)]) == 0
    assert len(read_schema_tools(listed)) == 12


def test_a_server_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2 and what to do."""
    file = suite(tmp_path)
    file.write_text(file.read_text(encoding="utf-8").replace(str(SERVER), "nowhere.py"), encoding="utf-8")

    assert main(["tools", str(file)]) == 2
    assert "can't open file" in capsys.readouterr().err


def test_validation_finds_out_what_tools_there_are(tmp_path: Path) -> None:
    """Without a list the server is asked: an expected call of a tool that it lacks is told."""
    file = suite(tmp_path)
    file.write_text(file.read_text(encoding="utf-8").replace("{echo:", "{ecco:"), encoding="utf-8")

    (scenario,) = validate(file, environ={}, mutate=False).scenarios

    assert "ecco" in scenario.issues[0].message
    assert "did you mean 'echo'" in scenario.issues[0].message


def test_validation_tells_where_a_list_no_longer_fits(tmp_path: Path) -> None:
    """A tool that is gone and one that takes other arguments; tools that are not listed are fine."""
    listed = [
        {"name": "echo", "parameters": {"type": "object", "properties": {"words": {}}}},
        {"name": "shout", "parameters": {"type": "object"}},
    ]
    (tmp_path / "tools.json").write_text(json.dumps(listed), encoding="utf-8")

    problems = "\n".join(validate(suite(tmp_path, ", list: tools.json"), environ={}, mutate=False).problems)

    assert "'echo' takes other arguments: no more 'words', now 'text'" in problems
    assert "'shout' is not there any more" in problems
    assert "agentbench tools SUITE -o FILE" in problems
