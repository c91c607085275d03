"""Calls that could succeed: their arguments out of what is known, likely ones first."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice, product

from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.tool import ToolCall, ToolSpec
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.validation.known import Known
from pytest_agentbench.validation.values import Columns, singular

FEW = (6, 24)
"""Values tried for one argument, and calls of one tool, where one call is needed."""
MANY = (60, 200)
"""The same where everything is to be read."""
_TOGETHER = 12
"""Values of each argument that are combined with those of others."""
_FIRST = 3
"""Values of an argument that are tried in another's place."""
_ANYTHING: dict[str, JsonValue] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
"""What is given, by type, where nothing is known."""
_WIDE = 5
"""Arguments from which the likeliest values alone are tried."""


def likely_calls(
    tool: ToolSpec,
    near: Sequence[dict[str, JsonValue]],
    known: Known,
    columns: Columns,
    *,
    never: Sequence[ExpectedCall] = (),
    most: tuple[int, int] = FEW,
) -> Iterator[ToolCall]:
    """Give calls of a tool that could succeed, likely ones first; none that `never` forbids.

    For each argument that is required: the value it has in one of the calls `near`, what is known under its name,
    values of the state under its name that somebody said, what the schema lists, and, where the state has nothing of
    that name, every word that looks like an id. Where nothing is known, any value of the type.
    """
    properties = tool.parameters.get("properties", {})
    required = [name for name in properties if name in tool.parameters.get("required", ())]
    choices = [list(islice(_likely(name, properties[name], near, known, columns), most[0])) for name in required]
    if most is MANY and len(choices) > 1:  # a way back has the same ends as the way there
        choices = [
            [*own[:_FIRST], *(one for other in choices for one in other[:_FIRST] if one not in own), *own[_FIRST:]]
            for own in choices
        ]
    for chosen in _likely_first(choices, most):
        call = ToolCall(name=tool.name, arguments=dict(zip(required, chosen, strict=True)), requestor=tool.requestor)
        if not any(is_call_of(forbidden, call) for forbidden in never):
            yield call


def _likely_first(choices: Sequence[Sequence[JsonValue]], most: tuple[int, int]) -> Iterator[tuple[JsonValue, ...]]:
    """Give combinations of values, those first in which every value stands early in its list."""
    kept = choices if len(choices) < 2 else [values[:_TOGETHER] for values in choices]
    places = sorted(product(*(range(len(values)) for values in kept)), key=sum) if len(kept) < _WIDE else []
    for chosen in places[: most[1]]:
        yield tuple(values[place] for values, place in zip(kept, chosen, strict=True))
    if not places and all(kept):
        yield tuple(values[0] for values in kept)


def _likely(
    name: str, schema: dict[str, JsonValue], near: Sequence[dict[str, JsonValue]], known: Known, columns: Columns
) -> Iterator[JsonValue]:
    seen: list[JsonValue] = []
    stated = (arguments[name] for arguments in near if name in arguments and not holds_matcher(arguments[name]))
    of_state = (value for value in columns.of(name) if known.says(value))
    listed = schema.get("enum", ())
    codes = known.codes() if schema.get("type") in ("string", None) and not columns.of(name) and not listed else ()
    under = chain(known.under(name), known.under(singular(name)))
    for value in chain(stated, under, known.named_like(name), of_state, listed, codes):
        fitting = _fitted(value, schema)
        if fitting not in seen:
            seen.append(fitting)
            yield fitting
    if not seen:
        yield _ANYTHING.get(str(schema.get("type")), "text")


def _fitted(value: JsonValue, schema: dict[str, JsonValue]) -> JsonValue:
    """Give a number as text, and one value as a list, where the schema asks for that."""
    if schema.get("type") == "array":
        return value if isinstance(value, list) else [value]
    return str(value) if schema.get("type") == "string" and isinstance(value, int | float) else value
