"""What a user wants of one call, before and after it is put into words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.values import Card, Handle


@dataclass(frozen=True)
class Reference:
    """Where values come from that the user does not say: which entry of the result before, of how many.

    `places` are list positions from outermost to innermost, `taken` the arguments that are taken from there; `earlier`
    are those of them that are of something before it, which was one.
    """

    places: tuple[int, ...] = ()
    count: int = 1
    taken: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether there is but one thing that can be meant."""
        return not self.places or (self.count <= 1 and not any(self.places))

    def of(self, paths: Iterable[str]) -> "Reference":
        """Give what arguments refer to, of the result before or of something earlier."""
        return Reference(taken=self.taken) if set(paths) <= set(self.earlier) else self


@dataclass(frozen=True)
class Wish:
    """One call as the user speaks of it: the tool, the values it gives itself, and what the rest refers to.

    `handle` is the name by which the user calls what the call is about.
    """

    card: Card
    given: Mapping[str, JsonValue]
    reference: Reference | None = None
    handle: Handle | None = None


@dataclass(frozen=True)
class Woven:
    """One call in words: what is asked for, and clauses for the values that it has no place for."""

    task: str
    asides: tuple[str, ...] = ()
