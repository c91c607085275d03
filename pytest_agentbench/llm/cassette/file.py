"""The cassette file, a header and a line per exchange, sorted; and the shard that one process notes."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, Self, cast

from pytest_agentbench.core.codec import digest, dumps, loads
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.files import LineLog, read_lines, write_atomic
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.llm.apis.api import by_name
from pytest_agentbench.llm.apis.registry import CHAT, GROWING, api_named
from pytest_agentbench.llm.cassette.modes import Mode


class RunName(NamedTuple):
    """One attempt of a run of the cassette's suite; sorts as cassettes are sorted."""

    scenario: str
    variant: str
    trial: int
    attempt: int
    fault: str = ""

    @classmethod
    def of(cls, key: RunKey | None) -> Self:
        """Name a run; None is the session's own work."""
        return cls("", "", 0, 0) if key is None else cls(key.scenario, key.variant, key.trial, key.attempt, key.fault)

    @classmethod
    def read(cls, value: JsonValue) -> Self:
        """Read what `written` gave; raise `ValueError` for anything else."""
        if value is None:
            return cls.of(None)
        given: dict[str, JsonValue] = value if isinstance(value, dict) else {}
        whole = {"variant": "", "trial": 1, "attempt": 1, "fault": "", **given}
        texts = all(isinstance(whole.get(name), str) for name in ("scenario", "variant", "fault"))
        numbers = all(type(whole[name]) is int and whole[name] > 0 for name in ("trial", "attempt"))
        if not texts or not numbers or not whole["scenario"] or whole.keys() - {*cls._fields}:
            raise ValueError(
                f"`run` is {value!r}; it must be null or hold `scenario` (text) and, where not 1 or empty, "
                f"`variant` and `fault` (text), `trial` and `attempt` (from 1)"
            )
        return cls(**whole)

    def written(self) -> JsonValue:
        """Give the JSON form: null for the session, else an object without what has its usual value."""
        if not self.scenario:
            return None
        usual = {"variant": "", "trial": 1, "attempt": 1, "fault": ""}
        return {name: value for name, value in self._asdict().items() if usual.get(name) != value}

    def __str__(self) -> str:
        if not self.scenario:
            return "the session"
        label = "-".join(part for part in (self.variant, self.fault) if part)
        variant = f"[{label}]" if label else ""
        attempt = f", attempt {self.attempt}" if self.attempt > 1 else ""
        return f"{self.scenario}{variant}, trial {self.trial}{attempt}"


VERSION = 1
MADE = "recorded by pytest-agentbench; edit answers by hand if you like, requests are what they answer"

Roles = dict[str, list["Exchange"]]
"""The exchanges of one run by role, each list in the order they were made."""


@dataclass(frozen=True)
class Exchange:
    """A request as `Keys.asked` reads it, and its answer as its API keeps it; `line` is 0 before it was written.

    `n` counts from 1 within its run and role. `key` is the request's address when it was recorded. `api` is the name of
    what was asked; chat completions, the first to be recorded, do not say so in the file.
    """

    run: RunName
    role: str
    n: int
    key: str
    request: dict[str, JsonValue]
    response: dict[str, JsonValue]
    line: int = 0
    api: str = CHAT.name

    @property
    def identity(self) -> str:
        """A digest of what was asked and answered, equal for two exchanges that say the same."""
        return digest([self.key, self.response])


@dataclass
class Cassette:
    """What a cassette file holds.

    `made` is the header's free text, `servers` says of each model what its server was found not to take as asked.
    """

    made: str = MADE
    servers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    runs: dict[RunName, Roles] = field(default_factory=dict)

    def exchanges(self) -> Iterable[Exchange]:
        """Give all exchanges in the order of the file."""
        for _, roles in sorted(self.runs.items()):
            for _, listed in sorted(roles.items()):
                yield from listed


def cassette_path(suite_file: Path, given: Path | None = None) -> Path:
    """Give the cassette of a suite: `given`, else `<stem>.cassette.jsonl` beside the suite file."""
    return given or suite_file.with_name(f"{suite_file.stem}.cassette.jsonl")


def read_cassette(path: Path) -> Cassette:
    """Read a cassette, an empty one where there is no file; raise `SuiteError` with everything that is wrong in it."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return Cassette()
    except OSError as error:
        raise SuiteError([Problem(file=path, message=f"cannot be read: {error.strerror}")]) from error
    made, servers = _header(path, lines[0] if lines else b"")
    reader = _Reader(path)
    for number, line in enumerate(lines[1:], start=2):
        if line.strip():
            reader.read(number, line)
    cassette = Cassette(made=made, servers=servers, runs=reader.runs())
    if reader.problems:
        raise SuiteError(sorted(reader.problems, key=lambda problem: problem.line))
    return cassette


def write_cassette(path: Path, cassette: Cassette) -> bool:
    """Write the file at one stroke if it says anything else than before; give whether it did."""
    header: dict[str, JsonValue] = {"agentbench_cassette": VERSION, "made": cassette.made}
    servers: list[JsonValue] = [
        {"model": model, "facts": sorted(set(facts))} for model, facts in sorted(cassette.servers.items()) if facts
    ]
    lines = [dumps({**header, "servers": servers} if servers else header)]
    before: Exchange | None = None
    for exchange in cassette.exchanges():
        follows = before is not None and (before.run, before.role) == (exchange.run, exchange.role)
        lines.append(dumps(_line(exchange, before if follows else None)))
        before = exchange
    text = "".join(f"{line}\n" for line in lines)
    with contextlib.suppress(OSError):
        if path.read_bytes() == text.encode("ascii"):
            return False
    write_atomic(path, text)
    return True


def numbered(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Give the exchanges of one run and role with their places as `n`."""
    return [replace(exchange, n=n) for n, exchange in enumerate(exchanges, start=1)]


def said_api(name: str) -> dict[str, JsonValue]:
    """Give the member of a line that says which API was asked; none for chat completions."""
    return {} if name == CHAT.name else {"api": name}


def _line(exchange: Exchange, before: Exchange | None) -> dict[str, JsonValue]:
    return {
        "run": exchange.run.written(),
        "role": exchange.role,
        "n": exchange.n,
        "key": exchange.key,
        **said_api(exchange.api),
        **shortened(exchange.request, before.request if before else None),
        "response": exchange.response,
    }


def _header(path: Path, line: bytes) -> tuple[str, dict[str, tuple[str, ...]]]:
    try:
        header = loads(line.decode("ascii"))
    except ValueError:
        header = None
    version = header.get("agentbench_cassette") if isinstance(header, dict) else None
    if not isinstance(header, dict) or type(version) is not int:
        message = 'is no cassette: the first line must be a header such as {"agentbench_cassette":1}'
        raise SuiteError([Problem(file=path, line=1, column=1, message=message, hint="delete it to record anew")])
    if version != VERSION:
        message = f"is a cassette of version {version!r}; this pytest-agentbench reads version {VERSION}"
        raise SuiteError([Problem(file=path, line=1, column=1, message=message, hint="delete it to record anew")])
    made = header.get("made")
    return made if isinstance(made, str) else MADE, _servers(header.get("servers"))


def _servers(listed: JsonValue) -> dict[str, tuple[str, ...]]:
    """Read what was learnt of servers; whatever else stands there decides nothing and is left out."""
    servers: dict[str, tuple[str, ...]] = {}
    for one in listed if isinstance(listed, list) else []:
        model, facts = (one.get("model"), one.get("facts")) if isinstance(one, dict) else (None, None)
        if isinstance(model, str) and isinstance(facts, list):
            servers[model] = tuple(fact for fact in facts if isinstance(fact, str))
    return servers


class _Reader:
    """Reads lines in any order, as a merge of two branches may leave them, and joins them to conversations."""

    def __init__(self, path: Path) -> None:
        self.problems: list[Problem] = []
        self._path = path
        self._lines: dict[tuple[RunName, str], dict[int, tuple[int, dict[str, JsonValue]]]] = {}

    def read(self, number: int, line: bytes) -> None:
        try:
            value = loads(line.decode("ascii"))
        except ValueError as error:
            hint = "a merge conflict" if line[:7] in {b"<" * 7, b"=" * 7, b">" * 7, b"|" * 7} else ""
            self._wrong(number, f"is not a line of ASCII JSON: {error}", hint)
            return
        try:
            run, role, n = _place(value)
        except ValueError as error:
            self._wrong(number, str(error))
            return
        listed = self._lines.setdefault((run, role), {})
        if n in listed:
            message = f"is a second exchange {n} of {run}, role {role!r}; the other is line {listed[n][0]}"
            self._wrong(number, message, "delete this run's lines and record it again")
            return
        listed[n] = (number, value)

    def runs(self) -> dict[RunName, Roles]:
        runs: dict[RunName, Roles] = {}
        for (run, role), listed in self._lines.items():
            exchanges: list[Exchange] = []
            for place, (n, (number, value)) in enumerate(sorted(listed.items()), start=1):
                if n != place:
                    message = f"is exchange {n} of {run}, role {role!r}, and exchange {place} is missing"
                    self._wrong(number, message, "delete this run's lines and record it again")
                    break
                try:
                    api = api_named(value.get("api", CHAT.name)).name
                    request = lengthened(value, exchanges[-1].request if exchanges else None)
                except ValueError as error:
                    self._wrong(number, str(error))
                    break
                exchanges.append(Exchange(run, role, n, value["key"], request, value["response"], number, api))
            runs.setdefault(run, {})[role] = exchanges
        return runs

    def _wrong(self, number: int, message: str, hint: str = "") -> None:
        self.problems.append(Problem(file=self._path, line=number, column=1, message=message, hint=hint))


def _place(value: JsonValue) -> tuple[RunName, str, int]:
    if not isinstance(value, dict):
        raise ValueError("is not an exchange; a line must be a JSON object")
    for name, kind, form in (("role", str, "text"), ("n", int, "a number"), ("key", str, "text")):
        if type(value.get(name)) is not kind:
            raise ValueError(f"`{name}` is {value.get(name)!r}; it must be {form}")
    if "run" not in value:
        raise ValueError("`run` is missing")
    if not isinstance(value.get("response"), dict):
        raise ValueError(f"`response` is {value.get('response')!r}; it must be an object")
    return RunName.read(value.get("run")), value["role"], value["n"]


Request = dict[str, JsonValue]


def shortened(request: Request, before: Request | None) -> dict[str, JsonValue]:
    """Give the members of a line that say `request`: what differs from the one before it in its conversation.

    `request` holds changed fields and new messages (or items of input), `shared` counts the leading ones that are as
    before, `dropped` names fields that are gone.
    """
    if before is None:
        return {"request": by_name(request)}
    changed = {name: value for name, value in request.items() if name not in before or not _alike(before[name], value)}
    line: dict[str, JsonValue] = {}
    if name := _growing(before, request):
        shared = common(map(dumps, request[name]), map(dumps, before[name]))
        changed[name] = request[name][shared:]
        line["shared"] = shared
    if dropped := sorted(before.keys() - request.keys()):
        line["dropped"] = dropped
    return {**line, "request": by_name(changed)}


def lengthened(line: dict[str, JsonValue], before: Request | None) -> Request:
    """Give the request that `shortened` was given; raise `ValueError` where the line does not fit the one before."""
    part = line.get("request")
    if not isinstance(part, dict):
        raise ValueError(f"`request` is {part!r}; it must be an object")
    if before is None:
        if "shared" in line:
            raise ValueError("`shared` refers to the exchange before this one, and there is none")
        return by_name(part)
    request = {**before, **part}
    dropped = line.get("dropped", [])
    for name in dropped if isinstance(dropped, list) else []:
        request.pop(name, None)
    if "shared" in line:
        shared, name = line["shared"], _growing(before, request)
        earlier = before[name] if name else []
        if type(shared) is not int or not name or not 0 <= shared <= len(earlier):
            raise ValueError(f"`shared` is {shared!r}; the exchange before has {count(len(earlier), 'message')}")
        added = part.get(name)
        request[name] = [*earlier[:shared], *(added if isinstance(added, list) else [])]
    return by_name(request)


def _growing(before: Request, request: Request) -> str:
    """Name the list that both requests hold and that grows with the conversation; "" where there is none."""
    return next(
        (name for name in GROWING if isinstance(before.get(name), list) and isinstance(request.get(name), list)), ""
    )


def _alike(left: JsonValue, right: JsonValue) -> bool:
    # 1, 1.0 and True are equal, but not written alike
    return bool(left == right) and dumps(left) == dumps(right)


def common(left: Iterable[str], right: Iterable[str]) -> int:
    """Count the leading texts that two lists have in common."""
    pairs = zip(left, right, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


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


def read_shard(path: Path) -> tuple[list[Play], dict[str, tuple[Mode, list[str]]]]:
    """Give the plays noted in a shard, in the order they began, and what was learnt of servers, in which mode.

    Lines left unfinished by a killed process are none.
    """
    plays: dict[tuple[int, int], Play] = {}
    facts: dict[str, tuple[Mode, list[str]]] = {}
    last: dict[tuple[int, int, str], Exchange] = {}
    mode, opened = Mode.RECORD, 0
    for record in cast("Iterable[dict[str, JsonValue]]", read_lines(path)):
        if "opened" in record:
            mode, opened = Mode(record["opened"]), opened + 1
            continue
        if "facts" in record:
            facts[record["model"]] = (mode, record["facts"])
            continue
        number = (opened, record["play"])
        play = plays.setdefault(number, Play(mode, RunName.read(record["run"])))
        if "finished" in record:
            play.finished = True
            continue
        placed = play.answers.setdefault(record["role"], {})
        if "used" in record:
            placed[record["at"]] = Used(record["used"], record["repeat"])
            continue
        conversation = (*number, record["role"])
        before = last.get(conversation)
        request = lengthened(record, before.request if before else None)
        api = record.get("api", CHAT.name)
        exchange = Exchange(play.run, record["role"], 0, record["kept"], request, record["response"], api=api)
        last[conversation] = placed[record["at"]] = exchange
    return list(plays.values()), facts
