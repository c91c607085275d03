"""What a reference hands on: which thing is meant, and nothing that merely stands beside it.

`Place an order for that client` hands on who the client is. The day on which that client's last order is due is none of
it: a user who wants that day says so, and where the argument may be left out, it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation._reading.free import is_free
from pytest_agentbench.generation.tools.recruiting.scouting import is_needed, is_sayable
from pytest_agentbench.generation.tools.values import Card


@dataclass(frozen=True)
class HandedOn:
    """Values of a result for a call: `things` are referred to, `said` are those that the user has to say itself."""

    things: Mapping[str, JsonValue]
    said: Mapping[str, JsonValue]


def handed_on(values: Mapping[str, JsonValue], card: Card) -> HandedOn:
    """Divide what a result gives a tool.

    Optional arguments are left out, unless they alone say which thing is meant; what must be given and is no thing has
    to be said.
    """
    needed = {parameter.path for parameter in card.parameters if is_needed(parameter)}
    things = {path: value for path, value in values.items() if not is_spoken(path, value, card)}
    if needed & things.keys():
        things = {path: value for path, value in things.items() if path in needed}
    said = {path: value for path, value in values.items() if path in needed and path not in things}
    return HandedOn(things, said if is_sayable(said) else {})


def is_spoken(path: str, value: JsonValue, card: Card) -> bool:
    """Whether an argument is one that nobody knows unless the user says it: a date, an amount, a choice."""
    schemas = {parameter.path: parameter.schema_ for parameter in card.parameters}
    return is_free(path, value, schemas.get(path) or schemas.get(path.removesuffix(".*"), {}))
