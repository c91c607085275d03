"""What the plugin keeps on pytest's objects."""

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.plugin.bench import Bench, Finished

BENCH = pytest.StashKey[Bench]()
"""The session's shared services, on the config."""

EARLIER = pytest.StashKey[tuple[Result, ...]]()
"""The results of earlier attempts at an item's run."""

RESULT = pytest.StashKey[Result]()
"""The result of the run that an item awaited."""

POSITION = pytest.StashKey[int]()
"""Where an item stands in the order of execution."""

BLOCKED_BY = pytest.StashKey[str | None]()
"""The fixture that keeps an item's run from starting ahead."""

SIMULATED = pytest.StashKey[list[Finished]]()
"""The conversations that a test of the user's simulated."""

STOPPED = pytest.StashKey[bool]()
"""That a trial was not needed."""

BEGUN = pytest.StashKey[int]()
"""How many conversations a test of the user's has begun."""
