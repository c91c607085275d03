"""Injects faults into calls: which call is struck, and what each kind does, in the tool's thread or on the loop."""

import asyncio
import copy
import json
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.fault import FaultHit, FaultSpec
from pytest_agentbench.core.json_values import decoded, is_number, same, to_json
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.environment.python_tools import Made, PythonTool
from pytest_agentbench.environment.state_access import OpenState


class InjectionWorld:
    """The state as faults see it; `None` where the suite has none. Called in the thread of the tool."""

    def __init__(self, state: OpenState | None) -> None:
        self._state = state
        self._first: Any = None

    @property
    def can_be_put_back(self) -> bool:
        """Whether the state's provider has `save(handle)` and `restore(handle, saved)`, both sync."""
        provider = self._state.provider if self._state else None
        return all(callable(getattr(provider, name, None)) for name in ("save", "restore"))

    def begin(self) -> None:
        """Keep the state as it is at the start of the run."""
        if self.can_be_put_back:
            self._first = self.save()

    def save(self) -> Any:
        """Give what `restore` puts back."""
        assert self._state is not None  # noqa: S101 - `can_be_put_back` was asked
        return self._state.provider.save(self._state.handle)  # type: ignore[attr-defined]  # an optional method

    def restore(self, saved: Any) -> None:
        """Put the state back as it was when `saved` was made."""
        assert self._state is not None  # noqa: S101 - same
        self._state.provider.restore(self._state.handle, saved)  # type: ignore[attr-defined]  # same

    def restore_first(self) -> None:
        """Put the state back as it was at the start of the run."""
        self.restore(self._first)

    def others(self, value: Any) -> list[Any]:
        """Give the values that stand where `value` stands in the state: keys beside a key, a column's other cells."""
        if self._state is None:
            return []
        state: object = self._state.provider.snapshot(self._state.handle)
        if not isinstance(state, dict):  # an async provider
            return []
        found: list[Any] = []
        for other in _beside(to_json(state), to_json(value)):
            if not same(other, value) and not any(same(other, known) for known in found):
                found.append(other)
        return found


def _beside(state: State, value: Any) -> Iterator[Any]:
    """Yield keys of mappings that have `value` as a key, then cells of columns that hold it."""
    for part in state.values():
        if not isinstance(part, dict):
            continue
        if isinstance(value, str) and value in part:
            yield from part
        rows = [row for row in part.values() if isinstance(row, dict)]
        columns = {column for row in rows for column, cell in row.items() if same(cell, value)}
        for column in sorted(columns):
            yield from (row[column] for row in rows if row.get(column) is not None)


class Schedule:
    """The faults of one run; safe from several threads. Calls are counted per fault, among those that fit it."""

    def __init__(self, faults: Sequence[FaultSpec], *, seed: str) -> None:
        self.faults = tuple(faults)
        self._seed = seed
        self._counts = [0] * len(self.faults)
        self._calls = 0
        self._equal: Counter[str] = Counter()
        self._met: dict[int, FaultHit] = {}
        self._lock = threading.Lock()

    @property
    def met(self) -> tuple[FaultHit, ...]:
        """The faults that came to pass, in the order of their calls."""
        with self._lock:
            return tuple(self._met[number] for number in sorted(self._met))

    @property
    def struck(self) -> set[str]:
        """The tools of which some call was struck."""
        return {hit.tool for hit in self.met}

    def next(self, call: ToolCall) -> tuple[int, FaultSpec | None]:
        """Count a call; give its number, from 1, and the first fault that strikes it."""
        with self._lock:
            self._calls += 1
            mark = dumps([call.name, call.arguments])
            self._equal[mark] += 1
            chosen: FaultSpec | None = None
            for index, fault in enumerate(self.faults):
                if not fault.fits(call):
                    continue
                self._counts[index] += 1
                if chosen is None and (not fault.calls or self._counts[index] in fault.calls):
                    chosen = fault
            if chosen is not None:
                self._met[self._calls] = FaultHit(
                    fault=chosen,
                    call=self._calls,
                    nth=self._equal[mark],
                    tool=call.name,
                    arguments=call.arguments,
                )
            return self._calls, chosen

    def missed(self, number: int) -> None:
        """Take back that a call was struck: there was nothing in it that the fault could change."""
        with self._lock:
            self._met.pop(number, None)

    def hid(self, number: int) -> None:
        """Note that what a call was answered is what its tool could have given."""
        with self._lock:
            self._met[number] = self._met[number].model_copy(update={"hidden": True})

    def random(self, number: int) -> Random:
        """Give the chance of one call: the same in every session with the same seed."""
        return Random(digest([self._seed, number]))  # noqa: S311 - chooses what to spoil


class _Unchanged:
    """Marks an answer in which a fault found nothing to spoil."""


UNCHANGED: Final = _Unchanged()
"""What a way to spoil an answer gives where there is nothing to spoil."""

Alter = Callable[[Any], Any]


def emptied(value: Any) -> Any:
    """Give an answer of the same form that holds nothing."""
    if isinstance(value, ToolResult):
        return _within(value, emptied)
    if isinstance(value, dict):
        return {} if value else UNCHANGED
    if isinstance(value, list | tuple):
        return type(value)() if value else UNCHANGED
    if isinstance(value, str):
        return "" if value else UNCHANGED
    return None if value is not None else UNCHANGED


def truncated(value: Any) -> Any:
    """Give the first half of an answer: of a text its characters, of a list its entries, of an object its keys."""
    if isinstance(value, ToolResult):
        half = value.content[: len(value.content) // 2]
        return value.model_copy(update={"content": half}) if len(value.content) > 1 else UNCHANGED
    if isinstance(value, str):
        return value[: len(value) // 2] if len(value) > 1 else UNCHANGED
    if isinstance(value, list | tuple):
        return value[: len(value) // 2] if value else UNCHANGED
    if isinstance(value, dict):
        return dict(list(value.items())[: len(value) // 2]) if value else UNCHANGED
    return UNCHANGED


def corrupted(value: Any, random: Random) -> Any:
    """Give the answer with one of its values wrong: numbers first, then texts that hold digits."""
    if isinstance(value, ToolResult):
        return _within(value, lambda content: corrupted(content, random))
    if isinstance(value, dict | list):
        spoilt = copy.deepcopy(value)
        places = list(_places(spoilt))
        numbers = [place for place in places if is_number(place[0][place[1]])]
        texts = [place for place in places if isinstance(place[0][place[1]], str) and _digits(place[0][place[1]])]
        if not numbers and not texts:
            return UNCHANGED
        owner, key = random.choice(numbers or texts)
        owner[key] = corrupted(owner[key], random)
        return spoilt
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + random.choice([1, 2, 3, 10, 100])
    if isinstance(value, float):
        return round(value * random.choice([0.5, 1.1, 2, 10]) + 1, 2)
    if isinstance(value, str) and (digits := _digits(value)):
        place = random.choice(digits)
        other = random.choice([digit for digit in "123456789" if digit != value[place]])
        return value[:place] + other + value[place + 1 :]
    return UNCHANGED


def _within(result: ToolResult, alter: Alter) -> Any:
    """Alter what a result's text stands for: the JSON in it, else the text itself."""
    content = decoded(result.content)
    is_text = isinstance(content, str)
    altered = alter(content)
    if altered is UNCHANGED:
        return UNCHANGED
    text = altered if is_text and isinstance(altered, str) else json.dumps(altered)
    return result.model_copy(update={"content": text})


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where a leaf of nested JSON stands: its owner and key."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in entries:
        if isinstance(item, dict | list):
            yield from _places(item)
        else:
            yield value, key


def _digits(value: str) -> list[int]:
    return [index for index, char in enumerate(value) if char in "0123456789"]


Arguments = dict[str, Any]

Make = Callable[[Arguments], Awaitable[Any]]
"""Makes a call with arguments by name."""

Sleep = Callable[[float], Awaitable[None]]


class Untouched(Exception):  # noqa: N818 - says what became of a call, no error
    """There was nothing that the fault could change; carries the answer as it is."""

    def __init__(self, answer: Any) -> None:
        super().__init__("untouched")
        self.answer = answer


@dataclass(frozen=True, kw_only=True)
class Struck:
    """One call that is struck, and what its fault may use."""

    fault: FaultSpec
    arguments: Arguments
    make: Make
    sleep: Sleep
    random: Random
    world: InjectionWorld
    hide: Callable[[], None]
    """Says that the answer is one that the tool could have given."""


Effect = Callable[[Struck], Awaitable[Any]]
"""Does what a fault does with a call, and gives its answer."""


def _raising(make: Callable[[FaultSpec], Exception]) -> Effect:
    async def effect(struck: Struck) -> Any:
        if struck.fault.done:
            await struck.make(struck.arguments)
        raise make(struck.fault)

    return effect


def _altering(alter: Callable[[Any, Random], Any], *, may_be: Callable[[Any], bool] = lambda _: False) -> Effect:
    """Spoil the answer; `may_be` tells of which answers the tool could have given what is left."""

    async def effect(struck: Struck) -> Any:
        answer = await struck.make(struck.arguments)
        altered = alter(answer, struck.random)
        if altered is UNCHANGED:
            raise Untouched(answer)
        if may_be(answer):
            struck.hide()
        return altered

    return effect


def _may_hold_nothing(answer: Any) -> bool:
    """Whether an answer is a collection, of which there may be none: a list, or an object of nothing but objects."""
    plain = to_json(decoded(answer.content) if isinstance(answer, ToolResult) else answer)
    return isinstance(plain, list) or (isinstance(plain, dict) and all(isinstance(one, dict) for one in plain.values()))


async def _late(struck: Struck) -> Any:
    await struck.sleep(struck.fault.seconds)
    return await struck.make(struck.arguments)


async def _twice(struck: Struck) -> Any:
    answer = await struck.make(struck.arguments)
    try:
        await struck.make(struck.arguments)
    except Exception:  # noqa: BLE001 - whatever the tool raises: what was done twice need not succeed twice
        raise Untouched(answer) from None
    return answer


async def _nothing_done(struck: Struck) -> Any:
    saved = struck.world.save()
    try:
        return await struck.make(struck.arguments)
    finally:
        struck.world.restore(saved)


async def _stale(struck: Struck) -> Any:
    saved = struck.world.save()
    struck.world.restore_first()
    try:
        return await struck.make(struck.arguments)
    finally:
        struck.world.restore(saved)


_TRIES = 8
"""Other values that are tried until one gives an answer."""


async def _about_another(struck: Struck) -> Any:
    for arguments in _other_arguments(struck):
        try:
            return await struck.make(arguments)
        except Exception:  # noqa: BLE001, S112 - the other row may not fit this tool: the next one may
            continue
    raise Untouched(await struck.make(struck.arguments))


def _other_arguments(struck: Struck) -> Iterator[Arguments]:
    """Yield the arguments with one value replaced by another that stands in the same place of the state."""
    tried = 0
    for name, value in struck.arguments.items():
        if not isinstance(value, str | int) or isinstance(value, bool):
            continue
        others = struck.world.others(value)
        struck.random.shuffle(others)
        for other in others:
            if tried == _TRIES:
                return
            tried += 1
            yield {**struck.arguments, name: other}


_EFFECTS: dict[str, Effect] = {
    "timeout": _raising(lambda fault: TimeoutError(fault.message or "the call timed out, no answer came")),
    "error": _raising(lambda fault: RuntimeError(fault.message or "500 Internal Server Error")),
    "rate_limit": _raising(lambda fault: RuntimeError(fault.message or "429 Too Many Requests: try again later")),
    "empty": _altering(lambda answer, _: emptied(answer), may_be=_may_hold_nothing),
    "truncated": _altering(lambda answer, _: truncated(answer)),
    "corrupted": _altering(corrupted),
    "latency": _late,
    "duplicate": _twice,
    "no_op": _nothing_done,
    "stale": _stale,
    "wrong_row": _about_another,
}

NEED_A_STATE_TO_PUT_BACK = frozenset({"no_op", "stale"})
"""Kinds that undo what a call did, or look back."""


class Striker:
    """Puts the faults of one run around its tools. `sleep` waits in the tool's thread."""

    def __init__(self, schedule: Schedule, world: InjectionWorld, sleep: Callable[[float], None] = time.sleep) -> None:
        """Begin with the state as it is; raise `SuiteFaultError` where a fault needs what the state cannot do."""
        self._schedule = schedule
        self._world = world
        self._sleep = sleep
        needy = next((fault for fault in schedule.faults if fault.kind in NEED_A_STATE_TO_PUT_BACK), None)
        if needy is not None and not world.can_be_put_back:
            raise SuiteFaultError(
                f"the fault {shorten(needy.name, 100)!r} puts the state back, which takes `state: {{sqlite: …}}`, "
                "`{json: …}`, or a provider with save(handle) and restore(handle, saved)"
            )
        world.begin()

    def around(self, tool: PythonTool) -> PythonTool:
        """Give the tool with the faults that may strike it."""
        spoilt = copy.copy(tool)
        spoilt.strike = self.call_async if tool.is_async else self.call
        return spoilt

    def call(self, name: str, arguments: Arguments, made: Made) -> Any:
        """Make a call in this thread, struck or not."""

        async def make(given: Arguments) -> Any:
            return made(given)

        async def sleep(seconds: float) -> None:
            self._sleep(seconds)

        return _at_once(self._struck(name, arguments, make, sleep))

    async def call_async(self, name: str, arguments: Arguments, made: Make) -> Any:
        """Make a call on the loop, struck or not."""
        return await self._struck(name, arguments, made, asyncio.sleep)

    async def _struck(self, name: str, arguments: Arguments, made: Make, sleep: Sleep) -> Any:
        number, fault = self._schedule.next(ToolCall(name=name, arguments=to_json(arguments)))
        raised: list[Exception] = []
        if fault is None:
            return await made(arguments)

        async def make(given: Arguments) -> Any:
            try:
                return await made(given)
            except Exception as error:
                raised.append(error)
                raise

        struck = Struck(
            fault=fault,
            arguments=arguments,
            make=make,
            sleep=sleep,
            random=self._schedule.random(number),
            world=self._world,
            hide=partial(self._schedule.hid, number),
        )
        try:
            return await _EFFECTS[fault.kind](struck)
        except Untouched as untouched:
            self._schedule.missed(number)
            return untouched.answer
        except Exception as error:
            if any(error is one for one in raised):  # the fault makes nothing of what the tool raised
                self._schedule.missed(number)
            raise


def _at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("a call in a thread waits for nothing")
