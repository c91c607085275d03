"""The gate that keeps runs apart: in a process, on several loops, and between processes."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_agentbench.core.files import ProcessLock
from pytest_agentbench.core.protocols import Isolation
from pytest_agentbench.environment.isolation import IsolationGate

HOLDER = """
import sys
from pathlib import Path
from pytest_agentbench.core.files import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
assert lock.try_acquire()
print("held", flush=True)
sys.stdin.readline()
"""


async def most_at_once(gate: IsolationGate, isolation: Isolation, runs: int = 6) -> int:
    """Let runs pass the gate and count how many were inside at once."""
    inside, most = 0, 0

    async def run() -> None:
        nonlocal inside, most
        async with gate.hold(isolation, "db"):
            inside += 1
            most = max(most, inside)
            for _ in range(3):
                await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(run() for _ in range(runs)))
    return most


@pytest.mark.parametrize(("isolation", "most"), [("per_run", 6), ("per_worker", 1), ("exclusive", 1)])
async def test_as_many_runs_are_inside_as_the_isolation_allows(tmp_path: Path, isolation: Isolation, most: int) -> None:
    """Only per_run lets runs overlap."""
    assert await most_at_once(IsolationGate(tmp_path), isolation) == most


async def test_different_states_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Keys are apart."""
    gate = IsolationGate(tmp_path)

    async with gate.hold("per_worker", "a"), gate.hold("per_worker", "b"), gate.hold("exclusive", "c"):
        pass


@pytest.mark.parametrize("isolation", ["per_worker", "exclusive"])
async def test_a_cancelled_wait_leaves_the_gate_usable(tmp_path: Path, isolation: Isolation) -> None:
    """Cancelling waiters, before and at the moment of their turn, loses no turn."""
    gate = IsolationGate(tmp_path)

    async def run() -> None:
        async with gate.hold(isolation):
            await asyncio.sleep(0)

    async with gate.hold(isolation):
        waiting = [asyncio.ensure_future(run()) for _ in range(4)]
        await asyncio.sleep(0)
        waiting[1].cancel()
    waiting[0].cancel()  # its turn has been given, it has not woken yet
    results = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(result).__name__ for result in results] == ["CancelledError", "CancelledError", "NoneType", "NoneType"]
    assert await most_at_once(gate, isolation) == 1


async def test_an_error_inside_releases_the_gate(tmp_path: Path) -> None:
    """The next run gets in."""
    gate = IsolationGate(tmp_path)
    for _ in range(2):
        with pytest.raises(ValueError, match="inside"):
            async with gate.hold("exclusive"):
                raise ValueError("inside")


def test_runs_on_several_loops_take_turns(tmp_path: Path) -> None:
    """The session's loop and a test's own loop share one gate."""
    gate = IsolationGate(tmp_path)
    inside: list[str] = []

    async def run(name: str) -> None:
        for _ in range(20):
            async with gate.hold("per_worker"):
                inside.append(name)
                await asyncio.sleep(0)
                inside.append(name)

    threads = [threading.Thread(target=lambda name=name: asyncio.run(run(name))) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(inside) == 120
    assert inside[::2] == inside[1::2]


async def test_another_process_is_waited_for_until_it_dies(tmp_path: Path) -> None:
    """The loop goes on meanwhile, and a killed holder's lock is free."""
    file = tmp_path / "x.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert (await asyncio.to_thread(holder.stdout.readline)).strip() == "held"
    lock = ProcessLock(file)

    taken_while_held = lock.try_acquire()
    holder.kill()
    await asyncio.to_thread(holder.communicate)
    taken_after = lock.try_acquire()
    lock.release()

    assert (taken_while_held, taken_after) == (False, True)


async def test_exclusive_waits_without_blocking_and_goes_on_when_free(tmp_path: Path) -> None:
    """A lock held elsewhere makes the run pause and look again."""
    pauses: list[float] = []
    other: list[ProcessLock] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 7:
            other[0].release()

    gate = IsolationGate(tmp_path, pause)
    async with gate.hold("exclusive", "db"):
        file = next(tmp_path.iterdir())
    other.append(ProcessLock(file))
    assert other[0].try_acquire()

    async with gate.hold("exclusive", "db"):
        pass

    assert len(pauses) == 7
    assert max(pauses) <= 0.25


@pytest.mark.parametrize("isolation", ["per_worker", "exclusive"])
def test_what_a_loop_that_is_given_up_holds_is_freed(tmp_path: Path, isolation: Isolation) -> None:
    """Holder and waiters of the loop lose their claim; a holder that comes back disturbs nobody."""
    gate = IsolationGate(tmp_path)
    dead, alive = asyncio.new_event_loop(), asyncio.new_event_loop()
    old = [gate.hold(isolation, "db"), gate.hold(isolation, "db")]
    dead.run_until_complete(old[0].__aenter__())
    waiting = dead.create_task(old[1].__aenter__())
    dead.run_until_complete(asyncio.sleep(0))

    gate.release_all(dead)

    async def live() -> int:
        async with gate.hold(isolation, "db"):
            dead.call_soon(lambda: None)
            await asyncio.to_thread(dead.run_until_complete, old[0].__aexit__(None, None, None))
            entering = asyncio.ensure_future(most_at_once(gate, isolation, 2))
            for _ in range(5):
                await asyncio.sleep(0)
            assert not entering.done()
        return await entering

    assert alive.run_until_complete(live()) == 1
    waiting.cancel()
    dead.run_until_complete(asyncio.gather(waiting, return_exceptions=True))
    dead.close()
    alive.close()


def test_only_the_given_up_loop_loses_its_turn(tmp_path: Path) -> None:
    """A run on another loop keeps the state, unless everything is given up."""
    gate = IsolationGate(tmp_path)
    other = asyncio.new_event_loop()

    async def enters() -> bool:
        async def enter() -> None:
            async with gate.hold("exclusive", "db"):
                pass

        try:
            await asyncio.wait_for(enter(), 0.05)
        except TimeoutError:
            return False
        return True

    async def run() -> list[bool]:
        found = []
        async with gate.hold("exclusive", "db"):
            gate.release_all(other)
            found.append(await enters())
            gate.release_all()
            found.append(await enters())
        return found

    assert asyncio.run(run()) == [False, True]
    other.close()


async def test_as_many_states_are_open_as_there_is_room_for(tmp_path: Path) -> None:
    """Whoever has waited longest is next, and a state that is larger than the room is alone in it."""
    gate = IsolationGate(tmp_path, room=10)
    inside: list[int] = []
    order: list[int] = []

    async def run(size: int) -> None:
        async with gate.room_for(size):
            inside.append(size)
            order.append(size)
            assert sum(inside) <= 10 or inside == [size]
            for _ in range(3):
                await asyncio.sleep(0)
            inside.remove(size)

    sizes = [4, 5, 3, 99, 1, 0, 10, 2]
    await asyncio.gather(*map(run, sizes))

    assert order == sizes


async def test_a_cancelled_wait_for_room_lets_those_behind_it_in(tmp_path: Path) -> None:
    """A large state that is not waited for any more keeps no small one out."""
    gate = IsolationGate(tmp_path, room=10)
    entered = asyncio.Event()

    async def wait(size: int) -> None:
        async with gate.room_for(size):
            entered.set()

    async with gate.room_for(8):
        large, small = asyncio.create_task(wait(9)), asyncio.create_task(wait(2))
        await asyncio.sleep(0)
        assert not entered.is_set()
        large.cancel()
        await asyncio.wait_for(entered.wait(), 10)
        await small
