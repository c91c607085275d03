"""Workers on other hosts: a process that cannot see the controller's files, in a folder of its own, behind a proxy.

It sits in a mount namespace that hides the run directory; nothing else tells it from a worker behind ssh.
"""

import shutil
import subprocess
import sys

import pytest

from pytest_agentbench.testing import ModelServer
from tests.plugin.models_project import SCRIPT, models_suite
from tests.plugin.project import Project

HIDES = """#!/bin/sh
exec unshare -m sh -c 'mount -t tmpfs none {hidden} && exec {python} "$@"' python "$@"
"""

DIES = """
import os

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        if message.endswith("W3"):
            os._exit(3)
        call["refund"](order_id=message.split()[-1])
        return "It is refunded."

    return reply
"""

STATE = """
class Provider:
    isolation = "exclusive"

    def open(self, initial, run):
        return {"orders": {f"W{number}": {} for number in range(9)}}

    def snapshot(self, handle):
        return handle

    def close(self, handle):
        pass
"""

pytestmark = pytest.mark.real


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A project, and a script that starts Python where the project's results cannot be seen."""
    tried = ["unshare", "-m", "mount", "-t", "tmpfs", "none", str(pytester.path)]
    if shutil.which("unshare") is None or subprocess.run(tried, check=False, capture_output=True).returncode:
        pytest.skip("mount namespaces are needed")
    script = pytester.path / "far.sh"
    script.write_text(HIDES.format(hidden=pytester.path / ".agentbench", python=sys.executable))
    script.chmod(0o755)
    (pytester.path / "pytest.ini").write_text("[pytest]\ntestpaths = bench\n")
    return Project(pytester=pytester)


def run(project: Project, *arguments: str, near: int = 1, far: int = 1) -> pytest.RunResult:
    """Run the project's suites on workers of which `far` are elsewhere, with a checkout of their own."""
    here, there = project.pytester.path, project.pytester.path / "far"
    shutil.copytree(here / "bench", there / "bench", dirs_exist_ok=True)
    shutil.copy(here / "pytest.ini", there)
    workers = ["--dist", "load", *["--tx", "popen"] * near]
    for number in range(far):
        spec = f"popen//via=proxy{number}//chdir={there}//python={here / 'far.sh'}"
        workers += ["--px", f"id=proxy{number}//popen", "--tx", spec]
    return project.run(*workers, *arguments, process="fresh")


def test_results_and_conversations_come_back(project: Project) -> None:
    """Every run is in the results once, with its conversation, and the same as in one process."""
    project.suite(*[f"s{number}" for number in range(1, 13)])
    project.run()
    alone = project.comparable

    run(project, "--agentbench-json=out.json", "--agentbench-html=out.html").assert_outcomes(passed=12)

    assert project.comparable == alone
    [folder] = sorted((project.pytester.path / ".agentbench/runs").iterdir())[1:]
    assert sorted(path.name for path in (folder / "shards").iterdir()) == ["gw0.jsonl", "gw1.jsonl"]
    assert (folder / "shards/gw0.jsonl").stat().st_size > 0
    assert all((folder / result.transcript).exists() for result in project.document.results)
    assert (project.pytester.path / "out.html").exists()


def test_what_was_recorded_elsewhere_is_in_the_one_cassette(project: Project) -> None:
    """A cassette recorded on two hosts replays in one process, without a server."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=6)
        run(project, "--agentbench-cassette=record").assert_outcomes(passed=6)

    project.run("--agentbench-cassette=replay").assert_outcomes(passed=6)


def test_budgets_are_divided_and_never_overspent(project: Project) -> None:
    """A worker elsewhere has a share of its own, the report says so, and no call is made beyond the whole."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=12)
        result = run(project, "-oagentbench_max_calls=9", near=2)

        assert len(server.requests) <= 9
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["budgets are divided: 1 of 3 workers are on other hosts, each with 3 calls of its own; *"]
    )


def test_a_budget_that_does_not_reach_for_all_is_refused(project: Project) -> None:
    """Workers without a single call would only leave runs out."""
    project.suite("one")
    result = run(project, "-oagentbench_max_calls=1")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*agentbench_max_calls = 1 cannot be divided among 2 workers, of which 1 *"])


def test_a_worker_elsewhere_that_dies_costs_the_run_that_ended_it(project: Project) -> None:
    """The runs beside it are not lost, and not blamed: with one at a time on each worker it is known which ended it."""
    project.suite(*[f"s{number}" for number in range(1, 9)], agent=DIES)
    run(project, "--agentbench-concurrency=2", far=2, near=0)

    verdicts = project.verdicts()
    assert verdicts.pop("s3") == "failed"
    assert set(verdicts.values()) == {"passed"}
    assert len(verdicts) == 7


def test_finished_runs_are_taken_up_elsewhere(project: Project) -> None:
    """A resumed session plays nothing again that any host finished before."""
    project.suite(*[f"s{number}" for number in range(1, 9)])
    run(project)
    before = project.document

    run(project, "--agentbench-resume", far=2, near=0).assert_outcomes(passed=8)

    assert [result.seconds for result in project.document.results] == [result.seconds for result in before.results]


def test_a_state_that_must_be_alone_is_refused_elsewhere(project: Project) -> None:
    """No lock reaches another host, and the runs there say so instead of overlapping."""
    environment = {"tools": "shop_tools", "state": {"own": "states:Provider"}}
    project.suite("one", "two", environment=environment)
    project.write("bench/states.py", STATE)
    result = run(project, "-rs", far=2, near=0)

    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*its state is exclusive *other hosts*"])


def test_a_host_with_another_version_is_told(project: Project) -> None:
    """Nothing is played, and what to install is said; the two would misread each other's reports."""
    project.suite("one")
    (project.pytester.path / "pytest.ini").write_text("[pytest]\ntestpaths = bench\npythonpath = installed\n")
    other = project.pytester.path / "far/installed/pytest_agentbench-0.0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: pytest-agentbench\nVersion: 0.0.1\n")

    result = run(project)

    result.stdout.fnmatch_lines(["*worker gw1 has pytest-agentbench 0.0.1 (*), the session *: install the same*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
