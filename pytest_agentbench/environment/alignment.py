"""The state that expected calls lead to, in the words of a run: what a world makes up is not held against an agent.

Ids and times of the replay become those of the run where they correspond (see `correspondence`), be it that answers
showed it or that rows do. What two worlds made up and nobody can tell which is which is not measured.

Where run and replay made the same writes, whatever has the form of an id and was given by nobody is the world's. Where
they did not, a value may differ because of what the agent did: then only keys of rows are taken for the world's, and
times that the clock explains.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.state import State
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.environment.correspondence import Correspondence, names_in_run, renamed
from pytest_agentbench.environment.fresh_values import TOKEN, kind_of_pair, may_be_made_up, names_an_id, read_time
from pytest_agentbench.environment.shared_parts import apart

Path = tuple[str, ...]


def aligned(
    expected: State, actual: State, known: Correspondence, *, same_writes: bool
) -> tuple[State, tuple[Path, ...]]:
    """Give the expected state in the words of the run that ended in `actual`, and the places that cannot be told.

    Both are plain JSON. Parts that are one object in both are as the worlds began, and stay.
    """
    if names := _names(*apart(expected, actual), known, same_writes=same_writes):
        expected = _renamed(expected, actual, names)
    if expected == actual:
        return expected, ()
    count = -1
    while len(known.kinds) > count:  # what one row shows may tell another one apart
        count = len(known.kinds)
        walk = _Walk(known, same_writes)
        found = walk.through(expected, actual, "", ())
    return found, tuple(walk.unknown)


def _renamed(expected: JsonValue, actual: JsonValue, names: Mapping[str, str], key: str = "") -> Any:
    """Give `expected` with words replaced, but for the parts that are one object: neither world touched those."""
    if expected is actual and isinstance(expected, dict | list):
        return expected
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {renamed(name, names): _renamed(item, actual.get(name), names, name) for name, item in expected.items()}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [_renamed(one, other, names, key) for one, other in zip(expected, actual, strict=True)]
    return renamed(expected, names, key)


def _names(expected: State, actual: State, known: Correspondence, *, same_writes: bool) -> dict[str, str]:
    """Give replay's word → run's, of those that may stand in a state.

    A counter is an identifier where rows are known by it or name it; elsewhere (`version: v3`) it is data.
    """
    pairs = {pair: kind for pair, kind in known.kinds.items() if pair[0] != pair[1]}
    free = {"random", "time"} if same_writes else {"time"}
    bound = any(kind not in free for kind in pairs.values())
    ours = frozenset(_identifiers(actual, by_name=same_writes)) if bound else frozenset()
    theirs = frozenset(_identifiers(expected, by_name=same_writes)) if bound else frozenset()
    kept = {pair: kind for pair, kind in pairs.items() if kind in free or (pair[0] in ours and pair[1] in theirs)}
    return names_in_run({**kept, **{pair: kind for pair, kind in known.kinds.items() if pair[0] == pair[1]}})


def _identifiers(value: JsonValue, key: str = "", *, by_name: bool) -> Iterator[str]:
    """Give the keys of all rows, and with `by_name` what stands where a name says that an id does."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _identifiers(item, str(name), by_name=by_name)
    elif isinstance(value, list):
        for item in value:
            yield from _identifiers(item, key, by_name=by_name)
    elif by_name and names_an_id(key) and isinstance(value, str | int) and not isinstance(value, bool):
        yield str(value)


@dataclass
class _Walk:
    """One way through both states side by side."""

    known: Correspondence
    same_writes: bool
    unknown: list[Path] = field(default_factory=list)

    def through(self, expected: JsonValue, actual: JsonValue, key: str, path: Path) -> Any:
        """Give `expected` with what the replay's world made up in the run's words."""
        if expected == actual:
            return expected
        if isinstance(expected, dict) and isinstance(actual, dict):
            return self._mapping(expected, actual, path)
        if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
            pairs = enumerate(zip(expected, actual, strict=True))
            return [self.through(one, other, key, (*path, str(index))) for index, (one, other) in pairs]
        if isinstance(expected, str) and isinstance(actual, str):
            return self._text(expected, actual, key, path)
        return actual if self._is_same_number(expected, actual, key) else expected

    def _mapping(self, expected: dict[str, Any], actual: dict[str, Any], path: Path) -> dict[str, Any]:
        missing = [key for key in expected if key not in actual]
        extra = [key for key in actual if key not in expected]
        pairs = self._rows(expected, actual, missing, extra) if missing and extra else {}
        found = {}
        for key, item in expected.items():
            name = pairs.get(key, key)
            found[name] = self.through(item, actual[name], name, (*path, name)) if name in actual else item
        return found

    def _rows(
        self, expected: dict[str, Any], actual: dict[str, Any], missing: list[str], extra: list[str]
    ) -> dict[str, str]:
        """Pair rows whose keys both worlds made up, those that differ in the fewest values first."""
        candidates = sorted(
            (_distance(expected[one], actual[other], one, other), at, one, other)
            for at, one in enumerate(missing)
            for other in extra
            if self._may_be_one(one, other, is_id=True, is_key=True)
        )
        if not self.same_writes:
            candidates = [one for one in candidates if one[0] == 0]
        pairs: dict[str, str] = {}
        taken: set[str] = set()
        for _, _, one, other in candidates:
            if one not in pairs and other not in taken and self._learn(one, other, is_id=True):
                pairs[one] = other
                taken.add(other)
        return pairs

    def _text(self, expected: str, actual: str, key: str, path: Path) -> str:
        theirs, ours = TOKEN.findall(expected), TOKEN.findall(actual)
        if len(theirs) != len(ours) or TOKEN.sub("\0", expected) != TOKEN.sub("\0", actual):
            return expected
        is_id = names_an_id(key) and len(ours) == 1
        pairs = [(one, other) for one, other in zip(theirs, ours, strict=True) if one != other]
        if not all(self._may_be_one(one, other, is_id=is_id) for one, other in pairs):
            if self.same_writes and all(self._both_made_up(one, other) for one, other in pairs):
                self.unknown.append(path)
            return expected
        if all(self._learn(one, other, is_id=is_id) for one, other in pairs):
            return actual
        if self.same_writes:
            self.unknown.append(path)
        return expected

    def _may_be_one(self, expected: str, actual: str, *, is_id: bool, is_key: bool = False) -> bool:
        kind = kind_of_pair(actual, expected, is_id=is_id)
        if kind == "time":
            return self.known.same_clock(actual, expected)
        if not (self.same_writes or is_key):
            return False
        drawn = kind == "random" or (kind == "sequence" and is_id)
        return drawn and self.known.run.made_by_world(actual) and self.known.replay.made_by_world(expected)

    def _both_made_up(self, expected: str, actual: str) -> bool:
        """Whether both words are ids that two worlds made up, of different forms, so that nobody can tell."""
        if read_time(expected) is not None or read_time(actual) is not None:
            return False  # times that the clock does not explain are a real difference
        known = self.known
        return (
            may_be_made_up(expected)
            and may_be_made_up(actual)
            and kind_of_pair(actual, expected, is_id=True) != "sequence"
            and known.run.made_by_world(actual)
            and known.replay.made_by_world(expected)
        )

    def _learn(self, expected: str, actual: str, *, is_id: bool) -> bool:
        kind = kind_of_pair(actual, expected, is_id=is_id)
        return kind is not None and (
            self.known.run_name(expected) == actual or self.known.learn(actual, expected, kind)
        )

    def _is_same_number(self, expected: JsonValue, actual: JsonValue, key: str) -> bool:
        numbers = [one for one in (expected, actual) if isinstance(one, int | float) and not isinstance(one, bool)]
        if len(numbers) < 2 or same(expected, actual):
            return False
        if read_time(expected) is not None and read_time(actual) is not None:
            return self.known.same_clock(str(actual), str(expected))
        whole = isinstance(expected, int) and isinstance(actual, int) and names_an_id(key)
        return (
            whole
            and self._may_be_one(str(expected), str(actual), is_id=True)
            and self._learn(str(expected), str(actual), is_id=True)
        )


def _distance(expected: JsonValue, actual: JsonValue, key: str, other: str) -> int:
    """Count the values in which two rows differ, their own keys aside."""
    return sum(1 for _ in _apart(renamed(expected, {key: other}), actual))


def _apart(one: JsonValue, other: JsonValue) -> Iterator[None]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from _apart(one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for left, right in zip(one, other, strict=True):
            yield from _apart(left, right)
    elif not same(one, other):
        yield None
