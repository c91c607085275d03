"""The command line: what it prints, writes and returns."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.cli.schema import json_schema
from pytest_agentbench.suites.json_schemas import file_schema

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


@pytest.mark.parametrize("kind", ["suite", "scenario", "results"])
def test_schema_prints_the_schema_with_its_name(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The printed schema is the one the reader uses, and is named under the package's home."""
    assert main(["schema", kind]) == 0

    printed = json.loads(capsys.readouterr().out)
    home = distribution("pytest-agentbench").metadata.get_all("Project-URL") or []
    assert printed.pop("$id") == f"{home[0].partition(', ')[2]}/schema/v1/{kind}.json"
    assert printed == (json_schema() if kind == "results" else file_schema(kind))


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


@pytest.mark.parametrize(
    ("words", "completed"),
    [("agentbench expl", "explain"), ("agentbench init --sk", "--skill"), ("agentbench ex", "explain export")],
)
def test_bash_completes_names_and_options(capsys: pytest.CaptureFixture[str], words: str, completed: str) -> None:
    """The script is one that bash runs; what it offers is what the command takes."""
    bash = shutil.which("bash") or pytest.skip("there is no bash")
    assert main(["completion", "bash"]) == 0
    asked = words.split()
    script = (
        f"{capsys.readouterr().out}\nCOMP_WORDS=({words}) COMP_CWORD={len(asked) - 1}\n"
        '_agentbench; echo "${COMPREPLY[@]}"'
    )

    done = subprocess.run([bash, "-c", script], check=True, capture_output=True, text=True)

    assert done.stdout.split() == completed.split()


def test_other_shells_get_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """zsh reads the script of bash, fish one of its own."""
    assert main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out.startswith("autoload -U +X bashcompinit && bashcompinit\n_agentbench() {")
    assert main(["completion", "fish"]) == 0
    assert "'__fish_seen_subcommand_from init' -l skill -d 'write only instructions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(["valdate", "s.yaml"], "'validate'"), (["validate", "s.yaml", "--jsn"], "'--json'"), (["xyzzy"], "")],
)
def test_what_is_mistyped_is_probably_something_else(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command or the option that is nearest is named; nothing is where nothing is near."""
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert f"(did you mean {meant}?)" in told if meant else "did you mean" not in told
