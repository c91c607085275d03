"""A large state that runs share behaves as a copy of one's own, and costs what is looked at."""

import copy
import json
import pickle
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.codec import digest
from pytest_agentbench.environment.correspondence import words_in
from pytest_agentbench.environment.diff import diff
from pytest_agentbench.environment.fresh_values import words
from pytest_agentbench.environment.json_state import LARGE, JsonState
from pytest_agentbench.environment.structural_sharing import LazyDict, changes, plain, shared

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, "a", "b", float("nan")]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)
STATES = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


def keywords(**parts: Any) -> dict[str, Any]:
    """Give what was passed by name."""
    return parts


DICT_STEPS: dict[str, Callable[[Any, str, Any], Any]] = {
    "get": lambda at, key, _: at.get(key, 7),
    "set": lambda at, key, new: at.__setitem__(key, new),
    "del": lambda at, key, _: at.__delitem__(key) if key in at else None,
    "pop": lambda at, key, new: at.pop(key, new),
    "popitem": lambda at, *_: at.popitem() if at else None,
    "setdefault": lambda at, key, new: at.setdefault(key, new),
    "update": lambda at, key, new: at.update({key: new}, z=new),
    "clear": lambda at, *_: at.clear(),
    "or": lambda at, key, new: at | {key: new},
    "ror": lambda at, key, new: {key: new} | at,
    "ior": lambda at, key, new: at.__ior__({key: new}),
    "dict": lambda at, *_: dict(at),
    "spread": lambda at, *_: {**at},
    "copy": lambda at, *_: at.copy(),
    "copy.copy": lambda at, *_: copy.copy(at),
    "items": lambda at, *_: list(at.items()),
    "values": lambda at, *_: list(at.values()),
    "first": lambda at, *_: next(iter(at.values()), None),
    "comprehension": lambda at, *_: {key: part for key, part in at.items()},  # noqa: C416 - as tools write it
    "in": lambda at, key, _: [key in at, len(at), bool(at), list(at), list(reversed(at)), sorted(at.keys())],
    "equal": lambda at, key, new: [at == {key: new}, at != {key: new}, repr(at)],
    "keywords": lambda at, *_: keywords(**at),
    "keep": lambda at, key, new: at.__setitem__(key, at.get("a", new)),
    "move": lambda at, key, new: at.__setitem__(key, at.pop("b", new)),
}
LIST_STEPS: dict[str, Callable[[Any, int, Any], Any]] = {
    "get": lambda at, place, _: at[place % len(at)] if at else None,
    "slice": lambda at, place, _: at[place:],
    "set": lambda at, place, new: at.__setitem__(place % len(at), new) if at else None,
    "del": lambda at, place, _: at.__delitem__(slice(place, place + 1)),
    "pop": lambda at, *_: at.pop() if at else None,
    "append": lambda at, _, new: at.append(new),
    "extend": lambda at, _, new: at.extend([new]),
    "insert": lambda at, place, new: at.insert(place, new),
    "iadd": lambda at, _, new: at.__iadd__([new]),
    "imul": lambda at, *_: at.__imul__(2) if len(at) < 4 else None,
    "add": lambda at, _, new: at + [new],  # noqa: RUF005 - as tools write it
    "radd": lambda at, _, new: [new] + at,  # noqa: RUF005 - same
    "mul": lambda at, *_: at * 2,
    "reverse": lambda at, *_: at.reverse(),
    "sort": lambda at, *_: at.sort(key=repr),
    "clear": lambda at, *_: at.clear(),
    "copy": lambda at, *_: at.copy(),
    "list": lambda at, *_: list(at),
    "star": lambda at, *_: [*at],
    "reversed": lambda at, *_: list(reversed(at)),
    "last": lambda at, *_: next(reversed(at), None),
    "remove": lambda at, *_: at.remove(at[0]) if at else None,
}


def scribble(value: Any) -> None:
    """Change all that was handed out, as a tool that keeps and changes it would."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        scribble(part)
    if isinstance(value, dict):
        value["scribbled"] = 1
    elif isinstance(value, list):
        value.append("scribbled")


@settings(max_examples=80)
@given(state=STATES, data=st.data())
def test_it_behaves_as_a_copy_of_ones_own(state: dict[str, Any], data: st.DataObject) -> None:
    """Whatever a tool does with it, and with what it got out of it, the base stays and the content is the copy's."""
    before = json.dumps(state)
    lazy, own = LazyDict(state, data.draw(st.sampled_from([0, 3, 1000]))), copy.deepcopy(state)
    held: list[tuple[Any, Any]] = [(lazy, own)]  # what a tool may still have in its hands of what it saw earlier
    for _ in range(data.draw(st.integers(1, 8))):
        at, other = data.draw(st.sampled_from(held))
        for _ in range(data.draw(st.integers(0, 2))):
            if isinstance(other, dict) and other:
                key = data.draw(st.sampled_from(sorted(other)))
                at, other = at[key], other[key]
            elif isinstance(other, list) and other:
                place = data.draw(st.integers(0, len(other) - 1))
                at, other = at[place], other[place]
        held.append((at, other))
        steps: Any = DICT_STEPS if isinstance(other, dict) else LIST_STEPS if isinstance(other, list) else None
        if steps is None:
            continue
        step = steps[data.draw(st.sampled_from(sorted(steps)))]
        where = data.draw(st.sampled_from("abcd") if isinstance(other, dict) else st.integers(0, 3))
        new = data.draw(VALUES)
        got, expected = step(at, where, copy.deepcopy(new)), step(other, where, copy.deepcopy(new))
        assert json.dumps(got) == json.dumps(expected)
        if data.draw(st.booleans()):
            scribble(got)
            scribble(expected)
    assert json.dumps(state) == before
    assert json.dumps(plain(lazy), sort_keys=True) == json.dumps(own, sort_keys=True)
    assert json.dumps(lazy) == json.dumps(own)
    assert json.dumps(copy.deepcopy(lazy)) == json.dumps(pickle.loads(pickle.dumps(lazy))) == json.dumps(own)
    assert json.dumps(state) == before
    is_changed = json.dumps(own, sort_keys=True) != json.dumps(state, sort_keys=True)
    assert (changes(plain(lazy), state) is not None) == is_changed
    assert digest(changes(plain(lazy), state)) == digest(changes(json.loads(json.dumps(own)), state))
    assert digest(changes(lazy, state)) == digest(changes(plain(lazy), state))


@settings(max_examples=50)
@given(STATES, STATES)
def test_differences_of_states_that_share_parts_are_those_of_copies(
    left: dict[str, Any], right: dict[str, Any]
) -> None:
    """What is left out because it is one object would not have differed."""
    mixed = {**right, **{key: left[key] for key in sorted(left)[:2]}}

    assert repr(diff(left, mixed)) == repr(diff(copy.deepcopy(left), copy.deepcopy(mixed)))
    assert repr(diff(left, mixed, ["a.*"])) == repr(diff(copy.deepcopy(left), copy.deepcopy(mixed), ["a.*"]))


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file a little larger than `LARGE`: a table by id, and one as a list."""
    users = {f"U{n}": {"name": f"Name {n}", "address": {"city": "Paris"}, "orders": [f"W{n}"]} for n in range(6_500)}
    rows = [{"id": n, "note": "x" * 40, "tags": ["a"]} for n in range(6_500)]
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"users": users, "rows": rows}))
    assert file.stat().st_size > LARGE
    return file


def test_runs_share_a_large_state_until_they_look(large: Path) -> None:
    """Twenty opened states with their snapshots take less than one of them, and none sees what another one wrote."""
    provider = JsonState(file=large)
    tracemalloc.start()
    first = provider.open({}, "0")
    one = tracemalloc.get_traced_memory()[0]
    handles = [provider.open({"users": {"U1": {"name": f"Own {n}"}}}, str(n)) for n in range(20)]
    for n, handle in enumerate(handles):
        handle["users"][f"U{n + 2}"]["address"]["city"] = "Lyon"
    snapshots = [provider.snapshot(handle) for handle in handles]
    versions = [provider.version(handle) for handle in handles]
    all_of_them = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    content = json.loads(large.read_text())
    assert provider.snapshot(first) == content
    cities = [[snapshot["users"][f"U{n + 2}"]["address"]["city"] for n in range(20)] for snapshot in snapshots]
    assert cities == [["Lyon" if n == own else "Paris" for n in range(20)] for own in range(20)]
    for n in (0, 19):  # in these two, all the rest is looked at too
        snapshot = snapshots[n]
        content["users"]["U1"]["name"] = f"Own {n}"
        assert [difference.path for difference in diff(content, snapshot)] == [
            ("users", f"U{n + 2}", "address", "city")
        ]
    assert len(set(versions)) == 20
    assert all_of_them - one < one * 2


def test_a_large_state_is_put_back_as_it_was(large: Path) -> None:
    """As the prober does between calls."""
    provider = JsonState(file=large)
    handle = provider.open({}, "run")
    handle["users"]["U1"]["name"] = "B"
    saved, version = provider.save(handle), provider.version(handle)
    handle["users"]["U1"]["name"] = "C"
    del handle["users"]["U2"]
    handle["rows"].append({"id": -1})
    assert provider.version(handle) != version

    provider.restore(handle, saved)

    assert provider.version(handle) == version
    assert handle["users"]["U1"]["name"] == "B"
    handle["users"]["U1"]["name"] = json.loads(large.read_text())["users"]["U1"]["name"]
    assert provider.version(handle) == provider.version(provider.open({}, "fresh"))


def test_a_large_file_that_changed_is_read_again(large: Path) -> None:
    """A session may last longer than the file."""
    provider = JsonState(file=large)
    provider.open({}, "run")
    large.write_text(large.read_text().replace("Name 7", "Nome 77"))

    assert provider.open({}, "again")["users"]["U7"]["name"] == "Nome 77"


@settings(max_examples=50)
@given(STATES, STATES, st.integers(0, 3))
def test_a_copy_by_use_may_be_changed_throughout(state: dict[str, Any], other: dict[str, Any], small: int) -> None:
    """As a check of the user's may do with the states of a run, which others share."""
    before = repr(state), repr(other)
    for _ in range(2):
        given = shared(state, small)
        assert repr(given) == before[0]
        scribble(given)
    assert (repr(state), repr(other)) == before
    assert json.dumps(plain(copy.deepcopy(other), state), sort_keys=True) == json.dumps(other, sort_keys=True)


def test_threads_that_look_at_the_same_time_see_the_same(large: Path) -> None:
    """Tools that a framework calls side by side: what one writes is not lost, and the base is nobody's."""
    content = json.loads(large.read_text())
    before = digest(content)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            lazy = LazyDict(content)
            start = threading.Barrier(4)

            def work(number: int, lazy: LazyDict = lazy, start: threading.Barrier = start) -> None:
                start.wait()
                for n in range(200):
                    lazy["users"][f"U{n}"][f"by {number}"] = n
                    lazy["rows"][n][f"by {number}"] = n

            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            wrote = {f"by {number}" for number in range(4)}
            assert all(wrote <= lazy["users"][f"U{n}"].keys() for n in range(200))
            assert all(wrote <= lazy["rows"][n].keys() for n in range(200))
    finally:
        sys.setswitchinterval(interval)
    assert digest(content) == before


def test_the_words_of_states_that_share_parts_are_their_own(large: Path) -> None:
    """Of a state that differs in a few rows from one that was read, and in what it lacks."""
    provider = JsonState(file=large)
    initial = [{}, {"users": {"U1": {"name": "Zoe REF-9"}}}, {"users": {"U2": {"name": "Ann"}, "U6501": {}}}]
    states = [provider.snapshot(provider.open(one, "run")) for one in initial]
    for state in states:
        found, expected = words_in(state), set(words(state))
        for word in ("REF-9", "Zoe", "Ann", "U6501", "U1", "U2", "1", "2", "7", "W1", "users", "Paris", "nothing"):
            assert found(word) == (word in expected), word
