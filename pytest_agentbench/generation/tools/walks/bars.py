"""Steps that walks do not take once other tools were called: a contract that was closed is not prolonged."""

from collections import Counter
from collections.abc import Iterable, Mapping

from pytest_agentbench.generation.tools.values import RUN_CONVERSATION

Step = tuple[str, str]
"""From one node to the next; from the user's turn, a tool that a turn begins with."""


class Bars:
    """Steps that are not taken once other tools were called."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        """Begin with pairs: no turn begins with the second tool once the first was called."""
        self._after: dict[Step, list[Counter[str]]] = {}
        for first, second in sorted(pairs):
            self.add({first: 1}, (RUN_CONVERSATION, second))

    def add(self, before: Mapping[str, int], step: Step) -> None:
        """Bar a step once each of these tools was called so often; nothing is barred from the outset."""
        if any(before.values()) and Counter(before) not in self._after.setdefault(step, []):
            self._after[step].append(Counter(before))

    def forbid(self, calls: Counter[str], step: Step) -> bool:
        """Whether a step is barred after these calls."""
        return any(before <= calls for before in self._after.get(step, ()))
