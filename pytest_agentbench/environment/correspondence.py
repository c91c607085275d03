"""Which ids and times of a run are which of its replay.

A tool that answers `REF-77` in the run answers `REF-12` in a fresh world. Both are the same thing where they stand at
the same place of both answers, have one form (see `fresh_values`) and came up there first: in neither world did the
state at the start, an argument or an earlier answer hold them. Every other difference of two answers is a real one.
"""

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from pytest_agentbench.core.json_values import JsonValue, decoded, is_number, same, to_json
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.names import count
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.fresh_values import (
    TOKEN,
    Clock,
    Kind,
    kind_of_pair,
    may_be_made_up,
    names_an_id,
    read_time,
    words,
)
from pytest_agentbench.environment.structural_sharing import apart

_SHOWN = 80
_DIGIT = re.compile(r"\d")


class Seen:
    """The words of one world in the order in which they came up: at its start, in arguments, in answers."""

    def __init__(self, start: State | None) -> None:
        self._start = start
        self._in_start: Callable[[str], bool] | None = None
        self._pending: list[tuple[bool, JsonValue]] = []
        self._first: dict[str, tuple[int, bool]] = {}
        self._read = 0

    def add(self, value: JsonValue, *, answered: bool) -> None:
        """Note an answer, or what a party gave as arguments."""
        self._pending.append((answered, value))

    def at_start(self, word: str) -> bool:
        """Whether the state at the start holds the word."""
        if self._in_start is None:
            self._in_start = words_in(self._start or {})
        return self._in_start(word)

    def first(self, word: str) -> tuple[int, bool] | None:
        """Give where the word came up first, counted from 0, and whether in an answer; None where it never did."""
        for answered, value in self._pending[self._read :]:
            for one in words(value):
                self._first.setdefault(one, (self._read, answered))
            self._read += 1
        return self._first.get(word)

    def made_by_world(self, word: str) -> bool:
        """Whether the world made the word up: no party gave it before, and the start does not hold it."""
        first = self.first(word)
        return not self.at_start(word) and (first is None or first[1])

    def __len__(self) -> int:
        return len(self._pending)


class Correspondence:
    """Grows while the calls of a run are made again, one after the other, in whatever order.

    `records` are all calls of the run, `start` the state it began with, `replay_start` that of the replay (the same
    unless given). With a `clock`, times correspond that differ by what passed between run and replay; without one, any
    two that came up at the same place.
    """

    def __init__(
        self,
        records: Sequence[CallRecord],
        start: State | None = None,
        replay_start: State | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock
        self.run, self.replay = Seen(start), Seen(start if replay_start is None else replay_start)
        self._answers: list[JsonValue] = []
        for record in records:
            answer = None if record.result is None else decoded(record.result.content)
            self._answers.append(answer)
            self.run.add(to_json(record.call.arguments), answered=False)
            self.run.add(answer, answered=True)
        self._records = records
        self._to_replay: dict[str, str] = {}
        self._to_run: dict[str, str] = {}
        self.kinds: dict[tuple[str, str], Kind] = {}

    def in_replay(self, value: JsonValue) -> JsonValue:
        """Give a value of the run as the replay calls it."""
        return renamed(value, self._to_replay)

    def ids_in_run(self, value: JsonValue) -> JsonValue:
        """Give a value of the replay with ids as the run calls them; times stay those of the replay."""
        return renamed(value, names_in_run({pair: kind for pair, kind in self.kinds.items() if kind != "time"}))

    def values_in_run(self, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Give arguments with their values, and not their names, as the run calls them; matchers stay as they are."""
        names = names_in_run(self.kinds)
        return {
            name: value if holds_matcher(value) else renamed(value, names, name) for name, value in arguments.items()
        }

    def run_name(self, word: str) -> str | None:
        """Give the run's word for a word of the replay, None where none is known."""
        return self._to_run.get(word)

    def unmapped(self, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
        """Give the ids and times among arguments of a run's call that its world made up and the replay has not."""
        given = {word: None for key, value in arguments.items() for word in words(value, key)}
        return tuple(
            word
            for word in given
            if (may_be_made_up(word) or word.isdigit())
            and self.run.first(word) is not None
            and self.run.made_by_world(word)
            and word not in self._to_replay
        )

    def maker(self, word: str) -> int | None:
        """Give the place of the run's call that a word came up in first, in its answer or its arguments."""
        first = self.run.first(word)
        return None if first is None else first[0] // 2

    def answer(self, place: int) -> JsonValue:
        """Give what the run's call at `place` was answered."""
        return self._answers[place]

    def hear(self, call: ToolCall, result: ToolResult) -> JsonValue:
        """Note a call of the replay that repeats none of the run's; give its answer."""
        self.replay.add(to_json(call.arguments), answered=False)
        answer = decoded(result.content)
        self.replay.add(answer, answered=True)
        return answer

    def follow(self, place: int, call: ToolCall, result: ToolResult) -> str | None:
        """Hold the replay's answer against that of the run's call at `place`; `call` is what the replay was asked.

        Note what corresponds. Give the first real difference as text, None where there is none.
        """
        record = self._records[place]
        answer = self.hear(call, result)
        if record.result is None:
            return None
        if record.failed != result.failed:
            return f"the tool {_outcome(record.failed)} in the run and {_outcome(result.failed)} when replayed"
        return self._compare(self._answers[place], answer, "", (2 * place + 1, len(self.replay) - 1))

    def learn(self, of_run: str, of_replay: str, kind: Kind) -> bool:
        """Note that two words are the same thing; False where one of them is another thing already.

        Times come together and apart: two in the run may be one in the replay, and the first pair stays.
        """
        known, other = self._to_replay.get(of_run), self._to_run.get(of_replay)
        if kind != "time" and (known not in (None, of_replay) or other not in (None, of_run)):
            return False
        self._to_replay.setdefault(of_run, of_replay)
        self._to_run.setdefault(of_replay, of_run)
        self.kinds[of_run, of_replay] = kind
        return True

    def _compare(self, run: JsonValue, replay: JsonValue, key: str, at: tuple[int, int]) -> str | None:
        if isinstance(run, Mapping) and isinstance(replay, Mapping):
            return self._compare_mappings(run, replay, at)
        if isinstance(run, list) and isinstance(replay, list):
            if len(run) != len(replay):
                return f"{_at(key)}{count(len(run), 'item')} in the run, {len(replay)} when replayed"
            found = (self._compare(left, right, key, at) for left, right in zip(run, replay, strict=True))
            return next(filter(None, found), None)
        if isinstance(run, str) and isinstance(replay, str):
            return None if self._same_texts(run, replay, key, at) else _apart(run, replay, key)
        if is_number(run) and is_number(replay) and self._same_numbers(run, replay, key, at):
            return None
        if same(run, replay):
            return None
        return _apart(run, replay, key)

    def _compare_mappings(self, run: Mapping[str, Any], replay: Mapping[str, Any], at: tuple[int, int]) -> str | None:
        ours = [key for key in run if key not in replay]
        theirs = [key for key in replay if key not in run]
        if len(ours) != len(theirs):
            return f"the keys {sorted(run)} in the run, {sorted(replay)} when replayed"
        names = dict(zip(ours, theirs, strict=True))
        for key, item in run.items():
            other = names.get(key, key)
            if other != key and not self._same_texts(key, other, "id", at):
                return _apart(key, other, "key")
            if found := self._compare(item, replay[other], key, at):
                return found
        return None

    def _same_texts(self, run: str, replay: str, key: str, at: tuple[int, int]) -> bool:
        if run == replay and not _DIGIT.search(run):
            return True
        ours, theirs = TOKEN.findall(run), TOKEN.findall(replay)
        if len(ours) != len(theirs) or TOKEN.sub("\0", run) != TOKEN.sub("\0", replay):
            return False
        is_id = names_an_id(key) and len(ours) == 1
        return all(self._same_words(left, right, is_id, at) for left, right in zip(ours, theirs, strict=True))

    def _same_numbers(self, run: float, replay: float, key: str, at: tuple[int, int]) -> bool:
        moments = read_time(run), read_time(replay)
        if None in moments and not (names_an_id(key) and isinstance(run, int) and isinstance(replay, int)):
            return False
        return self._same_words(str(run), str(replay), True, at, "time" if None not in moments else "sequence")

    def _same_words(self, run: str, replay: str, is_id: bool, at: tuple[int, int], kind: Kind | None = None) -> bool:
        known, other = self._to_replay.get(run), self._to_run.get(replay)
        if run == replay:
            self._note_equal(run, is_id, at)
            return known in (None, run) and other in (None, replay)
        if known == replay:
            return True
        kind = kind or kind_of_pair(run, replay, is_id=is_id)
        if kind is None:
            return False
        if kind == "time" and self.clock is not None:
            return self.same_clock(run, replay) and self.learn(run, replay, kind)
        fresh = _came_up(self.run, run, at[0]) and _came_up(self.replay, replay, at[1])
        return fresh and self.learn(run, replay, kind)

    def _note_equal(self, word: str, is_id: bool, at: tuple[int, int]) -> None:
        """Note that a word is the same thing in both worlds where both made it up, be it by chance or by counting."""
        is_new = word not in self._to_replay and word not in self._to_run
        has_form = may_be_made_up(word) or (is_id and word.isdigit())
        if is_new and has_form and _came_up(self.run, word, at[0]) and _came_up(self.replay, word, at[1]):
            self.learn(word, word, "sequence" if read_time(word) is None else "time")

    def same_clock(self, run: str, replay: str) -> bool:
        """Whether the clock explains that two times of the worlds differ: nobody gave them, and they lie as near."""
        ours, theirs = read_time(_plain(run)), read_time(_plain(replay))
        if self.clock is None or ours is None or theirs is None:
            return False
        given = any(first is not None and not first[1] for first in (self.run.first(run), self.replay.first(replay)))
        data = self.run.at_start(run) and self.replay.at_start(replay)
        return not given and not data and self.clock.explains(ours, theirs)


def renamed(value: JsonValue, names: Mapping[str, str], key: str = "") -> JsonValue:
    """Give a JSON value with words replaced, keys included; a number is replaced where an id or a time stands."""
    if not names:
        return value
    if isinstance(value, str):
        return TOKEN.sub(lambda word: names.get(word[0], word[0]), value)
    if isinstance(value, Mapping):
        return {renamed(str(name), names): renamed(item, names, str(name)) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [renamed(item, names, key) for item in value]
    if is_number(value) and (names_an_id(key) or read_time(value) is not None):
        return _plain(names.get(str(value), str(value)))
    return value


def names_in_run(pairs: Mapping[tuple[str, str], Kind]) -> dict[str, str]:
    """Give replay's word → run's. A word of the replay that is another thing in the run does not fall together with it.

    Of several pairs with one word, as times have them, the first counts.
    """
    names: dict[str, str] = {}
    for run, replay in pairs:
        names.setdefault(replay, run)
    ids = (run for (run, _), kind in pairs.items() if kind != "time")
    return {**{run: f"{run} of a fresh world" for run in ids}, **names}


def _came_up(seen: Seen, word: str, at: int) -> bool:
    return not seen.at_start(word) and seen.first(word) == (at, True)


def _plain(word: str) -> JsonValue:
    try:
        return json.loads(word) if word[:1].isdigit() else word
    except ValueError:
        return word


def _outcome(failed: bool) -> str:
    return "failed" if failed else "succeeded"


def _at(key: str) -> str:
    return f"{printable(key)}: " if key else ""


def _apart(run: JsonValue, replay: JsonValue, key: str) -> str:
    ours, theirs = (printable(shorten(repr(value), _SHOWN)) for value in (run, replay))
    return f"{_at(key)}{ours} in the run, {theirs} when replayed"


_FEW = 20_000
"""Words by which a state may differ from one that was read, so that this need not be read as a whole."""


class _Index:
    """The words of the states read last; runs that ask at the same time wait for one reading."""

    def __init__(self) -> None:
        self._read: deque[tuple[State, frozenset[str]]] = deque(maxlen=2)
        self._reading = threading.Lock()

    def find(self, state: State) -> Callable[[str], bool]:
        with self._reading:
            for known, index in self._read:
                if known is state:
                    return index.__contains__
                if found := _beside(state, known, index, min(_FEW, len(index) // 2)):
                    return found
            index = frozenset(words(state))
            self._read.append((state, index))
            return index.__contains__


_INDEX = _Index()


def words_in(state: State) -> Callable[[str], bool]:
    """Give what tells whether a word stands in a state, which is not changed any more."""
    return _INDEX.find(state)


def _beside(state: State, known: State, index: frozenset[str], few: int) -> Callable[[str], bool] | None:
    """Tell the words of a state by those of one that shares nearly all parts with it; None where it does not."""
    own, others = apart(state, known)
    found, missing = (list(islice(words(part), few)) for part in (own, others))
    if few in (len(found), len(missing)):
        return None
    added, left_out = frozenset(found), frozenset(missing)

    def holds(word: str) -> bool:
        if word in added or word not in index:
            return word in added
        return word not in left_out or any(one == word for one in words(state))

    return holds
