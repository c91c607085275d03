"""JSON as suites read it, with places found when asked for."""

from pathlib import Path

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.spec.document import read_json
from tests.tables import each

FILE = Path("f.json")


def test_places_are_found_by_path() -> None:
    """Keys and values have 1-based places, also behind odd strings and on later lines."""
    text = '[\n {"a": "\\u00e9]}", "b": [1, {"c": 2}]},\n {"b": null}\n]'
    document = read_json(text, FILE, first_line=10)
    place = document.place((0, "b", 1, "c"))
    assert place is not None
    assert (place.key_line, place.key_column, place.line, place.column) == (11, 30, 11, 35)
    assert document.line((1,)) == 12
    assert document.place((5,)) == document.place(())
    assert document.place((0, "a", "x")) == document.place((0, "a"))


@each(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "'a' is repeated in one object"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("[1,\n]", "f.json:2:1: this is not JSON"),
        ("[" * 100_000, "nested deeper than 100 levels"),
        ("[" * 101 + "]" * 101, "nested deeper than 100 levels"),
        ("1" * 5000, "cannot be read"),
        ('"', "this is not JSON"),
    ],
)
def test_what_is_not_read_says_why(text: str, message: str) -> None:
    """Each fault is a readable error."""
    with pytest.raises(SuiteError) as caught:
        read_json(text, FILE)
    assert message in str(caught.value)
