"""The recorder of one process: what was recorded of each run is given again in order, the rest is noted."""

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import CassetteMissError
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.apis.api import Redact
from pytest_agentbench.llm.apis.registry import CHAT, api_named
from pytest_agentbench.llm.cassette.file import Exchange, read_cassette
from pytest_agentbench.llm.cassette.key import Asked, Keys
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.names import RunName
from pytest_agentbench.llm.cassette.nearest import Candidate, explained, nearest
from pytest_agentbench.llm.cassette.shard import Shard, Used
from pytest_agentbench.llm.seams import Caller, Recorded

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
