"""What the tests of events share: sets sampled for a suite, events made of them, rows held against a real database."""

import sqlite3
from functools import cache
from pathlib import Path

from pytest_agentbench.generation.policies.events.preparing import extraction_of, maker_of

from pytest_agentbench.environment.rows import parse
from pytest_agentbench.environment.sqlite_rows import write_rows
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.events.events import EventMaker, RejectedEventError, state_of_rows
from pytest_agentbench.generation.policies.graph.graph import GraphInput, ToolWords, shared_graph
from pytest_agentbench.generation.policies.sampling.sampling import sample
from pytest_agentbench.suites.suite_file import load_suite

PROJECT = Path(__file__).resolve().parents[3]
SUPPORT = PROJECT / "example_project" / "support.agentbench.yaml"


async def maker_for(file: Path, **changes) -> EventMaker:
    """Give the maker of a suite's events."""
    suite = load_suite(file, environ={}, generating=True)
    return await maker_of(suite, load_toolset(suite.environment, suite.root), extraction_of(suite.policies), **changes)


async def events_for(file: Path, count: int, low: int, high: int, *, seed: int = 7):
    """Make events of sampled sets; give maker, events and rejections."""
    suite = load_suite(file, environ={}, generating=True)
    tools = load_toolset(suite.environment, suite.root).of("assistant")
    words = tuple(ToolWords(name=one.name, description=one.description) for one in tools)
    graph = shared_graph(GraphInput(extraction=extraction_of(suite.policies), tools=words))
    maker = await maker_for(file, seed=seed)
    events, rejections = [], []
    for one in sample(graph, count, low, high, seed=seed).sets:
        try:
            events.append(await maker.make(one))
        except RejectedEventError as error:
            rejections.append(error.rejection)
    return maker, events, rejections


@cache
def _image(schema: Path, rows: Path) -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.executescript(schema.read_text(encoding="utf-8"))
    connection.execute("PRAGMA foreign_keys = OFF")
    write_rows(connection, parse(rows.read_text(encoding="utf-8"), rows), "suite")
    connection.commit()
    return connection.serialize()


def database_faults(event, maker: EventMaker, schema: Path, rows: Path) -> list[str]:
    """Insert the event's rows into a database of the real schema and rows; give what it does not accept."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(_image(schema, rows))
    faults = []
    for table, fresh in state_of_rows(event.rows, maker.oracle.samples.schema, maker.oracle.samples.rows).items():
        for row in fresh:
            marks = ", ".join("?" * len(row))
            try:
                connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
            except sqlite3.Error as error:
                faults.append(f"{table} {row}: {error}")
    faults += [str(row) for row in connection.execute("PRAGMA foreign_key_check").fetchall()]
    connection.close()
    return faults
