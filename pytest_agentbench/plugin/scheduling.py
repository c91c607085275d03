"""How xdist hands items out, so that each worker knows enough of them to keep its conversations in flight.

xdist's own load scheduling hands out few items and then waits when tests take longer than 0.1 s, which starves a
worker that could hold eight conversations at once.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling  # noqa: TID253 - this module loads only when xdist asks for a scheduler
from xdist.workermanage import WorkerController  # noqa: TID253 - same

from pytest_agentbench.plugin.early_stop import own_first, scenario_of

_WINDOW = 3
"""Items outstanding at a worker, as a multiple of its slots.

Fewer than twice as many are to its pool the last ones, all of which it starts; and while runs end in any order, they
are reported, and new items come, in that of the items. With no more items than slots, conversations went in waves:
200 of them on two workers took half as long again.
"""

_OVERRIDDEN = ("schedule", "check_schedule", "remove_node", "_send_tests")
"""Methods of xdist's scheduler that `WindowScheduling` overrides and calls; `_send_tests` is private to xdist."""


class WindowScheduling(LoadScheduling):  # type: ignore[misc]  # xdist ships no types
    """Load scheduling with a fixed number of items outstanding at each worker.

    Where `keeps_trials` says so once all have collected, the trials of a scenario go to one worker, which then knows
    how those before ended.
    """

    def __init__(self, config: pytest.Config, log: Any, *, slots: int, keeps_trials: Callable[[], bool]) -> None:
        super().__init__(config, log)
        self._window = _WINDOW * slots + 1
        self._keeps_trials = keeps_trials
        self._owners: dict[str, WorkerController] | None = None

    def schedule(self) -> None:
        """Hand out the first items, then fill every worker's window."""
        if self._owners is None and self._keeps_trials():
            self._owners = {}
        super().schedule()
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
        """Fill a worker's window, with a fair share where few items are left."""
        if node.shutting_down:
            return
        if not self.pending:
            node.shutdown()
            return
        share = -(-len(self.collection or ()) // max(1, len(self.node2pending)))
        missing = min(self._window, max(2, share)) - len(self.node2pending[node])
        if missing > 0:
            self._send_tests(node, missing)

    def remove_node(self, node: WorkerController) -> str | None:
        """Let others take the scenarios of a worker that is gone."""
        if self._owners is not None:
            self._owners = {scenario: owner for scenario, owner in self._owners.items() if owner is not node}
        crashed: str | None = super().remove_node(node)
        return crashed

    def _send_tests(self, node: WorkerController, num: int) -> None:
        if self._owners is None:
            self._hand_out(node, num)
            return
        nodeids = self.collection or ()
        chosen = own_first(self.pending, nodeids, self._owners, node)[:num]
        self._owners |= {scenario_of(nodeids[index]): node for index in chosen}
        taken = set(chosen)
        self.pending[:] = [*chosen, *(index for index in self.pending if index not in taken)]
        if chosen:
            self._hand_out(node, len(chosen))

    def _hand_out(self, node: WorkerController, num: int) -> None:
        """Send runs to a worker; one that has just died gets them on its list, from which others take them over."""
        with contextlib.suppress(OSError):  # it is reported down next
            super()._send_tests(node, num)


def make_window_scheduler(
    config: pytest.Config, log: Any, *, slots: int, keeps_trials: Callable[[], bool]
) -> WindowScheduling | None:
    """Give the scheduler of a session whose workers have so many slots each.

    None where xdist's own no longer has what is overridden here: xdist then hands out items as it does elsewhere.
    """
    if not all(callable(getattr(LoadScheduling, name, None)) for name in _OVERRIDDEN):
        return None
    return WindowScheduling(config, log, slots=slots, keeps_trials=keeps_trials)
