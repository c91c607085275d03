"""What attempts at one walk learn: calls that fail where they stand, calls that lead nowhere, values that change.

The world is the same in each attempt, so a call fails again after the same changes; after others it may work. Reads
change nothing and count only by what is taken from them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Draft, Turn
from pytest_agentbench.generation.tools.hydration.arguments import Changes, Executed
from pytest_agentbench.generation.tools.probing.schemas import read_slots

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


@dataclass
class Memory:
    """What is not tried again; `is_over` where nothing else is left, `reached` how many calls an attempt made.

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

    def barren(self, place: int, call: Executed) -> None:
        """Note that a call leads nowhere at its place."""
        self._barren.add((place, call.changes, call.key))

    def stuck(self, made: Sequence[Executed], tool: str, owned: int | None = None) -> None:
        """Note that no call of a tool was left after these.

        To blame is the call that named the owner (number `owned`), where other owners have calls left; else the last
        change, else the tool's own last call.
        """
        blamed = [owned] if owned is not None else [place for place, one in enumerate(made) if one.writes]
        blamed = blamed or [place for place, one in enumerate(made) if one.card.tool == tool]
        if blamed:
            self.barren(blamed[-1], made[blamed[-1]])
        else:
            self.is_over = True


def changes_of(made: Iterable[Executed]) -> Changes:
    """Give the changes among calls."""
    return tuple(one.key for one in made if one.writes)


@dataclass
class Usage:
    """How often accepted drafts named each value, so that later ones are about something else."""

    _named: Counter[str] = field(default_factory=Counter)

    def note(self, draft: Draft) -> None:
        """Count what the user of a draft names, each value once."""
        self._named.update({str(stated.value) for turn in draft.turns for stated in turn.states})

    def of(self, arguments: dict[str, JsonValue]) -> int:
        """Give how often the texts of a call were named, added up."""
        return sum(self._named[value] for value in read_slots(arguments).values() if isinstance(value, str))
