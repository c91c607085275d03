"""What attempts at one story learnt: calls that fail where they stand, and choices that lead nowhere.

The world is the same in each attempt, so a call fails again after the same changes; after others it may work. Reads
change nothing and count only by what is taken from them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_agentbench.generation.tools.recruiting.stock import Lost
from pytest_agentbench.generation.tools.stories.telling import Operation

Situation = tuple[str, ...]
"""The changes that were made before a call, in order."""


@dataclass(frozen=True)
class Choice:
    """A call that was made: how many came before it, what had been changed by then, the tool, the call."""

    place: int
    situation: Situation
    tool: str
    key: str
    writes: bool


@dataclass
class Memory:
    """Faults of wording by operation, and what is not tried again; `is_over` where no other choice is left.

    `lost` are values that are others in each environment, `reached` how many calls the attempt made.
    """

    faults: defaultdict[Operation, list[str]] = field(default_factory=lambda: defaultdict(list))
    lost: set[Lost] = field(default_factory=set)
    is_over: bool = False
    reached: int = 0
    _failed: set[tuple[Situation, str]] = field(default_factory=set)
    _barren: set[tuple[int, Situation, str]] = field(default_factory=set)

    def failed(self, situation: Situation, key: str) -> None:
        """Note that a call fails after these changes."""
        self._failed.add((situation, key))

    def may_try(self, place: int, situation: Situation, key: str) -> bool:
        """Whether nothing is known against a call at this place after these changes."""
        return (situation, key) not in self._failed and (place, situation, key) not in self._barren

    def barren(self, choice: Choice) -> None:
        """Note that a choice leads nowhere."""
        self._barren.add((choice.place, choice.situation, choice.key))

    def stuck(self, made: Sequence[Choice], tool: str) -> None:
        """Note that no call of a tool was left after these: the last change is to blame, else its own last call."""
        changes = [choice for choice in made if choice.writes]
        own = [choice for choice in made if choice.tool == tool]
        if not changes and not own:
            self.is_over = True
            return
        self.barren((changes or own)[-1])


def situation_of(made: Sequence[Choice]) -> Situation:
    """Give the changes among calls."""
    return tuple(choice.key for choice in made if choice.writes)
