"""What agents leave behind: tasks that heed nothing, threads, processes, and a session that is cut off."""

import re
import subprocess
import sys
import time

import pytest

from pytest_agentbench.cli import main
from tests.plugin.project import Project, environment_without_pytest
from tests.plugin.test_crashes import bad_at

SWALLOWS = """
import asyncio, re

async def stubborn():
    while True:
        try:
            await asyncio.sleep(0.01)
        except BaseException:
            pass

def build(tools):
    async def reply(message):
        if "W1" in message:
            await stubborn()
        if "W2" in message:
            await asyncio.create_task(stubborn())
        asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        return "It is done."
    return reply
"""


def test_an_agent_that_swallows_its_cancellation_does_not_keep_the_session_from_ending(anywhere: Project) -> None:
    """In its reply, in a task that it awaits, and in one that nobody does: there is a summary, the process ends."""
    anywhere.suite("reply", "awaited", "left", agent=SWALLOWS, limits={"seconds": 0.5})

    result = anywhere.run(process="fresh", timeout=40)

    assert result.ret == 1
    ends = {one.key.scenario: str(one.termination) for one in anywhere.document.results}
    assert (ends["reply"], ends["awaited"], len(ends)) == ("SAFETY_TIMEOUT", "SAFETY_TIMEOUT", 3)
    result.stdout.fnmatch_lines(["results: *"])


IMPATIENT = "from pytest_agentbench.plugin import shutdown\n\nshutdown.PATIENCE = 2.0\n"
"""A conftest with which pytest waits two seconds instead of ten for what agents left."""

LEFT = {
    "a thread": (
        "threading.Thread(target=time.sleep, args=(3600,), name='poller', daemon=False).start()",
        "thread 'poller'",
    ),
    "a pool": (
        "__import__('concurrent.futures').futures.ThreadPoolExecutor(1, 'pool').submit(time.sleep, 3600)",
        "thread 'pool_0'",
    ),
    "a process": (
        "__import__('multiprocessing').get_context('spawn').Process(target=time.sleep, args=(3600,), name='p').start()",
        "process [0-9]+ .p.",
    ),
}


def test_what_python_would_wait_for_is_named_and_left(project: Project) -> None:
    """The summary is printed before, the exit status is the session's, and the end comes within seconds.

    Python does not wait for a process of `subprocess`, so only the summary says that it is there.
    """
    unwaited = f"__import__('subprocess').Popen([{sys.executable!r}, '-c', 'import time; time.sleep(8)'])"
    left = "\n            ".join([*(code for code, _ in LEFT.values()), unwaited])
    project.suite("a", "b", agent="import threading\n" + bad_at(left, 2))
    project.write("conftest.py", IMPATIENT)

    result = project.run(process="fresh", timeout=60)

    assert result.ret == 0
    assert result.duration < 40
    result.stdout.fnmatch_lines(["left running: *process * (python* -c import time; time.sleep(8))*"])
    assert len(project.document.results) == 2
    told = result.stderr.str()
    for _, named in LEFT.values():
        assert re.search(f"agentbench: waiting for .*{named}", told), told
        assert re.search(f"agentbench: ended without .*{named}.*: an agent or a tool has started", told), told


@pytest.mark.slow
def test_a_worker_that_python_would_wait_for_does_not_keep_the_session(pytester: pytest.Pytester) -> None:
    """xdist ends its workers."""
    project = Project(pytester=pytester, arguments=("-n1",))
    project.suite("a", "b", agent="import threading\n" + bad_at(LEFT["a thread"][0], 2))

    result = project.run(process="fresh", timeout=60)

    assert (result.ret, len(project.document.results)) == (0, 2)


def test_a_process_that_an_agent_leaves_is_no_complete_session(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its exit status 0 looks green: `report --complete` is not, and the next session says what was in flight."""
    project.suite("a", "b", agent=bad_at("os._exit(0)", 2))
    monkeypatch.chdir(project.pytester.path)
    assert main(["report", "--complete"]) == 1
    assert "not complete: .agentbench holds no session" in capsys.readouterr().out
    assert project.run("--agentbench-concurrency=1", process="forked", timeout=60).ret == 0

    assert main(["report", "--complete"]) == 1
    assert re.search(
        r"not complete: session \S+ was cut off while b was in flight, after 1 run", capsys.readouterr().out
    )

    project.suite("a", "b")
    result = project.run()

    result.stdout.fnmatch_lines(["the last session * was cut off while b was in flight, after 1 run: * `-n 1` *"])
    assert main(["report", "--complete"]) == 0
    project.run().stdout.no_fnmatch_line("*cut off*")


def test_a_session_that_is_stopped_is_not_complete(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-x` leaves runs out; the session came to its end all the same."""
    project.suite("a", "b", "c", agent=bad_at("return 'No.'", 1))
    monkeypatch.chdir(project.pytester.path)
    project.run("-x", "--agentbench-concurrency=1")

    assert main(["report", "--complete"]) == 1
    assert "2 of 3 runs did not take place" in capsys.readouterr().out


def test_a_session_that_still_runs_is_not_cut_off(project: Project) -> None:
    """A second session beside it finds its directory held."""
    waits = "while 'FIRST' in os.environ and not os.path.exists('seen'): time.sleep(0.01)"
    project.suite("a", agent=bad_at(waits, 1))
    command = [sys.executable, "-m", "pytest", "-p", "agentbench", "--agentbench", "bench"]
    environ = {**environment_without_pytest(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "FIRST": "yes"}
    with subprocess.Popen(
        command, cwd=project.pytester.path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as first:
        journals = project.pytester.path / ".agentbench" / "runs"
        while not list(journals.glob("*/journal/main.jsonl")):
            assert first.poll() is None
            time.sleep(0.01)  # another process is being watched
        project.run().stdout.no_fnmatch_line("*cut off*")
        project.write("seen", "")
        first.communicate()
        assert first.returncode == 0
