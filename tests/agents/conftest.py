"""The run's own thread, as the floor above gives it to the adapters."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from pytest_agentbench.environment.runner import Runner

T = TypeVar("T")


@pytest.fixture
def run_sync() -> Iterator[Runner]:
    """Give a runner with one thread named `the-run`."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="the-run") as pool:

        def run(work: Callable[[], T], /) -> Awaitable[T]:
            return asyncio.get_running_loop().run_in_executor(pool, work)

        yield run
