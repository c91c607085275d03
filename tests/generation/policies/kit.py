"""What the tests of events share: drafts of sets sampled for a suite, rows held against a real database."""

import sqlite3
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.sqlite_state import write_rows
from pytest_agentbench.environment.state_files import parse
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.generation.policies.graph import shared_graph
from pytest_agentbench.generation.policies.pipeline import of_suite
from pytest_agentbench.generation.policies.source import PolicySource, policy_source
from pytest_agentbench.suites.suite_file import load_suite

PROJECT = Path(__file__).resolve().parents[3]
RULED = Path(__file__).with_name("support_policies.yaml")
"""The support desk's policies with a rule wherever one can say what a policy means."""


@dataclass
class Planned:
    """What became of sets: the source, drafts, losses."""

    source: PolicySource
    drafts: list[Draft] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)


async def planned(of: Path | Suite, count: int, low: int, high: int, *, seed: int = 7, **more) -> Planned:
    """Plan drafts of sampled sets until there are as many as asked for."""
    suite = load_suite(of, environ={}, generating=True) if isinstance(of, Path) else of
    toolset = load_toolset(suite.environment, suite.root)
    graph = shared_graph(of_suite(suite), toolset.of("assistant"))
    recipe = {"count": count, "levels": (low, high), "seed": seed, "walk": "exact", **more}
    suite = suite.model_copy(update={"generate": suite.generate.model_copy(update=recipe)})
    found = Planned(await policy_source(suite, toolset, graph))
    async for one in found.source.drafts():
        if isinstance(one, Loss):
            found.losses.append(one)
            continue
        found.drafts.append(one)
        found.source.accepted(one)
        if len(found.drafts) == count:
            break
    return found


def ruled_support() -> Suite:
    """Give the example's support desk with its recipe, and with rules for most of its policies."""
    suite = load_suite(PROJECT / "example_project" / "generated.agentbench.yaml", environ={}, generating=True)
    entries = yaml.safe_load(RULED.read_text(encoding="utf-8"))
    return suite.model_copy(update={"policies": tuple(Policy.model_validate(one) for one in entries)})


def of_customers(suite: Suite, customers: set[str], rows: Path) -> Suite:
    """Give the support desk with the rows of some customers alone, written to a file: each owner costs a second."""
    options = suite.environment.state.options
    tables = yaml.safe_load(Path(options["rows"]).read_text(encoding="utf-8"))
    others = {one["customer_id"] for one in tables["customers"]} - customers
    gone = others | {one["order_id"] for one in tables["orders"] if one["customer_id"] in others}
    kept = {
        table: [row for row in found if not gone & {row.get(key) for key in ("customer_id", "order_id", "owner")}]
        for table, found in tables.items()
    }
    rows.write_text(yaml.safe_dump(kept, sort_keys=False), encoding="utf-8")
    state = suite.environment.state.model_copy(update={"options": {**options, "rows": str(rows)}})
    return suite.model_copy(update={"environment": suite.environment.model_copy(update={"state": state})})


@cache
def _image(schema: Path, rows: Path) -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.executescript(schema.read_text(encoding="utf-8"))
    connection.execute("PRAGMA foreign_keys = OFF")
    write_rows(connection, parse(rows.read_text(encoding="utf-8"), rows), "suite")
    connection.commit()
    return connection.serialize()


def database_faults(draft: Draft, schema: Path, rows: Path) -> list[str]:
    """Insert the rows of a draft into a database of the real schema and rows; give what it does not accept."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(_image(schema, rows))
    faults = []
    for table, fresh in draft.state.items():
        for row in fresh:
            marks = ", ".join("?" * len(row))
            try:
                connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
            except sqlite3.Error as error:
                faults.append(f"{table} {row}: {error}")
    faults += [str(row) for row in connection.execute("PRAGMA foreign_key_check").fetchall()]
    connection.close()
    return faults
