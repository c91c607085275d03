"""What the tests of the adapters share."""

from collections.abc import Iterator

import pytest

from pytest_agentbench.core.protocols import RunSync
from tests.agents.threads import run_thread


@pytest.fixture
def run_sync() -> Iterator[RunSync]:
    """Give a runner with a thread of its own."""
    with run_thread() as runner:
        yield runner
