"""What of a call a user would say: no optional argument without a meaning, nothing empty, no code of a program.

Probing fills in whatever a schema admits. Where neither description nor recipe says what an optional text is good for,
nobody gives it, and a value that happened to be accepted there means nothing.
"""

import re
from collections.abc import Mapping, Sequence

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.recruiting.scouting import is_needed
from pytest_agentbench.generation.tools.values import Card, ParameterCard

_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_HASH = re.compile(r"(?=[^\d]*\d)(?=[^a-f]*[a-f])[0-9a-f]{16,}", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-]?[A-Za-z0-9]+)*")
_REFUSALS = re.compile(r"(?:not|no|non|exclude|without)(?:[_-]|(?=[A-Z]))")
"""What names of arguments begin with that take something away; beside their opposite nobody can say which is which."""


def founded(
    arguments: Mapping[str, JsonValue], card: Card, known: Mapping[str, Sequence[JsonValue]]
) -> dict[str, JsonValue]:
    """Leave out the optional arguments of a call that no user would give; `known` are values of recipe and state.

    An argument with an empty list of known values is left out on the recipe's word.
    """
    slots = read_slots(dict(arguments))
    kept = {path: value for path, value in slots.items() if _is_said(path, value, card, known)}
    return dict(arguments) if len(kept) == len(slots) else build(kept)


def is_opaque(value: JsonValue) -> bool:
    """Whether a value is a code that a program drew and nobody remembers: a UUID, a hash."""
    return isinstance(value, str) and (_UUID.fullmatch(value) or _HASH.fullmatch(value)) is not None


def _is_said(path: str, value: JsonValue, card: Card, known: Mapping[str, Sequence[JsonValue]]) -> bool:
    parameter = _declared(path, card)
    if parameter is not None and is_needed(parameter):
        return True
    if parameter is None or value is None or value in ({}, []) or value == "" or is_opaque(value):
        return False
    if path in known:
        return bool(known[path])
    name = path.removesuffix(".*").rsplit(".", 1)[-1]
    if _REFUSALS.match(name):
        return False
    schema = parameter.schema_
    if any(schema.get(key) for key in ("description", "enum", "examples")):
        return True
    return parameter.path == path and not isinstance(value, str) and _WORDS.fullmatch(name) is not None


def _declared(path: str, card: Card) -> ParameterCard | None:
    """Give the argument that a path is, or lies inside of."""
    parts = path.split(".")
    every = {parameter.path: parameter for parameter in card.parameters}
    return next((every[one] for end in range(len(parts), 0, -1) if (one := ".".join(parts[:end])) in every), None)
