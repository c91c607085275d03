"""The cassette file: a header, then one line per exchange, sorted so that one changed run is one changed place."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_agentbench.core.codec import digest, dumps, loads
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.apis.registry import CHAT, api_named
from pytest_agentbench.llm.cassette.names import RunName
from pytest_agentbench.llm.cassette.sharing import lengthened, shortened

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
