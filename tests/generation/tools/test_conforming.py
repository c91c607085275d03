"""Which numbers conform to a declared schema."""

from typing import Any

from pytest_agentbench.generation.tools.probing.conforming import bounds, fits
from pytest_agentbench.generation.tools.probing.schemas import Slot
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


def test_bounds_of_other_numbers_lie_beside_exclusive_ones() -> None:
    slot = Slot(path="price", schema={"type": "number", "exclusiveMinimum": 0, "maximum": 2.5}, required=True)
    low, high = bounds(slot)

    assert (low is not None and 0 < low < 0.001, high) == (True, 2.5)
