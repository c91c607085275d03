"""The garbage collector of a session: it leaves alone what was built before the items run, and looks less often."""

import gc
from collections.abc import Generator

import pytest

_FRESH = 10_000
"""New objects after which the collector looks at them; Python's own 700 is a fraction of one conversation."""


class Garbage:
    """Keeps the collector from walking, every few runs, over what pytest and the suites have built, and which stays.

    In a process of its own a session keeps that out of sight until it ends: pytest and Python walk over everything
    several times at the end, which took as long as loading it. In a process that goes on afterwards all is put back
    when the items have run. A process that froze objects itself is left alone, since they could not be told apart from
    ours; so is one that has switched the collector off or has it look less often.
    """

    def __init__(self, *, owns_process: bool) -> None:
        """Keep what has been loaded so far out of sight, in a process of the session's own."""
        self._keeps = owns_process and not gc.get_freeze_count()
        if self._keeps:
            gc.freeze()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Take what exists out of the collector's sight while items run."""
        if not self._keeps and gc.get_freeze_count():  # counting what we froze takes long
            return (yield)
        found = gc.get_threshold()
        chosen = (max(found[0], _FRESH), *found[1:]) if found[0] else found
        gc.set_threshold(*chosen)
        if self._keeps:
            gc.collect()  # what is garbage by now would never be found later, and its warnings never be shown
        gc.freeze()
        try:
            return (yield)
        finally:
            if not self._keeps:
                gc.unfreeze()
            if gc.get_threshold() == chosen:  # else a test has set another meanwhile
                gc.set_threshold(*found)
