"""The command line: what it prints, writes and returns."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.suites.schema_suite import SCHEMAS

SUITE = "agent: a:b\ncontext: {token: '${TOKEN}'}\nscenarios:\n  - {id: one, says: ['Hi ${NAME}'], expect: [look]}\n"
TASKS = '[{"user_id": "a", "instruction": "x", "actions": []}]'


def test_export_writes_tau2_json_without_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A suite becomes a τ² task list in which variables stay variables, set or not."""
    path = tmp_path / "agentbench.yaml"
    path.write_text(SUITE)
    assert main(["export", str(path)]) == 0
    (task,) = json.loads(capsys.readouterr().out)
    assert task["id"] == "one"
    assert task["agentbench"]["says"] == ["Hi ${NAME}"]
    assert task["evaluation_criteria"]["actions"] == [{"action_id": "one_0", "name": "look", "arguments": {}}]


@pytest.mark.parametrize("name", ["s.yaml", "t.json", "odd-name.yaml"])
def test_export_takes_scenario_files_and_suites_of_any_name(tmp_path: Path, name: str) -> None:
    """A file of scenarios is exported by itself; a suite is known by its content."""
    path = tmp_path / name
    path.write_text({"s.yaml": "id: one\n", "t.json": '{"id": "one"}', "odd-name.yaml": SUITE}[name])
    out = tmp_path / "out.json"
    assert main(["export", str(path), "-o", str(out)]) == 0
    assert [task["id"] for task in json.loads(out.read_text())] == ["one"]


def test_convert_writes_scenarios_that_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A τ-bench list becomes a file that `export` reads."""
    (tmp_path / "v1.json").write_text(TASKS)
    out = tmp_path / "tasks.json"
    assert main(["convert", str(tmp_path / "v1.json"), "-o", str(out)]) == 0
    assert main(["export", str(out)]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text())


@pytest.mark.parametrize("kind", ["suite", "scenario"])
def test_schema_prints_the_schema(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The printed schema is the one the reader uses."""
    assert main(["schema", kind]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMAS[kind]


@pytest.mark.parametrize(
    ("text", "message"),
    [("agent: a:b\n", "the key 'scenarios' is missing"), ("[", "this is not YAML"), ("\0", "NUL byte")],
)
def test_faults_are_text_on_stderr_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    """A bad file is explained without a traceback."""
    path = tmp_path / "agentbench.yaml"
    path.write_text(text)
    assert main(["export", str(path)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert str(path) in captured.err
    assert captured.out == ""


def test_a_target_that_cannot_be_written_is_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unwritable output is explained."""
    assert main(["schema", "-o", str(tmp_path / "no" / "folder")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["fly"], 2), (["--help"], 0), (["schema", "x"], 2)])
def test_wrong_commands_print_usage(arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Usage errors are status 2, help is status 0."""
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert "usage: agentbench" in captured.out + captured.err


def test_help_loads_no_third_party_module() -> None:
    """Help is printed by the standard library alone."""
    code = (
        "import sys; from pytest_agentbench.cli import main; main(['--help']);"
        "sys.exit(any(name in sys.modules for name in ('pydantic', 'yaml', 'pytest', 'httpx', 'openai')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
