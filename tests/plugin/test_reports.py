"""The reports beside the terminal's: written once, by the controller, from what was redacted."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from tests.plugin.project import AGENT, Project
from tests.plugin.test_gates import ONE_WRONG
from tests.report.html.page import parse

SECRET = "sparrow-4711-canary"

TELLING = """
import os

def build(tools):
    def reply(message):
        return "My key is " + os.environ["SHOP_KEY"] + "."
    return reply
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A suite of four scenarios, one of which fails."""
    made = Project(pytester=pytester)
    made.suite("a", "b", "c", "d", agent=ONE_WRONG)
    return made


@pytest.fixture(autouse=True)
def outside_of_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may themselves run there."""
    for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def test_the_page_holds_every_conversation(project: Project) -> None:
    """Runs, what was said and the divergent turn come from the session's own files."""
    project.run("--agentbench-html=out/report.html")

    page = parse((project.pytester.path / "out" / "report.html").read_text(encoding="ascii"))

    rows = page.data()["rows"]
    first = page.run(0)
    assert [row["verdict"] for row in rows] == ["failed", "passed", "passed", "passed"]
    assert [message["role"] for message in first["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert first["divergences"][0]["turn"] == 2
    assert (project.pytester.path / first["transcript"]).is_file()
    assert first["rerun"] == f"pytest --agentbench bench/agentbench.yaml::{rows[0]['name']} -vv"


def test_reports_over_results_files_are_those_of_the_session(project: Project) -> None:
    """`agentbench report` finds the transcripts beside the results, also through `.agentbench/results.json`."""
    project.run("--agentbench-html=one.html", "--agentbench-markdown=one.md")
    folder = project.pytester.path
    (run,) = (folder / ".agentbench" / "runs").iterdir()

    for results in (run / "results.json", folder / ".agentbench" / "results.json"):
        assert main(["report", "--html", "two.html", "--markdown", "two.md", str(results)]) == 0

        one, two = (parse((folder / name).read_text(encoding="ascii")) for name in ("one.html", "two.html"))
        assert two.data() == one.data()
        assert two.run(0)["messages"] == one.run(0)["messages"]
        assert (folder / "two.md").read_text("utf-8") == (folder / "one.md").read_text("utf-8")


def test_a_baseline_is_held_against_each_run(project: Project) -> None:
    """The reports say what changed, and each conversation where it left the way of that time."""
    folder = project.pytester.path
    project.write("bench/shop_agent.py", AGENT)
    project.run("--agentbench-save-baseline=base.json")
    project.write("bench/shop_agent.py", ONE_WRONG)
    project.run("--agentbench-baseline=base.json", "--agentbench-html=one.html", "--agentbench-markdown=one.md")

    main(["report", "--baseline", "base.json", "--html", "two.html", ".agentbench/results.json"])

    one, two = (parse((folder / name).read_text("ascii")) for name in ("one.html", "two.html"))
    (change,) = one.data()["changes"]
    assert change["lost"] == [["b", "1/1 → 0/1"]]
    assert [found["against"] for found in one.run(0)["divergences"]] == ["expected calls", "baseline"]
    assert one.run(0)["divergences"][1]["reason"] == (
        'the baseline made refund(order_id="W2"), this run refund(order_id="W0")'
    )
    assert two.run(0)["divergences"] == one.run(0)["divergences"]
    assert "| worse | `b` | 1/1 → 0/1 |" in (folder / "one.md").read_text("utf-8")


def test_secrets_reach_no_report(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a suite takes from the environment is hidden in every file."""
    monkeypatch.setenv("SHOP_KEY", SECRET)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    project = Project(pytester=pytester)
    project.suite("a", agent=TELLING, context={"key": "${SHOP_KEY}"})

    shown = project.run("--agentbench-html=r.html", "--agentbench-markdown=r.md")

    page = (pytester.path / "r.html").read_text("ascii")
    assert "My key is ***" in page
    assert SECRET not in page + (pytester.path / "r.md").read_text("utf-8") + shown.stdout.str()


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)])
def test_annotations_are_printed_once_where_github_runs_us(
    project: Project, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """With workers the controller alone prints them, and the path is that within the checkout."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.pytester.path.parent))

    lines = project.run(*workers, process="forked" if workers else "this").outlines

    (line,) = [line for line in lines if line.startswith("::")]
    assert line.startswith(f"::error file={project.pytester.path.name}/bench/agentbench.yaml,line=")


def test_elsewhere_nothing_is_annotated(project: Project) -> None:
    """A log that nobody reads commands off has none."""
    assert not [line for line in project.run().outlines if line.startswith("::")]


def test_the_summary_of_a_step_is_added_to(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other commands of the step write there too; any other file is replaced."""
    summary = project.write("summary.md", "before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    project.run(f"--agentbench-markdown={summary}")

    text = summary.read_text("utf-8")
    assert text.startswith("before\n### ")


def test_a_report_that_cannot_be_written_is_said_and_fails(project: Project) -> None:
    """The other reports are written all the same, and the results are not lost."""
    blocked = project.write("file", "")

    shown = project.run(f"--agentbench-html={blocked}/r.html", "--agentbench-markdown=r.md")

    assert shown.ret == 1
    shown.stdout.fnmatch_lines(["*the HTML report could not be written to *r.html: *"])
    assert (project.pytester.path / "r.md").exists()
    assert json.loads((project.pytester.path / ".agentbench" / "results.json").read_text())["results"]


@pytest.mark.parametrize("option", ["--agentbench-html", "--agentbench-markdown"])
def test_a_folder_is_refused_before_anything_runs(project: Project, option: str) -> None:
    """A wrong option is a usage error."""
    shown = project.run(f"{option}=bench")

    assert shown.ret == 4
    shown.stderr.fnmatch_lines([f"*{option}: bench is a folder; give the name of a file*"])


def test_a_results_file_leads_to_no_other_files(project: Project) -> None:
    """A path that leaves the run directory is not followed."""
    project.run()
    folder = project.pytester.path
    (run,) = (folder / ".agentbench" / "runs").iterdir()
    transcript = next((run / "transcripts").iterdir())
    Path(folder / "elsewhere.json").write_bytes(transcript.read_bytes())
    results = json.loads((run / "results.json").read_text())
    for result in results["results"]:
        result["transcript"] = "../../../elsewhere.json"
    (run / "results.json").write_text(json.dumps(results))

    main(["report", "--html", "r.html", str(run / "results.json")])

    assert parse((folder / "r.html").read_text("ascii")).run(0)["messages"] is None
