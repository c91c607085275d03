"""A session that was killed goes on where it was, and loses at most what was in flight."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.plugin.project import Project, environment_without_pytest

SLOW = """
import re, time

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome."
        with open("log", "a") as file:
            file.write(f"{order[0]}\\n")
        time.sleep(0.25)
        call["refund"](order_id="W0" if order[0] == "W7" else order[0])
        return "It is refunded."

    return reply
"""

ENDLESS = SLOW.replace("0.25", "0 if order[0] == 'W1' else 600")

NAMES = [f"s{number:02d}" for number in range(16)]


def start(project: Project, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start a session in a process group of its own."""
    command = [sys.executable, "-m", "pytest", "-p", "agentbench", "-p", "xdist", "--agentbench", *arguments]
    environment = {**environment_without_pytest(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.Popen(
        command, cwd=project.pytester.path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def wait_for_results(project: Project, count: int) -> None:
    """Wait until so many results are on disk."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        shards = project.pytester.path.glob(".agentbench/runs/*/shards/*.jsonl")
        if sum(len(shard.read_text().splitlines()) for shard in shards) >= count:
            return
        time.sleep(0.02)  # another process is being watched
    raise AssertionError(f"no {count} results in time")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("-n0", "-n0"),
        pytest.param("-n2", "-n2", marks=pytest.mark.slow),
        pytest.param("-n0", "-n2", marks=pytest.mark.slow),
        pytest.param("-n2", "-n0", marks=pytest.mark.slow),
    ],
)
def test_resume_after_a_kill_gives_the_same_results(pytester: pytest.Pytester, first: str, second: str) -> None:
    """Finished runs are taken from the store, those in flight run again, and the results are those of one session."""
    project = Project(pytester=pytester)
    project.suite(*NAMES, agent=SLOW)
    process = start(project, first, "--agentbench-concurrency=2")
    wait_for_results(project, 5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    stored = project.line_count("log")

    project.run(second, "--agentbench-resume", process="forked")
    resumed = project.comparable
    played = project.line_count("log")
    project.run("-n0")

    assert resumed == project.comparable
    assert [name for name, verdict in project.verdicts().items() if verdict != "passed"] == ["s06"]
    assert played - stored <= len(NAMES) - 5


def test_resume_runs_again_what_changed(project: Project) -> None:
    """A stored result of a scenario or suite that changed since is not used."""
    project.suite("a", "b", agent=SLOW)
    project.run()
    changed = {"id": "b", "says": ["Refund W3"], "expect": [{"refund": {"order_id": "W3"}}]}
    project.suite("a", changed, agent=SLOW)

    project.run("--agentbench-resume")

    assert sorted((project.pytester.path / "log").read_text().split()) == ["W1", "W2", "W3"]
    assert project.verdicts() == {"a": "passed", "b": "passed"}


def test_resume_without_an_earlier_session_runs_everything(project: Project) -> None:
    """There is nothing to continue the first time, and that is fine."""
    project.suite("a", agent=SLOW)

    result = project.run("--agentbench-resume")

    assert result.ret == 0
    assert project.verdicts() == {"a": "passed"}


def test_a_run_directory_in_use_is_not_continued(project: Project) -> None:
    """Two sessions never write to one run directory; the second one says who holds it."""
    project.suite(*NAMES, agent=ENDLESS)
    process = start(project, "--agentbench-concurrency=1")
    try:
        wait_for_results(project, 1)

        result = project.run("--agentbench-resume", process="forked")
    finally:
        process.kill()
        process.wait()

    assert result.ret == 4
    (result.stderr if "in use" in result.stderr.str() else result.stdout).fnmatch_lines(["*is in use by process*"])


@pytest.mark.slow
def test_workers_stop_soon_after_their_controller_was_killed(pytester: pytest.Pytester) -> None:
    """A worker that lost its controller does not go on spending."""
    project = Project(pytester=pytester)
    project.suite(*NAMES, agent=SLOW.replace("0.25", "1.0"))
    process = start(project, "-n2", "--agentbench-concurrency=1")
    wait_for_results(project, 2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    time.sleep(2.5)  # other processes are being watched
    after = project.line_count("log")
    time.sleep(2.5)  # same

    assert project.line_count("log") == after < len(NAMES)


@pytest.mark.parametrize("damage", ["journal", "shard", "crashes", "meta", "meta cut"])
def test_resume_says_what_it_left_out(project: Project, damage: str) -> None:
    """A wrong line is no internal error, a damaged meta.json no silent replay: the rest is taken over."""
    project.suite("a", "b", agent=SLOW)
    project.run()
    (folder,) = project.pytester.path.glob(".agentbench/runs/*")
    file = {
        "journal": folder / "journal/main.jsonl",
        "shard": folder / "shards/main.jsonl",
        "crashes": folder / "crashes.jsonl",
    }.get(damage, folder / "meta.json")
    if file.suffix == ".jsonl":
        with file.open("a") as log:
            log.write('{"session": 0, "key": [1]}\n')
    else:
        file.write_text("[1]" if damage == "meta" else file.read_text()[:20])

    result = project.run("--agentbench-resume")

    assert result.ret == 0
    assert sorted((project.pytester.path / "log").read_text().split()) == ["W1", "W2"], "nothing was played again"
    result.stdout.fnmatch_lines([f"*--agentbench-resume left out what it cannot read: *{file.name}*"])
