"""Where the arguments that a narrator chose come from: one of the options, or values that stand in a result."""

from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation.tools.probing.reading import inner
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.values import Provenance


def option_of(arguments: Mapping[str, JsonValue], options: Sequence[Mapping[str, JsonValue]]) -> int | None:
    """Give the place of the option that the arguments are, numbers that were written as texts included."""
    slots = read_slots(dict(arguments))
    for place, option in enumerate(options):
        known = read_slots(dict(option))
        if slots.keys() == known.keys() and all(is_same_value(slots[path], known[path]) for path in slots):
            return place
    return None


def trace_to_result(arguments: Mapping[str, JsonValue], result: JsonValue, call: int) -> tuple[Provenance, ...] | str:
    """Give where in a result each argument stands, or the name of one that stands nowhere in it."""
    found: list[Provenance] = []
    places = list(places_in(result, ""))
    for path, value in read_slots(dict(arguments)).items():
        where = next((place for place, known in places if same(known, value)), None)
        if where is None:
            return path
        found.append(Provenance(argument=path, source="result", call=call, path=where))
    return tuple(found)


def is_same_value(left: JsonValue, right: JsonValue) -> bool:
    """Whether two values are equal, a number and the text of it included."""
    if same(left, right):
        return True
    if isinstance(left, bool) or isinstance(right, bool) or isinstance(left, str) == isinstance(right, str):
        return False
    try:
        return same(float(left), float(right))
    except (TypeError, ValueError):
        return False


def places_in(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield every plain value of a result with its dotted path."""
    value = inner(value)
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from places_in(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places_in(item, f"{path}.{index}" if path else str(index))
    else:
        yield path, value
