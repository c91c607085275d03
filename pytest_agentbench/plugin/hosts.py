"""Workers on other hosts: what the controller tells each worker, who counts as elsewhere, and how budgets are divided.

Such workers do not see the run directory. They have one of their own, whose contents `mirror.py` sends along with their
reports, and a share of the session's budgets that is theirs alone, since no ledger reaches across hosts.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.names import count
from pytest_agentbench.plugin.options import Options, tx_specs

_POSTING = "agentbench"
_VERSION = "agentbench_version"


class Posting(Model):
    """What the controller tells a worker as it starts.

    `plans`: this worker writes the plan of all runs. `elsewhere`: it is on another host, with budgets `max_cost` and
    `max_calls` of its own, kept under the name `account`. `root` is the controller's rootdir, `files` what the worker's
    run directory holds from the start where it has to have one of its own.
    """

    run_path: str
    root: str
    session: int = 0
    plans: bool = False
    elsewhere: bool = False
    account: str = ""
    max_cost: float | None = None
    max_calls: int | None = None
    files: dict[str, str] = {}

    def attach(self, workerinput: dict[str, Any]) -> None:
        """Put the posting where xdist sends it to the worker."""
        workerinput[_POSTING] = dumps(self)
        workerinput[_VERSION] = version("pytest-agentbench")


def posting_of(config: pytest.Config) -> Posting | None:
    """Give what the controller told this worker; None in any other process.

    Raise `pytest.UsageError` where the controller is of another version: the two would misread each other's reports.
    """
    told = getattr(config, "workerinput", {})
    text = told.get(_POSTING)
    if not text:
        return None
    theirs, ours = told.get(_VERSION), version("pytest-agentbench")
    if theirs != ours:
        raise pytest.UsageError(
            f"worker {told['workerid']} has pytest-agentbench {ours} ({sys.executable}), the session {theirs}: install "
            "the same version on all hosts"
        )
    return Posting.model_validate(loads(text))


def is_elsewhere(spec: object) -> bool:
    """Whether an execnet specification names another host: anything but a process started here, or one by a proxy."""
    keys = {part.partition("=")[0] for part in str(spec).split("//")}
    return "popen" not in keys or "via" in keys


class Division:
    """The session's budgets, divided among its workers as far as these are on other hosts."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        """Raise `pytest.UsageError` where a budget of calls does not reach for all of them."""
        specs = tx_specs(config)
        self.elsewhere = sum(times for times, spec in specs if is_elsewhere(spec))
        self.workers = options.workers
        self._options = options
        if self.elsewhere and options.max_calls is not None and options.max_calls < self.workers:
            raise pytest.UsageError(
                f"agentbench_max_calls = {options.max_calls} cannot be divided among {self.workers} workers, of which "
                f"{self.elsewhere} are on other hosts; give at least {self.workers}, or have fewer workers"
            )

    @property
    def max_cost(self) -> float | None:
        """What one worker elsewhere may spend, in US dollars."""
        return None if self._options.max_cost is None else self._options.max_cost / self.workers

    @property
    def max_calls(self) -> int | None:
        """How many calls one worker elsewhere may make."""
        return None if self._options.max_calls is None else self._options.max_calls // self.workers

    @property
    def here(self) -> Options:
        """The options with what is left for the workers of this host, who share it exactly."""
        if not self.elsewhere:
            return self._options
        cost, calls = self.max_cost, self.max_calls
        return replace(
            self._options,
            max_cost=None if cost is None else cost * (self.workers - self.elsewhere),
            max_calls=None if calls is None else (self._options.max_calls or 0) - calls * self.elsewhere,
        )

    def told(self) -> list[str]:
        """Say what was divided, nothing where all budgets are exact."""
        if not self.elsewhere or (self.max_cost is None and self.max_calls is None):
            return []
        shares = [] if self.max_calls is None else [count(self.max_calls, "call")]
        shares += [] if self.max_cost is None else [f"{self.max_cost:.6g} USD"]
        who = f"{self.elsewhere} of {self.workers} workers are on other hosts"
        own = f"each with {' and '.join(shares)} of its own"
        return [f"budgets are divided: {who}, {own}; what one does not use, no other gets"]


def own_budgets(options: Options, posting: Posting | None) -> Options:
    """Give a worker's options: on another host the budgets are its share."""
    if posting is None or not posting.elsewhere:
        return options
    return replace(options, max_cost=posting.max_cost, max_calls=posting.max_calls)


def sees(posting: Posting) -> bool:
    """Whether the controller's run directory can be read from here."""
    return (Path(posting.run_path) / "meta.json").is_file()
