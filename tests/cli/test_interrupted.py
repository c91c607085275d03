"""Ctrl-C in a command: a line, and the status that shells know."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_agentbench.cli import INTERRUPTED, TERMINATED

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be sent SIGINT there")

TOOLS = '''
def find_person(name: str) -> str:
    """Find a person by name, for example Ada Roy."""
    with open("called", "w") as file:
        file.write("now")
    return "P11"
'''
SUITE = """
agent: a:b
environment: {tools: desk, reads: [find_person]}
scenarios: [generated/scenarios/*.yaml]
generate: {from: tools}
"""


SERVICE = """
import os, time
with open("called", "w") as file:
    file.write(str(os.getpid()))
time.sleep(600)
"""


def _open_when_ended(process: subprocess.Popen[str], fifo: Path) -> None:
    """Let who waits for a writer go on when the process has ended without being one."""
    process.wait()
    with contextlib.suppress(OSError):  # nobody waits
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))


def test_generate_says_that_what_it_finished_is_kept(tmp_path: Path) -> None:
    """A session of generation that is broken off shows no traceback, and how it goes on."""
    (tmp_path / "desk.py").write_text(TOOLS)
    (tmp_path / "agentbench.yaml").write_text(SUITE)
    os.mkfifo(tmp_path / "called")
    code = "import sys; from pytest_agentbench.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "generate", "agentbench.yaml"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # who has Ctrl-C ignored hands that down
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)

    threading.Thread(target=_open_when_ended, args=(process, tmp_path / "called")).start()
    with (tmp_path / "called").open():  # the first call of the tool waits for a reader
        process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=60)

    assert (process.returncode, printed) == (INTERRUPTED, "")
    assert errors.strip() == (
        "agentbench generate: interrupted; what was finished is kept, and the same command goes on where it stood"
    )


def test_a_service_ends_with_the_command_that_started_it(tmp_path: Path) -> None:
    """Also where the command is told to end while it waits for the service."""
    (tmp_path / "service.py").write_text(SERVICE)
    tools = "{openapi: 'http://127.0.0.1:{port}/x', serve: {command: ['{python}', service.py, '{port}']}}"
    (tmp_path / "agentbench.yaml").write_text(
        f"agent: a:b\nenvironment: {{tools: {tools}}}\nscenarios: [{{id: a, says: [x]}}]\n"
    )
    os.mkfifo(tmp_path / "called")
    code = "import sys; from pytest_agentbench.cli import main; sys.exit(main())"
    process = subprocess.Popen([sys.executable, "-c", code, "tools", "agentbench.yaml"], cwd=tmp_path)

    threading.Thread(target=_open_when_ended, args=(process, tmp_path / "called")).start()
    with (tmp_path / "called").open() as told:  # the service waits for a reader
        started = int(told.read() or 0)
    process.send_signal(signal.SIGTERM)

    assert process.wait(timeout=60) == TERMINATED
    with pytest.raises(ProcessLookupError):
        os.kill(started or os.getpid(), 0)
