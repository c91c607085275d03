"""In which order the values that one tool offers are tried on an argument of another, and how many of them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.generation.tools.probing.observed import Seen

TRIES = 4
"""Values of one tool that are tried on one argument, until one is accepted."""
NAMED = 3
"""Values of one tool whose name the argument bears: more of them are tried, since each may be of another place."""
MORE = 3
"""Times as many values as are tried among which further ones of a place are looked for."""


def seconds_first(several: Sequence[Seen], hits: Mapping[tuple[str, str], int]) -> Iterator[Seen]:
    """Give values in order, at most as many as are tried; after one that was accepted another of its place.

    One number may be accepted by chance, and two of one place seldom are.
    """
    left = list(several)
    most = TRIES + bool(left and left[0].likeness >= 0.5) * NAMED
    while left and most > 0:
        again = next((one for one in left if hits[one.atom.path, one.atom.pattern] == 1), left[0])
        most -= not hits[again.atom.path, again.atom.pattern]
        left.remove(again)
        yield again


def one_a_place(several: list[Seen]) -> list[Seen]:
    """Put one value of each place before the second ones of any."""
    turns: dict[tuple[str, str], int] = defaultdict(int)
    numbered: list[tuple[int, Seen]] = []
    for one in several:
        place = (one.atom.path, one.atom.pattern)
        numbered.append((turns[place], one))
        turns[place] += 1
    return [one for _, one in sorted(numbered, key=lambda pair: pair[0])]
