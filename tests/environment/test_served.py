"""Services that suites start: shared ones live as long as they are of use, and all that was started ends."""

import asyncio
import os
import signal
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pytest_agentbench.core.files import ProcessLock
from pytest_agentbench.core.remote import ServiceSpec
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.service import serve, start_service

SERVICE = """
import http.server, os, pathlib, sys


class Desk(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/die":
            os._exit(3)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


with pathlib.Path("started").open("a") as file:
    print(os.getpid(), file=file)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Desk).serve_forever()
"""

HELPER = """
import pathlib, signal, time
from pytest_agentbench.core.files import ProcessLock

signal.signal(signal.SIGTERM, signal.SIG_IGN)
lock = ProcessLock(pathlib.Path("lock"))
assert lock.try_acquire()
pathlib.Path("held").touch()
while True:
    time.sleep(60)
"""

DYING = """
import asyncio, os, pathlib
from contextlib import AsyncExitStack
from pytest_agentbench.core.remote import ServiceSpec
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.service import serve


async def main():
    spec = ServiceSpec.model_validate_json(pathlib.Path("spec.json").read_text())
    await serve(spec, pathlib.Path(), IsolationGate(pathlib.Path()), AsyncExitStack())
    while not pathlib.Path("held").exists():
        await asyncio.sleep(0.01)
    os._exit(9)


asyncio.run(main())
"""


def a_service(root: Path, *command: str) -> ServiceSpec:
    """Give a service that all runs share; what was started stands in `started`."""
    (root / "desk.py").write_text(SERVICE)
    return ServiceSpec(command=command or (sys.executable, "desk.py", "{port}"), share="session")


async def test_runs_share_one_service_again_after_one_has_died(tmp_path: Path) -> None:
    """What takes the place of a dead one serves all later runs, and nobody ends it."""
    spec, gate = a_service(tmp_path), IsolationGate(tmp_path)
    async with AsyncExitStack() as stack:
        first = await serve(spec, tmp_path, gate, stack)
        os.kill(int((tmp_path / "started").read_text()), signal.SIGTERM)
        while first.exit_status is None:
            await asyncio.sleep(0.01)

        both = await asyncio.gather(*(serve(spec, tmp_path, gate, stack) for _ in range(2)))
        later = [await serve(spec, tmp_path, gate, stack) for _ in range(2)]

    assert {*both, *later} == {both[0]} != {first}
    assert both[0].exit_status is None
    assert len((tmp_path / "started").read_text().split()) == 2


async def test_a_run_that_is_cancelled_does_not_take_the_service_from_those_that_wait_for_it(tmp_path: Path) -> None:
    """The next one starts it."""
    spec, gate = a_service(tmp_path), IsolationGate(tmp_path)
    async with AsyncExitStack() as stack:
        starting, waiting = (asyncio.create_task(serve(spec, tmp_path, gate, stack)) for _ in range(2))
        await asyncio.sleep(0)
        starting.cancel()

        service = await waiting

    assert service.exit_status is None
    assert starting.cancelled()


async def test_no_two_services_are_told_the_same_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the system would give it twice as long as nobody listens there."""
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        free, other = one.getsockname()[1], two.getsockname()[1]
    numbers = iter([free, free, other])
    bind = socket.socket.bind
    monkeypatch.setattr(
        socket.socket,
        "bind",
        lambda self, place: bind(self, (place[0], next(numbers) if place[1] == 0 else place[1])),
    )
    both = [start_service(a_service(tmp_path), tmp_path) for _ in range(2)]
    for service in both:
        await service.aclose()

    assert [service.port for service in both] == [free, other]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="groups of processes are POSIX's")
@pytest.mark.parametrize("dies", [False, True], ids=["ended", "dead before"])
async def test_what_a_service_started_ends_with_it(tmp_path: Path, *, dies: bool) -> None:
    """Also where it does not heed SIGTERM, and holds the output that the service had."""
    (tmp_path / "helper.py").write_text(HELPER)
    helped = f"{sys.executable} helper.py & while ! test -e held; do :; done; exec {sys.executable} desk.py {{port}}"
    spec = a_service(tmp_path, "sh", "-c", helped).model_copy(update={"share": "run"})
    lock = ProcessLock(tmp_path / "lock")
    async with asyncio.timeout(20), AsyncExitStack() as stack:
        service = await serve(spec, tmp_path, IsolationGate(tmp_path), stack)
        assert not lock.try_acquire()
        if dies:
            os.kill(int((tmp_path / "started").read_text()), signal.SIGKILL)

    async with asyncio.timeout(20):
        while not lock.try_acquire():
            await asyncio.sleep(0.01)
    lock.release()
    assert service.exit_status is not None


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="groups of processes are POSIX's")
async def test_a_service_ends_with_a_process_that_dies_without_a_word(tmp_path: Path) -> None:
    """Its folder goes, too."""
    (tmp_path / "helper.py").write_text(HELPER)
    command = (
        "sh",
        "-c",
        f"echo {{run_dir}} > folder; {sys.executable} helper.py & exec {sys.executable} desk.py {{port}}",
    )
    spec = a_service(tmp_path, *command)
    (tmp_path / "spec.json").write_text(spec.model_dump_json())
    died = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, cwd=tmp_path)
    lock = ProcessLock(tmp_path / "lock")
    async with asyncio.timeout(30):
        assert await died.wait() == 9

        folder = Path((tmp_path / "folder").read_text().strip())
        while folder.exists() or not lock.try_acquire():
            await asyncio.sleep(0.01)
    lock.release()
