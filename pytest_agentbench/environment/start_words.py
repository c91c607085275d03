"""Which words the state holds that a run begins with: asked of every run, gathered once for states that share parts."""

import threading
from collections import deque
from collections.abc import Callable
from itertools import islice

from pytest_agentbench.core.state import State
from pytest_agentbench.environment.fresh_values import words
from pytest_agentbench.environment.shared_parts import apart

_FEW = 20_000
"""Words by which a state may differ from one that was read, so that this need not be read as a whole."""


class _Index:
    """The words of the states read last; runs that ask at the same time wait for one reading."""

    def __init__(self) -> None:
        self._read: deque[tuple[State, frozenset[str]]] = deque(maxlen=2)
        self._reading = threading.Lock()

    def find(self, state: State) -> Callable[[str], bool]:
        with self._reading:
            for known, index in self._read:
                if known is state:
                    return index.__contains__
                if found := _beside(state, known, index, min(_FEW, len(index) // 2)):
                    return found
            index = frozenset(words(state))
            self._read.append((state, index))
            return index.__contains__


_INDEX = _Index()


def words_in(state: State) -> Callable[[str], bool]:
    """Give what tells whether a word stands in a state, which is not changed any more."""
    return _INDEX.find(state)


def _beside(state: State, known: State, index: frozenset[str], few: int) -> Callable[[str], bool] | None:
    """Tell the words of a state by those of one that shares nearly all parts with it; None where it does not."""
    own, others = apart(state, known)
    found, missing = (list(islice(words(part), few)) for part in (own, others))
    if few in (len(found), len(missing)):
        return None
    added, left_out = frozenset(found), frozenset(missing)

    def holds(word: str) -> bool:
        if word in added or word not in index:
            return word in added
        return word not in left_out or any(one == word for one in words(state))

    return holds
