"""Which numbers conform to a declared schema."""

from typing import Any

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.probing.schema_values import bounds, described, fits
from pytest_agentbench.generation.tools.probing.schemas import Slot, slots_of
from tests.growth import growth
from tests.tables import each


@each(
    ("schema", "inside", "outside"),
    [
        ({"exclusiveMinimum": 2.5, "exclusiveMaximum": 4.5}, [3, 4], [2, 5]),
        ({"minimum": 2.5, "exclusiveMinimum": True}, [3], [2]),
        ({"exclusiveMinimum": 2, "maximum": 5, "exclusiveMaximum": True}, [3, 4], [2, 5]),
        ({"minimum": 2, "maximum": 5}, [2, 5], [1, 6]),
    ],
)
def test_whole_numbers_within_exclusive_bounds_conform(
    schema: dict[str, Any], inside: list[int], outside: list[int]
) -> None:
    slot = Slot(path="count", schema={"type": "integer", **schema}, required=True)

    assert [value for value in (*inside, *outside) if fits(value, slot)] == inside


def test_a_long_description_is_read_in_one_pass() -> None:
    slot = Slot(path="name", schema={"type": "string"}, required=True)

    assert growth(lambda size: described(slot, "a" * size), 4_000) < 10


def test_bounds_of_other_numbers_lie_beside_exclusive_ones() -> None:
    slot = Slot(path="price", schema={"type": "number", "exclusiveMinimum": 0, "maximum": 2.5}, required=True)
    low, high = bounds(slot)

    assert (low is not None and 0 < low < 0.001, high) == (True, 2.5)


@each(
    ("description", "values"),
    [
        ("Full name, e.g. Mirela Popa or Jonas Eder", ["Mirela Popa", "Jonas Eder"]),
        ("Ort der Abholung (z. B. Köln, Trier).", ["Köln", "Trier"]),
        ("La ville, p. ex. Lyon ; sans code.", ["Lyon"]),
        ("The owner, such as Ada van Roy.", ["Ada van Roy"]),
        ("The town, e.g. berlin", ["berlin"]),
        ("Address on file, such as vera@optik-brenner.example.", ["vera@optik-brenner.example"]),
        ("Telephone with area code, such as 0421 555 0117, or +44 161 555.", ["0421 555 0117", "+44 161 555"]),
        ("Policy number, such as HC/7719", ["HC/7719"]),
        ("Whole name of a member. Letters count.", []),
    ],
)
def test_what_a_description_names_for_example_is_tried(description: str, values: list[str]) -> None:
    """Abbreviations announce examples in many languages, and a capital within a sentence begins a name."""
    slot = Slot(path="who", schema={"type": "string", "description": description}, required=True)

    assert [one for one in described(slot) if one in values] == values
    assert values or not described(slot)


@each(
    ("names", "found"),
    [(["phone"], ["0421 555 0117"]), (["phone", "pin"], [])],
)
def test_what_is_said_of_a_tool_with_one_argument_is_said_of_the_argument(names: list[str], found: list[str]) -> None:
    """Many a server describes tools only: its way in is the example in the one sentence on the tool."""
    spec = ToolSpec(
        name="find_customer",
        description="Find a customer by the number on file, such as 0421 555 0117.",
        parameters={"type": "object", "properties": {name: {"type": "string"} for name in names}},
    )

    assert described(slots_of(spec)[0], spec.description) == found
