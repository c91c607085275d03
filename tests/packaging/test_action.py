"""The GitHub Action, by its steps: the scripts of `action.yml` run here as a runner runs them, without a network."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash")

pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash")

AGENT = "def build():\n    return lambda message: 'From 9 am.' if 'open' in message else 'I do not know.'\n"
SUITE = """\
agent: action_agent:build
scenarios:
  - {id: hours, says: ["When are you open?"], communicate: ["9 am"]}
  - {id: price, says: ["What does it cost?"], communicate: ["12 euros"]}
gates: ["success >= GATE"]
"""
GH = """\
#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$GH_LOG"
for word in "$@"; do case "$word" in body=@*) cat "${word#body=@}" > "$GH_LOG.body" ;; esac; done
case "$*" in *--paginate*) printf '%s' "$GH_FOUND" ;; esac
exit "${GH_STATUS:-0}"
"""


@dataclass
class Runner:
    """A runner's temporary folder, and the steps of the action by their names."""

    temporary: Path
    project: Path
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)

    def step(self, name: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the script of a step with these variables in the place of its expressions."""
        step = self.steps[name]
        expressions = set(step.get("env", {}))
        assert expressions <= set(environ), "a test gives every input of the step"
        script = self.temporary / ("step.py" if step["shell"] == "python" else "step.sh")
        script.write_text(step["run"], encoding="utf-8")
        path = os.pathsep.join([str(self.temporary / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        told = {
            "PATH": path,
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_OUTPUT": str(self.temporary / "output"),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "summary"),
            "GITHUB_REPOSITORY": "team/agent",
            "PYTEST_ADDOPTS": "-p agentbench",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "GH_LOG": str(self.temporary / "gh"),
        }
        command = [sys.executable, str(script)] if step["shell"] == "python" else [str(BASH), "-eo", "pipefail", script]
        return subprocess.run(
            [str(part) for part in command],
            cwd=self.project,
            env={**os.environ, **told, **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    def outputs(self) -> dict[str, str]:
        """Take the outputs of the step that ran last."""
        output = self.temporary / "output"
        found = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
        output.unlink()
        return found

    def play(self, *, arguments: str = "", branch: str = "work") -> dict[str, str]:
        """Run the suite; give the outputs of the step."""
        assert self.step("Name the files", NAME="bench").returncode == 0
        files = self.outputs()
        done = self.step(
            "Run",
            PATHS="'agentbench.yaml'",
            ARGUMENTS=arguments,
            FOLDER=files["folder"],
            BASELINE=files["baseline"],
            BASE_BRANCH="main",
            GITHUB_REF=f"refs/heads/{branch}",
        )
        assert done.returncode == 0, done.stderr
        return self.outputs()

    def comment(self, **environ: str) -> subprocess.CompletedProcess[str]:
        """Write the comment of a pull request."""
        told = {"GH_TOKEN": "t", "NAME": "bench", "NUMBER": "7", "FOLDER": str(self.temporary / "agentbench-bench")}
        return self.step("Comment", **{**told, "GH_FOUND": "", **environ})


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """Give a runner with a project whose first scenario passes and whose second fails, and a `gh` that notes down."""
    project, tools = tmp_path / "project", tmp_path / "temp" / "bin"
    project.mkdir()
    tools.mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")  # of the repository, above the working directory
    (project / "action_agent.py").write_text(AGENT)
    (project / "agentbench.yaml").write_text(SUITE.replace("GATE", "0.4"))
    (tools / "gh").write_text(GH)
    (tools / "gh").chmod(0o755)
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    return Runner(tools.parent, project, {step["name"]: step for step in steps})


def test_no_script_holds_an_expression_and_every_input_is_used(runner: Runner) -> None:
    """What somebody wrote into a pull request never becomes code: inputs reach scripts as variables alone."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    text = str(action["runs"])

    assert [name for name, step in runner.steps.items() if "${{" in step.get("run", "")] == []
    assert [name for name in action["inputs"] if f"inputs.{name}" not in text] == []
    assert all("shell" in step for step in runner.steps.values() if "run" in step)
    assert "runner.temp" not in text.replace(runner.steps["Name the files"]["run"], "")  # wrong in a container
    refused = runner.step("Name the files", NAME='a" or true')
    assert (refused.returncode, "letters, digits" in refused.stdout) == (1, True)


@pytest.mark.slow
def test_gates_decide_and_the_report_is_kept_and_told(runner: Runner) -> None:
    """A held gate is status 0, a failure on a selection without gates is not; the files are there in any case.

    One comment is written and then written anew: it is found by its mark; without the permission the job goes on.
    """
    outputs = runner.play()

    folder = Path(outputs["folder"])
    assert (outputs["status"], outputs["keep"]) == ("0", "false")
    assert {path.name for path in folder.iterdir()} == {"results.json", "report.html", "report.md", "junit.xml"}
    assert (runner.temporary / "summary").read_text() == (folder / "report.md").read_text()

    assert "is in a comment" in runner.comment().stdout
    assert "is in a comment" in runner.comment(GH_FOUND="41\n42\n").stdout
    refused = runner.comment(GH_STATUS="1")

    called = [line for line in (runner.temporary / "gh").read_text().splitlines() if not line.startswith("api user")]
    body = (runner.temporary / "gh.body").read_text()
    assert body.startswith("<!-- agentbench:bench -->\n")
    assert body.partition("\n")[2] == (runner.temporary / "agentbench-bench" / "report.md").read_text()
    assert "api -X POST repos/team/agent/issues/7/comments" in called[1]
    assert "api -X PATCH repos/team/agent/issues/comments/41 " in called[3]
    assert (refused.returncode, "::notice::no comment was written" in refused.stdout) == (0, True)
    assert len(called) == 5

    assert runner.play(arguments="-m \"agentbench(scenario='price')\"")["status"] == "1"
    assert runner.step("Gate", STATUS="1").returncode == 1
    assert runner.step("Gate", STATUS="0").returncode == 0
    assert runner.step("Gate", STATUS="").returncode == 1


@pytest.mark.slow
def test_pull_requests_are_compared_with_the_default_branch(runner: Runner) -> None:
    """The results of `main` are kept, and a later session of another branch says what became worse."""
    assert runner.play(branch="main")["keep"] == "true"
    assert (runner.temporary / "agentbench-bench-baseline.json").is_file()
    assert runner.play(branch="main")["keep"] == "true"
    (runner.project / "action_agent.py").write_text(AGENT.replace("9 am", "noon"))

    outputs = runner.play()

    assert (outputs["status"], outputs["keep"]) == ("1", "false")
    assert "hours" in (Path(outputs["folder"]) / "report.md").read_text().partition("baseline")[2]


@pytest.mark.slow
def test_a_session_that_broke_off_is_no_green_job(runner: Runner) -> None:
    """An agent that leaves its process ends pytest with 0; the job fails, and says so."""
    (runner.project / "action_agent.py").write_text("import os\n\ndef build():\n    os._exit(0)\n")

    outputs = runner.play()

    assert outputs["status"] != "0"
    assert "No report of agentbench: pytest ended with status 0. not complete" in (
        runner.temporary / "summary"
    ).read_text(encoding="utf-8")
