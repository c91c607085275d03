"""Work that is done once for equal JSON: each request of a conversation repeats all that was said before."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from pytest_agentbench.core.values import JsonValue

Made = TypeVar("Made")


class Memo(Generic[Made]):
    """Remembers what was made of values, the latest used up to `limit` characters of JSON; safe from several threads.

    What is remembered is shared: nobody changes it.
    """

    def __init__(self, limit: int = 16_000_000) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._made: OrderedDict[bytes, tuple[int, Made]] = OrderedDict()
        self._size = 0

    def made(self, value: JsonValue, make: Callable[[], Made]) -> Made:
        """Give what `make` gives for `value`, exact builtin JSON types, from memory where an equal value was seen."""
        text = json.dumps(value)
        key = hashlib.sha256(text.encode()).digest()
        with self._lock:
            if (known := self._made.get(key)) is not None:
                self._made.move_to_end(key)
                return known[1]
        made = make()
        with self._lock:
            if key not in self._made:
                self._made[key] = (len(text), made)
                self._size += len(text)
            while self._size > self._limit:
                _, (size, _) = self._made.popitem(last=False)
                self._size -= size
        return made
