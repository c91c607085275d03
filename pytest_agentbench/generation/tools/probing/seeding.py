"""Values to begin with: those that the recipe names for arguments, and those that stand in the suite's own state.

An identifier can rarely be guessed from a declaration; where the state can be read, arguments are tried with what
stands under their name there.
"""

from collections.abc import Mapping

from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.schemas import slots_of
from pytest_agentbench.generation.tools.world import World
from pytest_agentbench.validation.values import Columns

_MOST = 8
"""Values of the state that are named for one argument."""


async def state_of(world: World) -> State | None:
    """Read the state that every environment starts from, None where it cannot be read."""
    async with world.open() as opened:
        return await opened.snapshot()


def hints_of(
    toolset: Toolset, state: State | None, given: Mapping[str, tuple[JsonValue, ...]]
) -> dict[str, tuple[JsonValue, ...]]:
    """Give known values by argument; what the recipe names goes before what the state holds."""
    hints = dict(given)
    if not state:
        return hints
    columns = Columns(state)
    for spec in toolset.of("assistant"):
        for slot in slots_of(spec):
            name = slot.name
            known = tuple(columns.of(name) or _keys(columns, name))[:_MOST]
            if known and name not in hints and f"{spec.name}.{name}" not in hints:
                hints[name] = known
    return hints


def _keys(columns: Columns, name: str) -> tuple[JsonValue, ...]:
    """Give the keys of the table that an `order_id` is one of: those of `orders`."""
    noun = name.removesuffix("_id").removesuffix("Id")
    return tuple(columns.of(f"{noun}s")) if noun != name else ()
