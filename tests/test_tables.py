"""A test of a table names the rows that fail, and takes what is left of its parameters as fixtures."""

import asyncio
import inspect

import pytest

from tests.tables import each


def test_all_rows_are_tried_and_those_that_fail_are_named() -> None:
    """By their ids, or as they stand; a coroutine function is awaited for each row."""
    tried = []

    @each("base", [10, 100], ids={"10": 10, "100": 100})
    @each(("one", "two"), [(1, 1), pytest.param(2, 3, id="unequal"), (3, 4)])
    def check(base: int, one: int, two: int, tmp: str) -> None:
        tried.append((base, one, two, tmp))
        assert one == two

    @each("one,", [(1,), (2,)])
    async def awaited(one: int) -> None:
        await asyncio.sleep(0)
        tried.append((one,))

    assert list(inspect.signature(check).parameters) == ["tmp"]
    with pytest.raises(AssertionError) as caught:
        check(tmp="t")
    asyncio.run(awaited())

    assert tried == [
        *((base, one, two, "t") for base in (10, 100) for one, two in ((1, 1), (2, 3), (3, 4))),
        (1,),
        (2,),
    ]
    assert caught.value.__notes__ == [
        "row: unequal",
        "failed as well: (3, 4) (AssertionError)",
        "row: 10",
        "failed as well: 100 (AssertionError)",
    ]
