"""First-come lines, whose waiters may live in different threads and on different event loops."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass


@dataclass(eq=False)
class Place:
    """A claim to a line, and how much of its room it takes; `loop` is the event loop that it waits on, if any.

    `wake` is told whether the place is held from then on; it raises `RuntimeError` where nobody is there any more.
    """

    wake: Callable[[bool], object]
    amount: int = 1
    loop: asyncio.AbstractEventLoop | None = None


class Line:
    """Lets those go that came first, as many at a time as there is `room` for."""

    def __init__(self, room: int = 1) -> None:
        self.room = room
        self._lock = threading.Lock()
        self._held: set[Place] = set()
        self._waiting: deque[Place] = deque()

    def take(self, place: Place) -> bool:
        """Take a place at once, or wait in line until it is woken; say whether it is held."""
        with self._lock:
            if self._waiting or not self._fits(place):
                self._waiting.append(place)
                return False
            self._held.add(place)
            return True

    def leave(self, place: Place) -> None:
        """Give up a place, be it held or waited for; nothing happens where it is neither any more."""
        self.drop(lambda one: one is place)

    def drop(self, is_gone: Callable[[Place], bool]) -> None:
        """Take their places, held or waited for, from those that are gone."""
        with self._lock:
            self._waiting = deque(place for place in self._waiting if not is_gone(place))
            self._held = {place for place in self._held if not is_gone(place)}
            while self._waiting and self._fits(self._waiting[0]):
                place = self._waiting.popleft()
                if _is_woken(place, held=True):
                    self._held.add(place)

    def take_over(self, place: Place) -> None:
        """Let one that waits have the line to itself, whoever holds it."""
        with self._lock:
            if place in self._waiting:
                self._waiting.remove(place)
                self._held = {place}

    def open(self) -> None:
        """Wake all that wait, without a place."""
        with self._lock:
            waiting, self._waiting = self._waiting, deque()
        for place in waiting:
            _is_woken(place, held=False)

    def holds(self, place: Place | None) -> bool:
        """Whether a place is held."""
        with self._lock:
            return place in self._held

    def is_free_for(self, place: Place | None) -> bool:
        """Whether nobody else holds a place."""
        with self._lock:
            return not self._held - {place}

    def _fits(self, place: Place) -> bool:
        return sum(one.amount for one in self._held) + place.amount <= self.room


async def place_in(
    line: Line, amount: int = 1, *, paused: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
) -> Place | None:
    """Wait on the running loop for a place, if need be `paused`; None where the line was opened meanwhile.

    What is larger than the room waits for all of it. Whoever is cancelled has left the line.
    """
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[bool] = loop.create_future()
    place = Place(lambda held: loop.call_soon_threadsafe(_settle, woken, held), min(amount, line.room), loop)
    if line.take(place):
        return place
    try:
        async with paused():
            return place if await woken else None
    except BaseException:
        line.leave(place)
        raise


def _settle(woken: "asyncio.Future[bool]", held: bool) -> None:
    if not woken.done():
        woken.set_result(held)


def _is_woken(place: Place, *, held: bool) -> bool:
    try:
        place.wake(held)
    except RuntimeError:  # its loop is closed
        return False
    return True
