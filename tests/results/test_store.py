"""The run directory: torn lines, several processes, locks, resuming, pruning."""

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.results.run_directory import RunDirectory, new_run_id, read_transcript, transcript_name
from tests.results.make import SUITE, result


@pytest.fixture
def directory(tmp_path):
    """A fresh run directory, locked by this process."""
    made = RunDirectory.create(tmp_path / ".agentbench", "run-1", {"seed": 7})
    yield made
    made.close()


@pytest.fixture
def writer():
    """Give `writer(directory, process, redactor)`; what it opened is closed afterwards."""
    with ExitStack() as stack:
        yield lambda directory, *arguments: stack.enter_context(directory.writer(*arguments))


def start(code, *arguments):
    """Start a Python process that runs `code`."""
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def test_git_ignores_the_folder(directory):
    """Nothing under the base folder is ever committed by accident."""
    assert (directory.path.parents[1] / ".gitignore").read_text() == "*\n"


def test_results_come_back_as_stored(directory, writer):
    """What was appended is read, keyed without the attempt and sorted by key."""
    with_surrogate = result("b", "failed", error="bad \ud83d text")
    main = writer(directory, "main")
    for run in (with_surrogate, result("a", seconds=0.1)):
        main.append(run)
    stored = RunDirectory.open(directory.path).results()
    assert list(stored) == [RunKey(suite=SUITE, scenario="a"), RunKey(suite=SUITE, scenario="b")]
    assert stored[with_surrogate.key] == with_surrogate


def test_the_last_attempt_wins_whichever_process_wrote_it(directory, writer):
    """Attempts are merged across shards by their number, not by file order."""
    writer(directory, "gw0").append(result("a", attempt=2))
    writer(directory, "gw1").append(result("a", "error", "user", attempt=1))
    stored = RunDirectory.open(directory.path)
    assert stored.results()[RunKey(suite=SUITE, scenario="a")].passed
    assert [run.key.attempt for run in stored.attempts()[RunKey(suite=SUITE, scenario="a")]] == [1, 2]


def test_a_later_session_wins_over_a_stale_result(directory, writer):
    """A run done anew after resuming replaces what an earlier session found, even on a later attempt."""
    writer(directory, "gw1").append(result("a", "failed", attempt=2))
    directory.close()
    again = RunDirectory.open(directory.path)
    again.resume()
    writer(again, "gw0").append(result("a"))
    assert again.results()[RunKey(suite=SUITE, scenario="a")].passed
    assert RunDirectory.open(directory.path).session == 1


def test_a_run_that_was_not_run_loses_to_one_that_was(directory, writer):
    """Within a session a stored run is not hidden by the note that its item was left out."""
    writer(directory, "gw0").append(result("a"))
    writer(directory, "gw1").append(result("a", "error", not_run="not run: -x"))
    assert directory.results()[RunKey(suite=SUITE, scenario="a")].not_run is None


@pytest.mark.parametrize("cut", [2, 20, 200])
def test_a_torn_last_line_is_passed_over_and_closed_off(directory, cut, writer):
    """A record cut by a kill is ignored, and what the same process name appends later is not glued to it."""
    writer(directory, "main").append(result("a"))
    main = writer(directory, "main")
    main.append(result("torn"))
    main.close()
    shard = directory.path / "shards" / "main.jsonl"
    shard.write_bytes(shard.read_bytes()[:-cut])
    assert [key.scenario for key in directory.results()] == ["a"]
    writer(directory, "main").append(result("later"))
    assert [key.scenario for key in directory.results()] == ["a", "later"]


def test_a_result_of_another_version_is_left_out_by_name(directory, writer):
    """A whole line that is no result is not dropped without a word."""
    writer(directory, "main").append(result("a"))
    with (directory.path / "shards" / "main.jsonl").open("a") as shard:
        shard.write('{"session": 0, "result": {"verdict": "great"}}\n')
    assert [key.scenario for key in directory.results()] == ["a"]
    assert directory.left_out == {"shards/main.jsonl:2": "another version wrote it"}


def test_two_processes_write_at_once(directory):
    """Two processes with shards of their own lose and tear nothing, large results included."""
    code = (
        "import sys; from pathlib import Path; from pytest_agentbench.results.run_directory import RunDirectory\n"
        "from tests.results.make import result\n"
        "w = RunDirectory.open(Path(sys.argv[1])).writer(sys.argv[2])\n"
        "for n in range(40):\n"
        "    r = result(f'{sys.argv[2]}-{n}', error='x' * 100_000); w.started(r.key); w.append(r)\n"
    )
    processes = [start(code, directory.path, name) for name in ("gw0", "gw1")]
    assert [process.wait(60) for process in processes] == [0, 0]
    for process in processes:
        process.stdout.close()
    assert len(directory.results()) == 80
    assert directory.in_flight() == ()


def test_in_flight_runs_are_those_that_started_and_never_ended(directory, writer):
    """After a kill the journal names what was in flight, in the order started, of one process or of all."""
    main = writer(directory, "gw0")
    keys = [result(name).key for name in ("c", "a", "b")]
    for key in keys:
        main.started(key)
    main.append(result("a"))
    writer(directory, "gw1").started(result("z").key)
    assert directory.in_flight("gw0") == (keys[0], keys[2])
    assert [key.scenario for key in directory.in_flight()] == ["c", "b", "z"]
    main.ended(keys[0])
    assert directory.in_flight("gw0") == (keys[2],)
    assert directory.in_flight("gw9") == ()


def test_a_suspect_that_ended_elsewhere_is_no_longer_in_flight(directory, writer):
    """A run rerun alone by another worker, or by a later session, is settled."""
    writer(directory, "gw0").started(result("a").key)
    writer(directory, "gw0").started(result("b").key)
    writer(directory, "gw4").append(result("a"))
    assert [key.scenario for key in directory.in_flight()] == ["b"]
    directory.close()
    again = RunDirectory.open(directory.path)
    again.resume()
    writer(again, "gw1").append(result("b"))
    assert again.in_flight() == ()


def test_a_killed_process_leaves_its_results_and_releases_its_lock(tmp_path):
    """After kill -9 the lock is free, what was appended is there, and what was in flight is named."""
    code = (
        "import sys, time; from pathlib import Path; from pytest_agentbench.results.run_directory import RunDirectory\n"
        "from tests.results.make import result\n"
        "d = RunDirectory.create(Path(sys.argv[1]), 'r', {}); w = d.writer('main')\n"
        "w.started(result('a').key); w.append(result('a')); w.started(result('b').key)\n"
        "print('ready', flush=True); sys.stdin.read() or time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "ready\n"
        other = RunDirectory.open(tmp_path / "runs" / "r")
        with pytest.raises(ResultsError, match=f"in use by process {process.pid}"):
            other.resume()
        process.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        process.wait(30)
    other.resume()
    assert [key.scenario for key in other.results()] == ["a"]
    assert [key.scenario for key in other.in_flight()] == ["b"]
    other.close()


@pytest.mark.skipif(os.name != "posix", reason="forks")
def test_a_child_forked_by_an_agent_does_not_keep_the_lock(tmp_path):
    """The lock dies with its process though a forked child lives on with the same descriptors."""
    code = (
        "import os, sys; from pathlib import Path; from pytest_agentbench.results.run_directory import RunDirectory\n"
        "d = RunDirectory.create(Path(sys.argv[1]), 'r', {})\n"
        "if os.fork() == 0:\n"
        "    print('child', flush=True); sys.stdin.read(); os._exit(0)\n"
        "os._exit(0)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "child\n"
        process.wait(30)
        directory = RunDirectory.open(tmp_path / "runs" / "r")
        directory.resume()
        directory.close()
        process.stdin.close()


def test_transcripts_are_files_of_their_own(directory, writer):
    """A transcript is readable ASCII JSON, comes back equal, is redacted, and the stored result names it."""
    transcript = Transcript(messages=(Message(role="user", content="é \ud83d s3cret"), Message(role="assistant")))
    stored = writer(directory, "main", Redactor(["s3cret"])).append(result("a", error="s3cret"), transcript)
    path = directory.path / stored.transcript
    assert read_transcript(path).messages[0].content == "é \ud83d ***"
    assert json.loads(path.read_bytes().decode("ascii"))["schema"] == "agentbench-transcript/1"
    assert directory.results()[stored.key] == stored
    assert not any(b"s3cret" in file.read_bytes() for file in directory.path.rglob("*") if file.is_file())


def test_transcript_names_are_safe_and_unique():
    """Names differ where keys do, also ignoring case, and never leave the folder."""
    keys = [
        RunKey(suite=SUITE, scenario=scenario, variant=variant, attempt=attempt)
        for scenario in ("a", "A", "../../etc/passwd", "x" * 300, "é")
        for variant in ("", "b")
        for attempt in (1, 2)
    ]
    names = [transcript_name(key) for key in keys]
    assert len({name.lower() for name in names}) == len(keys)
    assert all("/" not in name and len(name) < 120 and name.isascii() for name in names)


def test_an_unreadable_directory_says_so(tmp_path):
    """A folder that is no run directory, or whose meta file is cut, is a readable error."""
    with pytest.raises(ResultsError, match=r"no meta\.json"):
        RunDirectory.open(tmp_path)
    (tmp_path / "meta.json").write_text('{"session"')
    with pytest.raises(ResultsError, match="cannot be read"):
        RunDirectory.open(tmp_path)
    with pytest.raises(ResultsError, match="not a transcript"):
        read_transcript(tmp_path / "meta.json")


def test_a_run_directory_is_made_once(directory):
    """An id in use, or one that would leave the folder, is refused."""
    base = directory.path.parents[1]
    with pytest.raises(ResultsError, match="exists already"):
        RunDirectory.create(base, "run-1", {})
    with pytest.raises(ResultsError, match="letters"):
        RunDirectory.create(base, "../x", {})


def test_run_ids_sort_by_time_and_the_latest_is_found(tmp_path):
    """The newest directory is the latest; none gives None."""
    assert RunDirectory.latest(tmp_path) is None
    ids = [new_run_id(datetime(2026, 11, 20, 10, 41, second, tzinfo=UTC), "zz") for second in (9, 10, 11)]
    for run_id in reversed(ids):
        RunDirectory.create(tmp_path, run_id, {}).close()
    assert RunDirectory.latest(tmp_path).path.name == ids[-1]


def test_pruning_keeps_the_newest_and_what_is_in_use(tmp_path):
    """Old directories go; this one and those held by a live process stay."""
    for number in range(6):
        RunDirectory.create(tmp_path, f"r{number}", {}).close()
    code = (
        "import sys; from pathlib import Path; from pytest_agentbench.results.run_directory import RunDirectory\n"
        "d = RunDirectory.open(Path(sys.argv[1])); d.resume(); print('held', flush=True); sys.stdin.read()\n"
    )
    held = tmp_path / "runs" / "r1"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(held)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        directory = RunDirectory.create(tmp_path, "r6", {})
        deleted = directory.prune(keep=3)
        process.stdin.close()
        process.wait(30)
    directory.close()
    assert [path.name for path in deleted] == ["r0", "r2", "r3"]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["r1", "r4", "r5", "r6"]
