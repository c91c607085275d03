"""Functions as tools: schema, checked arguments, refusals."""

import asyncio
import types
from collections.abc import Callable
from enum import Enum
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Optional

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.environment.decorator import tool
from pytest_agentbench.environment.kinds import KindLists
from pytest_agentbench.environment.python_tools import ArgumentsError, PythonTool, tools_of
from tests.tables import each


class Colour(Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    """A nested value."""

    street: str
    number: int = 1


def everything(  # noqa: PLR0917 - one of each
    name: str,
    count: int,
    colour: Colour,
    mode: Literal["fast", "slow"],
    items: list[str],
    address: Address,
    note: Optional[str] = None,  # noqa: UP045 - both spellings are to work
    limit: Annotated[int, Field(ge=1, description="At most so many.")] = 5,
    copy: bool = False,
    later: str = None,  # noqa: RUF013 - people write it
    state: Any = None,
) -> dict[str, Any]:
    """Take one of each.

    More about it.

    Args:
        name: Whose it is.
        count (int): How many,
            exactly.

    Returns:
        What came.
    """
    return {key: value for key, value in locals().items() if key != "state"}


EVERYTHING = PythonTool(everything)
FULL = {
    "name": "a", "count": 2, "colour": "red", "mode": "fast", "items": ["x"], "address": {"street": "s"},
}  # fmt: skip


def test_the_schema_comes_from_signature_and_docstring() -> None:
    """Types, enums, models, defaults and descriptions are there; what is injected is not."""
    spec = PythonTool(everything).spec
    properties = spec.parameters["properties"]

    jsonschema.Draft202012Validator.check_schema(spec.parameters)
    assert spec.description == "Take one of each.\n\nMore about it."
    assert list(properties) == ["name", "count", "colour", "mode", "items", "address", "note", "limit", "copy", "later"]
    assert spec.parameters["required"] == ["name", "count", "colour", "mode", "items", "address"]
    assert properties["name"] == {"type": "string", "description": "Whose it is."}
    assert properties["count"]["description"] == "How many, exactly."
    assert properties["limit"] == {"type": "integer", "minimum": 1, "default": 5, "description": "At most so many."}
    assert properties["mode"]["enum"] == ["fast", "slow"]
    assert spec.arguments == frozenset(properties)
    jsonschema.validate(FULL, spec.parameters)


def test_the_tools_of_a_framework_are_taken_by_their_functions() -> None:
    """LangChain's `@tool` makes an object that is no function, and keeps the function as `func`."""
    (tool,) = tools_of(module(TOOLS=[SimpleNamespace(name="everything", func=everything)]))

    assert tool.spec.name == "everything"


def test_arguments_are_converted_to_the_declared_types() -> None:
    """The function gets an enum, a model, numbers, and its own defaults."""
    made = PythonTool(everything).bind({**FULL, "count": "3", "later": None}, {})()

    assert made["count"] == 3
    assert made["colour"] is Colour.RED
    assert made["address"] == Address(street="s", number=1)
    assert (made["note"], made["limit"], made["later"]) == (None, 5, None)


@each(
    ("change", "message"),
    [
        ({"count": "many"}, "'count': input should be a valid integer"),
        ({"count": 1.5}, "'count': input should be a valid integer"),
        ({"name": 5}, "'name': input should be a valid string, found 5"),
        ({"mode": "slowest"}, "'mode': input should be 'fast' or 'slow', found 'slowest'"),
        ({"colour": "green"}, "'colour': input should be 'red' or 'blue'"),
        ({"items": "x"}, "'items': input should be a valid list"),
        ({"address": {"number": 2}}, "missing 'address.street'"),
        ({"limit": 0}, "'limit': input should be greater than or equal to 1"),
        ({"colr": 1}, "unknown 'colr'"),
        ({"argument_0": 1}, "unknown 'argument_0'"),
        ({"state": {}}, "unknown 'state'"),
    ],
)
def test_wrong_arguments_say_what_is_wrong_and_what_is_allowed(change: dict[str, Any], message: str) -> None:
    """The agent reads which argument, what was found, and what the tool takes."""
    with pytest.raises(ArgumentsError) as caught:
        PythonTool(everything).bind({**FULL, **change}, {})

    assert message in str(caught.value)
    assert "It takes: name (required), count (required)" in str(caught.value)


def test_open_ended_tools_take_any_argument() -> None:
    """`**keywords` become additionalProperties."""

    def search(query: str, **filters: object) -> object:
        return filters

    made = PythonTool(search)

    assert made.spec.parameters["additionalProperties"] is True
    assert made.spec.arguments is None
    assert made.bind({"query": "q", "size": 3, "copy": 1}, {})() == {"size": 3, "copy": 1}


def test_odd_parameter_names_and_positional_ones_work() -> None:
    """Names that a model would not allow, and parameters before `/`."""

    def odd(
        schema: int, _id: str = "x", model_config: int = 1, json: int = 2, /, *, copy: int = 3
    ) -> tuple[object, ...]:
        return schema, _id, model_config, json, copy

    made = PythonTool(odd)

    assert set(made.spec.parameters["properties"]) == {"schema", "_id", "model_config", "json", "copy"}
    assert made.bind({"schema": 1, "json": 5}, {})() == (1, "x", 1, 5, 3)


def test_async_functions_are_tools_too() -> None:
    """The call gives what is to be awaited."""

    async def later(value: int) -> int:
        return value

    made = PythonTool(later)

    assert made.is_async
    assert asyncio.run(made.bind({"value": 4}, {})()) == 4


def module(**functions: object) -> types.ModuleType:
    """Give a module in which `functions` are defined."""
    made = types.ModuleType("made_for_test")
    for name, value in functions.items():
        if isinstance(value, types.FunctionType):
            value.__module__ = made.__name__
        setattr(made, name, value)
    return made


def starred(*names: str) -> None:
    """Take any number."""


def generating() -> Any:
    """Yield."""
    yield 1


def callback(then: Callable[[], None]) -> None:
    """Take a function."""


def unresolved(value: "Nowhere") -> None:  # noqa: F821 - that is the point
    """Take what does not exist."""


@each(
    ("made", "message"),
    [
        (module(starred=starred), r"tool 'starred' takes \*names"),
        (module(generating=generating), "is a generator"),
        (module(unresolved=unresolved), "the type of 'value', 'Nowhere', cannot be resolved"),
        (module(_hidden=lambda: None, imported=len), "no public function and no TOOLS"),
        (module(TOOLS=[lambda: None]), "has no name"),
        (module(TOOLS="search"), "must be a list of functions"),
        (module(TOOLS=[SimpleNamespace(func="search")]), "must be a list of functions"),
        (module(TOOLS=[everything, everything]), "two tools are named 'everything'"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_a_reason(made: types.ModuleType, message: str) -> None:
    """Loading names the module, the function and what to do."""
    with pytest.raises(EnvironmentFaultError, match=message):
        tools_of(made)


def test_a_type_without_a_schema_is_refused() -> None:
    """The tool is named when it is described."""
    with pytest.raises(EnvironmentFaultError, match="tool 'callback'"):
        _ = PythonTool(callback).spec


def test_the_decorator_settles_the_kind_then_the_suite_then_a_verb() -> None:
    """Declared beats listed, listed beats guessed."""

    @tool(kind="read")
    def update_view() -> None: ...

    @tool
    def get_lock() -> None: ...

    def peek() -> None: ...

    made = tools_of(module(a=update_view, b=get_lock, c=peek), lists=KindLists(writes=["update_view", "get_lock"]))

    assert [item.kind for item in made] == ["read", "write", "unknown"]
    with pytest.raises(ValueError, match="kind is 'reads'"):
        tool(kind="reads")  # that is the point


@each(
    "docstring",
    [
        "Do.\n\nArgs:\n    name: Whose: it is.\n    *more: Other.\n",
        "Do.\n\nParameters\n----------\nname : str\n    Whose: it is.\n",
        "Do.\n\nParameters\n----------\nfirst : int\n    Which.\nname, other : str\n    Whose: it is.\n",
        "Do.\n\n:param str name: Whose:\n    it is.\n:returns: nothing\n",
    ],
)
def test_docstring_styles_are_read(docstring: str) -> None:
    """Google, NumPy and Sphinx parameters, several of one type too, become descriptions and leave the tool's own."""

    def do(name: str, first: int = 0, other: str = "") -> None: ...

    do.__doc__ = docstring
    spec = PythonTool(do).spec

    assert spec.description == "Do."
    properties = spec.parameters["properties"]
    assert properties["name"]["description"] == "Whose: it is."
    assert properties["other"].get("description") in (None, "Whose: it is.")
    assert properties["first"].get("description") in (None, "Which.")


def test_a_docstring_that_nobody_can_read_is_a_description() -> None:
    """The parser trips over it."""

    def do(name: str) -> None: ...

    do.__doc__ = ": :param"

    assert PythonTool(do).spec.description == ": :param"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from([*FULL, "limit", "state", "x"]) | st.text(max_size=3), _JSON))
def test_any_arguments_are_taken_or_refused_in_words(arguments: dict[str, Any]) -> None:
    """Whatever a model invents is either bound, and then fits the schema's names, or an `ArgumentsError`."""
    made = EVERYTHING
    message = ""
    try:
        made.bind({**FULL, **arguments}, {})
    except ArgumentsError as error:
        message = str(error)

    assert "It takes:" in message or arguments.keys() <= made.spec.parameters["properties"].keys()


_TYPES = st.sampled_from(
    [(int, st.integers()), (str, st.text()), (float, st.floats(allow_nan=False)), (bool, st.booleans()),
     (list[int], st.lists(st.integers())), (dict[str, str], st.dictionaries(st.text(), st.text())),
     (Literal["a", "b"], st.sampled_from(["a", "b"])), (int | None, st.none() | st.integers())]
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_values_of_the_declared_types_fit_the_schema_and_arrive_unchanged(data: st.DataObject) -> None:
    """What the types admit, the schema admits and the function receives."""
    kinds = data.draw(st.lists(_TYPES, min_size=1, max_size=4))
    names = [f"p{index}" for index in range(len(kinds))]
    body = f"def made({', '.join(names)}):\n    return dict(locals())"
    space: dict[str, Any] = {}
    exec(body, space)
    space["made"].__annotations__ = {name: kind for name, (kind, _) in zip(names, kinds, strict=True)}
    values = {name: data.draw(strategy) for name, (_, strategy) in zip(names, kinds, strict=True)}
    made = PythonTool(space["made"])

    jsonschema.validate(values, made.spec.parameters)
    assert made.bind(values, {})() == values


def test_tools_of_one_signature_stay_apart_in_what_differs() -> None:
    """Modules are executed anew in each run: each call reaches its own function, with its own defaults and texts."""

    def made(answer: str, default: Any, told: str) -> PythonTool:
        def find(place: str, limit: int = default) -> str:
            return f"{answer} {place} {limit!r}"

        find.__doc__ = f"Find.\n\n:param place: {told}"
        return PythonTool(find)

    first, second, third = made("one", 1, "Where."), made("two", True, "Where."), made("three", 1, "There.")
    assert [tool.bind({"place": "here"}, {})() for tool in (first, second, third)] == [
        "one here 1",
        "two here True",
        "three here 1",
    ]
    assert first.spec.parameters["properties"]["place"]["description"] == "Where."
    assert third.spec.parameters["properties"]["place"]["description"] == "There."


def test_runs_of_one_plain_tool_share_nothing_but_its_types() -> None:
    """Two functions with the same plain parameters are two tools, whatever was called or refused before."""

    def made(answer: str) -> PythonTool:
        def find(place: str, kind: str = "any") -> str:
            """Find."""
            return f"{answer} {place} {kind}"

        return PythonTool(find)

    first, second = made("one"), made("two")
    with pytest.raises(ArgumentsError, match="missing 'place'"):
        first.bind({"kind": "x"}, {})
    assert (first.bind({"place": "a"}, {})(), second.bind({"place": "b", "kind": "c"}, {})()) == (
        "one a any",
        "two b c",
    )
    assert first.spec == second.spec
