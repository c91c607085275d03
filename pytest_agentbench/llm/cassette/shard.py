"""What one process notes while it plays: recordings used, requests asked live, runs played to their end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, cast

from pytest_agentbench.core.files import LineLog, read_lines
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.apis.registry import CHAT
from pytest_agentbench.llm.cassette.file import Exchange, said_api
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.names import RunName
from pytest_agentbench.llm.cassette.sharing import lengthened, shortened


@dataclass(frozen=True)
class Used:
    """A recording that was given: the `repeat`-th (from 0) with this `identity` of its run and role in the cassette."""

    identity: str
    repeat: int


@dataclass
class Play:
    """One time that a run was played: what answered each role, by the places in which it was asked."""

    mode: Mode
    run: RunName
    answers: dict[str, dict[int, Used | Exchange]] = field(default_factory=dict)
    finished: bool = False

    @property
    def kept(self) -> int:
        """How many answers came live."""
        return sum(isinstance(answer, Exchange) for placed in self.answers.values() for answer in placed.values())


def shard_path(folder: Path, process: str) -> Path:
    """Name the shard of a process (`main`, `gw0`, …) in the folder of one cassette's shards."""
    return folder / f"{ascii_slug(process)}.jsonl"


class Shard:
    """Appends to the shard of one process; a line is on disk (in the page cache) when a method returns."""

    def __init__(self, path: Path, mode: Mode) -> None:
        """Open `path`, and close off what a killed process left unfinished in it."""
        self._log = LineLog(path)
        self._before: dict[tuple[int, str], Exchange] = {}
        self._append({"opened": mode})

    def used(self, play: int, run: RunName, role: str, place: int, used: Used) -> None:
        """Note that a recording answered the request at `place`."""
        self._append(
            {
                "play": play,
                "run": run.written(),
                "role": role,
                "at": place,
                "used": used.identity,
                "repeat": used.repeat,
            }
        )

    def kept(self, play: int, place: int, exchange: Exchange) -> None:
        """Note an answer that came live."""
        conversation = (play, exchange.role)
        before = self._before.get(conversation)
        self._append(
            {
                "play": play,
                "run": exchange.run.written(),
                "role": exchange.role,
                "at": place,
                "kept": exchange.key,
                **said_api(exchange.api),
                **shortened(exchange.request, before.request if before else None),
                "response": exchange.response,
            }
        )
        self._before[conversation] = exchange

    def finished(self, play: int, run: RunName) -> None:
        """Note that a run was played to its end."""
        self._append({"play": play, "run": run.written(), "finished": True})

    def learnt(self, model: str, facts: Sequence[str]) -> None:
        """Note what is known of a model's server by now."""
        self._append({"model": model, "facts": list(facts)})

    def forget(self, play: int) -> None:
        """Let go of what later lines of a play would have referred to."""
        for conversation in [conversation for conversation in self._before if conversation[0] == play]:
            del self._before[conversation]

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._log.close()

    def _append(self, record: JsonValue) -> None:
        if not self._log.closed:  # an agent that hangs may ask on when its session is over
            self._log.append(record)


class _Plays:
    """Gathers the plays of one shard."""

    def __init__(self) -> None:
        self.plays: dict[tuple[int, int], Play] = {}
        self.facts: dict[str, tuple[Mode, list[str]]] = {}
        self._mode = Mode.RECORD
        self._opened = 0
        self._before: dict[tuple[int, int, str], Exchange] = {}

    def read(self, record: dict[str, JsonValue]) -> None:
        if "opened" in record:
            self._opened += 1
            self._mode = Mode(record["opened"])
            return
        if "facts" in record:
            self.facts[record["model"]] = (self._mode, record["facts"])
            return
        number = (self._opened, record["play"])
        run = RunName.read(record["run"])
        play = self.plays.setdefault(number, Play(self._mode, run))
        if "finished" in record:
            play.finished = True
            return
        role = record["role"]
        placed = play.answers.setdefault(role, {})
        if "used" in record:
            placed[record["at"]] = Used(record["used"], record["repeat"])
            return
        before = self._before.get((*number, role))
        request = lengthened(record, before.request if before else None)
        api = record.get("api", CHAT.name)
        exchange = Exchange(run, role, 0, record["kept"], request, record["response"], api=api)
        self._before[(*number, role)] = exchange
        placed[record["at"]] = exchange

    @classmethod
    def of(cls, path: Path) -> Self:
        gathered = cls()
        for record in read_lines(path):
            gathered.read(cast("dict[str, JsonValue]", record))
        return gathered


def read_shard(path: Path) -> tuple[list[Play], dict[str, tuple[Mode, list[str]]]]:
    """Give the plays noted in a shard, in the order they began, and what was learnt of servers, in which mode.

    Lines left unfinished by a killed process are none.
    """
    gathered = _Plays.of(path)
    return list(gathered.plays.values()), gathered.facts
