"""Whatever an agent raises ends its run with an `AgentError`, and a cancellation of the run stays one."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest

from pytest_agentbench.agents.failure import failure, guard, guard_sync
from pytest_agentbench.core.errors import AgentError, EnvironmentFaultError
from pytest_agentbench.core.protocols import RunSync
from tests.tables import each


class UnprintableError(Exception):
    """An exception whose text cannot be read."""

    def __str__(self) -> str:
        raise ValueError("no text")


def deep() -> None:
    """Recurse for ever."""
    deep()


async def raising(error: BaseException) -> str:
    """Raise what was given, as an agent would."""
    raise error


EXITS = [
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    asyncio.CancelledError(),
    pytest.skip.Exception("not today"),
    pytest.exit.Exception("stop"),
    pytest.fail.Exception("no"),
    ValueError("boom"),
    StopAsyncIteration(),
    UnprintableError(),
    BaseExceptionGroup("many", [SystemExit(1), ValueError("x")]),
]


@each("error", EXITS, ids=lambda error: type(error).__name__)
async def test_async_code_that_raises_is_an_agent_error(error: BaseException) -> None:
    """Exits, pytest's own exceptions and ordinary ones all become an `AgentError` with cause and line."""
    with pytest.raises(AgentError) as caught:
        await guard(raising(error), root=Path(__file__).parent)
    assert type(error).__name__ in str(caught.value) or isinstance(error, StopAsyncIteration)
    assert "(test_failure.py:" in str(caught.value)
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("error", [*EXITS, StopIteration()], ids=lambda error: type(error).__name__)
async def test_sync_code_that_raises_is_an_agent_error(error: BaseException, run_sync: RunSync) -> None:
    """What sync code raises in the run's thread arrives as an `AgentError`, and the thread goes on."""

    def work() -> str:
        raise error

    with pytest.raises(AgentError) as caught:
        await guard_sync(work, run_sync)
    assert type(error).__name__ in str(caught.value)
    assert f"({__file__}:" in str(caught.value)
    assert caught.value.__cause__ is error
    assert await guard_sync(lambda: "alive", run_sync) == "alive"


async def test_endless_recursion_is_an_agent_error(run_sync: RunSync) -> None:
    """A RecursionError is reported like any other exception."""
    with pytest.raises(AgentError, match="RecursionError"):
        await guard_sync(deep, run_sync)


async def test_cancelling_the_run_passes_through() -> None:
    """A cancellation that the run asked for is no failure of the agent."""
    task = asyncio.ensure_future(guard(asyncio.Event().wait()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@each("then", ["answer", "raise"])
async def test_an_agent_cannot_swallow_a_cancellation(then: str) -> None:
    """An agent that catches everything is still cancelled."""

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except BaseException as error:
            if then == "raise":
                raise ValueError("again") from error
        return "still here"

    task = asyncio.ensure_future(guard(stubborn()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_time_limit_of_ours_passes_and_one_of_the_agents_own_does_not() -> None:
    """`asyncio.timeout` works around the guard, and inside it a timeout is the agent's own failure."""

    async def impatient() -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await guard(asyncio.Event().wait())
    with pytest.raises(AgentError, match="TimeoutError"):
        await guard(impatient())


def test_closing_a_guarded_coroutine_is_silent() -> None:
    """A coroutine that is closed after its loop ended, as garbage collection does, ends without an error."""

    async def begun() -> Coroutine[object, object, object]:
        coroutine = guard(asyncio.Event().wait())
        coroutine.send(None)
        return coroutine

    asyncio.run(begun()).close()


async def test_faults_of_the_environment_keep_their_type(run_sync: RunSync) -> None:
    """An environment fault that surfaces inside an agent is not blamed on the agent."""

    def work() -> None:
        raise EnvironmentFaultError("the database is gone")

    with pytest.raises(EnvironmentFaultError):
        await guard_sync(work, run_sync)
    with pytest.raises(EnvironmentFaultError):
        await guard(raising(EnvironmentFaultError("the database is gone")))


async def test_the_users_line_is_named_not_the_librarys() -> None:
    """The place is the innermost line outside the standard library and installed packages."""

    async def parse() -> object:
        import json

        return json.loads("{")

    with pytest.raises(AgentError, match=r"JSONDecodeError: .* \(.*test_failure.py:\d+ in parse\)"):
        await guard(parse())


def test_texts_are_made_safe_and_short() -> None:
    """Escape sequences and surrogates of an exception's text never reach the message, nor does a megabyte."""
    message = str(failure(ValueError("\x1b[31m\ud800" + "x" * 10**6)))
    assert "\x1b" not in message
    assert "\\ud800" in message
    assert len(message) < 1000


def test_a_group_of_one_shows_what_is_inside() -> None:
    """The text of a group with one member says nothing, so its member is shown."""
    assert "KeyError: 'order'" in str(failure(ExceptionGroup("unhandled errors", [KeyError("order")])))
