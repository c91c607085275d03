"""Values in results and the places where they are found again."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.generation.tools.flows import found_at
from pytest_agentbench.generation.tools.graph.name_match import likeness
from pytest_agentbench.generation.tools.probing.result_parser import KEYS, atoms, parsed
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from tests.tables import each

HASH = "8d493a01a5c56fff0e596360ff1669a54e5ca82f"
UUID = "123e4567-e89b-42d3-a456-426614174000"


@each(
    ("content", "value"),
    [
        ('{"data": {"id": "a-1"}}', "a-1"),
        (json.dumps({"result": json.dumps([{"id": UUID}])}), UUID),
        ("[{'name': 'ada', 'id': 7}]", 7),
        (f"Kept as {HASH}", HASH),
        (f"Commit: '{HASH}'\nAuthor: ada", HASH),
        ("[FILE] notes.txt\n[DIR] old", "notes.txt"),
        ("  main\n* feature\n", "feature"),
        ("See https://example.org/x for more", "https://example.org/x"),
        ("T1", "T1"),
        ("Allowed directories:\n/tmp/work", "/tmp/work"),
        ('{"a.txt": 4756, "b.txt": 12}', "b.txt"),
        ('{"data": {"PX-1": {"open": true}, "PX-2": {"open": false}}}', "PX-2"),
    ],
)
def test_values_are_seen_and_found_again(content: str, value: Any) -> None:
    """Each value has a place that leads back to it."""
    found = [atom for atom in atoms(content) if str(atom.value) == str(value)]

    assert found
    for atom in found:
        places = list(found_at(parsed(content), atom.path, atom.pattern))
        assert str(value) in [str(one.value) for one in places]
        assert all(next(found_at(parsed(content), one.path)).value == one.value for one in places if not atom.pattern)


def test_names_of_fields_are_no_values() -> None:
    """Keys that say what stands behind them are not things, nor are keys of different contents."""
    answer = '{"id": 1, "line2": 2, "x-rate-limit": 3, "created_at": 4, "byDay": 5, "PX-1": "left"}'

    assert [atom.value for atom in atoms(answer) if atom.path.endswith(KEYS)] == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(json_values | st.text(max_size=200))
def test_whatever_a_tool_answers_every_place_leads_back(value: Any) -> None:
    """No text breaks the reader, and no place of it is a dead end."""
    content = value if isinstance(value, str) else json.dumps(value)

    for atom in atoms(content):
        again = [one.value for one in found_at(parsed(content), atom.path, atom.pattern)]
        assert str(atom.value) in map(str, again) or str(atom.value) in {
            str(float(one)) for one in again if is_float(one)
        }


def is_float(value: Any) -> bool:
    """Whether a text is a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def test_arguments_are_built_where_slots_lie() -> None:
    """Objects and one entry of each list are made on the way, and read back the same."""
    values = {"params.id": 5, "names.*": "a", "rows.*.cell": "B2", "rows.*.value": 1}

    arguments = build(values)

    assert arguments == {"params": {"id": 5}, "names": ["a"], "rows": [{"cell": "B2", "value": 1}]}
    assert read_slots(arguments) == values


@each(
    ("slot", "tool", "names", "source", "between"),
    [
        ("lat", "forecast", ("position", "latitude"), "geocode", (1.0, 1.0)),
        ("order_id", "cancel", ("orders", "id"), "list_orders", (0.9, 0.9)),
        ("params.task_id", "task_get", ("result", "task"), "task_add", (0.9, 0.9)),
        ("id", "get_task", ("task_id",), "list_tasks", (0.9, 0.9)),
        ("entityName", "add_note", ("entities", "name"), "create_entities", (0.9, 0.9)),
        ("order_id", "cancel", ("user", "id"), "list_users", (0.0, 0.3)),
        ("name", "create_user", ("products", "name"), "list_products", (0.0, 0.3)),
        ("humidity", "store", ("latitude",), "geocode", (0.0, 0.0)),
    ],
)
def test_names_are_alike_as_far_as_they_say_the_same(
    slot: str, tool: str, names: tuple[str, ...], source: str, between: tuple[float, float]
) -> None:
    """Short forms count, and so do nouns that tools and paths lend an id."""
    assert between[0] <= likeness(slot, tool, names, source) <= between[1]
