"""The garbage collector while items run: it leaves alone what was built before them, and looks less often."""

import gc
from collections.abc import Generator

import pytest

_FRESH = 10_000
"""New objects after which the collector looks at them; Python's own 700 is a fraction of one conversation."""


class Garbage:
    """Keeps the collector from walking, every few runs, over what pytest and the suites have built, and which stays.

    Only while the items run: afterwards all is as it was. A process that froze objects itself is left alone, since
    they could not be told apart from ours; so is one that has switched the collector off or has it look less often.
    """

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Take what exists out of the collector's sight, and put it back whatever ends the loop."""
        if gc.get_freeze_count():
            return (yield)
        found = gc.get_threshold()
        chosen = (max(found[0], _FRESH), *found[1:]) if found[0] else found
        gc.set_threshold(*chosen)
        gc.freeze()
        try:
            return (yield)
        finally:
            gc.unfreeze()
            if gc.get_threshold() == chosen:  # else a test has set another meanwhile
                gc.set_threshold(*found)
