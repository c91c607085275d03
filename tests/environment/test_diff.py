"""Where two states differ, and how it is said."""

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.json_values import same
from pytest_agentbench.core.state import Difference
from pytest_agentbench.core.text import printable
from pytest_agentbench.environment.diff import arranged, describe, diff

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
_STATES = st.dictionaries(st.text(max_size=3), _VALUES, max_size=4)

EXPECTED = {"orders": {"W1": {"status": "cancelled", "total": 9.5}, "W2": {"status": "done", "total": 1}}}


def test_rows_and_columns_are_one_difference_each_in_order() -> None:
    """A changed column, a missing row and an extra row are each said in one line."""
    actual = {"orders": {"W1": {"status": "pending", "total": 9.5 + 1e-12}, "W9": {"status": "new"}}}

    assert [describe(difference) for difference in diff(EXPECTED, actual)] == [
        "orders.W1.status: expected 'cancelled', is 'pending'",
        "orders.W2: expected {'status': 'done', 'total': 1}, is missing",
        "orders.W9: not expected, is {'status': 'new'}",
    ]


def test_lists_of_equal_length_are_compared_item_by_item() -> None:
    """A changed item is named by its place; a list of another length is one difference."""
    expected = {"items": [{"id": 1}, {"id": 2}], "tags": ["a"]}
    actual = {"items": [{"id": 1}, {"id": 3}], "tags": []}

    assert diff(expected, actual) == [
        Difference(path=("items", "1", "id"), expected=2, actual=3),
        Difference(path=("tags",), expected=["a"], actual=[]),
    ]


def test_of_lists_and_long_texts_only_what_differs_is_said() -> None:
    """A row more in a long list, and a word deep in a long text, are seen at once."""
    rows = [{"id": f"A{number}", "note": "x" * 100} for number in range(9)]
    text = "word " * 100

    (longer,) = diff({"rows": rows}, {"rows": [*rows, {"id": "A9"}]})
    (turned,) = diff({"note": text + "yes"}, {"note": text + "no"})

    assert describe(longer) == "rows: expected 9 items, is 10, with {'id': 'A9'}"
    assert describe(turned).endswith("word yes', is '…" + "word " * 8 + "no'")


def test_ignored_paths_are_left_out_with_what_is_below() -> None:
    """`*` stands for any text in one segment; an escaped dot belongs to a name."""
    expected = {"orders": {"W1": {"at": 1, "n": [{"at": 1}]}, "a.b": {"at": 2}}, "log": {"1": {}}}
    actual = {"orders": {"W1": {"at": 9, "n": [{"at": 9}]}, "a.b": {"at": 9}}}

    assert diff(expected, actual, ["orders.*.at", "orders.*.n.*.at", "log"]) == []
    assert [difference.path for difference in diff(expected, actual, ["orders.a\\.b", "l*", "orders.W*"])] == []
    assert len(diff(expected, actual, ["orders.*.x", "*.W1"])) == 2


def test_hostile_values_are_printable() -> None:
    """Escape sequences and huge values do not reach a terminal."""
    line = describe(Difference(path=("t", "\x1b[31mk\n"), expected="x" * 10_000, actual="\ud800"))

    assert line.isprintable()
    assert len(line) < 400


@given(_STATES)
def test_a_state_does_not_differ_from_itself(state: dict[str, Any]) -> None:
    """No difference, for a copy too."""
    assert diff(state, deepcopy(state)) == []


@given(_STATES, _STATES)
def test_there_is_a_difference_exactly_where_states_are_not_the_same(one: dict[str, Any], two: dict[str, Any]) -> None:
    """The diff agrees with `same`, both ways round and in order."""
    there, back = diff(one, two), diff(two, one)

    assert (not there) == same(one, two)
    assert [item.path for item in there] == [item.path for item in back]
    assert [item.path for item in there] == [item.path for item in diff(one, two)]


@given(_STATES, _STATES)
def test_applying_the_differences_gives_the_actual_state(one: dict[str, Any], two: dict[str, Any]) -> None:
    """Nothing that changed is left unsaid."""
    patched: Any = deepcopy(one)
    for difference in diff(one, two):
        place = patched
        for part in difference.path[:-1]:
            place = place[int(part)] if isinstance(place, list) else place[part]
        last: Any = int(difference.path[-1]) if isinstance(place, list) else difference.path[-1]
        if difference.missing:
            del place[last]
        else:
            place[last] = difference.actual

    assert same(patched, two)


@given(_STATES)
def test_every_difference_can_be_said(state: dict[str, Any]) -> None:
    """No line holds what a terminal would act on."""
    for difference in [*diff({}, state), *diff(state, {})]:
        line = describe(difference)

        assert printable(line) == line


def test_the_order_of_named_lists_makes_no_difference() -> None:
    """Lists that a pattern ends at are equal in any order; how often an item stands in them counts."""
    one = {"orders": {"W1": {"items": ["b", "a", {"n": 1}], "log": [1, 2]}}, "ids": [[2, 1], [3]]}
    two = {"orders": {"W1": {"items": [{"n": 1.0}, "a", "b"], "log": [2, 1]}}, "ids": [[1, 2], [3]]}
    unordered = ("orders.*.items", "ids.*")

    found = diff(arranged(one, unordered), arranged(two, unordered))

    assert {difference.path[:3] for difference in found} == {("orders", "W1", "log")}
    assert diff(arranged({"l": [1, 1, 2]}, ("l",)), arranged({"l": [1, 2, 2]}, ("l",)))
    at = [1764460801.5, 1764460803.5]
    assert diff(arranged({"at": at}, ("at",)), arranged({"at": at[::-1]}, ("at",))) == []


@given(_STATES)
def test_arranging_loses_nothing(state: dict[str, Any]) -> None:
    """Without patterns the state stays, and what is arranged stays as it is when arranged again."""
    once = arranged(state, ("*", "*.*"))

    assert same(arranged(state, ()), state)
    assert same(arranged(once, ("*", "*.*")), once)
