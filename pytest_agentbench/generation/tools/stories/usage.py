"""What earlier scenarios were about, so that later ones are about something else where there is a choice."""

from collections import Counter
from collections.abc import Sequence

from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.stories.handles import Handles
from pytest_agentbench.generation.tools.values import Handle, PoolEntry, Story

OPENING = 5
"""Entries that a conversation may begin with: enough to choose from, too few for one that is always liked best."""


class Usage:
    """How often stories named each value: texts, and the names that users say instead of identifiers."""

    def __init__(self) -> None:
        self._named: Counter[str] = Counter()

    def note(self, story: Story) -> None:
        """Count what the user of a story named, each value once."""
        named = {str(step.handle.value) for step in story.steps if step.handle is not None}
        for step in story.steps:
            if step.call is None:
                continue
            given = {one.argument for one in step.provenance if one.source == "pool"}
            replaced = step.handle.replaces if step.handle is not None else ()
            slots = read_slots(step.call.arguments)
            named |= {
                value
                for path, value in slots.items()
                if path in given and path not in replaced and isinstance(value, str)
            }
        self._named.update(named)

    def of(self, entry: PoolEntry, handle: Handle | None) -> int:
        """Give how many earlier stories named what a verified call is about, added up over its values."""
        slots = read_slots(entry.arguments)
        replaced = handle.replaces if handle is not None else ()
        values = [value for path, value in slots.items() if path not in replaced and isinstance(value, str)]
        return sum(self._named[value] for value in [*values, *([str(handle.value)] if handle is not None else [])])

    def least(self, entries: Sequence[PoolEntry], handles: Handles) -> list[PoolEntry]:
        """Give the first `OPENING` of the entries that are about what earlier stories named least, in their order.

        A model begins with what is known best, whatever it is asked to do; what it is not shown it cannot choose.
        """
        counts = [self.of(entry, handles.of(entry)) for entry in entries]
        least = min(counts, default=0)
        return [entry for entry, count in zip(entries, counts, strict=True) if count == least][:OPENING]
