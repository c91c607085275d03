"""What earlier scenarios were about, so that later ones are about something else where there is a choice."""

from collections import Counter

from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.values import Handle, PoolEntry, Story


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
