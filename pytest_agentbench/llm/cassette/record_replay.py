"""Record and replay in one process: a request's key, its recorded answer in order, and what is noted anew."""

import hashlib
import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import CassetteMissError, SuiteFaultError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import count
from pytest_agentbench.core.patterns import Pattern, PatternSyntaxError, pattern
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.apis.api import Api, Ids, Redact
from pytest_agentbench.llm.apis.registry import API_NAMES, CHAT, api_named
from pytest_agentbench.llm.cassette.file import Exchange, RunName, Shard, Used, common, read_cassette
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.protocols import Caller, Recorded

Made = TypeVar("Made")


class Memo(Generic[Made]):
    """Remembers what was made of values, the latest used up to `limit` characters of JSON; safe from several threads.

    What is remembered is shared: nobody changes it.
    """

    def __init__(self, limit: int = 16_000_000) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._made: OrderedDict[bytes, tuple[int, Made]] = OrderedDict()
        self._size = 0

    def made(self, value: JsonValue, make: Callable[[], Made]) -> Made:
        """Give what `make` gives for `value`, exact builtin JSON types, from memory where an equal value was seen."""
        text = json.dumps(value)
        key = hashlib.sha256(text.encode()).digest()
        with self._lock:
            if (known := self._made.get(key)) is not None:
                self._made.move_to_end(key)
                return known[1]
        made = make()
        with self._lock:
            if key not in self._made:
                self._made[key] = (len(text), made)
                self._size += len(text)
            while self._size > self._limit:
                _, (size, _) = self._made.popitem(last=False)
                self._size -= size
        return made


BLANK = "~"
"""What stands for text that makes no difference."""

_EXACT = 2.0**53
"""Below this every whole float is an integer of its own."""


@dataclass(frozen=True)
class Asked:
    """A request as cassettes keep and compare it.

    `request` is redacted, without fields that decide nothing, and names tool calls by position. `fields` and `messages`
    are digests of its parts, `key` of the whole.
    """

    api: Api
    request: dict[str, JsonValue]
    fields: str
    messages: tuple[str, ...]
    key: str

    @property
    def items(self) -> list[JsonValue]:
        """The conversation so far, as the request repeats it."""
        listed = self.request.get(self.api.items)
        return listed if isinstance(listed, list) else []


class Keys:
    """Reads requests. What `ignore` matches, regular expressions over each text, makes no difference."""

    def __init__(self, redact: Redact, ignore: Iterable[str] = ()) -> None:
        """Compile `ignore`; raise `SuiteFaultError` where a pattern is none."""
        self._redact = redact
        self._ignore = [_compiled(text) for text in ignore]
        # what an item is without secrets depends on the API whose item it is
        self._redacted: dict[str, Memo[JsonValue]] = {name: Memo() for name in API_NAMES}
        self._digests: Memo[str] = Memo()

    def asked(self, body: Mapping[str, Any], api: Api = CHAT, ids: Ids = MappingProxyType({})) -> Asked:
        """Read a body as it is posted; `ids` says what stands in recordings for the ids of live answers."""
        memo = self._redacted[api.name]
        request: dict[str, JsonValue] = {}
        for name, value in api.deciding(body, ids).items():
            if name == api.items and isinstance(value, list):
                request[name] = [memo.made(item, partial(api.item, item, self._redact)) for item in value]
            else:
                # together with its name: `password` tells what a value is
                member = {name: value}
                ((shown, redacted),) = memo.made(member, partial(self._redact, member)).items()
                request[name if name in api.known else shown] = redacted
        return self.recorded(request, api)

    def recorded(self, request: dict[str, JsonValue], api: Api = CHAT) -> Asked:
        """Read a request that `asked` gave, perhaps with other patterns."""
        items = request.get(api.items)
        listed = items if isinstance(items, list) else []
        rest = {name: value for name, value in request.items() if name != api.items or listed is not items}
        digests = tuple(self._digest(item) for item in listed)
        fields = _digest({name: self._digest(value) for name, value in rest.items()})
        # equal words over two APIs have answers of two forms; chat completions were recorded before there were others
        parts = [fields, *digests] if api is CHAT else [api.name, fields, *digests]
        return Asked(api=api, request=request, fields=fields, messages=digests, key=_digest(parts))

    def _digest(self, value: JsonValue) -> str:
        return self._digests.made(value, lambda: _digest(self._comparable(value)))

    def _comparable(self, value: JsonValue) -> JsonValue:
        """Give the form in which equal digests mean equal requests: 1.0 is 1, and what is ignored is blank."""
        if isinstance(value, str):
            for ignored in self._ignore:
                value = ignored.replaced(BLANK, value)
            return value
        if isinstance(value, dict):
            return {name: self._comparable(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._comparable(item) for item in value]
        if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
            return int(value)
        return value


def _compiled(text: str) -> Pattern:
    try:
        return pattern(text)
    except PatternSyntaxError as error:
        raise SuiteFaultError(f"cassette.ignore: {text!r} is not a regular expression: {error}") from error


def _digest(value: JsonValue) -> str:
    # `dumps` keeps the order of keys, which decides nothing
    return hashlib.sha256(dumps(_sorted(value)).encode()).hexdigest()[:16]


def _sorted(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


WIDTH = 70
"""How many characters of a text are shown around the place where it differs."""


@dataclass(frozen=True)
class Candidate:
    """A recording of the same run and role, and whether it was given already."""

    exchange: Exchange
    asked: Asked
    used: bool


def nearest(asked: Asked, candidates: Sequence[Candidate]) -> Candidate:
    """Choose the recording that shares the most: first messages, then other fields; unused ones before used ones."""

    def closeness(candidate: Candidate) -> tuple[bool, bool, int, bool, int, int]:
        return (
            candidate.asked.key == asked.key,
            candidate.asked.api is asked.api,
            common(asked.messages, candidate.asked.messages),
            not candidate.used,
            candidate.asked.fields == asked.fields,
            -abs(len(asked.messages) - len(candidate.asked.messages)),
        )

    return max(candidates, key=closeness)


def explained(asked: Asked, candidate: Candidate, place: int, file: str) -> str:
    """Say where the nearest recording stands and how the request differs from it; both are redacted already."""
    exchange = candidate.exchange
    where = f"exchange {exchange.n} of it ({file}:{exchange.line})"
    if candidate.asked.key == asked.key:
        return f"request {place} is the same as {where}, whose recorded answers were all given before"
    return f"request {place} is nearest to {where}: {difference(candidate.asked, asked)}"


def difference(recorded: Asked, asked: Asked) -> str:
    """Say the first thing in which two requests differ: a field before the messages, then a message by its number."""
    if recorded.api is not asked.api:
        return f"a {recorded.api.noun} was recorded, a {asked.api.noun} asked"
    if recorded.fields != asked.fields:
        return _field_difference(recorded.request, asked.request, recorded.api.items)
    shared = common(recorded.messages, asked.messages)
    before, now = recorded.items, asked.items
    if shared == len(before):
        new = _message(now[shared])
        return f"recorded: {count(shared, 'message')}, asked: {len(now)}; message {shared + 1} is new: {new}"
    if shared == len(now):
        gone = _message(before[shared])
        return f"recorded: {count(len(before), 'message')}, asked: {shared}; message {shared + 1} is missing: {gone}"
    return f"message {shared + 1} differs: {_parted(before[shared], now[shared])}"


def _field_difference(recorded: Mapping[str, JsonValue], asked: Mapping[str, JsonValue], items: str) -> str:
    fields = [name for name in sorted({*recorded, *asked} - {items}) if _text(recorded, name) != _text(asked, name)]
    # a difference in the model or in a parameter says more than the tools that came with it
    fields.sort(key=lambda name: (name in {"tools", "response_format"}, name))
    parts = [
        _tools(recorded.get(name), asked.get(name))
        if name == "tools"
        else f"{printable(name)}: {_parted(recorded.get(name), asked.get(name))}"
        for name in fields[:2]
    ]
    return "; ".join(parts) + (f"; and {count(len(fields) - 2, 'more field')}" if len(fields) > 2 else "")


def _tools(recorded: JsonValue, asked: JsonValue) -> str:
    before, now = _by_name(recorded), _by_name(asked)
    parts = [f"{name!r} was recorded, not asked" for name in before if name not in now]
    parts += [f"{name!r} was asked, not recorded" for name in now if name not in before]
    parts += [
        f"{name!r} {_parted(before[name], now[name])}" for name in before if name in now and before[name] != now[name]
    ]
    if not parts:
        parts = ["they come in another order"]
    return f"the tools differ: {', '.join(parts[:3])}" + (f", and {len(parts) - 3} more" if len(parts) > 3 else "")


def _by_name(tools: JsonValue) -> dict[str, JsonValue]:
    listed = tools if isinstance(tools, list) else []
    named = {}
    for tool in listed:
        function = tool.get("function", tool) if isinstance(tool, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        named[shorten(printable(name if isinstance(name, str) else dumps(tool)), 40)] = tool
    return named


def _parted(recorded: JsonValue, asked: JsonValue) -> str:
    """Say where two values part: the path to the first difference, and both sides of it."""
    path, before, now = next(_differences("", recorded, asked), ("", recorded, asked))
    place = f"{path} " if path else ""
    if isinstance(before, str) and isinstance(now, str):
        start = max(0, common(before, now) - WIDTH // 3)
        return f"{place}{_window(before, start)} was recorded, {_window(now, start)} asked"
    return f"{place}{_shown(before)} was recorded, {_shown(now)} asked"


def _differences(path: str, left: JsonValue, right: JsonValue) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in [*left, *(name for name in right if name not in left)]:
            inner = f"{path}.{printable(name)}" if path else printable(name)
            yield from _differences(inner, left.get(name), right.get(name))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _differences(f"{path}[{index}]", one, other)
    elif dumps(left) != dumps(right):
        yield path, left, right


def _window(text: str, start: int) -> str:
    ahead = "…" if start else ""
    return f"'{ahead}{shorten(printable(text[start : start + WIDTH + 1]), WIDTH)}'"


def _shown(value: JsonValue) -> str:
    return "nothing" if value is None else shorten(printable(dumps(value)), WIDTH)


def _message(message: JsonValue) -> str:
    return _shown({name: message[name] for name in message if name != "role"} if isinstance(message, dict) else message)


def _text(fields: Mapping[str, JsonValue], name: str) -> str:
    return dumps(fields[name]) if name in fields else ""


TO_RECORD = "--agentbench-cassette=record asks for what is missing and keeps it"


@dataclass
class _Conversation:
    """What one role asked in one play of a run."""

    recorded: list[tuple[Exchange, Asked]]
    given: Counter[str] = field(default_factory=Counter)
    places: int = 0
    waiting: list[tuple[dict[str, Any], Asked, int]] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)

    @property
    def has_unanswered(self) -> bool:
        """Whether something was asked live and never answered, not even when it was asked again."""
        return any(asked.key not in self.kept for _, asked, _ in self.waiting)


@dataclass
class _Play:
    number: int
    conversations: dict[str, _Conversation] = field(default_factory=dict)


class CassetteRecorder:
    """Implements `Recorder` for the runs of one suite; safe from several threads.

    Equal requests of one role within one run are answered in the order in which they were recorded; what other runs
    ask, and when, makes no difference.
    """

    def __init__(
        self, mode: Mode, cassette: Path, *, shard: Path | None, redact: Redact, ignore: Iterable[str] = ()
    ) -> None:
        """Read `cassette`; open `shard`, needed in `record` and `refresh`, which no other process writes meanwhile.

        Raise `SuiteError` where the cassette cannot be read, `SuiteFaultError` where a pattern of `ignore` is none.
        """
        if mode.writes and shard is None:
            raise ValueError(f"mode {mode.value!r} needs a shard")
        self.mode = mode
        self._path = cassette
        self._redact = redact
        self._keys = Keys(redact, ignore)
        self._runs = read_cassette(cassette).runs if mode.reads else {}
        self._shard = Shard(shard, mode) if mode.writes and shard is not None else None
        self._plays: dict[RunName, _Play] = {}
        self._learnt: dict[str, tuple[str, ...]] = {}
        self._begun = 0
        self._ids: dict[str, str] = {}
        self._lock = threading.Lock()

    def started(self, run: RunKey | None) -> None:
        """Begin a play of a run: its recordings are given from the first again. The first request does so as well."""
        with self._lock:
            self._begin(RunName.of(run))

    def finished(self, run: RunKey | None) -> None:
        """Say that a run was played to its end, every role included: what it did not use is dropped at the merge.

        Not for a run that was cut short: what it did not come to would be lost. A run in which a request was never
        answered counts as cut short.
        """
        name = RunName.of(run)
        with self._lock:
            play = self._plays.pop(name, None) or self._begin(name)
            self._plays.pop(name, None)
            if self._shard is not None:
                if not any(conversation.has_unanswered for conversation in play.conversations.values()):
                    self._shard.finished(play.number, name)
                self._shard.forget(play.number)

    def find(self, caller: Caller, body: dict[str, Any], api: str = CHAT.name) -> Recorded | None:
        """Give the recorded answer to the next request like `body`, None where it is to be asked live.

        Raise `CassetteMissError` in `replay`, naming the nearest recording and the first difference.
        """
        if self.mode is Mode.OFF:
            return None
        asked = self._keys.asked(body, api_named(api), self._ids)
        name = RunName.of(caller.run)
        with self._lock:
            play = self._plays.get(name) or self._begin(name)
            conversation = self._conversation(play, name, caller.role)
            conversation.places += 1
            alike = [exchange for exchange, known in conversation.recorded if known.key == asked.key]
            repeat = conversation.given[asked.key]
            if repeat < len(alike):
                conversation.given[asked.key] += 1
                if self._shard is not None:
                    used = _used(conversation, alike[repeat])
                    self._shard.used(play.number, name, caller.role, conversation.places, used)
                return Recorded(response=asked.api.restored(alike[repeat].response, asked.key))
            if self.mode is Mode.REPLAY:
                raise CassetteMissError(self._missed(name, caller.role, asked, conversation))
            conversation.waiting.append((body, asked, conversation.places))
            return None

    def keep(self, caller: Caller, body: dict[str, Any], response: dict[str, Any], api: str = CHAT.name) -> None:
        """Note the answer to a request for which `find` gave None."""
        if self._shard is None:
            return
        answer = api_named(api).reduced(response, self._redact)
        name = RunName.of(caller.run)
        with self._lock:
            play = self._plays.get(name) or self._begin(name)
            conversation = self._conversation(play, name, caller.role)
            asked, place = self._waiting(conversation, body, api)
            conversation.kept.add(asked.key)
            self._ids.update(asked.api.ids(response, asked.key))
            exchange = Exchange(name, caller.role, 0, asked.key, asked.request, answer, api=api)
            self._shard.kept(play.number, place, exchange)

    def note(self, model: str, facts: Sequence[str]) -> None:
        """Note what was learnt of a model's server; the latest note of this process counts."""
        with self._lock:
            # a refresh also tells that nothing is left of what was learnt before
            is_news = self._learnt.get(model, None if self.mode is Mode.REFRESH else ()) != tuple(facts)
            if self._shard is not None and is_news:
                self._learnt[model] = tuple(facts)
                self._shard.learnt(str(self._redact(model)), facts)

    def close(self) -> None:
        """Close the shard; closing twice is fine. Merging is the controller's affair."""
        if self._shard is not None:
            self._shard.close()

    def _begin(self, name: RunName) -> _Play:
        self._begun += 1
        play = self._plays[name] = _Play(self._begun)
        return play

    def _conversation(self, play: _Play, name: RunName, role: str) -> _Conversation:
        if role not in play.conversations:
            listed = self._runs.get(name, {}).get(role, [])
            # keys are made anew: what makes no difference may be another thing than when it was recorded
            recorded = [(one, self._keys.recorded(one.request, api_named(one.api))) for one in listed]
            play.conversations[role] = _Conversation(recorded)
        return play.conversations[role]

    def _waiting(self, conversation: _Conversation, body: dict[str, Any], api: str) -> tuple[Asked, int]:
        """Give what `find` read of a body, and its place."""
        for index, (waited, asked, place) in enumerate(conversation.waiting):
            if waited is body:
                del conversation.waiting[index]
                return asked, place
        read = self._keys.asked(body, api_named(api), self._ids)
        for index, (_, asked, place) in enumerate(conversation.waiting):
            if asked.key == read.key:
                del conversation.waiting[index]
                return asked, place
        conversation.places += 1
        return read, conversation.places

    def _missed(self, name: RunName, role: str, asked: Asked, conversation: _Conversation) -> str:
        place = conversation.places
        if conversation.recorded:
            seen: Counter[str] = Counter()
            candidates = []
            for exchange, known in conversation.recorded:
                seen[known.key] += 1
                candidates.append(Candidate(exchange, known, seen[known.key] <= conversation.given[known.key]))
            told = explained(asked, nearest(asked, candidates), place, self._path.name)
            return f"{name}, role {role!r}: {told}; {TO_RECORD}"
        return f"{name}, role {role!r}: {self._without(name)}; {TO_RECORD}"

    def _without(self, name: RunName) -> str:
        if roles := sorted(self._runs.get(name, {})):
            return f"nothing is recorded for this role in {self._path.name}, only for {', '.join(map(repr, roles))}"
        others = sorted(str(run) for run in self._runs if run.scenario == name.scenario)
        if others:
            return f"nothing is recorded for this run in {self._path.name}, only for {'; '.join(others[:3])}"
        if not self._path.exists():
            return f"nothing is recorded for this run: {self._path} does not exist"
        return f"nothing is recorded for this run in {self._path.name}"


def _used(conversation: _Conversation, exchange: Exchange) -> Used:
    identity = exchange.identity
    # an equal key first: identities are made of whole answers
    earlier = [
        other
        for other, _ in conversation.recorded
        if other.n < exchange.n and other.key == exchange.key and other.identity == identity
    ]
    return Used(identity, len(earlier))
