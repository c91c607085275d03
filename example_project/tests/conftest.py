"""A fresh shop for each test, and a way to talk to the agent in it."""

import functools
import inspect
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import tools
from support.agent import build

BENCH = Path(__file__).parents[1] / "bench" / "support"


class Shop:
    """The shop's database, its tools bound to it, and the calls that were made, and those that changed something."""

    def __init__(self, state: sqlite3.Connection) -> None:
        self.state = state
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.changes: list[tuple[str, dict[str, Any]]] = []
        self.breaks: dict[str, Exception] = {}

    @property
    def tools(self) -> list[Callable[..., Any]]:
        """Every tool as the agent gets it: without `state`."""
        members = inspect.getmembers(tools, inspect.isfunction)
        return [self._bound(tool) for name, tool in members if tool.__module__ == tools.__name__ and name[0] != "_"]

    def snapshot(self) -> list[str]:
        """The whole database as SQL."""
        return list(self.state.iterdump())

    def talk(self, *lines: str, **settings: Any) -> list[str]:
        """Say the lines to a new agent; give its replies."""
        agent = build(self.tools, **settings)
        return [agent(line) for line in lines]

    def _bound(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(tool)
        def call(**arguments: Any) -> Any:
            before = self.state.total_changes
            self.calls.append((tool.__name__, arguments))
            if tool.__name__ in self.breaks:
                raise self.breaks[tool.__name__]
            value = tool(**arguments, state=self.state)
            if self.state.total_changes > before:
                self.changes.append((tool.__name__, arguments))
            return value

        return call


@pytest.fixture
def open_shop() -> Iterator[Callable[[], Shop]]:
    """Open as many fresh shops as a test needs."""
    opened: list[sqlite3.Connection] = []

    def open_one() -> Shop:
        state = sqlite3.connect(":memory:")
        opened.append(state)
        state.executescript((BENCH / "schema.sql").read_text(encoding="utf-8"))
        for table, rows in yaml.safe_load((BENCH / "rows.yaml").read_text(encoding="utf-8")).items():
            for row in rows:
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - names come from our own file
                state.execute(sql, tuple(row.values()))
        state.commit()
        return Shop(state)

    yield open_one
    for state in opened:
        state.close()


@pytest.fixture
def shop(open_shop: Callable[[], Shop]) -> Shop:
    """A fresh shop."""
    return open_shop()
