"""One lock for all: taken once at a time, free when its holder dies, whatever the holder left behind."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.core.files import ProcessLock

HOLDER = """
import multiprocessing, os, subprocess, sys, time
from pathlib import Path
from pytest_agentbench.core.files import ProcessLock

lock = ProcessLock(Path(sys.argv[1]))
assert lock.try_acquire()
running, told = os.pipe()

def live():
    os.write(told, b"x")
    time.sleep(600)

if sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        live()
    os.read(running, 1)
elif sys.argv[2] == "multiprocessing":
    process = multiprocessing.get_context("fork").Process(target=live)
    process.start()
    child = process.pid
    os.read(running, 1)
elif sys.argv[2] == "command":
    child = subprocess.Popen(["sleep", "600"], close_fds=False).pid
else:
    child = 0
print(child, flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def holder(file: Path, leaves: str) -> Iterator[subprocess.Popen[str]]:
    """Give a process that holds the lock, and end it and the child that it left behind."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(file), leaves], stdout=subprocess.PIPE, text=True) as own:
        assert own.stdout is not None
        child = int(own.stdout.readline())
        try:
            yield own
        finally:
            own.kill()
            if child:
                os.kill(child, signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks on Windows")
@pytest.mark.parametrize("leaves", ["nothing", "fork", "multiprocessing", "command"])
def test_a_killed_holder_is_none_whatever_child_it_left(tmp_path: Path, leaves: str) -> None:
    """An agent's child outlives a killed session and must not keep the lock taken."""
    file = tmp_path / "x.lock"
    with holder(file, leaves) as process:
        lock = ProcessLock(file)
        assert not lock.try_acquire()

        process.kill()
        process.wait()

        assert lock.try_acquire()
        lock.release()


def test_two_locks_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    """Threads of one process are others, too; taking what is held already is no second time."""
    one, other = ProcessLock(tmp_path / "x.lock"), ProcessLock(tmp_path / "x.lock")

    assert one.try_acquire()
    assert one.try_acquire()
    assert not other.try_acquire()
    one.release()
    assert other.try_acquire()
    other.forget()
    assert list(tmp_path.iterdir()) == []
    assert not other.held
