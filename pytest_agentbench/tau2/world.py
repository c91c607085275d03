"""A world: one fresh instance of a τ² domain, and making calls in it as τ² makes them.

The semantics are those of τ²'s `Environment` (environment/environment.py): a call of the user goes to the user's
toolkit; in solo mode the agent has the user's tools too; after each call both toolkits are synchronised, except where
τ² itself does not (the expected calls).
"""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from enum import Enum
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.scenario import InitialState, Task
from pytest_agentbench.core.state import Difference, State
from pytest_agentbench.core.tool import Requestor
from pytest_agentbench.environment.diff import diff
from pytest_agentbench.environment.json_state import merged
from pytest_agentbench.environment.structural_sharing import LazyDict, plain

Database = TypeVar("Database", bound=BaseModel)

_IMMUTABLE = (str, int, float, bool, type(None), Enum, date, time, timedelta)


class LazyRecords(LazyDict):
    """A table over a base table: what is read is a copy of one's own, so the base never changes.

    While `is_read` is set, for a tool that is declared to change nothing, records are given as they are.
    """

    is_read = False

    def copied(self, part: Any) -> Any:
        """Give a record that may be changed."""
        return part if self.is_read else copied(part)


def over(database: Database) -> Database:
    """Give a database of one's own over `database`; tables are shared until looked at, anything else is copied."""
    values: dict[str, Any] = {}
    for name in type(database).model_fields:
        value = getattr(database, name)
        values[name] = LazyRecords(value) if _is_table(value) else copied(value)
    return type(database).model_construct(**values)


def copied(value: Any) -> Any:
    """Copy plain records several times faster than `copy.deepcopy`, which copies whatever is no plain record."""
    if isinstance(value, _IMMUTABLE):
        return value
    kind = type(value)
    if kind is list:
        return [copied(item) for item in value]
    if kind is dict:
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, BaseModel) and value.__pydantic_extra__ is None and value.__pydantic_private__ is None:
        made: Any = object.__new__(kind)
        object.__setattr__(made, "__dict__", {name: copied(item) for name, item in value.__dict__.items()})
        object.__setattr__(made, "__pydantic_fields_set__", set(value.__pydantic_fields_set__))
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
        return made
    return copy.deepcopy(value)


def same_content(left: object, right: object) -> bool:
    """Whether databases, or parts of them, are equal as τ²'s hashes say it: their sorted JSON, so 1 and 1.0 differ."""
    return _text(left) == _text(right)


def records_apart(left: BaseModel | None, right: BaseModel | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give both databases as plain JSON, of tables over one base only the records that either has looked at."""
    if left is None or right is None or type(left) is not type(right):
        return {}, {}
    sides: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name in type(left).model_fields:
        mine, theirs = getattr(left, name), getattr(right, name)
        if isinstance(mine, LazyRecords) and isinstance(theirs, LazyRecords) and mine.base is theirs.base:
            looked_at = mine.own | theirs.own
            if mine.keys() != theirs.keys():
                looked_at |= mine.keys() ^ theirs.keys()
            for side, table in zip(sides, (mine, theirs), strict=True):
                side[name] = {key: _plain(dict.get(table, key)) for key in sorted(looked_at) if key in table}
        else:
            sides[0][name], sides[1][name] = _plain(mine), _plain(theirs)
    return sides


@contextmanager
def read_only(*databases: BaseModel | None) -> Iterator[None]:
    """Give records as they are, for as long as a tool looks at them that changes none."""
    values = (getattr(one, name) for one in databases if one is not None for name in type(one).model_fields)
    tables = [value for value in values if isinstance(value, LazyRecords)]
    for table in tables:
        table.is_read = True
    try:
        yield
    finally:
        for table in tables:
            table.is_read = False


def fingerprint(database: BaseModel | None) -> str:
    """Give a text that changes whenever the database does: what is not shared with the base, as JSON."""
    if database is None:
        return ""
    parts: list[str] = []
    for name in type(database).model_fields:
        value = getattr(database, name)
        if isinstance(value, LazyRecords):
            gone = [] if value.base.keys() <= value.keys() else sorted(value.base.keys() - value.keys())
            own = {key: dict.get(value, key) for key in sorted(value.own & value.keys())}
            # a tool may look at every record: those that equal the base are told apart without writing them out
            changed = [f"{key}={_text(record)}" for key, record in own.items() if record != value.base.get(key)]
            parts.append(f"{name}: -{gone} +{changed}")
        else:
            parts.append(f"{name}:{_text(value)}")
    return "\n".join(parts)


def _is_table(value: object) -> bool:
    if type(value) is not dict or not value:
        return False
    return all(issubclass(kind, BaseModel) for kind in {*map(type, value.values())})


def _text(value: object) -> str:
    return json.dumps(_plain(value), sort_keys=True, default=str)


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in dict.items(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


READ_LOG = "read_log_allowlist"
"""The key of an initial state that names the hidden tools whose reads count as changes, as τ² derives them."""

_HIDDEN_CALL = "call_discoverable_agent_tool"


def beginning(task: Task) -> InitialState | None:
    """Give a task's initial state, with the hidden tools that its expected calls call (tau2-bench, runner/build.py)."""
    criteria = task.evaluation_criteria
    calls = [one for one in (criteria.actions if criteria else None) or () if one.name == _HIDDEN_CALL]
    names = sorted({str(one.arguments["agent_tool_name"]) for one in calls if one.arguments.get("agent_tool_name")})
    if not names:
        return task.initial_state
    initial = task.initial_state.model_dump(exclude_unset=True) if task.initial_state else {}
    return InitialState.model_validate({**initial, READ_LOG: names})


@dataclass(kw_only=True)
class World:
    """One instance of a domain: toolkits of both parties (methods over a `db`), and what couples them.

    `tools` and `user_tools` name the methods that are tools (initial calls and assertions may use the others).
    `writes` counts the calls of a run that may have changed something, `version` is the text that tells its state after
    so many of them. `stateless` are tools of either party that no toolkit has. `render` writes a result as its caller
    sees it. `policy` is what τ² tells the agent, for a factory that takes `state`; empty where the source has none.
    """

    agent: Any
    user: Any
    tools: frozenset[str]
    user_tools: frozenset[str]
    sync: Callable[[], None]
    stateless: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    render: Callable[[object], str] = field(default=str)
    policy: str = ""
    solo: bool = False
    writes: int = 0
    version: tuple[int, str] | None = None

    def call(self, name: str, requestor: Requestor, arguments: Mapping[str, Any]) -> object:
        """Run a tool without synchronising; raise what it raises, and `LookupError` where there is no such tool."""
        toolkit, names = self.agent, self.tools
        if requestor == "user":
            if self.solo:
                raise LookupError("the user makes no calls in solo mode")
            toolkit, names = self.user, self.user_tools
        elif self.solo and name in self.user_tools:
            toolkit, names = self.user, self.user_tools
        if name in self.stateless:
            return self.stateless[name](**arguments)
        if toolkit is None or name not in names:
            raise LookupError(f"Tool '{name}' not found.")
        return getattr(toolkit, name)(**arguments)

    def respond(
        self, name: str, requestor: Requestor, arguments: Mapping[str, Any], *, looks: bool = False
    ) -> tuple[str, bool]:
        """Do what `answer` does, as in a conversation; give the text its caller sees and whether it failed."""
        try:
            return self.answer(name, requestor, arguments, looks=looks), False
        except Exception as error:  # noqa: BLE001 - τ² turns whatever a tool raises into its answer
            return f"Error: {error}", True

    def answer(self, name: str, requestor: Requestor, arguments: Mapping[str, Any], *, looks: bool = False) -> str:
        """Run a tool, synchronise, and give the text its caller sees; raise what the tool raises.

        `looks` says that it is declared to change nothing: then nothing is copied that it looks at. Synchronising may
        change records after any call, so it always gets its own.
        """
        with read_only(self.agent.db, self.user.db if self.user else None) if looks else nullcontext():
            text = self.render(self.call(name, requestor, arguments))
        self.sync()
        return text

    def begin(self, initial: InitialState | None) -> None:
        """Bring the world into a task's initial state; raise `EnvironmentFaultError` where that fails."""
        if initial is None:
            return
        try:
            if logged := (initial.model_extra or {}).get(READ_LOG):
                self.agent.set_read_log_allowlist(logged)  # of one domain
            self._load(initial.initialization_data or {})
            for action in initial.initialization_actions or ():
                self.function(str(action.get("env_type")), str(action.get("func_name")), action.get("arguments") or {})
        except Exception as error:  # whatever the domain raises means that there is no initial state
            raise EnvironmentFaultError(f"the task's initial state: {type(error).__name__}: {error}") from error

    def function(self, party: str, name: str, arguments: Mapping[str, Any]) -> object:
        """Run any method of a party's toolkit, tool or not, and synchronise."""
        toolkit = self.user if party == "user" else self.agent
        value = getattr(toolkit, name)(**arguments)
        self.sync()
        return value

    def same_as(self, other: "World") -> bool:
        """Whether both databases equal the other world's."""
        return same_content(*self.beside(other))

    def differences(self, mine: State, theirs: State) -> list[Difference]:
        """Give every row in which the first of two states, as `beside` gives them, is not as expected, by party."""
        parties = [(mine, theirs)]
        if self.user is not None:
            parties = [(mine[party], theirs[party]) for party in ("agent", "user")]
        return [one for own, expected in parties for one in diff(expected, own)]

    def beside(self, other: "World") -> tuple[State, State]:
        """Give both worlds' databases as `dumped` does, of tables only the records that either has looked at."""
        theirs, mine = records_apart(other.agent.db, self.agent.db)
        if self.user is None:
            return mine, theirs
        users: tuple[State, State] = ({}, {})
        if other.user is not None and self.user.db is not self.agent.db:
            users = records_apart(other.user.db, self.user.db)
        return {"agent": mine, "user": users[1]}, {"agent": theirs, "user": users[0]}

    def dumped(self, start: State | None = None) -> State:
        """Give the database as {table: {key: record}}; with two parties, `agent` and `user` stand above.

        One that both parties share stands under `agent` alone, as in `beside`. `start` is that of a fresh world of the
        same source: what is as there is its own part, which nobody may change.
        """
        if self.user is None:
            return _dumped(self.agent.db, start or {})
        starts = start or {"agent": {}, "user": {}}
        return {
            "agent": _dumped(self.agent.db, starts["agent"]),
            "user": {} if self.user.db is self.agent.db else _dumped(self.user.db, starts["user"]),
        }

    def _load(self, data: Mapping[str, Any]) -> None:
        """Merge initial data; each toolkit then has the other's database, as in τ²."""
        if data.get("agent_data") is not None:
            self.agent.db = _updated(self.agent.db, data["agent_data"])
            if self.user is not None and self.user.db is not None:
                self.user.db = self.agent.db
        if data.get("user_data") is not None and self.user is not None:
            self.user.db = _updated(self.user.db, data["user_data"])
            if self.agent.db is not None:
                self.agent.db = self.user.db


def _dumped(database: BaseModel | None, start: State) -> State:
    if database is None or not start:
        return database.model_dump(mode="json") if database is not None else {}
    found: State = {}
    for name in type(database).model_fields:
        table = getattr(database, name)
        if isinstance(table, LazyRecords):
            known = start[name]
            own = {key for key in table.own if key in table}
            if not table.keys() <= known.keys():
                own |= table.keys() - known.keys()
            rows = dict(zip(table, map(known.get, table), strict=True))
            rows.update({key: dict.__getitem__(table, key).model_dump(mode="json") for key in own})
            found[name] = rows
        else:
            found[name] = database.model_dump(mode="json", include={name})[name]
    return cast("State", plain(found, start))


def _updated(database: BaseModel | None, data: Mapping[str, Any]) -> BaseModel:
    if database is None:
        raise EnvironmentFaultError("the domain has no database to take the initial data")
    return type(database).model_validate(merged(database.model_dump(), data))
