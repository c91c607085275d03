"""Databases over a base: one's own to change, equal as τ²'s hashes say."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from pytest_agentbench.tau2.world import LazyRecords, World, copied, fingerprint, over, same_content
from tests.tables import each


class Row(BaseModel):
    """A record with something mutable inside."""

    value: float | str | int = 0
    tags: list[str] = []


class Base(BaseModel):
    """A table of records, and what is no table."""

    rows: dict[str, Row]
    log: list[str] = []


def base() -> Base:
    """Three records."""
    return Base(rows={key: Row(value=number, tags=[key]) for number, key in enumerate("abc")})


WAYS: dict[str, Callable[[dict[str, Row]], Any]] = {
    "item": lambda rows: rows["a"].tags.append("x"),
    "get": lambda rows: rows.get("a", Row()).tags.append("x"),
    "values": lambda rows: [row.tags.append("x") for row in rows.values()],
    "items": lambda rows: [row.tags.append("x") for _, row in rows.items()],
    "setdefault": lambda rows: rows.setdefault("a", Row()).tags.append("x"),
    "pop": lambda rows: rows.pop("a").tags.append("x"),
    "popitem": lambda rows: rows.popitem()[1].tags.append("x"),
    "copy": lambda rows: rows.copy()["a"].tags.append("x"),
    "update": lambda rows: rows.update({"a": Row(value=9)}),
    "set": lambda rows: rows.__setitem__("d", Row()),
    "delete": lambda rows: rows.__delitem__("a"),
    "clear": lambda rows: rows.clear(),
    "deepcopy": lambda rows: copy.deepcopy(rows)["a"].tags.append("x"),
}


@each("way", WAYS)
def test_the_base_never_changes(way: str) -> None:
    """However a record is reached, what is changed is one's own copy."""
    shared = base()

    WAYS[way](over(shared).rows)

    assert shared == base()


@each("way", sorted(WAYS.keys() - {"copy", "deepcopy"}))
def test_changes_are_seen(way: str) -> None:
    """A changed database differs from an unchanged one, both ways round, and its fingerprint changes."""
    shared = base()
    changed, unchanged = over(shared), over(shared)
    before = fingerprint(changed)

    WAYS[way](changed.rows)

    assert not same_content(changed, unchanged)
    assert not same_content(unchanged, changed)
    assert fingerprint(changed) != before


def test_what_was_only_looked_at_is_equal() -> None:
    """Reading makes copies, and copies are equal."""
    shared = base()
    looked, untouched = over(shared), over(shared)

    assert [row.value for row in looked.rows.values()] == [0, 1, 2]
    assert same_content(looked, untouched)
    assert looked.model_dump() == shared.model_dump()


def test_equality_is_that_of_the_json_text() -> None:
    """1 and 1.0 differ as they do in τ²'s hashes, and so does the order of a list; the order of keys does not."""
    shared = base()
    left, right = over(shared), over(shared)
    left.rows["a"], right.rows["a"] = Row(value=1), Row(value=1.0)

    assert not same_content(left, right)
    assert same_content(base(), Base(rows=dict(reversed(base().rows.items()))))
    assert not same_content(Base(rows={"a": Row(tags=["x", "y"])}), Base(rows={"a": Row(tags=["y", "x"])}))
    assert same_content(None, None)
    assert not same_content(None, shared)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_copy_is_equal_and_shares_no_container(value: object) -> None:
    """Copies of plain data are what `copy.deepcopy` gives."""
    made = copied(value)

    assert made == value
    if isinstance(value, list | dict):
        assert made is not value


def test_an_absent_record_is_absent() -> None:
    """A table answers for what it lacks as a dict does."""
    rows = LazyRecords(dict(base().rows))

    assert rows.get("z") is None
    assert rows.pop("z", 5) == 5
    with pytest.raises(KeyError):
        rows["z"]


def test_what_follows_a_look_changes_records_of_its_own() -> None:
    """A tool that is declared to change nothing gets shared records; what synchronises after it does not."""
    shared = base()

    class Kit:
        def __init__(self) -> None:
            self.db = over(shared)

        def look(self) -> list[str]:
            return [tag for row in self.db.rows.values() for tag in row.tags]

    kit = Kit()
    sync = WAYS["item"]
    world = World(
        agent=kit, user=None, tools=frozenset({"look"}), user_tools=frozenset(), sync=lambda: sync(kit.db.rows)
    )

    assert world.respond("look", "assistant", {}, looks=True) == ("['a', 'b', 'c']", False)
    assert kit.db.rows.own == {"a"}
    assert kit.db.rows["a"].tags == ["a", "x"]
    assert shared == base()
