"""How synchronous code of the user is executed: by the caller, in the thread that belongs to the run."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Runner(Protocol):
    """Executes sync code in the run's own thread; what `work` returns or raises reaches the one who awaits."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Start `work` and give its result."""
        ...
