"""How the time of a reader grows with its input, whatever else the machine does meanwhile."""

import time
from collections.abc import Callable


def growth(work: Callable[[int], object], size: int) -> float:
    """Give how many times as long `work` takes for four times the size: about 4 where time is linear, 16 where square.

    Only the processor time of this thread counts, and of two measurements the shorter.
    """
    return _seconds(work, 4 * size) / max(_seconds(work, size), 1e-3)


def _seconds(work: Callable[[int], object], size: int) -> float:
    spent = []
    for _ in range(2):
        begun = time.thread_time()
        work(size)
        spent.append(time.thread_time() - begun)
    return min(spent)
