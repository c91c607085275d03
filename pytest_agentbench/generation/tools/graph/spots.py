"""Where values stand in what tools give, or in the names under which they make things; and what probing put there."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory
from pytest_agentbench.generation.tools.probing.observed import is_echo, own_values

_CHANGES = frozenset({"patch", "update", "edit", "modify", "change", "annotate", "complete", "sort"})
"""Verbs of tools that change what is there: they make nothing under the names they are given."""

Closed = frozenset[tuple[str, str]]
"""Arguments, as (tool, path), that take known values only."""

Planted = dict[str, set[str]]
"""Texts that probing gave to tools that write, with these tools."""


def planted_in(lab: Laboratory, closed: Closed) -> Planted:
    """Give the texts that probing gave to tools that write, with these tools: others may know them from there."""
    found: dict[str, set[str]] = defaultdict(set)
    for trial in lab.trials:
        subject = lab.subjects[trial.tool]
        if trial.ok and not subject.is_read and not subject.destroys:
            for path, value in trial.values.items():
                if (trial.tool, path) not in closed and value not in (None, ""):
                    found[str(value)].add(trial.tool)
    return found


class Spot:
    """A place in a tool's results, or an argument it makes something under, with its values."""

    def __init__(self, tool: str, path: str, pattern: str, origin: str, names: tuple[str, ...]) -> None:
        self.tool = tool
        self.path = path
        self.pattern = pattern
        self.origin = origin
        self.names = names
        self.values: dict[str, Any] = {}
        self.since: dict[str, dict[int, int]] = defaultdict(dict)

    def add(self, value: Any, world: int, position: int) -> None:
        """Keep a value that stands here, and by which call of all it stood here first in an environment."""
        key = dumps(value)
        self.values.setdefault(key, value)
        self.since[key].setdefault(world, position)


def places_of(lab: Laboratory, closed: Closed) -> Iterator[Spot]:
    """Give every place with the values that calls brought about there: neither echoes nor references given on.

    A call that writes brings about what it is given only where nobody knew it before in that environment: what a
    service makes under an id that the caller chose is new, what it was handed on is another tool's.
    """
    spots: dict[tuple[str, str, str, str], Spot] = {}
    known: dict[tuple[int, str], str] = {}  # which tool held, or took, a value first
    for position, trial in enumerate(lab.trials):
        subject = lab.subjects[trial.tool]
        if not trial.ok or subject.destroys:  # what was taken away is no more
            continue
        values = trial.values
        references = [value for path, value in values.items() if (trial.tool, path) in closed]
        own = own_values(trial)
        handed = [value for value in own if known.get((trial.world, str(value)), trial.tool) != trial.tool]
        given = own if subject.is_read else [*references, *handed]
        for value in () if subject.is_read else own:
            known.setdefault((trial.world, str(value)), trial.tool)
        for atom in lab.atoms(trial):
            if isinstance(atom.value, bool) or is_echo(atom.value, given):
                continue
            known.setdefault((trial.world, str(atom.value)), trial.tool)
            key = (trial.tool, atom.path, atom.pattern, "result")
            spot = spots.setdefault(key, Spot(*key, atom.names))
            spot.add(atom.value, trial.world, position)
        if subject.is_read or _CHANGES & set(words(trial.tool)):
            continue
        made = {path for maker, path, _, _ in lab.made if maker == trial.tool}
        for path, value in values.items():
            if lab.world.resettable and path not in made:
                continue  # it was tried, and nothing goes by that name
            if trial.kind in ("nominal", "observed") and (trial.tool, path) not in closed and isinstance(value, str):
                key = (trial.tool, path, "", "argument")
                names = tuple(step for step in path.split(".") if step != "*")
                spots.setdefault(key, Spot(*key, names)).add(value, trial.world, position)
    yield from spots.values()
