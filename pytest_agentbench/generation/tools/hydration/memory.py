"""What attempts at one walk learnt: calls that fail where they stand, choices that lead nowhere, values that change.

The world is the same in each attempt, so a call fails again after the same changes; after others it may work. Reads
change nothing and count only by what is taken from them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Draft, Turn

Changes = tuple[str, ...]
"""The changes that were made before a call, in order."""

Unsteady = tuple[str, str, str]
"""A value that is another one in each environment: the tool that gave it, the tool that took it ("" for the user), and
the argument, or where it stands."""


class HydrationError(Exception):
    """A walk cannot be hydrated: for which reason (a few words), and in detail.

    `turns` are those that came before, in the attempt that came furthest.
    """

    def __init__(self, reason: str, detail: str = "", turns: Sequence[Turn] = ()) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.turns = tuple(turns)


@dataclass(frozen=True)
class Choice:
    """A call that was made: its place, the changes before it, its tool and key."""

    place: int
    changes: Changes
    tool: str
    key: str
    writes: bool


@dataclass
class Memory:
    """What is not tried again; `is_over` where no other choice is left, `reached` how many calls an attempt made.

    `tries` counts the calls that were tried in all attempts, those among them that a rule did not let be made too.
    """

    unsteady: set[Unsteady] = field(default_factory=set)
    is_over: bool = False
    tries: int = 0
    reached: int = 0
    _failed: set[tuple[Changes, str]] = field(default_factory=set)
    _barren: set[tuple[int, Changes, str]] = field(default_factory=set)

    def failed(self, changes: Changes, key: str) -> None:
        """Note that a call fails after these changes."""
        self._failed.add((changes, key))

    def may_try(self, place: int, changes: Changes, key: str) -> bool:
        """Whether nothing is known against a call at this place after these changes."""
        return (changes, key) not in self._failed and (place, changes, key) not in self._barren

    def barren(self, choice: Choice) -> None:
        """Note that a choice leads nowhere."""
        self._barren.add((choice.place, choice.changes, choice.key))

    def stuck(self, made: Sequence[Choice], tool: str, owned: Choice | None = None) -> None:
        """Note that no call of a tool was left after these.

        To blame is the call that named the owner (`owned`), where other owners have calls left; else the last change,
        else the tool's own last call.
        """
        blamed = [owned] if owned is not None else [choice for choice in made if choice.writes]
        blamed = blamed or [choice for choice in made if choice.tool == tool]
        if not blamed:
            self.is_over = True
            return
        self.barren(blamed[-1])


def changes_of(made: Sequence[Choice]) -> Changes:
    """Give the changes among calls."""
    return tuple(choice.key for choice in made if choice.writes)


@dataclass
class Usage:
    """How often accepted drafts named each value, so that later ones are about something else."""

    _named: Counter[str] = field(default_factory=Counter)

    def note(self, draft: Draft) -> None:
        """Count what the user of a draft names, each value once."""
        self._named.update({str(stated.value) for turn in draft.turns for stated in turn.states})

    def of(self, values: Sequence[JsonValue]) -> int:
        """Give how often these values were named, added up."""
        return sum(self._named[str(value)] for value in values if isinstance(value, str))
