"""The run's own thread, as the floor above gives it to the adapters."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from pytest_agentbench.core.protocols import RunSync

T = TypeVar("T")


@contextmanager
def run_thread() -> Iterator[RunSync]:
    """Give a runner with one thread, whose name starts with `the-run`."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="the-run") as pool:

        def run(work: Callable[[], T], /) -> Awaitable[T]:
            return asyncio.get_running_loop().run_in_executor(pool, work)

        yield run
