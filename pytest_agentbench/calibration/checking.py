"""Whether a conversation is of the situation that it is said to be of: its tool log and state against the gold log.

The check reads structure alone: which calls were made and what they gave, which values were told, how the state ended.
It knows no recipe and no fault, and no word of any language. What it refuses is not kept, so that a label is never
only what was intended.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_agentbench.calibration.scene import SATISFIED, Play, Scene
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.wording import Fact, Line, facts_of, flat
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.diff import diff
from pytest_agentbench.validation.values import scalars

_EMPTY = frozenset({"", "{}", "[]", "null", "None"})
_FEWEST_LINES = 5
"""Lines of a conversation in which nothing is asked for first."""

_FEWEST_SHARED = 2
"""Fields beyond which an answer and a row of the state are taken to be of the same thing."""


def check(play: Play, scene: Scene, situation: str) -> str | None:
    """Say what speaks against `situation`, or None; raise `KeyError` where there is no such situation."""
    one, reading = situations()[situation], Reading(play, scene)
    names = ["content" if one.user == "satisfied" else "discontent", *one.holds]
    wanted = (_CONDITIONS[part] for name in names for part in _GROUPS.get(name, (name,)))
    return next((problem for problem, holds in wanted if not holds(reading)), None)


def contradictions(calls: Sequence[CallRecord], state: State | None) -> Iterator[str]:
    """Tell of each answer that gives one field of a row of the state another value than the row has.

    The row is the one that shares most fields with the answer, and all values but that one.
    """
    tables = [table for table in (state or {}).values() if isinstance(table, dict)]
    rows = [row for table in tables for row in table.values() if isinstance(row, dict)]
    for number, one in enumerate(calls, start=1):
        for item in _objects(_decoded(_answer(one))):
            most = max((len(item.keys() & row.keys()) for row in rows), default=0)
            shared = [(item.keys() & row.keys(), row) for row in rows]
            near = [
                ([name for name in sorted(names) if not _same(item[name], row[name])], row)
                for names, row in shared
                if len(names) == most
            ]
            names, row = min(near, key=lambda pair: len(pair[0]), default=([], {}))
            if most > _FEWEST_SHARED and len(names) == 1:
                yield f"call {number} gave {names[0]} {item[names[0]]!r}, the stored row has {row[names[0]]!r}"


@dataclass(frozen=True)
class Reading:
    play: Play
    scene: Scene

    @cached_property
    def calls(self) -> Sequence[CallRecord]:
        return self.play.transcript.trajectory

    @cached_property
    def right(self) -> list[str]:
        """The calls of the gold log."""
        return [_mark(one.call) for one in self.scene.heard]

    @cached_property
    def made(self) -> list[str]:
        return [_mark(one.call) for one in self.calls]

    @property
    def target(self) -> str:
        return self.right[self.scene.target]

    @property
    def satisfied(self) -> bool:
        return self._last("user").kind == SATISFIED

    @cached_property
    def told(self) -> tuple[Fact, ...]:
        return self._last("agent").told

    @cached_property
    def invented(self) -> list[str]:
        """Values told that no call, answer or user turn holds."""
        given = [value for line in self.play.lines if line.by == "user" for value in line.said]
        known = flat(" ".join([*given, *self.made, *map(_answer, self.calls)]))
        return [fact.text for fact in self.told if flat(fact.text) not in known]

    @cached_property
    def failed(self) -> bool:
        return any(one.failed for one in self.calls)

    @cached_property
    def nothing(self) -> bool:
        """Whether some call gave nothing, or failed."""
        return self.failed or any(_answer(one).strip() in _EMPTY for one in self.calls)

    @cached_property
    def struck(self) -> list[tuple[str, str]]:
        """Answers that are not those of the gold log, though the call is the same, each with the gold one."""
        gold = {_mark(one.call): one.result.content for one in self.scene.heard}
        held = [(_answer(one), gold.get(_mark(one.call), _answer(one))) for one in self.calls]
        return [(given, wanted) for given, wanted in held if given != wanted]

    @property
    def is_cut(self) -> bool:
        """Whether an answer lacks values of the gold one."""
        return any(
            len(facts_of(given)) < len(facts_of(wanted)) or len(given) < len(wanted) for given, wanted in self.struck
        )

    @property
    def shows_logs(self) -> bool:
        return all(_answer(one)[:100] in self._last("agent").text for one in self.calls)

    @cached_property
    def extra(self) -> list[str]:
        """Calls beyond those of the gold log."""
        left = list(self.right)
        found = []
        for one in self.made:
            if one in left:
                left.remove(one)
            else:
                found.append(one)
        return found

    @property
    def others(self) -> set[str]:
        """Tools that were called and that the gold log does not use."""
        return {one.call.name for one in self.calls} - {one.call.name for one in self.scene.heard}

    @property
    def changed(self) -> bool | None:
        return _changed(self.play.initial, self.play.final)

    @property
    def is_visible(self) -> bool:
        """Whether an answer shows that it is about something else: another value under the name of an argument."""
        for one in self.calls:
            decoded = _decoded(_answer(one))
            for name, value in one.call.arguments.items():
                if isinstance(decoded, dict) and name in decoded and not _same(decoded[name], value):
                    return True
        return self.nothing

    @property
    def said_again(self) -> bool:
        first, *later = [set(line.said) for line in self.play.lines if line.by == "user"]
        return any(first & values for values in later)

    @property
    def corrected(self) -> bool:
        """Whether the user ends on a value of the gold log that no answer gave."""
        gold = flat(" ".join(one.result.content for one in self.scene.heard))
        given = flat(" ".join(map(_answer, self.calls)))
        values = [flat(value) for value in self._last("user").said]
        return any(value in gold and value not in given for value in values)

    @property
    def supplied(self) -> bool:
        """Whether every argument was said by the user or returned by an earlier call."""
        known = flat(" ".join(value for line in self.play.lines for value in line.said if line.by == "user"))
        for one in self.calls:
            if any(flat(str(value)) not in known for _, value in scalars(one.call.arguments)):
                return False
            known += flat(_answer(one))
        return True

    def _last(self, by: str) -> Line:
        return [line for line in self.play.lines if line.by == by][-1]


def _changed(initial: State | None, final: State | None) -> bool | None:
    return None if initial is None or final is None else bool(diff(initial, final))


def _mark(call: ToolCall) -> str:
    return dumps([call.name, call.arguments])


def _answer(one: CallRecord) -> str:
    return one.result.content if one.result else ""


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _same(one: object, other: object) -> bool:
    return flat(str(one)) == flat(str(other))


def _objects(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(item)


_CONDITIONS: dict[str, tuple[str, Callable[[Reading], bool]]] = {
    "content": ("the user does not close content", lambda r: r.satisfied),
    "discontent": ("the user closes content", lambda r: not r.satisfied),
    "works": ("a call fails or gives nothing", lambda r: not r.nothing),
    "breaks": ("every call gave an answer", lambda r: r.nothing),
    "fails": ("no call fails", lambda r: r.failed),
    "gold calls": ("the calls are not those of the gold log", lambda r: r.made == r.right),
    "gold answers": ("an answer is not that of the gold log", lambda r: not r.struck),
    "struck": ("every answer is that of the gold log", lambda r: bool(r.struck)),
    "faithful": ("a value is told that nothing gives", lambda r: not r.invented),
    "invents": ("every value told is known", lambda r: bool(r.invented)),
    "tells": ("no value is told", lambda r: bool(r.told)),
    "silent": ("a value is told", lambda r: not r.told),
    "no target": ("the call that the request needs was made", lambda r: r.target not in r.made),
    "effect": (
        "the state changes where the gold log leaves it, or the other way round",
        lambda r: r.changed == _changed(r.scene.initial, r.scene.final),
    ),
    "gold effect": ("the gold log changes nothing", lambda r: _changed(r.scene.initial, r.scene.final) is True),
    "no effect": ("the state changed", lambda r: r.changed is False),
    "all made": ("a call of the gold log is missing", lambda r: set(r.right) <= set(r.made)),
    "other tool": ("no other tool was called", lambda r: bool(r.others)),
    "own values": ("another tool was called", lambda r: not r.others and r.made != r.right),
    "supplied": ("an argument comes from nowhere", lambda r: r.supplied),
    "extra call": ("no read is made", lambda r: bool(r.extra)),
    "extra calls": ("every call serves", lambda r: len(r.extra) > 1),
    "no extra call": ("a call is made besides", lambda r: not r.extra),
    "dump": ("a wording may be found for it", lambda r: r._last("agent").is_fixed),
    "logs": ("no log is shown", lambda r: r.shows_logs),
    "gate": ("nothing is asked for first", lambda r: len(r.play.lines) > _FEWEST_LINES),
    "said again": ("no value is said twice", lambda r: r.said_again),
    "contradicted": ("no answer contradicts the state", lambda r: any(contradictions(r.calls, r.play.initial))),
    "not visible": ("the answer is visibly about something else", lambda r: not r.is_visible),
    "visible": ("no answer shows it", lambda r: r.is_visible),
    "corrected": ("the user gives no other value", lambda r: r.corrected),
    "cut": ("the answer is whole", lambda r: r.is_cut),
}
"""What `situations.toml` says that a situation holds, by name: what speaks against it, and whether it holds."""

_RIGHT = ("gold calls", "works", "gold answers", "effect")
_GROUPS = {"right": _RIGHT, "whole": (*_RIGHT, "faithful", "tells")}
