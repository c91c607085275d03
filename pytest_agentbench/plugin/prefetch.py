"""Which runs may start ahead of their item, and why others may not."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

import pytest

from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.items import ScenarioItem, is_scenario
from pytest_agentbench.plugin.run_store import Session
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.pool import Pool
from pytest_agentbench.runs.service import Attempts

POSITION = pytest.StashKey[int]()
"""Where an item stands in the order of execution."""

_BLOCKED_BY = pytest.StashKey[str | None]()
"""The fixture that keeps an item's run from starting ahead."""

_OWN = frozenset({"_pytest", "pytest", "pytest_agentbench"})
"""Fixtures from here say nothing about the state that a run depends on."""

_WINDOW = 4
"""How many items to look at, as a multiple of the concurrency: enough for the last slots, cheap in large suites."""


class Prefetch:
    """Starts runs ahead of their items: pure conversations only, in order, up to the first item that must wait."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.nextitem: pytest.Item | None = None
        self.sequential: dict[str, int] = {}
        self._holds_all: Pool[Attempts] | None = None
        self._cleared: dict[pytest.Item, RunPlan] = {}

    def after_setup(self, item: pytest.Item) -> None:
        """Start the item's own run and queue those behind it that may start ahead."""
        if not is_scenario(item) or self._session.options.concurrency == 1:
            return
        if reason := blocking_fixture(item):
            self.sequential[reason] = self.sequential.get(reason, 0) + 1
            return
        session, runs = self._session, self._session.runs
        session.store.look_for_crashes()
        if session.store.stored(item.plan) or session.store.is_suspect(item.plan):
            return
        needed = not session.early_stop.unneeded(item.plan)
        was_queued = self._cleared.pop(item, None) is not None
        if needed:
            runs.start(item.plan)
        is_plain = not (item.plan.stops_early or session.store.has_suspects)
        enough = _WINDOW // 2 * session.options.concurrency  # looking at the whole window for each run takes a while
        if was_queued and (self._holds_all is runs.pool or (is_plain and runs.pool.waiting > enough)):
            return
        following = compat.upcoming(item.session, item.stash.get(POSITION, None), self.nextitem)
        queued = list(self._eligible(item, following))
        runs.queue(queued)
        # in one process nothing is added to what follows: once all of it is queued, there is no need to look again
        is_all = session.role == "single" and len(queued) == len(item.session.items) - item.stash.get(POSITION, 0) - 1
        self._holds_all = runs.pool if is_all else None

    def _eligible(self, item: ScenarioItem, following: Iterable[pytest.Item]) -> Iterator[RunPlan]:
        store, early_stop = self._session.store, self._session.early_stop
        if store.has_suspects:
            self._cleared.clear()
        for next_ in islice(following, _WINDOW * self._session.options.concurrency):
            if cleared := self._cleared.get(next_):  # looked at behind an earlier item
                yield cleared
                continue
            if not is_scenario(next_) or not same_scope(item, next_) or held_back(next_) or blocking_fixture(next_):
                return
            if store.is_suspect(next_.plan) or early_stop.must_wait(next_.plan):
                return
            if early_stop.unneeded(next_.plan):
                continue
            if not store.stored(next_.plan):
                self._cleared[next_] = next_.plan
                yield next_.plan


def same_scope(item: pytest.Item, other: pytest.Item) -> bool:
    """Whether the modules of two items lie in the same folder, so that no other conftest comes between them."""
    return (item.parent or item).path.parent == (other.parent or other).path.parent


def held_back(item: pytest.Item) -> bool:
    """Whether a mark may keep the item from running at all."""
    return any(
        mark.name in {"skip", "skipif"} or (mark.name == "xfail" and not mark.kwargs.get("run", True))
        for mark in item.iter_markers()
    )


def blocking_fixture(item: pytest.Item) -> str | None:
    """Name a function-, class- or module-scoped fixture in the item's closure, on which its run may depend."""
    if _BLOCKED_BY not in item.stash:
        item.stash[_BLOCKED_BY] = _blocking_fixture(item)
    return item.stash[_BLOCKED_BY]


def _blocking_fixture(item: pytest.Item) -> str | None:
    fixtures = compat.fixture_scopes(item)
    if fixtures is None:
        return "pytest does not tell which fixtures it needs"
    for name, scope, function in fixtures:
        if scope in {"session", "package"}:
            continue
        function = inspect.unwrap(function)  # noqa: PLW2901 - the function behind the decorators is the fixture
        module = getattr(function, "__module__", None) or ""
        if module.partition(".")[0] in _OWN:
            continue
        file = getattr(sys.modules.get(module), "__file__", None) or module
        return f"fixture {name!r} ({scope}-scoped, {file.rpartition('/')[2]})"
    return None
